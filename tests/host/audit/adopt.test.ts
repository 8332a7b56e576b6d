import { describe, expect, test } from "bun:test";
import { copyFileSync } from "node:fs";
import { join } from "node:path";
import { openAuditLog } from "../../../src/host/audit/log";
import { verifyDatabase } from "../../../src/host/audit/verify";
import { silentLog } from "../../../src/lib/log";
import { temporaryFolder } from "../../support";
import { brokenLink, event, rowsOf, testLog, withDatabase } from "./support";

const highWaterOf = (path: string) =>
  withDatabase(path, (db) => db.query<Record<string, unknown>, []>("SELECT * FROM svc_bearings").get());

describe("trust on first use", () => {
  test("a whole log of another writer is taken as it is, and goes on", async () => {
    await using made = await testLog("audit-foreign.db");
    expect(await made.log.append(event())).toBe(41);
    expect(brokenLink(rowsOf(made.path))).toBeNull();
    expect(highWaterOf(made.path)).toMatchObject({ first_id: 1, adopted_rows: 40, filled_rows: 0 });
  });

  test("a log that another writer pruned begins where it was found to begin", async () => {
    await using made = await testLog("audit-pruned.db");
    expect(await made.log.append(event())).toBe(56);
    const rows = rowsOf(made.path);
    expect(brokenLink(rows, rows[0]?.prev_hash ?? "")).toBeNull();
    expect(highWaterOf(made.path)).toMatchObject({ first_id: 22, first_prev_hash: rows[0]?.prev_hash });
  });

  test("a log from before the hash columns is filled in insertion order, and a row records that", async () => {
    await using made = await testLog("audit-legacy.db");
    const rows = rowsOf(made.path);
    expect(rows).toHaveLength(21);
    expect(rows.at(-1)).toMatchObject({
      event_type: "audit_adopted",
      detail: `adopted 20 rows (ids up to 20) that had no hashes, as they were; the hash of the last is ${rows[19]?.row_hash}`,
    });
    expect(brokenLink(rows)).toBeNull();
    expect(highWaterOf(made.path)).toMatchObject({ adopted_rows: 20, filled_rows: 20 });
  });

  test("bytes that are no text are U+FFFD in a log that is filled, before they are hashed", async () => {
    using folder = temporaryFolder();
    const path = join(folder.path, "audit.db");
    copyFileSync(join(import.meta.dir, "..", "..", "fixtures", "audit-legacy.db"), path);
    withDatabase(path, (db) => db.run("UPDATE events SET detail = CAST(x'61ff62' AS TEXT) WHERE id = 3"));
    await (await openAuditLog({ path, log: silentLog })).close();
    expect(verifyDatabase(path)).toMatchObject({ ok: true, total_rows: 21 });
    const bytes = withDatabase(path, (db) =>
      db.query("SELECT hex(detail) AS hex FROM events WHERE id = 3").get(),
    );
    expect(bytes).toEqual({ hex: "61EFBFBD62" });
  });

  test("happens once: a hash that goes missing later stays missing", async () => {
    await using made = await testLog("audit-legacy.db");
    await made.log.close();
    withDatabase(made.path, (db) => db.run("UPDATE events SET prev_hash = NULL, row_hash = NULL"));
    const again = await openAuditLog({ path: made.path, log: silentLog });
    await again.append(event());
    await again.close();
    expect(rowsOf(made.path).filter(({ row_hash }) => row_hash === null)).toHaveLength(21);
  });

  test("happens once when two processes open the log at the same time", async () => {
    using folder = temporaryFolder();
    const path = join(folder.path, "audit.db");
    copyFileSync(join(import.meta.dir, "../../fixtures/audit-legacy.db"), path);
    const program = `
      const { openAuditLog } = await import(${JSON.stringify(join(import.meta.dir, "../../../src/host/audit/log"))});
      const log = await openAuditLog({ path: ${JSON.stringify(path)}, log: { info() {}, warn() {}, error: console.error } });
      await log.append({ event_type: "test", host_id: null, viewer_id: null, detail: null });
      await log.close();`;
    const children = Array.from({ length: 4 }, () =>
      Bun.spawn([process.execPath, "-e", program], { stdout: "ignore", stderr: "pipe" }),
    );
    for (const child of children) expect([await child.exited, await child.stderr.text()]).toEqual([0, ""]);
    expect(brokenLink(rowsOf(path))).toBeNull();
    expect(rowsOf(path)).toHaveLength(25);
    expect(highWaterOf(path)).toMatchObject({ adopted_rows: 20, filled_rows: 20 });
  });

  test("a lost high-water mark is not taken a second time", async () => {
    await using made = await testLog();
    await made.log.append(event());
    await made.log.close();
    withDatabase(made.path, (db) => db.run("DROP TABLE svc_bearings"));
    const again = await openAuditLog({ path: made.path, log: silentLog });
    expect((await again.append(event()).catch((error) => error)).message).toContain(
      "lost its high-water mark",
    );
    await again.close();
  });
});
