/** The compiled binary where nothing can be written: in a read-only container, for a user without a home. */
import { expect, test } from "bun:test";
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { installBinary, serveBinary, testWith } from "../support";

const FIXTURES = join(import.meta.dir, "..", "fixtures");

/** A user that the system does not know; whoever runs the tests where that is not root. */
const isRoot = process.getuid?.() === 0;
const SOMEBODY = isRoot ? ["setpriv", "--reuid", "4242", "--regid", "4242", "--clear-groups"] : [];

/** The binary, and a folder that its user may read and not change. */
function sealed() {
  const host = installBinary();
  const folder = join(host.path, "sealed");
  mkdirSync(folder);
  chmodSync(host.path, 0o755);
  const output = join(host.path, "output");
  mkdirSync(output);
  chmodSync(output, 0o777);
  const bundle = join(host.path, "bundle.json");
  writeFileSync(bundle, readFileSync(join(FIXTURES, "bundle-foreign.json")));
  return {
    folder,
    output,
    bundle,
    seal: () => chmodSync(folder, 0o555),
    run: (args: readonly string[], env: NodeJS.ProcessEnv = { SVC_CONFIG_DIR: folder }) =>
      host.run(args, { before: SOMEBODY, env }),
    [Symbol.dispose]() {
      chmodSync(folder, 0o755);
      host[Symbol.dispose]();
    },
  };
}

const places = [
  ["a folder that cannot be made", (folder: string) => ({ SVC_CONFIG_DIR: join(folder, "config") })],
  ["a folder that cannot be written", (folder: string) => ({ SVC_CONFIG_DIR: folder })],
  ["a home that is not there", () => ({ SVC_CONFIG_DIR: undefined, HOME: "/nonexistent" })],
  ["no home at all", () => ({ SVC_CONFIG_DIR: undefined, HOME: undefined })],
] as const;

const DESKTOP = "screenshot,mouse,optional_deps,disk_space";
/** A folder of root's is nobody else's to use. */
const MAY_FAIL = ["config_dir", "permissions"];

for (const [place, envOf] of places) {
  testWith(...SOMEBODY.slice(0, 1))(
    `whatever needs no state works with ${place}, and nothing is made`,
    async () => {
      using host = sealed();
      host.seal();
      const env = envOf(host.folder);
      const lines = [
        ["--help"],
        ["commands"],
        ["commands", "AC_write"],
        ["usb", "list"],
        ["licenses"],
        ["completion", "bash"],
        ["config", "import", host.bundle, "--dry-run"],
        ["turn", "--realm", "turn.example.org", "--user", "lab", "--output-dir", join(host.output, "turn")],
        ["admin", "list"],
        ["jobs", "list"],
        ["history"],
        ["token", "list"],
        ["audit", "list"],
      ];
      const ran = await Promise.all(lines.map((line) => host.run(line, env)));
      const failed = ran.flatMap(({ exitCode, stderr }, at) => (exitCode === 0 ? [] : [[lines[at], stderr]]));
      expect(failed).toEqual([]);
      // What changes nothing here says once that it leaves no audit row.
      const advice = /^\[warn\] no audit row was left: .+ --config-dir .+\n$/;
      expect(ran[lines.findIndex(([noun]) => noun === "turn")]?.stderr).toMatch(advice);
      expect(existsSync(join(host.output, "turn", "turnserver.conf"))).toBe(true);
      // The relay that is not there is the finding; that svc got as far as asking it, the point.
      const probe = ["turn", "test", "turn:127.0.0.1:9", "--user", "lab", "--timeout", "1"];
      const tested = await host.run(probe, { ...env, SVC_TURN_SECRET: "secret" });
      expect(tested.stdout).toStartWith("RESULT");
      const diagnosed = JSON.parse((await host.run(["diagnose", "--skip", DESKTOP, "--json"], env)).stdout);
      const bad = diagnosed.checks.filter((check: { ok: boolean }) => !check.ok);
      expect(bad.map(({ name }: { name: string }) => name)).toContain("config_dir");
      expect(bad.filter(({ name }: { name: string }) => !MAY_FAIL.includes(name))).toEqual([]);
      expect(readdirSync(host.folder)).toEqual([]);
    },
    180_000,
  );
}

