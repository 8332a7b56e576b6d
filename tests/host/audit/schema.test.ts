import { describe, expect, test } from "bun:test";
import { openAuditLog } from "../../../src/host/audit/log";
import { verifyDatabase } from "../../../src/host/audit/verify";
import { silentLog } from "../../../src/lib/log";
import { temporaryFolder } from "../../support";
import { event, mutilateIndex, rowsOf, testLog, withDatabase } from "./support";

/** Changes of the schema by somebody who may write the file, and the object that each has to name. */
const CHANGES: ReadonlyArray<[what: string, sql: string, named: string]> = [
  [
    "a trigger that ignores rows",
    "CREATE TRIGGER mute BEFORE INSERT ON events BEGIN SELECT RAISE(IGNORE); END",
    "trigger mute",
  ],
  [
    "a trigger that deletes rows",
    "CREATE TRIGGER sweep AFTER INSERT ON events BEGIN DELETE FROM events WHERE id = new.id; END",
    "trigger sweep",
  ],
  [
    "a trigger on the high-water mark",
    "CREATE TRIGGER hold AFTER UPDATE ON svc_bearings BEGIN DELETE FROM events; END",
    "trigger hold",
  ],
  ["a view", "CREATE VIEW other AS SELECT * FROM events", "view other"],
  ["another table", "CREATE TABLE notes (text TEXT)", "table notes"],
  ["another index", "CREATE UNIQUE INDEX one ON events(event_type)", "index one"],
  [
    "an index that leaves rows out",
    "DROP INDEX idx_events_type; CREATE INDEX idx_events_type ON events(event_type) WHERE event_type <> 'cli'",
    "index idx_events_type",
  ],
  ["another column", "ALTER TABLE events ADD COLUMN more TEXT", "table events"],
  ["a column less", "ALTER TABLE events DROP COLUMN viewer_id", "table events"],
  [
    "a check",
    `ALTER TABLE events RENAME TO old; CREATE TABLE events (
       id INTEGER PRIMARY KEY AUTOINCREMENT, ts TEXT NOT NULL, event_type TEXT NOT NULL, host_id TEXT, viewer_id TEXT,
       detail TEXT CHECK (detail NOT LIKE '%run%'), prev_hash TEXT, row_hash TEXT);
     INSERT INTO events SELECT * FROM old; DROP TABLE old`,
    "table events",
  ],
  [
    "a table of another definition under svc's name",
    "DROP TABLE svc_gaps; CREATE TABLE svc_gaps (after_id INTEGER REFERENCES events(id), next_id INTEGER)",
    "table svc_gaps",
  ],
  ["a table of svc's own less", "DROP TABLE svc_gaps", "table svc_gaps"],
];

describe("what is not part of a log", () => {
  for (const [what, sql, named] of CHANGES) {
    test(`${what} fails the verification, and every row from then on`, async () => {
      await using made = await testLog();
      await made.log.append(event());
      withDatabase(made.path, (db) => db.run(sql));
      const before = rowsOf(made.path).length;
      for (let times = 0; times < 2; times++) {
        await expect(made.log.append(event())).rejects.toMatchObject({
          code: "unavailable",
          message: expect.stringContaining(named),
        });
      }
      expect(rowsOf(made.path)).toHaveLength(before);
      expect(verifyDatabase(made.path)).toMatchObject({ ok: false, reason: expect.stringContaining(named) });
      expect(await made.log.problem()).toContain(named);
    });
  }

  test("is refused when it was there before svc, and the file is left as it was", async () => {
    using folder = temporaryFolder();
    const path = `${folder.path}/audit.db`;
    withDatabase(path, (db) => {
      db.run(
        "CREATE TABLE events (id INTEGER PRIMARY KEY AUTOINCREMENT, ts TEXT NOT NULL, event_type TEXT NOT NULL, host_id TEXT, viewer_id TEXT, detail TEXT)",
      );
      db.run("INSERT INTO events (ts, event_type) VALUES ('2020', 'old')");
      db.run("CREATE TRIGGER mute BEFORE INSERT ON events BEGIN SELECT RAISE(IGNORE); END");
    });
    const log = await openAuditLog({ path, log: silentLog });
    await expect(log.append(event())).rejects.toThrow("the trigger mute is no part of an audit log");
    await log.close();
    expect(rowsOf(path)).toEqual([expect.not.objectContaining({ row_hash: expect.anything() })]);
  });

  test("does not come to an end when it is counted, and is found all the same", async () => {
    await using made = await testLog();
    await made.log.append(event());
    await made.log.close();
    withDatabase(made.path, (db) => {
      db.run("ALTER TABLE events RENAME TO hidden");
      db.run(
        "CREATE VIEW events AS WITH RECURSIVE n(id) AS (SELECT 1 UNION ALL SELECT id + 1 FROM n) SELECT id FROM n",
      );
    });
    expect(verifyDatabase(made.path)).toMatchObject({ ok: false });
  });

  test("is gone once it was removed: rows are written again", async () => {
    await using made = await testLog();
    await made.log.append(event());
    withDatabase(made.path, (db) => db.run("CREATE VIEW other AS SELECT 1"));
    await expect(made.log.append(event())).rejects.toThrow("view other");
    withDatabase(made.path, (db) => db.run("DROP VIEW other"));
    expect(await made.log.append(event())).toBe(2);
    expect(verifyDatabase(made.path)).toMatchObject({ ok: true, total_rows: 2 });
  });
});

describe("an index that lacks rows fails the verification, though its definition is right", () => {
  for (const [name, column] of [
    ["idx_events_type", "event_type"],
    ["idx_events_host", "host_id"],
    ["idx_events_ts", "ts"],
  ] as const) {
    test(name, async () => {
      await using made = await testLog();
      for (const event_type of ["cli", "rest_api", "cli"]) await made.log.append(event({ event_type }));
      await made.log.close();
      mutilateIndex(made.path, name, column, "event_type = 'cli'");
      expect(verifyDatabase(made.path)).toEqual({
        ...{ ok: false, broken_at_id: null, total_rows: 3, head: null },
        reason: `the file is damaged: wrong # of entries in index ${name}`,
      });
      withDatabase(made.path, (db) => db.run("REINDEX"));
      expect(verifyDatabase(made.path).ok).toBe(true);
    });
  }
});

test("the tables that SQLite makes for ANALYZE, and VACUUM, are no fault", async () => {
  await using made = await testLog("audit-foreign.db");
  withDatabase(made.path, (db) => db.run("ANALYZE; VACUUM"));
  await made.log.append(event());
  expect(verifyDatabase(made.path)).toMatchObject({ ok: true });
});
