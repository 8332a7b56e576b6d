/** The attack: spoil the audit log, so that a server which starts later answers and records nothing. */
import { describe, expect, test } from "bun:test";
import { chmodSync, chownSync, mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { configFiles } from "../../src/lib/paths";
import { follow, installBinary, testWith } from "../support";

const NOBODY = 65_534;

const spoiled: ReadonlyArray<[what: string, spoil: (path: string) => void]> = [
  ["is a folder", (path) => mkdirSync(path)],
  ["is no database", (path) => writeFileSync(path, "not a database ".repeat(1_000))],
  ["is a link that leads nowhere", (path) => symlinkSync("/nowhere/audit.db", path)],
];

describe("svc serve exits 1 and says why where the audit log", () => {
  test.each(spoiled)("%s", async (_what, spoil) => {
    using svc = installBinary();
    mkdirSync(svc.configDir, { mode: 0o700 });
    spoil(configFiles(svc.configDir).auditLog);
    const { stdout, stderr, exitCode } = await svc.run(["serve", "--port", "0"]);
    expect({ stdout, exitCode }).toEqual({ stdout: "", exitCode: 1 });
    expect(stderr).toMatch(/^svc: the audit log cannot be written \(.*--no-audit/m);
  });

  const asRoot = process.getuid?.() === 0 ? testWith("setpriv") : test.skip;
  asRoot("belongs to another user", async () => {
    using svc = installBinary();
    mkdirSync(svc.configDir, { mode: 0o700 });
    writeFileSync(configFiles(svc.configDir).auditLog, "", { mode: 0o600 });
    chmodSync(svc.path, 0o755);
    chownSync(svc.configDir, NOBODY, NOBODY);
    const before = ["setpriv", `--reuid=${NOBODY}`, `--regid=${NOBODY}`, "--clear-groups"];
    const { stderr, exitCode } = await svc.run(["serve", "--port", "0"], { before });
    expect(exitCode).toBe(1);
    expect(stderr).toMatch(/^svc: the audit log cannot be written \(.*--no-audit/m);
  });
});

test("svc serve --no-audit starts all the same", async () => {
  using svc = installBinary();
  mkdirSync(configFiles(svc.configDir).auditLog, { recursive: true, mode: 0o700 });
  await using child = Bun.spawn(["./svc", "serve", "--port", "0", "--no-audit"], {
    cwd: svc.path,
    env: { ...process.env, SVC_CONFIG_DIR: "config" },
    stdio: ["ignore", "pipe", "ignore"],
  });
  await follow(child.stdout).says("answers at http://");
});
