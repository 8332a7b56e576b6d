/** All that a desk does with its hosts, over a real link: in its server, and in other processes of the desk. */
import { describe, expect, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { hostIdOf, openSigningKey } from "../../../src/trust/identity";
import { readMembership } from "../../../src/wire/join/membership";
import { caller, post, runToEnd, SVC, TOKEN, temporaryFolder, until } from "../../support";
import { joinDesk, linkServer, untilEvent } from "./support";

// Certificates of tests are not signed by anybody.
const insecure = { tls: { rejectUnauthorized: false } };

const linesOf = (text: string) =>
  text.trim() === ""
    ? []
    : text
        .trimEnd()
        .split("\n")
        .map((line) => JSON.parse(line));

/** A desk, and a host behind its link; both serve. */
async function linkedFleet(options: Parameters<typeof linkServer>[1] = {}) {
  const desk = await linkServer(true);
  const host = await linkServer(false, options);
  await joinDesk(desk, host);
  await desk.service.runJobs();
  await host.service.runJobs();
  await untilEvent(desk, "host.up");
  const book = await desk.service.addressBook();
  const [{ label = "" } = {}] = book.hosts();
  const ask = caller(desk.server.url, TOKEN);
  const call = (path: string, init: RequestInit = {}) => ask(path, { ...init, ...insecure });
  return {
    ...{ desk, host, label, book, call },
    /** Runs a subcommand on the desk, in another process. */
    async svc(...args: string[]) {
      const env = { ...process.env, SVC_CONFIG_DIR: desk.configDir, SVC_TOKEN: TOKEN };
      return runToEnd([...SVC, ...args], { env });
    },
    async [Symbol.asyncDispose]() {
      await host[Symbol.asyncDispose]();
      await desk[Symbol.asyncDispose]();
    },
  };
}

const TOKENS = async (made: Awaited<ReturnType<typeof linkedFleet>>) =>
  JSON.parse(readFileSync(made.host.files.tokens, "utf8"));

describe("over a link", () => {
  test("a poll of the server, and one of another process, find the host healthy, and say when it has gone", async () => {
    await using made = await linkedFleet();
    const own = async () => (await (await made.call("/admin/poll")).json()) as unknown;
    const other = async () => JSON.parse((await made.svc("admin", "poll", "--json")).stdout);
    for (const poll of [own, other]) {
      expect(await poll()).toMatchObject([{ label: made.label, healthy: true, job_count: 0 }]);
    }
    await (await made.host.service.rest()).stop();
    await made.host.service.stop();
    await untilEvent(made.desk, "host.down");
    for (const poll of [own, other]) {
      expect(await poll()).toMatchObject([
        { healthy: false, error: expect.stringMatching(/^not linked \(last seen 20.*Z\)$/) },
      ]);
    }
  });

  test("the list of links has hosts that have not dialled since the desk started", async () => {
    await using made = await linkedFleet();
    const host_id = "0".repeat(32);
    const { member, ...joined } = made.book.host(`${made.label}`);
    if (!member) throw new Error("expected a host that has joined");
    const away = { label: "lab-away", base_url: `link:${host_id}`, member: { ...member, host_id } };
    await made.book.add({ ...joined, ...away });
    expect(await (await made.call("/links")).json()).toMatchObject({
      links: [{ label: made.label, linked: true }],
      unseen: [{ label: "lab-away", host_id }],
    });
    const { stdout } = await made.svc("link", "list");
    expect(stdout).toMatch(/^lab-away +not seen .* has not dialled since this desk started$/m);
  });

  test("a broadcast runs a list and a stored script, and brings back large results", async () => {
    await using made = await linkedFleet();
    const list = join(made.host.configDir, "list.json");
    writeFileSync(list, JSON.stringify([["AC_log", { message: "stored" }]]));
    const stored = await Bun.spawn([...SVC, "scripts", "add", "nightly", list], {
      env: { ...process.env, SVC_CONFIG_DIR: made.host.configDir, SVC_TOKEN: TOKEN },
      stdio: ["ignore", "ignore", "inherit"],
    }).exited;
    expect(stored).toBe(0);
    const large = "x".repeat(800_000);
    const actions = [
      ["AC_run_script", { path: "script:nightly" }],
      ["AC_set_var", { name: "large", value: large }],
    ];
    const file = join(made.desk.configDir, "list.json");
    writeFileSync(file, JSON.stringify(actions));
    const { stdout } = await made.svc("admin", "broadcast", file, "--on", "all", "--json");
    const [result] = JSON.parse(stdout);
    expect(result).toMatchObject({ label: made.label, status: "ok", delivered: true });
    expect(stdout.length).toBeGreaterThan(large.length);
    expect(await (await made.call("/admin/broadcast", post({ actions, on: "all" }))).text()).toContain(large);
  });

  test("events are followed as they happen, and those of before are there", async () => {
    await using made = await linkedFleet();
    const run = post({ actions: [["AC_log", { message: "hello" }]], on: "all" });
    await made.call("/admin/broadcast", run);
    const before = await made.svc("events", "--on", "all", "--types", "run.ended", "--json");
    expect(linesOf(before.stdout)).toMatchObject([{ label: made.label, type: "run.ended" }]);
    const child = Bun.spawn([...SVC, "events", "--on", "all", "--types", "run.*", "--follow", "--json"], {
      env: { ...process.env, SVC_CONFIG_DIR: made.desk.configDir, SVC_TOKEN: TOKEN },
      stdio: ["ignore", "pipe", "inherit"],
    });
    try {
      const came = linesOf(await firstOf(child.stdout, () => made.call("/admin/broadcast", run)));
      expect(came[0]).toMatchObject({ label: made.label, type: "run.started" });
    } finally {
      child.kill();
      await child.exited;
    }
  });

  test("a sync finds its way to the host", async () => {
    await using made = await linkedFleet();
    using folder = temporaryFolder();
    expect((await made.svc("sync", folder.path, "--to", made.label, "--once")).exitCode).toBe(0);
    writeFileSync(join(folder.path, "new.txt"), "new");
    const { stdout, exitCode } = await made.svc("sync", folder.path, "--to", made.label, "--once");
    expect([stdout, exitCode]).toEqual([expect.stringContaining("new.txt"), 0]);
  });

  test("a limit of the host, and a token that it has revoked, have the words that they have over https", async () => {
    await using made = await linkedFleet({ rate_limit: 1, rate_burst: 2 });
    const poll = async () => (await (await made.call("/admin/poll")).json()) as unknown;
    await poll();
    expect(await poll()).toMatchObject([{ healthy: false, error: "HTTP 429: rate limited" }]);
    const { tokens } = await TOKENS(made);
    writeFileSync(made.host.files.tokens, JSON.stringify({ tokens: [] }));
    expect(tokens).toHaveLength(1);
    const error = async () => ((await poll()) as { error: string }[])[0]?.error;
    await until("the host to refuse", async () => (await error()) !== "HTTP 429: rate limited");
    expect(await error()).toBe("HTTP 401");
  });

  test("the metrics of the host are those that it has", async () => {
    await using made = await linkedFleet();
    const answer = await made.call(`/admin/hosts/${made.label}/metrics`);
    expect(answer.status).toBe(200);
    expect(await answer.text()).toContain("service_build_info");
  });

  test("the host needs no certificate: none is printed, and nothing failed", async () => {
    await using made = await linkedFleet();
    const { stdout, stderr, exitCode } = await made.svc("tls", "cert", "--on", "all");
    expect([stdout, stderr, exitCode]).toEqual([
      "",
      "[info] reached over their links, which need no certificate: 1\n",
      0,
    ]);
  });

  test("a host that is removed forgets its desk, which ends the token and the link", async () => {
    await using made = await linkedFleet();
    const { stdout, exitCode } = await made.svc("admin", "remove", made.label, "--json");
    expect([JSON.parse(stdout), exitCode]).toEqual([
      {
        ...{ removed: true, revoked: true, problem: null },
        hosts: [{ label: made.label, revoked: true, problem: null }],
      },
      0,
    ]);
    expect(readMembership(made.host.files.desk)).toBeUndefined();
    expect(await TOKENS(made)).toEqual({ tokens: [] });
    await untilEvent(made.desk, "host.down");
    expect(made.book.hosts()).toEqual([]);
  });

  test("the token of the desk works for as long as it is used: nobody replaces it", async () => {
    await using desk = await linkServer(true);
    await using host = await linkServer(false);
    await joinDesk(desk, host);
    const { tokens } = JSON.parse(readFileSync(host.files.tokens, "utf8"));
    const soon = new Date(Date.now() + 5 * 86_400_000).toISOString();
    writeFileSync(host.files.tokens, JSON.stringify({ tokens: [{ ...tokens[0], expires: soon }] }));
    await desk.service.runJobs();
    await host.service.runJobs();
    await untilEvent(desk, "host.up");
    const [link] = desk.service.hub()?.links() ?? [];
    const limits = { deadline: { at: performance.now() + 60_000, ms: 60_000 }, maxBytes: 65_536 };
    await desk.service.hub()?.ask(link?.host_id ?? "", { method: "GET", path: "/sessions" }, limits);
    const ends = () => Date.parse(JSON.parse(readFileSync(host.files.tokens, "utf8")).tokens[0].expires);
    await until("a later end", () => ends() > Date.now() + 80 * 86_400_000);
  });
});

/** The first line of `stream`, for which `act` is called again and again. */
async function firstOf(stream: ReadableStream<Uint8Array>, act: () => Promise<unknown>): Promise<string> {
  const reader = stream.getReader();
  const first = reader.read();
  let came: string | undefined;
  void first.then(({ value }) => {
    came = new TextDecoder().decode(value);
  });
  await until("a line", async () => {
    await act();
    return came !== undefined;
  });
  return (came ?? "").split("\n")[0] ?? "";
}

test("a desk that starts waits for the hosts that dial it, also before it can know which are there", async () => {
  await using desk = await linkServer(true);
  const key = openSigningKey(join(desk.configDir, "member_key"));
  const host_id = hostIdOf(key.publicKey);
  const member = { host_id, host_key: key.publicKey, nonce: "n".repeat(22) };
  const book = await desk.service.addressBook();
  await book.add({ label: "linked", base_url: `link:${host_id}`, tags: [], member });
  await book.add({ label: "direct", base_url: "https://127.0.0.1:1", tags: [] });
  const plans = await desk.service.plans();
  expect(desk.service.hub()).toBeNull();
  expect(["linked", "direct"].map(plans.isExpected)).toEqual([true, false]);
  await desk.service.runJobs();
  expect(desk.service.hub()).not.toBeNull();
  expect(["linked", "direct"].map(plans.isExpected)).toEqual([true, false]);
});
