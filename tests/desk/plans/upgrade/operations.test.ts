/** `svc admin upgrade`: which hosts get which file, and what is made of that. */
import { describe, expect, test } from "bun:test";
import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { answerHere } from "../../../../src/cli/view";
import { callOperation } from "../../../../src/core/call";
import { localCaller } from "../../../../src/core/caller";
import { OWNER } from "../../../../src/core/rights";
import { keptReleases, upgradeHosts, upgradeToKept } from "../../../../src/desk/plans/upgrade/operations";
import { silentLog } from "../../../../src/lib/log";
import { configFiles } from "../../../../src/lib/paths";
import { createService, type Service } from "../../../../src/service/service";
import { addToken, tokenStore } from "../../../../src/trust/named-tokens";
import { readContent } from "../../../../src/wire/job/content";
import { INSTALL, releasedIn } from "../../../../src/wire/release/upgrade-messages";
import { rowsOf } from "../../../host/audit/support";
import { publisher } from "../../../host/release/support";
import { post, TOKEN, testServer, testService, until } from "../../../support";
import { release, TARGET, upgradableHost } from "./support";

/** A desk with these hosts in its address book. */
async function deskOf(hosts: Readonly<Record<string, string>>) {
  const desk = testService();
  const book = await desk.service.addressBook();
  await book.addAll(
    Object.entries(hosts).map(([label, base_url]) => ({ label, base_url, token: TOKEN, tags: [] })),
    false,
  );
  return {
    ...desk,
    async upgrade(files: string[], text: string, more: object = {}) {
      const input = { files, on: "all", public_key: text, delivery_timeout_s: 2, ...more };
      return callOperation(desk.service, upgradeHosts, input, localCaller(desk.service, "api"));
    },
    [Symbol.asyncDispose]: () => desk[Symbol.asyncDispose](),
  };
}

test("hosts get the file of their target; one that has it is left out, and a failure holds the plan", async () => {
  using made = await release("0.2.0");
  using own = publisher();
  await using old = await upgradableHost(made);
  await using desk = await deskOf({ "lab-01": old.server.url });
  const files = [await own.file("x64"), await own.file("arm64", "0.2.0", "linux-arm64")];
  const dry = await desk.upgrade(files, own.text, { dry_run: true });
  expect(dry).toEqual({
    ...{ id: null, digest: null, version: "0.2.0", waves: [1], left_out: [] },
    hosts: [{ label: "lab-01", version: "0.1.0", target: TARGET }],
  });
  const { releases } = configFiles(desk.configDir);
  expect(existsSync(releases)).toBe(false);

  const plan = await desk.upgrade(files, own.text);
  const { ledger } = await desk.service.plans();
  const stored = ledger.find(`${plan.id}`, () => true);
  expect(stored.spec).toMatchObject({ max_failures: 0, commands: ["AC_upgrade_install"] });
  const content = readContent(ledger.content(stored.seq));
  // Only what a host of the plan needs is kept, as it was verified.
  const [file] = releasedIn(content.actions) ?? [];
  expect([content.scope, file?.target]).toEqual([null, TARGET]);
  expect(readdirSync(releases)).toEqual([`${file?.sha256}`]);
  expect(readFileSync(join(releases, `${file?.sha256}`), "utf8")).toBe(`0.2.0 ${TARGET}`);
  expect([statSync(releases).mode & 0o777, statSync(join(releases, `${file?.sha256}`)).mode & 0o777]).toEqual(
    [0o700, 0o600],
  );
  const details = rowsOf(configFiles(desk.configDir).auditLog).map(({ detail }) => `${detail}`);
  expect(details).toContainEqual(expect.stringContaining(`admin.upgrade version=0.2.0 targets=${TARGET}`));

  const same = await desk.upgrade([await own.file("same", "0.1.0")], own.text);
  expect(same).toMatchObject({ id: null, hosts: [], left_out: [{ label: "lab-01", why: "it has 0.1.0" }] });
});

