/** `svc upgrade` with a real systemd, in a machine of its own, and binaries of several versions. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import { signFile } from "../../build/package/sign";
import { makeKey } from "../host/release/support";
import { compileVersion } from "../host/release/versions";
import { until } from "../support";
import { bootMachine, canBoot, type Scope, testWithSystemd } from "./systemd";

/** The machine has a /tmp of its own. */
const folder = mkdtempSync("/var/tmp/svc-test-");
const at = (version: string) => join(folder, `svc-${version}`);
let key = "";

beforeAll(async () => {
  const { secret, text } = makeKey(folder);
  key = text;
  for (const version of ["0.1.0", "0.2.0", ...(canBoot ? ["0.3.0"] : [])]) {
    const broken = version === "0.3.0" && { broken: true as const };
    const target = await compileVersion(at(version), { version, key, ...broken });
    await signFile(secret, at(version), `svc ${version} ${target}`);
  }
}, 120_000);

afterAll(() => rmSync(folder, { recursive: true, force: true }));

const PROGRAM = "/opt/svc/svc";

async function installed(scope: Scope) {
  const [flags, configDir] = scope === "system" ? [["--system"], "/var/lib/svc"] : [[], "/root/.svc"];
  const machine = await bootMachine(at("0.1.0"), scope);
  const svc = (...words: string[]) => machine.run(PROGRAM, ...words);
  await machine.run("mkdir", "-p", "/opt/svc");
  await machine.run("cp", "/usr/local/bin/svc", PROGRAM);
  // On a busy machine, a watchdog of a second restarts what is well.
  const units = scope === "system" ? "/etc/systemd/system" : "/root/.config/systemd/user";
  await machine.run("rm", "-r", `${units}/svc.service.d`);
  expect((await svc("service", "install", ...flags, "--", "--port", "0")).exitCode).toBe(0);
  const running = async () => {
    const { stdout } = await machine.run("cat", `${configDir}/run/rest.json`);
    const { pid, version } = JSON.parse(stdout);
    return { pid: Number(pid), version: String(version) };
  };
  return {
    ...{ svc, running, configDir },
    /** The details of the rows of the audit log of the daemon that say what became of an upgrade. */
    async rows() {
      const { stdout } = await svc(
        "audit",
        "list",
        "--json",
        "--event-type",
        "upgrade",
        "--config-dir",
        configDir,
      );
      return JSON.parse(stdout).rows.map(({ detail }: { detail: string }) =>
        detail.replace(/^upgrade \S+ /, ""),
      );
    },
    [Symbol.asyncDispose]: () => machine[Symbol.asyncDispose](),
  };
}

for (const scope of ["system", "user"] as const) {
  testWithSystemd(
    `a daemon of the ${scope} goes on as the new version, and says so in its audit log`,
    async () => {
      await using host = await installed(scope);
      const before = await host.running();
      expect(before.version).toBe("0.1.0");
      const done = await host.svc("upgrade", at("0.2.0"));
      expect([done.stderr, done.exitCode]).toEqual(["", 0]);
      expect(done.stdout).toContain(`${PROGRAM} is now 0.2.0; ${PROGRAM}.previous is 0.1.0`);
      const after = await host.running();
      expect(after.version).toBe("0.2.0");
      expect(after.pid).not.toBe(before.pid);
      await until("its row", async () => (await host.rows()).length === 1, { seconds: 30 });
      expect(await host.rows()).toEqual(["0.1.0 -> 0.2.0: ok"]);
    },
    180_000,
  );
}

testWithSystemd(
  "a new version that never answers is taken back, and the old one answers again",
  async () => {
    await using host = await installed("user");
    const { pid } = await host.running();
    const failed = await host.svc("upgrade", at("0.3.0"));
    expect(failed.stderr).toBe(
      "svc: 0.3.0 was not ready within 30 s: 0.1.0 is in place again, and answers\n",
    );
    expect(failed.exitCode).toBe(1);
    const after = await host.running();
    expect(after.version).toBe("0.1.0");
    expect(after.pid).not.toBe(pid);
    expect((await host.svc("--version")).stdout).toBe("svc 0.1.0 (test)\n");
    await until("its row", async () => (await host.rows()).length === 1, { seconds: 30 });
    expect(await host.rows()).toEqual([
      "0.1.0 -> 0.3.0: 0.3.0 was not ready within 30 s: 0.1.0 is in place again, and answers",
    ]);
  },
  180_000,
);

test("a program that no daemon runs is replaced by a newer one, and by an older one where that is allowed", async () => {
  const program = join(folder, "alone");
  const svc = (...words: string[]) => {
    const env = { ...process.env, HOME: folder, SVC_CONFIG_DIR: join(folder, "config") };
    const { stdout, stderr, exitCode } = Bun.spawnSync([program, ...words], { env });
    return { stdout: stdout.toString(), stderr: stderr.toString(), exitCode };
  };
  await Bun.write(program, Bun.file(at("0.1.0")));
  Bun.spawnSync(["chmod", "755", program]);
  const dry = svc("upgrade", at("0.2.0"), "--dry-run");
  expect(dry.stdout).toContain(`${program} is 0.1.0; 0.2.0 is verified and would take its place`);
  const done = svc("upgrade", at("0.2.0"));
  expect(done.stdout).toContain("no daemon that svc installed runs it");
  expect(svc("--version").stdout).toBe("svc 0.2.0 (test)\n");
  const again = svc("upgrade", at("0.2.0"));
  expect([again.exitCode, again.stderr]).toEqual([
    1,
    "svc: the binary is 0.2.0, not newer than this svc (0.2.0): --allow-downgrade installs it all the same\n",
  ]);
  expect(svc("upgrade", at("0.1.0"), "--allow-downgrade").exitCode).toBe(0);
  expect(svc("--version").stdout).toBe("svc 0.1.0 (test)\n");
});
