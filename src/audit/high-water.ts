/**
 * The bearings of the log: what a chain of hashes cannot say of itself, namely where it begins and how far it got.
 *
 * They are kept beside the rows, in tables of svc's own that other writers of the format neither read nor write. A row
 * that another writer appends is counted by SQLite's `sqlite_sequence`, which any AUTOINCREMENT insert keeps.
 */
import type { Database } from "bun:sqlite";
import { unavailable } from "../lib/errors";
import { type AuditRow, GENESIS } from "./row";

export interface Bearings {
  /** The id and `prev_hash` of the oldest row that was not cleared or pruned. */
  readonly first_id: number;
  readonly first_prev_hash: string | null;
  /** The newest row that svc itself wrote; before there is one, what its predecessor would be. */
  readonly highest_id: number;
  readonly highest_hash: string | null;
  /** Rows cleared and pruned so far. */
  readonly removed_rows: number;
  /** When svc first opened the log, how many rows it found, and how many of them it gave their hashes. */
  readonly adopted_at: string;
  readonly adopted_rows: number;
  readonly filled_rows: number;
  /** The highest id that any writer ever gave to a row, by SQLite's own count; null where the table keeps none. */
  readonly issued_id: number | null;
  /** The newest row that is there; null when there is none. */
  readonly last_id: number | null;
  readonly last_hash: string | null;
}

/** The end of the chain, where the next row goes. */
export interface Head {
  /** The highest id ever given to a row. */
  readonly id: number;
  readonly hash: string;
}

/** AUTOINCREMENT only so that `sqlite_sequence` is there in any case. */
const TABLES = `
  CREATE TABLE svc_bearings (
    only_row INTEGER PRIMARY KEY AUTOINCREMENT CHECK (only_row = 1),
    first_id INTEGER NOT NULL, first_prev_hash TEXT, highest_id INTEGER NOT NULL, highest_hash TEXT,
    removed_rows INTEGER NOT NULL, adopted_at TEXT NOT NULL, adopted_rows INTEGER NOT NULL, filled_rows INTEGER NOT NULL
  );
  CREATE TABLE svc_gaps (after_id INTEGER PRIMARY KEY, next_id INTEGER NOT NULL);
`;

/** "SvcA" as the file's `application_id` (https://sqlite.org/pragma.html#pragma_application_id): svc has opened it. */
const MARK = 0x53766341;

export const LOST_BEARINGS = "the audit log has lost its bearings: somebody removed what is in svc_bearings";

/** Whether svc has never opened this log, keeps its bearings, or has opened it and somebody removed them since. */
export function bearingsState(db: Database): "none" | "kept" | "lost" {
  if (db.query("SELECT 1 FROM sqlite_master WHERE name = 'svc_bearings'").get()) {
    return db.query("SELECT 1 FROM svc_bearings").get() ? "kept" : "lost";
  }
  const marked = db.query<{ application_id: number }, []>("PRAGMA application_id").get();
  return marked?.application_id === MARK ? "lost" : "none";
}

/** Accepts the log as it is found: from here on nothing may be missing. Within a transaction, once in a log's life. */
export function takeBearings(db: Database, now: string, filledRows: number): void {
  db.run(TABLES);
  db.run(`PRAGMA application_id = ${MARK}`);
  const row = (order: "ASC" | "DESC") =>
    db
      .query<Pick<AuditRow, "id" | "prev_hash" | "row_hash">, []>(
        `SELECT id, prev_hash, row_hash FROM events ORDER BY id ${order} LIMIT 1`,
      )
      .get();
  const [first, last] = [row("ASC"), row("DESC")];
  const counted = db
    .query<{ seq: number }, []>("SELECT seq FROM sqlite_sequence WHERE name = 'events'")
    .get();
  const issued = counted?.seq ?? 0;
  db.query(`INSERT INTO svc_bearings VALUES (1, ?, ?, ?, ?, 0, ?, (SELECT count(*) FROM events), ?)`).run(
    first?.id ?? issued + 1,
    first ? first.prev_hash : GENESIS,
    last?.id ?? issued,
    last ? last.row_hash : GENESIS,
    now,
    filledRows,
  );
  db.run(
    `INSERT INTO svc_gaps SELECT id, next_id FROM (SELECT id, lead(id) OVER (ORDER BY id) AS next_id FROM events)
     WHERE next_id > id + 1`,
  );
  if (last && issued > last.id) db.query("INSERT INTO svc_gaps VALUES (?, ?)").run(last.id, issued + 1);
}

/** @throws an `unavailable` failure, or the SQLite error, when somebody removed them. */
export function readBearings(db: Database): Bearings {
  // One statement: it is part of every append.
  const found = db
    .query<Bearings, []>(
      `SELECT svc_bearings.*, (SELECT seq FROM sqlite_sequence WHERE name = 'events') AS issued_id,
         last.id AS last_id, last.row_hash AS last_hash
       FROM svc_bearings LEFT JOIN events AS last ON last.id = (SELECT max(id) FROM events)`,
    )
    .get();
  if (!found) throw unavailable(LOST_BEARINGS);
  return found;
}

/**
 * Where the next row goes. When the newest rows are gone it follows the last one known to have been written, not the
 * last one left, so that what is missing stays missing.
 */
export function headOf({ last_id, last_hash, issued_id, highest_id, highest_hash }: Bearings): Head {
  const id = Math.max(last_id ?? 0, issued_id ?? 0, highest_id);
  const hash = last_id !== null && last_id >= highest_id ? last_hash : highest_hash;
  return { id, hash: hash ?? highest_hash ?? GENESIS };
}

/** Records the newest row. */
export function moveHead(db: Database, { id, hash }: Head): void {
  db.query("UPDATE svc_bearings SET highest_id = ?, highest_hash = ?").run(id, hash);
}

/** Records that `removed` rows before `first` are gone for good. */
export function moveFirst(
  db: Database,
  first: { id: number; prevHash: string | null },
  removed: number,
): void {
  db.query("UPDATE svc_bearings SET first_id = ?, first_prev_hash = ?, removed_rows = removed_rows + ?").run(
    first.id,
    first.prevHash,
    removed,
  );
  db.query("DELETE FROM svc_gaps WHERE after_id < ?").run(first.id);
}