describe("hosts that cannot be upgraded are named before anything is made:", () => {
  test.each([
    ["no file is for their target", {}, "linux-arm64", "lab-01: no file is for linux-x64"],
    ["they run as no service", { isAlone: true }, TARGET, "does not run as a service"],
  ])("%s", async (_what, how, target, message) => {
    using made = await release("0.2.0");
    using own = publisher();
    await using host = await upgradableHost({ ...made, ...how });
    await using desk = await deskOf({ "lab-01": host.server.url });
    const files = [await own.file("one", "0.2.0", target)];
    await expect(desk.upgrade(files, own.text)).rejects.toThrow(message);
    expect(existsSync(configFiles(desk.configDir).plans)).toBe(false);
    const skipped = await desk.upgrade(files, own.text, { skip: true });
    expect(skipped).toMatchObject({
      id: null,
      left_out: [{ why: expect.stringContaining(message.slice(-20)) }],
    });
  });

  test("their svc knows nothing of it, or they are off, unless the plan waits for them", async () => {
    using own = publisher();
    await using older = await testServer({ service: { operations: [] } });
    await using desk = await deskOf({ older: older.server.url, off: "http://127.0.0.1:9" });
    const files = [await own.file("one")];
    const refused = expect(desk.upgrade(files, own.text)).rejects;
    await refused.toThrow(/older: its svc cannot be upgraded by a desk yet.*; off: /);
    const queued = await desk.upgrade(files, own.text, { skip: true, queue: true });
    expect(queued).toMatchObject({ id: expect.any(String), hosts: [{ label: "off", target: null }] });
  });
});

test("one that answers nonsense, and one that wants to be asked much later, keep nobody from upgrading the others", async () => {
  using made = await release("0.2.0");
  using own = publisher();
  await using host = await upgradableHost(made);
  const about = { target: TARGET, refusal: null, incoming: null, last: null };
  const answers: Readonly<Record<string, () => Response>> = {
    "/odd/upgrade": () => Response.json({ ...about, version: "garbage" }),
    "/busy/upgrade": () => new Response("{}", { status: 429, headers: { "retry-after": "1000000" } }),
  };
  await using other = Bun.serve({
    ...{ port: 0, hostname: "127.0.0.1" },
    fetch: ({ url }) => answers[new URL(url).pathname]?.() ?? new Response(null, { status: 404 }),
  });
  const url = `http://127.0.0.1:${other.port}`;
  await using desk = await deskOf({ good: host.server.url, odd: `${url}/odd`, busy: `${url}/busy` });
  const files = [await own.file("one")];
  await expect(desk.upgrade(files, own.text)).rejects.toThrow(
    /odd: not a svc host; busy: HTTP 429: it wants/,
  );
  const skipped = await desk.upgrade(files, own.text, { skip: true });
  expect(skipped).toMatchObject({ id: expect.any(String), hosts: [{ label: "good" }] });
});

test("the file of a plan that is not over stays, however many are newer", async () => {
  using made = await release("0.2.0");
  using own = publisher();
  await using host = await upgradableHost(made);
  await using desk = await deskOf({ "lab-01": host.server.url });
  const { releases } = configFiles(desk.configDir);
  await desk.upgrade([await own.file("first")], own.text);
  const [first = ""] = readdirSync(releases);
  utimesSync(join(releases, first), 1, 1);
  for (let nth = 0; nth < 10; nth++) writeFileSync(join(releases, `${nth}`.repeat(64)), "");
  await desk.upgrade([await own.file("second", "0.3.0")], own.text);
  const left = readdirSync(releases);
  expect([left.includes(first), left.length]).toEqual([true, 8]);
});

test("asked to be alone, it makes no plan beside one that is not over and upgrades such a host, nor two at once", async () => {
  using made = await release("0.2.0");
  await using host = await upgradableHost(made);
  await using desk = await deskOf({ "lab-01": host.server.url });
  const upgrade = (more: object = { alone: true }) =>
    desk.upgrade([join(made.store, made.file.sha256)], made.key.text, more);
  const both = await Promise.allSettled([upgrade(), upgrade()]);
  expect(both.map(({ status }) => status).toSorted()).toEqual(["fulfilled", "rejected"]);
  const plans = await desk.service.plans();
  const [first, ...others] = plans.ledger.plans();
  if (!first) throw new Error("no plan");
  expect(others).toEqual([]);
  const { id, digest } = first;
  const end = `\`svc plan cancel ${id}\` ends it`;
  const ways = {
    new: `was not applied yet: \`svc plan apply ${id} --digest ${digest}\` applies it`,
    running: `is running: \`svc plan apply ${id} --digest ${digest}\` waits for it`,
    paused: `is paused: \`svc plan resume ${id}\` goes on with it`,
  };
  const refused = (why: string) =>
    expect(upgrade()).rejects.toThrow(`the plan ${id} upgrades lab-01, and ${why}, ${end}`);
  await refused(ways.new);
  plans.ledger.apply(first.seq, null, Date.now());
  await refused(ways.running);
  plans.ledger.pause(first.seq, "by the owner");
  await refused(ways.paused);
  // By hand, a person decides.
  expect(await upgrade({})).toMatchObject({ id: expect.any(String) });
  for (const plan of plans.ledger.plans()) await plans.cancel(plan, "by the owner");
  expect(await upgrade()).toMatchObject({ id: expect.any(String) });
});

