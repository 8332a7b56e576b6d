/** `svc admin upgrade` and `svc fleet apply` with compiled binaries of several versions: hosts are machines of their own with a real systemd. */
import { afterAll, beforeAll, expect } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import { signFile } from "../../build/package/sign";
import type { HostStatus } from "../../src/wire/release/upgrade-messages";
import { makeKey } from "../host/release/support";
import { compileVersion } from "../host/release/versions";
import { caller, runToEnd, type ServerProcess, serveBinary, until } from "../support";
import { startNats } from "../wire/nats/support";
import { bootMachine, canBoot, type Scope, testWithSystemd, testWithSystemdAnd } from "./systemd";

/** The machines have a /tmp of their own. */
const folder = mkdtempSync("/var/tmp/svc-test-");
const at = (version: string) => join(folder, `svc-${version}`);
const PROGRAM = "/opt/svc/svc";

beforeAll(async () => {
  if (!canBoot) return;
  const { secret, text: key } = makeKey(folder);
  for (const version of ["0.1.0", "0.2.0", "0.3.0"]) {
    const broken = version === "0.3.0" && { broken: true as const };
    const target = await compileVersion(at(version), { version, key, ...broken });
    await signFile(secret, at(version), `svc ${version} ${target}`);
  }
}, 120_000);

afterAll(() => rmSync(folder, { recursive: true, force: true }));

interface Plan {
  readonly id: string;
  readonly digest: string;
  readonly state: string;
  readonly reason: string | null;
  readonly counts: Record<string, number>;
  readonly targets: ReadonlyArray<{ label: string; state: string; error: string | null }>;
}

/** What a host joins over. */
type Way = "link" | "nats";

/** A desk that takes links, or has a NATS server. */
async function openDesk(way: Way = "link") {
  await using stack = new AsyncDisposableStack();
  const flags = way === "link" ? ["--tls", "--hub"] : ["--tls"];
  const server: ServerProcess = stack.use(await serveBinary(flags, { binary: at("0.1.0") }));
  if (way === "nats") {
    const nats = stack.use(await startNats({ tls: true }));
    await Bun.write(join(server.configDir, "nats.json"), JSON.stringify(await nats.part()));
  }
  const run = async (...args: string[]) => {
    const env = { ...process.env, SVC_CONFIG_DIR: server.configDir, SVC_TOKEN: server.token };
    const { stdout, stderr, exitCode } = await runToEnd([at("0.1.0"), ...args], { env });
    return { stdout: stdout.trim(), stderr, exitCode };
  };
  const svc = async (...args: string[]) => {
    const { stdout, ...ended } = await run(...args);
    expect({ args, ...ended, stdout }).toMatchObject({ exitCode: 0 });
    return stdout;
  };
  const upgrade = async (version: string, ...more: string[]) =>
    JSON.parse(await svc("admin", "upgrade", at(version), "--on", "all", ...more, "--json"));
  const own = stack.move();
  return {
    ...{ run, svc, upgrade, way },
    /** Begins a plan. @returns when it is over or paused. */
    async apply({ id, digest }: { readonly id: string; readonly digest: string }): Promise<Plan> {
      await run("plan", "apply", id, "--digest", digest);
      return JSON.parse(await svc("plan", "show", id, "--json"));
    },
    [Symbol.asyncDispose]: () => own.disposeAsync(),
  };
}

/** Where a daemon is of a user or of the machine: its units, its folder, and the flags of `svc service`. */
const OF = {
  user: { units: "/root/.config/systemd/user", folder: "/root/.svc", flags: [] },
  system: { units: "/etc/systemd/system", folder: "/var/lib/private/svc", flags: ["--system"] },
} as const;

/** A machine whose user runs version 0.1.0 as a daemon. */
const bootHost = (...flags: string[]) => bootHostOf("user", ...flags);