testWith(...SOMEBODY.slice(0, 1))(
  "what changes something is refused there, and says why",
  async () => {
    using host = sealed();
    host.seal();
    const made = await host.run(["token", "rotate"]);
    const refusal = /^svc: the audit log cannot be used: .+ \(EACCES\): name a folder .+ --config-dir .+\n$/;
    expect([made.exitCode, made.stderr]).toEqual([1, expect.stringMatching(refusal)]);
    const served = await host.run(["serve", "--port", "0"]);
    expect(served).toMatchObject({
      exitCode: 1,
      stderr: `svc: ${host.folder} cannot be written (EACCES) (svc help T7)\n`,
    });
  },
  20_000,
);

testWith(...SOMEBODY.slice(0, 1))(
  "--on works with an address book that can only be read",
  async () => {
    using host = sealed();
    await using server = await serveBinary();
    const book = { hosts: [{ label: "lab", base_url: server.url, token: server.token }] };
    writeFileSync(join(host.folder, "admin_hosts.json"), JSON.stringify(book));
    host.seal();
    const { exitCode, stdout, stderr } = await host.run(["commands", "AC_write", "--on", "lab", "--json"]);
    expect([exitCode, stderr]).toEqual([0, ""]);
    expect(JSON.parse(stdout)).toMatchObject({ label: "lab", ok: true, result: { command: "AC_write" } });
    expect(readdirSync(host.folder)).toEqual(["admin_hosts.json"]);
  },
  20_000,
);

testWith(...SOMEBODY.slice(0, 1))(
  "a log that its user may not see is not an empty one",
  async () => {
    using host = sealed();
    mkdirSync(join(host.folder, "closed"), { mode: 0o000 });
    const env = { SVC_CONFIG_DIR: join(host.folder, "closed", "config") };
    for (const line of [["audit", "verify"], ["audit", "list"], ["history"]]) {
      const { exitCode, stdout } = await host.run(line, env);
      expect([line, exitCode, stdout]).toEqual([line, 1, ""]);
    }
  },
  20_000,
);

test("a ~ in SVC_CONFIG_DIR and --config-dir is the home", async () => {
  using host = installBinary();
  const home = join(host.path, "home");
  mkdirSync(home);
  await host.run(["audit", "log", "test"], { env: { HOME: home, SVC_CONFIG_DIR: "~/a" } });
  await host.run(["audit", "log", "test", "--config-dir=~/b"], { env: { HOME: home } });
  expect(readdirSync(home).sort()).toEqual(["a", "b"]);
  expect(readdirSync(host.path).sort()).toEqual(["home", "svc"]);
  const wrong = await host.run(["history", "--config-dir=~ann/x"]);
  expect(wrong).toMatchObject({
    exitCode: 2,
    stderr: "svc: --config-dir: expected a path, ~ or ~/… but found ~ann/x\n",
  });
}, 180_000);

test("asking for a token, or leaving a desk, where there is none, makes no folder", async () => {
  using host = installBinary();
  expect((await host.run(["token", "show"])).stderr).toStartWith(
    "svc: there is no token yet: `svc serve` makes ",
  );
  expect((await host.run(["leave"])).stderr).toBe("svc: this host has joined no desk\n");
  expect(existsSync(host.configDir)).toBe(false);
});

testWith("unshare", "mount")("the history on a read-only mount is listed as it is", async () => {
  using host = installBinary();
  await host.run(["execute", '[["AC_sleep", [0]]]']);
  const readOnly = 'mount --bind "$0" "$0" && mount -o remount,ro,bind "$0" && exec "$@"';
  const before = ["unshare", "--map-root-user", "--mount", "sh", "-c", readOnly, host.configDir];
  const { stdout, ...ended } = await host.run(["history", "--json"], { before });
  expect(ended).toEqual({ stderr: "", exitCode: 0 });
  expect(JSON.parse(stdout)).toMatchObject({ runs: [{ status: "ok" }] });
});

testWith("unshare", "mount")(
  "a log on a read-only mount is neither read nor written, which one line says",
  async () => {
    using host = installBinary();
    await host.run(["audit", "log", "test"]);
    // Without one, `token show` says that there is none.
    writeFileSync(join(host.configDir, "rest_token"), "token-of-this-host\n", { mode: 0o600 });
    const readOnly = 'mount --bind "$0" "$0" && mount -o remount,ro,bind "$0" && exec "$@"';
    const before = ["unshare", "--map-root-user", "--mount", "sh", "-c", readOnly, host.configDir];
    for (const line of [
      ["audit", "list"],
      ["token", "show"],
    ]) {
      const { exitCode, stdout, stderr } = await host.run(line, { before });
      expect([line, exitCode, stdout]).toEqual([line, 1, ""]);
      expect(stderr).toMatch(/^svc: the audit log cannot be used: its folder is read-only \(EROFS\): .+\n$/);
    }
  },
  20_000,
);