test("files of another version than is expected are refused, before any of them is kept", async () => {
  using made = await release("0.2.0");
  await using host = await upgradableHost(made);
  await using desk = await deskOf({ "lab-01": host.server.url });
  const files = [join(made.store, made.file.sha256)];
  await expect(desk.upgrade(files, made.key.text, { expect_version: "0.3.0" })).rejects.toThrow(
    "files: expected svc 0.3.0 but found 0.2.0",
  );
  const { releases, plans } = configFiles(desk.configDir);
  expect([existsSync(releases), existsSync(plans)]).toEqual([false, false]);
  expect(await desk.upgrade(files, made.key.text, { expect_version: "0.2.0" })).toMatchObject({
    version: "0.2.0",
    hosts: [{ label: "lab-01" }],
  });
});

test("a release that the desk keeps goes to other hosts without its files at hand, as long as they are there", async () => {
  using made = await release("0.2.0");
  using own = publisher();
  await using first = await upgradableHost(made);
  await using second = await upgradableHost(made);
  await using desk = await deskOf({ first: first.server.url, second: second.server.url });
  const kept = () => callOperation(desk.service, keptReleases, {}, localCaller(desk.service, "api"));
  const toKept = () => {
    const input = { version: "0.2.0", on: "second", delivery_timeout_s: 2 };
    return callOperation(desk.service, upgradeToKept, input, localCaller(desk.service, "api"));
  };
  expect(await kept()).toEqual({ releases: [] });
  await expect(toKept()).rejects.toThrow("this desk keeps no release 0.2.0");
  const one = await desk.upgrade([await own.file("x64")], own.text, { on: "first" });
  expect(await kept()).toEqual({ releases: [{ version: "0.2.0", targets: [TARGET] }] });
  const two = await toKept();
  expect(two).toMatchObject({
    version: "0.2.0",
    hosts: [{ label: "second", version: "0.1.0", target: TARGET }],
  });
  const { ledger } = await desk.service.plans();
  const [filesOfOne, filesOfTwo] = [one, two].map(({ id }) => {
    const { seq } = ledger.find(`${id}`, () => true);
    return releasedIn(readContent(ledger.content(seq)).actions);
  });
  expect(filesOfOne).toHaveLength(1);
  expect(filesOfTwo).toEqual(filesOfOne);
  const { releases } = configFiles(desk.configDir);
  for (const name of readdirSync(releases)) rmSync(join(releases, name));
  expect(await kept()).toEqual({ releases: [] });
});

test("what a plan of a token without admin says of a file makes no release of it", async () => {
  using made = await release("0.2.0");
  await using host = await upgradableHost(made);
  await using desk = await testServer();
  const entry = { label: "lab-01", base_url: host.server.url, token: TOKEN, tags: [] };
  await (await desk.service.addressBook()).addAll([entry], false);
  const files = configFiles(desk.configDir);
  const token = await addToken(tokenStore(files, silentLog), { name: "bob", scope: ["operate"] });
  const answer = await fetch(`${desk.server.url}/plans/new`, {
    method: "POST",
    headers: { "content-type": "application/json", authorization: `Bearer ${token}` },
    body: JSON.stringify({ actions: [[INSTALL, { files: [made.file] }]], on: "all" }),
  });
  expect(answer.status).toBe(200);
  mkdirSync(files.releases, { recursive: true });
  cpSync(join(made.store, made.file.sha256), join(files.releases, made.file.sha256));
  expect(await (await desk.call("/admin/releases")).json()).toEqual({ releases: [] });
});

