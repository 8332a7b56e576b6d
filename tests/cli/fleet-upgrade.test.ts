/** `svc fleet apply` with a file that says where the release of its version is: hosts are upgraded first, and the others get nothing else. */
import { expect, test } from "bun:test";
import { join } from "node:path";
import type { Service } from "../../src/service/service";
import { host } from "../desk/fleet/support";
import { release, upgradableHost } from "../desk/plans/upgrade/support";
import { makeKey } from "../host/release/support";
import { temporaryFolder, until } from "../support";
import { deskWith } from "./fleet-desk";

type Release = Awaited<ReturnType<typeof release>>;

/** A desk with these hosts, `a` first, and a file that wants `version` of a release, and a setting. */
async function deskOf(
  made: Release,
  hosts: ReadonlyArray<{ readonly server: { readonly url: string } }>,
  version = "0.2.0",
) {
  const labels = hosts.map((_, nth) => String.fromCharCode(97 + nth));
  const desk = await deskWith(hosts.map(({ server }, nth) => host(labels[nth] ?? "", server.url, "lab")));
  const path = join(made.store, made.file.sha256);
  desk.write(
    "lab.yaml",
    `name: lab\nversion: ${version}\nrelease: ${path}\nsettings: {diagnose.skip: [mouse]}\n`,
  );
  const on = ["lab.yaml", "--on", "tag:lab"];
  const applyBy = (key: string, ...more: string[]) =>
    desk.svc("fleet", "apply", ...on, "--public-key", key, ...more);
  return {
    ...{ svc: desk.svc, applyBy },
    start: () => desk.start("fleet", "apply", ...on, "--public-key", made.key.text),
    async plans() {
      const listed = await desk.svc("plan", "list", "--json");
      return (JSON.parse(listed.stdout) as { plans: Array<{ id: string; state: string }> }).plans;
    },
    apply: (...more: string[]) => applyBy(made.key.text, ...more),
    diff: () => desk.svc("fleet", "diff", ...on),
    [Symbol.dispose]: () => desk[Symbol.dispose](),
  };
}

const skipped = async ({ service }: { readonly service: Service }) =>
  (await service.settings()).get("diagnose.skip");

test("hosts are upgraded to the release, and then get the rest; a second time there is nothing to do", async () => {
  using made = await release("0.2.0");
  await using old = await upgradableHost(made);
  using desk = await deskOf(made, [old]);
  expect((await desk.diff()).stdout).toContain("  ~ version: 0.1.0 -> 0.2.0\n");
  const dry = await desk.apply("--dry-run");
  expect(dry.stdout).toContain("First, 1 host is upgraded to 0.2.0.\nNothing was changed (--dry-run).");
  expect([old.running(), await skipped(old)]).toEqual(["0.1.0", []]);

  const applied = await desk.apply();
  expect(applied).toMatchObject({ code: 0 });
  expect(applied.stdout.match(/done; 1 host: 1 ok/g)).toHaveLength(2);
  expect([old.running(), await skipped(old)]).toEqual(["0.2.0", ["mouse"]]);
  expect(await desk.diff()).toMatchObject({ code: 0, stdout: "1 host: 1 same\n" });
  expect((await desk.apply()).stdout).toEndWith("Nothing to do.\n");
}, 60_000);

test("a host whose upgrade failed gets nothing else, and is named; the others get the rest", async () => {
  using made = await release("0.2.0");
  await using good = await upgradableHost(made);
  await using bad = await upgradableHost({ ...made, ready: [] });
  using desk = await deskOf(made, [good, bad]);
  const applied = await desk.apply("--max-failures", "1");
  expect(applied.code).toBe(1);
  expect(applied.stderr).toContain("b gets nothing else: it has 0.1.0, not 0.2.0");
  expect([good.running(), await skipped(good)]).toEqual(["0.2.0", ["mouse"]]);
  expect([bad.running(), await skipped(bad)]).toEqual(["0.1.0", []]);
}, 60_000);

