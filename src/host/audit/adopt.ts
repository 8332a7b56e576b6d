/**
 * Opening a log: the tables are made in a new file, and a log of another tool is adopted.
 *
 * Trust on first use happens once: when svc first opens a log of another tool, it accepts the log as it is and records
 * that, in one transaction. After that a missing row or hash is a break.
 */
import type { Database } from "bun:sqlite";
import { unavailable } from "../../lib/errors";
import { rowNames } from "./chain";
import {
  appendRows,
  type Head,
  headOf,
  highWaterState,
  isAnother,
  LOST_HIGH_WATER,
  moveHead,
  readHighWater,
  takeHighWater,
} from "./high-water";
import { type AuditRow, GENESIS, rowHash, rowTime } from "./row";
import { makeEvents, makeIndexes, schemaFault } from "./schema";
import { hasTree, makeTree } from "./witness/tree";

const PLAIN_COLUMNS = ["id", "ts", "event_type", "host_id", "viewer_id", "detail"];
const HASH_COLUMNS = ["prev_hash", "row_hash"];

/** The type of the row that records that rows without hashes were adopted. */
const ADOPTED = "audit_adopted";

/** The types of rows that svc alone writes, always with hashes. */
const WITH_HASHES = [ADOPTED, "audit_cleared", "audit_pruned"];

/** How many rows are in memory while their hashes are computed. */
const FILL_STEP = 256;

/**
 * Makes sure that `db` is a log that svc can write, and that it shows where rows are gone that `note` remembers.
 *
 * @param note about this log, read before it; undefined when there is none.
 * @returns warnings for the log, in sentences; nearly always empty.
 * @throws an `unavailable` failure when the file holds something else, or has lost its high-water mark; the SQLite error when
 *   the file is locked.
 */
export function prepareLog(db: Database, note: Head | undefined): string[] {
  const warnings: string[] = [];
  if (highWaterState(db, note) !== "kept") {
    db.transaction(() => {
      // Another process may have been first.
      const state = highWaterState(db, note);
      if (state === "lost") throw unavailable(LOST_HIGH_WATER);
      if (state === "none") warnings.push(...adopt(db));
    }).immediate();
  }
  // Of an earlier svc. Where it was removed, the check of the schema says so.
  if (schemaFault(db) === null && !hasTree(db)) db.transaction(() => hasTree(db) || makeTree(db)).immediate();
  if (note) warnings.push(...compare(db, note));
  return warnings;
}

function compare(db: Database, note: Head): string[] {
  if (headOf(readHighWater(db)).id < note.id) {
    return db
      .transaction(() => {
        const { id } = headOf(readHighWater(db));
        if (id >= note.id) return [];
        // The next row follows the one that is remembered: what is missing stays visible.
        moveHead(db, note);
        return [`audit.db is older or shorter than audit_head says: ${rowNames(id + 1, note.id)}`];
      })
      .immediate();
  }
  return isAnother(db, note) ? [`audit.db was changed: row ${note.id} is not the one in audit_head`] : [];
}

function adopt(db: Database): string[] {
  makeEvents(db);
  const found = db.query<{ name: string }, []>("PRAGMA table_info(events)").all();
  const columns = new Set(found.map(({ name }) => name));
  const isHashed = HASH_COLUMNS.some((name) => columns.has(name));
  const missing = [...PLAIN_COLUMNS, ...(isHashed ? HASH_COLUMNS : [])].filter((name) => !columns.has(name));
  if (missing.length > 0) {
    throw unavailable(`the file is not an audit log: its table events lacks ${missing.join(", ")}`);
  }
  const filled = isHashed ? 0 : fillHashes(db);
  makeIndexes(db);
  const now = rowTime(new Date());
  takeHighWater(db, now, filled);
  makeTree(db);
  // Nothing that was done may have been undone or changed on the way.
  const fault = schemaFault(db);
  if (fault !== null) throw unavailable(`the file is not an audit log: ${fault}`);
  if (filled === 0) return [];
  const { id, hash } = headOf(readHighWater(db));
  const detail = `adopted ${filled} rows (ids up to ${id}) that had no hashes, as they were; the hash of the last is ${hash}`;
  const event = { event_type: ADOPTED, host_id: null, viewer_id: null, detail };
  appendRows(db, { id, hash }, [{ ts: now, event }]);
  return [`audit.db was a log without hashes: svc ${detail}`];
}

/**
 * Adds hashes to the rows of a log without hash columns, in insertion order. @returns how many rows there are.
 *
 * @throws an `unavailable` failure when a row is younger than these columns: it had hashes once.
 */
function fillHashes(db: Database): number {
  const own = WITH_HASHES.map((type) => `'${type}'`).join(", ");
  if (db.query(`SELECT 1 FROM events WHERE event_type IN (${own}) LIMIT 1`).get()) {
    throw unavailable("the hashes of the audit log were removed: svc wrote rows of it, which had hashes");
  }
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
