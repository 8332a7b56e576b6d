// The attack: audit.db restored from an old copy, deleted, or stripped of its hashes, and svc finds it whole.
import { Database } from "bun:sqlite";
import { describe, expect, test } from "bun:test";
import { copyFileSync, mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { installBinary } from "../support";

/** A host whose log has five rows, and a copy of it from when it had two. */
async function hostWithLog() {
  const host = installBinary();
  const [path, old] = [join(host.configDir, "audit.db"), join(host.path, "old.db")];
  const log = async (rows: number) => {
    for (let nth = 0; nth < rows; nth++) await host.run(["audit", "log", "test"]);
  };
  await log(2);
  copyFileSync(path, old);
  await log(3);
  return { ...host, path, old };
}

describe("verification and diagnosis fail", () => {
  const attacks: Readonly<Record<string, [attack: (path: string, old: string) => void, says: string]>> = {
    "on an old copy": [(path, old) => copyFileSync(old, path), "rows 3 to 5 are gone"],
    "on a file that was deleted": [(path) => rmSync(path), "rows 1 to 5 are gone"],
    "on a log without its hashes": [
      (path) => {
        using db = new Database(path);
        db.run("DROP TABLE svc_bearings; DROP TABLE svc_gaps; PRAGMA application_id = 0");
        db.run("ALTER TABLE events DROP COLUMN prev_hash; ALTER TABLE events DROP COLUMN row_hash");
      },
      "lost its high-water mark",
    ],
  };
  for (const [what, [attack, says]] of Object.entries(attacks)) {
    test(what, async () => {
      using host = await hostWithLog();
      expect((await host.run(["audit", "verify"])).exitCode).toBe(0);
      attack(host.path, host.old);
      for (const command of [
        ["diagnose", "--only", "audit_chain"],
        ["audit", "verify"],
      ]) {
        const { exitCode, stdout, stderr } = await host.run(command);
        expect([exitCode, stdout + stderr]).toEqual([1, expect.stringContaining(says)]);
      }
    }, 180_000);
  }
});

test("a log without hashes is adopted once: announced, and on record", async () => {
  using host = installBinary();
  mkdirSync(host.configDir, { mode: 0o700 });
  copyFileSync(join(import.meta.dir, "../fixtures/audit-legacy.db"), join(host.configDir, "audit.db"));
  const { stderr, exitCode } = await host.run(["audit", "verify"]);
  expect([exitCode, stderr]).toEqual([0, expect.stringContaining("adopted 20 rows")]);
  const { stdout } = await host.run(["audit", "list", "--event-type", "audit_adopted"]);
  expect(stdout).toContain("adopted 20 rows");
});
