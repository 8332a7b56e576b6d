import { describe, expect, test } from "bun:test";
import { copyFileSync, existsSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { type AuditLog, openAuditLog } from "../../../src/host/audit/log";
import { verifyDatabase } from "../../../src/host/audit/verify";
import { type Log, silentLog } from "../../../src/lib/log";
import { until } from "../../support";
import { event, forgetSvc, noteOf, rowsOf, testLog, withDatabase } from "./support";

/** Opens the log at `path` for `work`, and returns what was logged meanwhile. */
async function reopened(
  path: string,
  work: (log: AuditLog) => Promise<unknown> = async () => {},
): Promise<string[]> {
  const logged: string[] = [];
  const write = (text: string) => void logged.push(text);
  const processLog: Log = { info: write, warn: write, error: write };
  const log = await openAuditLog({ path, log: processLog });
  await work(log);
  await log.close();
  return logged;
}

async function append(log: AuditLog, rows: number): Promise<void> {
  for (let nth = 0; nth < rows; nth++) await log.append(event());
}

/** A log of ten rows, closed, and a copy of it at `old` from when it had six. */
async function grownLog() {
  const made = await testLog();
  await append(made.log, 6);
  await made.log.close();
  const old = `${made.path}.old`;
  copyFileSync(made.path, old);
  await reopened(made.path, (log) => append(log, 4));
  return { path: made.path, old, [Symbol.asyncDispose]: () => made[Symbol.asyncDispose]() };
}

describe("the note outside of the log", () => {
  test("has the head of the log when it is closed, in a private file", async () => {
    await using grown = await grownLog();
    const { head } = verifyDatabase(grown.path);
    expect(readFileSync(noteOf(grown.path), "utf8")).toBe(`${head}\n`);
    expect(statSync(noteOf(grown.path)).mode & 0o777).toBe(0o600);
  });

  test("is written soon after a row, also when the process ends without closing the log", async () => {
    await using made = await testLog();
    await made.log.append(event());
    await until("the note", () => existsSync(noteOf(made.path)));
    expect(readFileSync(noteOf(made.path), "utf8")).toStartWith("1:");
  });

  test("of a later row is kept when a process that wrote an earlier one ends", async () => {
    await using made = await testLog();
    await made.log.append(event());
    await reopened(made.path, (log) => append(log, 3));
    await made.log.close();
    expect(readFileSync(noteOf(made.path), "utf8")).toStartWith("4:");
  });

  test("that cannot be written is reported, and rows are written all the same", async () => {
    await using made = await testLog();
    mkdirSync(noteOf(made.path));
    const logged = await reopened(made.path, (log) => append(log, 1));
    expect(logged).toEqual([expect.stringContaining("the end of the audit log cannot be noted")]);
    expect(verifyDatabase(made.path)).toMatchObject({ ok: true, total_rows: 1 });
  });
});

describe("a log that is not what was noted", () => {
  test("an old copy: the missing rows are named before and after svc opens it, and it is logged once", async () => {
    await using grown = await grownLog();
    copyFileSync(grown.old, grown.path);
    const gone = { ok: false, broken_at_id: 7, reason: "the newest rows are gone: rows 7 to 10 are gone" };
    expect(verifyDatabase(grown.path)).toMatchObject(gone);
    expect(await reopened(grown.path)).toEqual([
      "audit.db is older or shorter than audit_head says: rows 7 to 10 are gone",
    ]);
    expect(await reopened(grown.path)).toEqual([]);
    rmSync(noteOf(grown.path));
    expect(verifyDatabase(grown.path)).toMatchObject(gone);
  });

  test("rows that follow do not hide that; clearing the log ends it, with a row that says so", async () => {
    await using grown = await grownLog();
    copyFileSync(grown.old, grown.path);
    await reopened(grown.path, (log) => append(log, 3));
    expect(rowsOf(grown.path).at(-1)?.id).toBe(13);
    expect(verifyDatabase(grown.path)).toMatchObject({ ok: false, broken_at_id: 11 });
    await reopened(grown.path, (log) => log.clear("test"));
    expect(rowsOf(grown.path)[0]?.detail).toContain(
      "the chain was broken at row id 11: rows 7 to 10 are gone",
    );
    expect(verifyDatabase(grown.path)).toMatchObject({ ok: true, total_rows: 1 });
  });

  test("the file deleted: all rows are missing from the new one", async () => {
    await using grown = await grownLog();
    rmSync(grown.path);
    expect(await reopened(grown.path)).toEqual([
      "audit.db is older or shorter than audit_head says: rows 1 to 10 are gone",
    ]);
    expect(verifyDatabase(grown.path)).toMatchObject({ ok: false, broken_at_id: 1 });
  });

  test("another log, as long: at the row that was noted, which the note goes on to name", async () => {
    await using grown = await grownLog();
    await using other = await testLog();
    await append(other.log, 12);
    await other.log.close();
    copyFileSync(other.path, grown.path);
    const logged = "audit.db was changed: row 10 is not the one in audit_head";
    expect(await reopened(grown.path, (log) => append(log, 3))).toEqual([logged]);
    expect(verifyDatabase(grown.path)).toMatchObject({ ok: false, broken_at_id: 10 });
  });

  test("its hashes and svc's own tables removed: it is not trusted a second time", async () => {
    await using grown = await grownLog();
    withDatabase(grown.path, (db) => {
      db.run("DROP TABLE svc_bearings; DROP TABLE svc_gaps; PRAGMA application_id = 0");
      db.run("ALTER TABLE events DROP COLUMN prev_hash; ALTER TABLE events DROP COLUMN row_hash");
    });
    await reopened(grown.path, async (log) => {
      await expect(log.append(event())).rejects.toThrow("lost its high-water mark");
      expect(await log.verify()).toMatchObject({ ok: false });
    });
  });

  test("a note that is unreadable is as none", async () => {
    await using grown = await grownLog();
    writeFileSync(noteOf(grown.path), "10:none\n");
    expect(verifyDatabase(grown.path)).toMatchObject({ ok: true, total_rows: 10 });
  });
});

test("rows that a process wrote and that are gone while it runs are missed at its next row", async () => {
  await using made = await testLog();
  await append(made.log, 5);
  withDatabase(made.path, (db) => {
    const third = rowsOf(made.path)[2]?.row_hash ?? "";
    db.run("DELETE FROM events WHERE id > 3; UPDATE sqlite_sequence SET seq = 3 WHERE name = 'events'");
    db.query("UPDATE svc_bearings SET highest_id = 3, highest_hash = ?").run(third);
  });
  expect(await made.log.append(event())).toBe(6);
  expect(verifyDatabase(made.path)).toMatchObject({ ok: false, reason: "rows 4 to 5 are gone before it" });
});

test("rows that svc wrote are not adopted without hashes, even where nothing is noted", async () => {
  await using made = await testLog("audit-legacy.db");
  await made.log.close();
  rmSync(noteOf(made.path), { force: true });
  withDatabase(made.path, (db) => {
    forgetSvc(db);
    db.run("ALTER TABLE events DROP COLUMN prev_hash; ALTER TABLE events DROP COLUMN row_hash");
  });
  const log = await openAuditLog({ path: made.path, log: silentLog });
  await expect(log.append(event())).rejects.toThrow("the hashes of the audit log were removed");
  await log.close();
});
