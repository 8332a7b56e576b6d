/**
 * The tables of the log: made in a new file, checked in an existing one.
 *
 * Trust on first use happens once: when svc first opens a log of another tool, it accepts the log as it is and records
 * that, in one transaction. After that a missing row or hash is a break.
 */
import type { Database } from "bun:sqlite";
import { unavailable } from "../lib/errors";
import { highWaterState, LOST_HIGH_WATER, takeHighWater } from "./high-water";
import { type AuditRow, GENESIS, rowHash, rowTime } from "./row";

const EVENTS = `
  CREATE TABLE IF NOT EXISTS events (
    id INTEGER PRIMARY KEY AUTOINCREMENT, ts TEXT NOT NULL, event_type TEXT NOT NULL,
    host_id TEXT, viewer_id TEXT, detail TEXT, prev_hash TEXT, row_hash TEXT
  )`;

/** Other writers of the format use the same names. */
const INDEXES = [
  "CREATE INDEX IF NOT EXISTS idx_events_ts ON events(ts)",
  "CREATE INDEX IF NOT EXISTS idx_events_type ON events(event_type)",
  "CREATE INDEX IF NOT EXISTS idx_events_host ON events(host_id)",
];

const PLAIN_COLUMNS = ["id", "ts", "event_type", "host_id", "viewer_id", "detail"];
const HASH_COLUMNS = ["prev_hash", "row_hash"];

/** How many rows are in memory while their hashes are computed. */
const FILL_STEP = 256;

/**
 * Makes sure that `db` is a log that svc can write.
 *
 * @throws an `unavailable` failure when the file holds something else, or has lost its high-water mark; the SQLite error when
 *   the file is locked.
 */
export function prepareSchema(db: Database): void {
  if (highWaterState(db) === "kept") return;
  db.transaction(() => {
    // Another process may have been first.
    const state = highWaterState(db);
    if (state === "lost") throw unavailable(LOST_HIGH_WATER);
    if (state === "none") adopt(db);
  }).immediate();
}

function adopt(db: Database): void {
  db.run(EVENTS);
  const found = db.query<{ name: string }, []>("PRAGMA table_info(events)").all();
  const columns = new Set(found.map(({ name }) => name));
  const isHashed = HASH_COLUMNS.some((name) => columns.has(name));
  const missing = [...PLAIN_COLUMNS, ...(isHashed ? HASH_COLUMNS : [])].filter((name) => !columns.has(name));
  if (missing.length > 0) {
    throw unavailable(`the file is not an audit log: its table events lacks ${missing.join(", ")}`);
  }
  const filledRows = isHashed ? 0 : fillHashes(db);
  for (const index of INDEXES) db.run(index);
  takeHighWater(db, rowTime(new Date()), filledRows);
}

/** Adds hashes to the rows of a log without hash columns, in insertion order. @returns how many rows there are. */
function fillHashes(db: Database): number {
  for (const column of HASH_COLUMNS) db.run(`ALTER TABLE events ADD COLUMN ${column} TEXT`);
  const next = db.query<AuditRow, [number]>(
    `SELECT * FROM events WHERE id > ? ORDER BY id LIMIT ${FILL_STEP}`,
  );
  // The texts are written as they were read: bytes that are not UTF-8 become U+FFFD, which is hashed.
  const fill = db.query(
    `UPDATE events SET ts = ?, event_type = ?, host_id = ?, viewer_id = ?, detail = ?, prev_hash = ?, row_hash = ?
     WHERE id = ?`,
  );
  let hash = GENESIS;
  let filled = 0;
  for (let rows = next.all(Number.MIN_SAFE_INTEGER); rows.length > 0; rows = next.all(rows.at(-1)?.id ?? 0)) {
    for (const row of rows) {
      const prev = hash;
      hash = rowHash(prev, row.ts, row);
      fill.run(row.ts, row.event_type, row.host_id, row.viewer_id, row.detail, prev, hash, row.id);
    }
    filled += rows.length;
  }
  return filled;
}