test("a release is only what its signature says, in a plan that does nothing else, and its file is read before it is planned", async () => {
  using made = await release("0.2.0");
  await using host = await upgradableHost(made);
  await using desk = await testServer();
  const entry = { label: "lab-01", base_url: host.server.url, token: TOKEN, tags: [] };
  await (await desk.service.addressBook()).addAll([entry], false);
  const { releases } = configFiles(desk.configDir);
  mkdirSync(releases, { recursive: true });
  const path = join(releases, made.file.sha256);
  cpSync(join(made.store, made.file.sha256), path);
  const plan = async (file: object, more: object = {}) => {
    const body = { actions: [[INSTALL, { files: [file] }]], on: "all", ...more };
    expect((await desk.call("/plans/new", post(body))).status).toBe(200);
  };
  const kept = async () => (await desk.call("/admin/releases")).json();
  await plan({ ...made.file, version: "9.9.9" });
  await plan({ ...made.file, signature: "none" });
  await plan(made.file, { variables_by_host: { "lab-01": { till: "7" } } });
  expect(await kept()).toEqual({ releases: [] });
  await plan(made.file);
  expect(await kept()).toEqual({ releases: [{ version: "0.2.0", targets: [TARGET] }] });
  writeFileSync(path, Buffer.alloc(made.file.size));
  const input = { version: "0.2.0", on: "all", delivery_timeout_s: 2 };
  const answer = await desk.call("/admin/upgrade", post(input));
  expect(await answer.json()).toMatchObject({ error: expect.stringContaining("is not what was kept") });
});

test("beside a server, the command keeps the files, and the server makes the plan", async () => {
  using made = await release("0.2.0");
  using own = publisher();
  await using old = await upgradableHost(made);
  await using desk = await testServer();
  const entry = { label: "lab-01", base_url: old.server.url, token: TOKEN, tags: [] };
  await (await desk.service.addressBook()).addAll([entry], false);
  const beside = createService({ configDir: desk.configDir, handsOver: true, log: silentLog });
  const input = { files: [await own.file("x64")], on: "all", public_key: own.text, delivery_timeout_s: 2 };
  const { id } = await answerHere(beside, upgradeHosts, input);
  await beside.stop();
  expect((await desk.service.plans()).ledger.plans()).toMatchObject([{ id: `${id}`, state: "new" }]);
  expect([beside.events().newest > 0, eventsOf(desk.service, "plan.created")]).toEqual([false, 1]);
  const [row] = rowsOf(configFiles(desk.configDir).auditLog).filter(({ detail }) =>
    detail?.includes("admin."),
  );
  expect(row).toMatchObject({
    event_type: "cli",
    detail: expect.stringContaining("admin.upgrade version=0.2.0"),
  });
});

/** How many events of a type a service has published. */
const eventsOf = (service: Service, type: string) => {
  const bus = service.events();
  const all = Array.from({ length: bus.newest }, (_, nth) => bus.at(nth + 1));
  return all.filter((event) => event?.type.name === type).length;
};

test("a desk that takes over a plan without its files touches no host, and goes on once it has them", async () => {
  using made = await release("0.2.0");
  await using first = await upgradableHost(made);
  await using second = await upgradableHost(made);
  const hosts = { first: first.server.url, second: second.server.url };
  await using gone = await deskOf(hosts);
  await using desk = await deskOf(hosts);
  const path = join(made.store, made.file.sha256);
  const { id } = await gone.upgrade([path], made.key.text, { waves: ["1", "100%"] });
  const { ledger } = await gone.service.plans();
  ledger.apply(ledger.find(`${id}`, () => true).seq, null, Date.now());

  const plans = await desk.service.plans();
  const { seq } = await plans.adopt(
    { file: configFiles(gone.configDir).plans, copy: undefined },
    `${id}`,
    OWNER,
    true,
  );
  const ended = async () => {
    plans.runner.run(seq);
    await until("its end", () => plans.ledger.plan(seq).state !== "running");
    return [plans.ledger.plan(seq).state, plans.ledger.targets(seq).map(({ state }) => state)];
  };
  expect(await ended()).toEqual(["paused", ["failed", "planned"]]);
  expect(plans.ledger.targets(seq)[0]?.error).toContain("is not on this desk: copy releases/");
  for (const host of [first, second])
    expect(await host.fromDesk().status()).toMatchObject({ version: "0.1.0", incoming: null, last: null });

  const { releases } = configFiles(desk.configDir);
  cpSync(configFiles(gone.configDir).releases, releases, { recursive: true });
  await plans.retry(plans.ledger.plan(seq), undefined, OWNER);
  expect(await ended()).toEqual(["done", ["ok", "ok"]]);
});