/** The same, or one that runs it as a daemon of its own. */
async function bootHostOf(scope: Scope, ...flags: string[]) {
  const of = OF[scope];
  const machine = await bootMachine(at("0.1.0"), scope);
  const run = async (...command: string[]) => {
    const ran = await machine.run(...command);
    expect({ command, ...ran }).toMatchObject({ exitCode: 0 });
    return ran.stdout;
  };
  await run("mkdir", "-p", "/opt/svc");
  await run("cp", "/usr/local/bin/svc", PROGRAM);
  await run("rm", "-r", `${of.units}/svc.service.d`);
  // It is there again at the same address.
  const free = Bun.listen({ hostname: "127.0.0.1", port: 0, socket: { data() {} } });
  const port = `${free.port}`;
  free.stop(true);
  await run(PROGRAM, "service", "install", ...of.flags, "--", "--port", port, "--tls", ...flags);
  const server = async () => JSON.parse(await run("cat", `${of.folder}/run/rest.json`));
  const token = (await run("cat", `${of.folder}/rest_token`)).trim();
  return {
    ...{ run, systemctl: machine.systemctl },
    version: async () => String((await server()).version),
    /** What the host answers a desk. */
    async status() {
      const answer = await caller((await server()).url, token)("/upgrade");
      return (await answer.json()) as HostStatus;
    },
    /** The checks that it leaves out, as its settings say. */
    async skipped() {
      const answer = await caller((await server()).url, token)("/config/list");
      const { settings } = (await answer.json()) as { settings: Array<{ name: string; value: string[] }> };
      return settings.find(({ name }) => name === "diagnose.skip")?.value ?? [];
    },
    /** The rows of its audit log with this text. */
    async rows(text: string): Promise<string[]> {
      const folder = ["--config-dir", of.folder.replace("/private", "")];
      const { rows } = JSON.parse(
        await run(PROGRAM, "audit", "list", "--limit", "1000", "--json", ...folder),
      );
      return rows.flatMap(({ detail }: { detail: string }) => (detail.includes(text) ? detail : []));
    },
    /** Has a desk dial it. */
    async addTo(desk: Awaited<ReturnType<typeof openDesk>>, label: string) {
      const [url, file] = [String((await server()).url), join(folder, `${label}.token`)];
      await Bun.write(file, token);
      await desk.svc("admin", "add", label, url, "--token-file", file, "--trust-first");
    },
    /** Joins a desk, over what it takes. @param more flags of `svc join`. */
    async join(desk: Awaited<ReturnType<typeof openDesk>>, label: string, ...more: string[]) {
      const string = await desk.svc("join-token");
      await run("bash", "-c", `echo '${string}' > /root/string`);
      await run(PROGRAM, "join", "--file", "/root/string", "--label", label, ...more);
      const [entry] = JSON.parse(await desk.svc("admin", "list", "--json"));
      expect(entry.base_url).toStartWith(`${desk.way}:`);
      await until("the link", async () => (await desk.run("admin", "poll", "--on", label)).exitCode === 0);
    },
    [Symbol.asyncDispose]: () => machine[Symbol.asyncDispose](),
  };
}