test("where the upgrade is paused, no host gets the rest, and the command says how it goes on", async () => {
  using made = await release("0.2.0");
  await using bad = await upgradableHost({ ...made, ready: [] });
  await using next = await upgradableHost(made);
  using desk = await deskOf(made, [bad, next]);
  const applied = await desk.apply("--waves", "1,100%");
  expect(applied.code).toBe(1);
  expect(applied.stderr).toMatch(/svc plan resume \S+ .*\n.*the hosts get nothing else before the upgrade/);
  expect([next.running(), await skipped(bad), await skipped(next)]).toEqual(["0.1.0", [], []]);

  // A second plan would forgive the failure.
  const again = await desk.apply("--waves", "1,100%");
  const [upgrade, ...others] = await desk.plans();
  expect([again.code, upgrade?.state, others]).toEqual([1, "paused", []]);
  expect(again.stderr).toMatch(/upgrades [ab], and is paused: `svc plan resume (\S+)`.*`svc plan cancel \1`/);
  expect(again.stderr).toContain(`the plan ${upgrade?.id} upgrades`);
  expect([bad.running(), next.running()]).toEqual(["0.1.0", "0.1.0"]);
}, 60_000);

test("Ctrl-C between the two plans makes no second one, and the same command goes on with it", async () => {
  using made = await release("0.2.0");
  const [asked, over] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  await using old = await upgradableHost({
    ...made,
    async asked(version) {
      if (version !== "0.2.0") return;
      asked.resolve();
      await over.promise;
    },
  });
  using desk = await deskOf(made, [old]);
  const child = desk.start();
  await asked.promise;
  child.interrupt();
  const { stderr } = await child.over;
  over.resolve();
  expect(stderr).toContain("the upgrade is over, and no host got the rest: the same command goes on with it");
  expect(await desk.plans()).toMatchObject([{ state: "done" }]);
  expect([old.running(), await skipped(old)]).toEqual(["0.2.0", []]);
  expect(await desk.apply()).toMatchObject({ code: 0 });
  expect(await skipped(old)).toEqual(["mouse"]);
}, 60_000);

test("a host that cannot be upgraded is named with the reason, and gets nothing else", async () => {
  using made = await release("0.2.0");
  await using alone = await upgradableHost({ ...made, isAlone: true });
  using desk = await deskOf(made, [alone]);
  const applied = await desk.apply();
  expect(applied.code).toBe(1);
  expect(applied.stderr).toMatch(/a gets nothing else: .*does not run as a service/);
  expect(applied.stdout).toContain("No host gets the rest.");
  expect(await skipped(alone)).toEqual([]);
}, 60_000);

test("a release of another version, or of another key, is refused before anything is done", async () => {
  using made = await release("0.2.0");
  using folder = temporaryFolder();
  await using old = await upgradableHost(made);
  using desk = await deskOf(made, [old], "0.3.0");
  const other = await desk.apply();
  expect(other.stderr).toContain("release: expected svc 0.3.0, as version says, but found 0.2.0");
  using same = await deskOf(made, [old]);
  const unsigned = await same.applyBy(makeKey(folder.path).text);
  expect(unsigned.stderr).toMatch(/the file is signed by the key \w+, expected \w+/);
  expect([other.code === 0, unsigned.code === 0]).toEqual([false, false]);
  for (const one of [desk, same]) expect((await one.svc("plan", "list")).stdout).toContain("no plans");
  expect([old.running(), await skipped(old)]).toEqual(["0.1.0", []]);
}, 60_000);

test("with --plan-only the plan of the upgrade is made, and once it is over, that of the rest", async () => {
  using made = await release("0.2.0");
  await using old = await upgradableHost(made);
  using desk = await deskOf(made, [old]);
  const commandIn = (text: string) =>
    (/^ {2}svc (plan apply .*)$/m.exec(text)?.[1] ?? "").split(" ").slice(0, 5);
  const first = await desk.apply("--plan-only");
  expect(first.stdout).toContain("Once that plan is over, the same command makes the plan of the rest.");
  expect(old.running()).toBe("0.1.0");
  const again = await desk.apply("--plan-only");
  expect(again.stderr).toContain("upgrades a, and was not applied yet: `svc plan apply ");
  expect(await desk.plans()).toHaveLength(1);
  expect((await desk.svc(...commandIn(first.stdout))).code).toBe(0);
  await until("the upgrade", () => old.running() === "0.2.0");
  const second = await desk.apply("--plan-only");
  expect(second.stdout).toContain("To apply exactly this:");
  expect(await skipped(old)).toEqual([]);
  expect((await desk.svc(...commandIn(second.stdout))).code).toBe(0);
  expect(await skipped(old)).toEqual(["mouse"]);
}, 60_000);
