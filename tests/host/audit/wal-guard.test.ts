import { Database } from "bun:sqlite";
import { describe, expect, test } from "bun:test";
import {
  copyFileSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import type { Verdict } from "../../../src/host/audit/chain";
import { openAuditLog } from "../../../src/host/audit/log";
import { CHECK_MS } from "../../../src/host/audit/open-file";
import { verifyDatabase } from "../../../src/host/audit/verify";
import { silentLog } from "../../../src/lib/log";
import { movableClock, nextTurn } from "../../support";
import { event, rowsOf, testLog, withDatabase } from "./support";

const walOf = (path: string) => `${path}-wal`;

/** Writes `bytes` over the write-ahead log, whose inode stays. */
function overwrite(path: string, change: (bytes: Buffer) => Buffer): void {
  writeFileSync(walOf(path), change(readFileSync(walOf(path))));
}

/** Appends a row in another process, and verifies: within one, all connections share the index. */
async function appendElsewhere(path: string): Promise<{ id: number; verdict: Verdict }> {
  const module = (name: string) => JSON.stringify(join(import.meta.dir, "../../../src/host/audit", name));
  const program = `
    import { openAuditLog } from ${module("log")};
    import { verifyDatabase } from ${module("verify")};
    const path = process.argv[1];
    const log = await openAuditLog({ path, log: { info() {}, warn() {}, error() {} } });
    const id = await log.log("test");
    await log.close();
    console.log(JSON.stringify({ id, verdict: verifyDatabase(path) }));`;
  const { stdout } = Bun.spawn([process.execPath, "-e", program, path], { stderr: "inherit" });
  return JSON.parse(await new Response(stdout).text());
}

/** What another program may do to the write-ahead log of an open log. */
const ATTACKS: Readonly<Record<string, (path: string) => void>> = {
  "cut off at the beginning": (path) => truncateSync(walOf(path), 0),
  "cut off in the middle": (path) => truncateSync(walOf(path), Math.floor(statSync(walOf(path)).size / 2)),
  "cut off by one frame": (path) => truncateSync(walOf(path), statSync(walOf(path)).size - 4_120),
  "overwritten with zeros": (path) => overwrite(path, (bytes) => Buffer.alloc(bytes.length)),
  "overwritten at the beginning": (path) => overwrite(path, (bytes) => bytes.fill(7, 0, 32)),
  "overwritten in the header's checksum": (path) => overwrite(path, (bytes) => bytes.fill(7, 24, 32)),
};

describe("a write-ahead log that another program changed is found before the next row is acknowledged", () => {
  for (const [what, attack] of Object.entries(ATTACKS)) {
    test(what, async () => {
      await using made = await testLog();
      for (let nth = 0; nth < 5; nth++) await made.log.append(event());
      attack(made.path);
      for (let times = 0; times < 2; times++) {
        await expect(made.log.append(event())).rejects.toMatchObject({
          code: "unavailable",
          message: expect.stringContaining("overwritten or cut off"),
        });
      }
      expect(await made.log.problem()).toContain("overwritten or cut off");
    });
  }

  test("replaced by that of an earlier time", async () => {
    await using made = await testLog();
    await made.log.append(event());
    const old = readFileSync(walOf(made.path));
    withDatabase(made.path, (db) => db.run("PRAGMA wal_checkpoint(TRUNCATE)"));
    await made.log.append(event());
    writeFileSync(walOf(made.path), old);
    await expect(made.log.append(event())).rejects.toThrow("overwritten or cut off");
  });

  test("cut off, and then written on by another program behind the hole", async () => {
    await using made = await testLog();
    for (let nth = 0; nth < 5; nth++) await made.log.append(event());
    const other = new Database(made.path);
    const write = () => other.run("UPDATE svc_bearings SET removed_rows = 0");
    write();
    truncateSync(walOf(made.path), Math.floor(statSync(walOf(made.path)).size / 2));
    // From its memory.
    write();
    other.close();
    await expect(made.log.append(event())).rejects.toThrow("overwritten or cut off");
  });
});

describe("once the index of the write-ahead log is another file", () => {
  const attacks: Readonly<Record<string, (index: string) => void>> = {
    deleted: (index) => rmSync(index),
    "moved away": (index) => renameSync(index, `${index}.away`),
  };
  for (const [what, attack] of Object.entries(attacks)) {
    test(`as the one before was ${what}, the rows of the process that made it are not written over`, async () => {
      await using made = await testLog();
      await made.log.append(event());
      attack(`${made.path}-shm`);
      expect((await appendElsewhere(made.path)).id).toBe(2);
      using clock = movableClock();
      clock.advance(2 * CHECK_MS);
      await expect(made.log.append(event())).rejects.toThrow("replaced or removed while in use");
      // Closing would move the write-ahead log as this process knows it, and delete it.
      await made.log.close();
      await nextTurn();
      Bun.gc(true);
      expect(await appendElsewhere(made.path)).toMatchObject({ id: 3, verdict: { ok: true, total_rows: 3 } });
    });
  }
});

test("what it held is missed after a restart, and what the file held before is still there", async () => {
  await using made = await testLog();
  for (let nth = 0; nth < 3; nth++) await made.log.append(event());
  withDatabase(made.path, (db) => db.run("PRAGMA wal_checkpoint(TRUNCATE)"));
  for (let nth = 0; nth < 3; nth++) await made.log.append(event());
  // As the file is when a server is killed, after its log was cut off.
  truncateSync(walOf(made.path), 0);
  await expect(made.log.append(event())).rejects.toThrow("overwritten or cut off");
  await made.log.close();
  const copy = `${made.path}.copy`;
  copyFileSync(made.path, copy);
  expect(rowsOf(copy)).toHaveLength(3);
  expect(verifyDatabase(copy)).toMatchObject({
    ok: false,
    broken_at_id: 4,
    reason: "the newest rows are gone: rows 4 to 6 are gone",
  });
});

test("checkpoints, restarts of the write-ahead log and rolled back rows of others are no tampering", async () => {
  await using made = await testLog();
  const other = await openAuditLog({ path: made.path, log: silentLog });
  const modes = ["PASSIVE", "FULL", "RESTART", "TRUNCATE"];
  for (let nth = 0; nth < 200; nth++) {
    await made.log.append(event());
    if (nth % 3 === 0) await other.append(event());
    if (nth % 7 === 0) {
      withDatabase(made.path, (db) => db.run(`PRAGMA wal_checkpoint(${modes[nth % modes.length]})`));
    }
    if (nth % 11 === 0) {
      withDatabase(made.path, (db) => {
        db.run("PRAGMA cache_size = 1; BEGIN; CREATE TABLE much (text TEXT)");
        for (let row = 0; row < 20; row++) db.run("INSERT INTO much VALUES (hex(randomblob(3000)))");
        db.run("ROLLBACK");
      });
    }
  }
  await made.log.clear("test");
  expect(await made.log.append(event())).toBeGreaterThan(200);
  await other.close();
  expect(verifyDatabase(made.path)).toMatchObject({ ok: true, total_rows: 2 });
});
