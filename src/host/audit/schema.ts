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

/** The tables of the Merkle tree (`witness/`), which a log that an earlier svc opened does not have yet. */
export const TREE_TABLES = [
  "CREATE TABLE svc_tree (only_row INTEGER PRIMARY KEY CHECK (only_row = 1), size INTEGER NOT NULL, last_id INTEGER NOT NULL)",
  "CREATE TABLE svc_tiles (place INTEGER PRIMARY KEY, hashes BLOB NOT NULL)",
  "CREATE TABLE svc_runs (first_leaf INTEGER PRIMARY KEY, first_id INTEGER NOT NULL)",
  `CREATE TABLE svc_checkpoints (
    nth INTEGER PRIMARY KEY, size INTEGER NOT NULL, made INTEGER NOT NULL, note TEXT NOT NULL, witnesses TEXT NOT NULL
  )`,
];

/**
 * "SvcA" as the file's `application_id` (https://sqlite.org/pragma.html#pragma_application_id): svc has opened this log; "SvcB":
 * and has made its tree.
 */
export const MARK = 0x53766341;
export const TREE_MARK = 0x53766342;

export const markOf = (db: Database): number | undefined =>
  db.query<{ application_id: number }, []>("PRAGMA application_id").get()?.application_id;

/** SQLite makes these itself: for AUTOINCREMENT, and for ANALYZE. */
const OF_SQLITE = [
  "CREATE TABLE sqlite_sequence(name,seq)",
  "CREATE TABLE sqlite_stat1(tbl,idx,stat)",
  "CREATE TABLE sqlite_stat4(tbl,idx,neq,nlt,ndlt,sample)",
];

/** All that a log may have, by name. */
const KNOWN: ReadonlyMap<string, string> = new Map(
  [EVENTS, ...INDEXES, ...OWN_TABLES, ...TREE_TABLES, ...OF_SQLITE].map((sql) => [nameOf(sql), tidy(sql)]),
);

const OWN_NAMES = OWN_TABLES.map(nameOf);
const TREE_NAMES = TREE_TABLES.map(nameOf);

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
  const missingOf = (names: readonly string[]) =>
    names.filter((own) => !objects.some(({ name }) => name === own));
  const [own, tree] = [missingOf(OWN_NAMES), missingOf(TREE_NAMES)];
  // A log of another tool has none of them yet, and that of an earlier svc has no tree.
  const gone = [
    ...(own.length < OWN_NAMES.length ? own : []),
    ...(tree.length < TREE_NAMES.length || markOf(db) === TREE_MARK ? tree : []),
  ];
  return gone[0] === undefined ? null : `the table ${gone[0]} was removed`;
}