testWithSystemd(
  "a plan upgrades a linked host and one with an address, in two waves; a bad release goes back in the first and holds the second",
  async () => {
    await using desk = await openDesk();
    await using linked = await bootHost("--rate-limit", "0");
    await using direct = await bootHost("--rate-limit", "0");
    await linked.join(desk, "linked");
    await direct.addTo(desk, "direct");

    const dry = await desk.upgrade("0.2.0", "--waves", "1,100%", "--dry-run");
    expect(dry).toMatchObject({ id: null, version: "0.2.0", waves: [1, 2], left_out: [] });
    expect(dry.hosts).toMatchObject([
      { label: "linked", version: "0.1.0", target: expect.stringMatching(/^linux-/) },
      { label: "direct", version: "0.1.0" },
    ]);
    const good = await desk.apply(await desk.upgrade("0.2.0", "--waves", "1,100%"));
    expect(good).toMatchObject({ state: "done", counts: { ok: 2 } });
    expect([await linked.version(), await direct.version()]).toEqual(["0.2.0", "0.2.0"]);
    expect(await linked.rows("upgrade.receive plan=")).toHaveLength(1);
    expect(await linked.rows("upgrade 0.1.0 -> 0.2.0 sha256:")).toHaveLength(1);
    await until(
      "the end in the audit log",
      async () => (await linked.rows("0.1.0 -> 0.2.0: ok")).length === 1,
    );
    // What was sent is gone once it is the program.
    expect(await linked.status()).toMatchObject({ incoming: null, last: { ok: true, to: "0.2.0" } });

    const again = await desk.upgrade("0.2.0");
    expect(again).toMatchObject({ id: null, hosts: [], left_out: [{ why: "it has 0.2.0" }, {}] });

    const bad = await desk.apply(await desk.upgrade("0.3.0", "--waves", "1,100%"));
    expect(bad).toMatchObject({ state: "paused", reason: "1 failed, more than 0" });
    expect(bad.targets).toMatchObject([
      {
        ...{ label: "linked", state: "failed" },
        error: "0.3.0 was not ready within 30 s: 0.2.0 is in place again, and answers",
      },
      { label: "direct", state: "planned" },
    ]);
    expect([await linked.version(), await direct.version()]).toEqual(["0.2.0", "0.2.0"]);
    expect(await direct.status()).toMatchObject({ incoming: null });
  },
  300_000,
);

testWithSystemd(
  "root upgrades a daemon of the machine at the order of its desk, takes a bad release back, and takes nothing else of the daemon",
  async () => {
    await using desk = await openDesk();
    await using host = await bootHostOf("system", "--rate-limit", "0");
    const { folder: state, units } = OF.system;
    await host.addTo(desk, "machine");
    // As a host of before has it.
    await host.run("mv", `${units}/svc-upgrade.service`, "/root/kept");
    expect((await host.status()).refusal).toContain("`svc service install --system`");
    await host.run("mv", "/root/kept", `${units}/svc-upgrade.service`);
    expect((await host.status()).refusal).toBeNull();

    const bad = await desk.apply(await desk.upgrade("0.3.0"));
    expect(bad.targets).toMatchObject([
      { state: "failed", error: "0.3.0 was not ready within 30 s: 0.1.0 is in place again, and answers" },
    ]);
    expect(await host.version()).toBe("0.1.0");
    const good = await desk.apply(await desk.upgrade("0.2.0"));
    expect(good).toMatchObject({ state: "done", counts: { ok: 1 } });
    expect(await host.version()).toBe("0.2.0");
    await until("its row", async () => (await host.rows("0.1.0 -> 0.2.0: ok")).length === 1);
    await until("the file to go", async () => (await host.status()).incoming === null);
    expect(await host.run("stat", "--format=%U:%a", PROGRAM, `${PROGRAM}.previous`)).toBe(
      "root:755\nroot:755\n",
    );

    // What whoever has taken over the daemon could write: the program of root's own folder, and a link to it.
    const sha256 = "a".repeat(64);
    const order = JSON.stringify({
      ...{ format: 1, id: "planted", from: "0.2.0", to: "0.9.0", sha256, began: new Date(), pid: null },
      ...{ ended: null, error: null },
    });
    const before = await host.run("sha256sum", PROGRAM, "/etc/passwd");
    await host.run(
      ...["bash", "-c"],
      `cd ${state}/upgrade && ln -s /etc/passwd ${sha256} && ln -s /etc/passwd ${sha256}.minisig
      chown -h --reference=. ${sha256}* && echo '${order}' > .new && chown --reference=. .new && mv .new order.json`,
    );
    const planted = `${sha256}.minisig of the daemon cannot be opened (ELOOP)`;
    await until("root to refuse it", async () => (await host.status()).last?.ok === false);
    expect(await host.status()).toMatchObject({ version: "0.2.0", last: { id: "planted", error: planted } });
    expect(await host.run("sha256sum", PROGRAM, "/etc/passwd")).toBe(before);

    await host.run(PROGRAM, "service", "uninstall", "--system");
    expect(await host.run("ls", units)).not.toContain("svc");
  },
  300_000,
);

