/**
 * The tables of the log, and the check that its file has these and nothing else: a trigger, a view or another constraint
 * could hide or change rows.
 */
import type { Database } from "bun:sqlite";

const EVENTS = `CREATE TABLE events (
  id INTEGER PRIMARY KEY AUTOINCREMENT, ts TEXT NOT NULL, event_type TEXT NOT NULL,
  host_id TEXT, viewer_id TEXT, detail TEXT, prev_hash TEXT, row_hash TEXT
)`;

/** Other writers of the format use the same names. */
const INDEXES = [
  "CREATE INDEX idx_events_ts ON events(ts)",
  "CREATE INDEX idx_events_type ON events(event_type)",
  "CREATE INDEX idx_events_host ON events(host_id)",
];

/** The tables of svc's own (`high-water.ts`). AUTOINCREMENT makes sure that `sqlite_sequence` exists. */
export const OWN_TABLES = [
  `CREATE TABLE svc_bearings (
    only_row INTEGER PRIMARY KEY AUTOINCREMENT CHECK (only_row = 1),
    first_id INTEGER NOT NULL, first_prev_hash TEXT, highest_id INTEGER NOT NULL, highest_hash TEXT,
    removed_rows INTEGER NOT NULL, adopted_at TEXT NOT NULL, adopted_rows INTEGER NOT NULL, filled_rows INTEGER NOT NULL
  )`,
  "CREATE TABLE svc_gaps (after_id INTEGER PRIMARY KEY, next_id INTEGER NOT NULL)",
];

/** SQLite makes these itself: for AUTOINCREMENT, and for ANALYZE. */
const OF_SQLITE = [
  "CREATE TABLE sqlite_sequence(name,seq)",
  "CREATE TABLE sqlite_stat1(tbl,idx,stat)",
  "CREATE TABLE sqlite_stat4(tbl,idx,neq,nlt,ndlt,sample)",
];

/** All that a log may have, by name. */
const KNOWN: ReadonlyMap<string, string> = new Map(
  [EVENTS, ...INDEXES, ...OWN_TABLES, ...OF_SQLITE].map((sql) => [nameOf(sql), tidy(sql)]),
);

const OWN_NAMES = OWN_TABLES.map(nameOf);

function nameOf(sql: string): string {
  return /^CREATE \w+ (\w+)/.exec(sql)?.[1] ?? "";
}

/** `sql` in the form in which two definitions are compared: they may differ in white space and case, as SQLite knows both. */
function tidy(sql: string): string {
  return sql
    .replace(/[A-Z]/g, (letter) => letter.toLowerCase())
    .replace(/[ \t\n\f\r]+/g, " ")
    .replace(/ ?([(),]) ?/g, "$1");
}

/** Makes the table of rows, if there is none. */
export function makeEvents(db: Database): void {
  db.run(EVENTS.replace("TABLE", "TABLE IF NOT EXISTS"));
}

/** Makes the indexes of that table that are missing. */
export function makeIndexes(db: Database): void {
  for (const index of INDEXES) db.run(index.replace("INDEX", "INDEX IF NOT EXISTS"));
}

/** What in the file is not part of a log, or is missing from it, in words; null when nothing is. Lists need no index. */
export function schemaFault(db: Database): string | null {
  const objects = db
    .query<{ type: string; name: string; sql: string | null }, []>(
      "SELECT CAST(type AS TEXT) AS type, CAST(name AS TEXT) AS name, CAST(sql AS TEXT) AS sql FROM sqlite_master",
    )
    .all();
  for (const { type, name, sql } of objects) {
    const known = KNOWN.get(name);
    if (known === undefined) return `the ${type} ${name} is no part of an audit log`;
    if (sql === null || tidy(sql) !== known) return `the ${type} ${name} is not defined as in an audit log`;
  }
  const missing = OWN_NAMES.filter((own) => !objects.some(({ name }) => name === own));
  // A log of another tool has none of them yet.
  const [gone] = missing.length < OWN_NAMES.length ? missing : [];
  return gone === undefined ? null : `the table ${gone} was removed`;
}