testWithSystemd(
  "a file that names a release upgrades hosts first and gives them the rest then; where the release goes back, no host gets the rest",
  async () => {
    await using desk = await openDesk();
    await using linked = await bootHost("--rate-limit", "0");
    await using direct = await bootHost("--rate-limit", "0");
    await linked.join(desk, "linked", "--allow", "admin");
    await direct.addTo(desk, "direct");
    const apply = async (version: string, skip: string) => {
      const file = join(folder, "lab.yaml");
      const lines = ["name: lab", `version: ${version}`, `release: svc-${version}`];
      await Bun.write(file, [...lines, `settings: {diagnose.skip: [${skip}]}`, ""].join("\n"));
      return desk.run("fleet", "apply", file, "--on", "all", "--waves", "1,100%");
    };
    const hosts = () =>
      Promise.all([linked, direct].map(async (host) => [await host.version(), await host.skipped()]));
    const plans = async () => {
      const listed = JSON.parse(await desk.svc("plan", "list", "--json"));
      return (listed.plans as Plan[]).map(({ state, counts }) => ({ state, counts }));
    };
    expect(await hosts()).toEqual([
      ["0.1.0", []],
      ["0.1.0", []],
    ]);

    expect(await apply("0.2.0", "mouse")).toMatchObject({ exitCode: 0 });
    const after = [
      ["0.2.0", ["mouse"]],
      ["0.2.0", ["mouse"]],
    ];
    expect(await hosts()).toEqual(after);
    const done = { state: "done", counts: { ok: 2 } };
    expect(await plans()).toEqual([done, done]);
    for (const host of [linked, direct])
      expect(await host.rows("upgrade 0.1.0 -> 0.2.0 sha256:")).toHaveLength(1);
    const again = await apply("0.2.0", "mouse");
    expect(again).toMatchObject({ exitCode: 0, stdout: expect.stringMatching(/Nothing to do\.$/) });
    expect(await plans()).toHaveLength(2);

    const bad = await apply("0.3.0", "screenshot");
    expect(bad).toMatchObject({ exitCode: 1 });
    expect(bad.stderr).toContain("the hosts get nothing else before the upgrade is over");
    expect((await plans())[0]).toEqual({ state: "paused", counts: { failed: 1, planned: 1 } });
    expect(await plans()).toHaveLength(3);
    expect(await hosts()).toEqual(after);
  },
  300_000,
);

for (const [way, programs] of [
  ["link", []],
  ["nats", ["nats-server"]],
] as const) {
  testWithSystemdAnd(...programs)(
    `over ${way}, a host that restarts while it gets its file goes on where it was`,
    async () => {
      await using desk = await openDesk(way);
      // Some pieces at once, and then ten a second.
      await using host = await bootHost("--rate-limit", "600");
      await host.join(desk, "linked");
      const made = await desk.upgrade("0.2.0");
      const applied = desk.apply(made);
      const received = async () => Number((await host.status()).incoming?.received ?? 0);
      await until("some pieces", async () => (await received()) > 0, { seconds: 30 });
      await host.systemctl("kill", "--signal=KILL", "svc.service");
      await host.systemctl("restart", "svc.service");
      await until("its server", async () => (await host.status()).version === "0.1.0", { seconds: 30 });
      const kept = await received();
      expect(kept).toBeGreaterThan(0);
      expect(await applied).toMatchObject({ state: "done", counts: { ok: 1 } });
      expect(await host.version()).toBe("0.2.0");
      // Only who begins from the start is on record.
      expect(await host.rows("upgrade.receive plan=")).toHaveLength(1);
    },
    300_000,
  );
}
