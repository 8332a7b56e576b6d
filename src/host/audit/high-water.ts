/**
 * The high-water mark of the log: what a chain of hashes cannot prove by itself, namely where the log begins and how far
 * it got. And appending, which moves it.
 *
 * It is kept in tables of svc's own, which other writers of the format neither read nor write. SQLite's
 * `sqlite_sequence` counts the rows that another writer appends, as any AUTOINCREMENT insert does.
 */
import type { Database } from "bun:sqlite";
import { unavailable } from "../../lib/errors";
import { type AuditEvent, type AuditRow, GENESIS, rowHash } from "./row";
import { MARK, markOf, OWN_TABLES, TREE_MARK } from "./schema";
import { hasTree, joinAppended, type Tree } from "./witness/tree";

export interface HighWater {
  /** Of the oldest row that was not cleared or pruned. */
  readonly first_id: number;
  readonly first_prev_hash: string | null;
  /** Of the newest row that svc wrote; before there is one, of the row that it will follow. */
  readonly highest_id: number;
  readonly highest_hash: string | null;
  /** Rows cleared and pruned so far. */
  readonly removed_rows: number;
  /** When svc first opened the log, how many rows it found, and to how many of them it gave hashes. */
  readonly adopted_at: string;
  readonly adopted_rows: number;
  readonly filled_rows: number;
  /** The highest id that any writer ever gave to a row, as SQLite counts it; null where the table has no count. */
  readonly issued_id: number | null;
  /** Of the newest row that is there; null when there is none. */
  readonly last_id: number | null;
  readonly last_hash: string | null;
}

/** The end of the chain, where the next row goes. */
export interface Head {
  /** The highest id ever given to a row. */
  readonly id: number;
  readonly hash: string;
}

export const LOST_HIGH_WATER =
  "the audit log has lost its high-water mark: its table svc_bearings is empty or gone";

/**
 * Whether svc has never opened this log (`none`), keeps its high-water mark, or somebody removed it since (`lost`).
 *
 * @param note shows, if there is one, that svc has opened a log at this place.
 */
export function highWaterState(db: Database, note: Head | undefined): "none" | "kept" | "lost" {
  if (db.query("SELECT 1 FROM sqlite_master WHERE name = 'svc_bearings'").get()) {
    return db.query("SELECT 1 FROM svc_bearings").get() ? "kept" : "lost";
  }
  const isMarked = [MARK, TREE_MARK].includes(markOf(db) ?? 0);
  return isMarked || hasTree(db) || (note && hasRows(db)) ? "lost" : "none";
}

function hasRows(db: Database): boolean {
  if (!db.query("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'events'").get()) return false;
  return db.query("SELECT 1 FROM events LIMIT 1").get() !== null;
}

/** Accepts the log as it is: from now on nothing may be missing. In a transaction, once in the life of a log. */
export function takeHighWater(db: Database, now: string, filledRows: number): void {
  for (const table of OWN_TABLES) db.run(table);
  db.run(`PRAGMA application_id = ${MARK}`);
  const row = (order: "ASC" | "DESC") =>
    db
      .query<Pick<AuditRow, "id" | "prev_hash" | "row_hash">, []>(
        `SELECT id, prev_hash, row_hash FROM events ORDER BY id ${order} LIMIT 1`,
      )
      .get();
  const [first, last] = [row("ASC"), row("DESC")];
  const counted = db.query<{ seq: number }, []>("SELECT seq FROM sqlite_sequence WHERE name = 'events'");
  const issued = counted.get()?.seq ?? 0;
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

/** @throws an `unavailable` failure, or the SQLite error, when it is gone. */
export function readHighWater(db: Database): HighWater {
  // One statement: it is part of every append.
  const found = db
    .query<HighWater, []>(
      `SELECT svc_bearings.*, (SELECT seq FROM sqlite_sequence WHERE name = 'events') AS issued_id,
         last.id AS last_id, last.row_hash AS last_hash
       FROM svc_bearings LEFT JOIN events AS last ON last.id = (SELECT max(id) FROM events)`,
    )
    .get();
  if (!found) throw unavailable(LOST_HIGH_WATER);
  return found;
}

/**
 * Where the next row goes. When the newest rows are gone, the next row follows the last one that is known to have been
 * written, not the last one that is left: the gap stays visible.
 */
export function headOf({ last_id, last_hash, issued_id, highest_id, highest_hash }: HighWater): Head {
  const id = Math.max(last_id ?? 0, issued_id ?? 0, highest_id);
  const hash = last_id !== null && last_id >= highest_id ? last_hash : highest_hash;
  return { id, hash: hash ?? highest_hash ?? GENESIS };
}

/** The later of two ends of the chain; of two rows with the same id, the one that is `known`. */
export function laterHead(found: Head, known: Head): Head {
  return known.id >= found.id ? known : found;
}

/** Whether the log has another row in the place of `known`. */
export function isAnother(db: Database, { id, hash }: Head): boolean {
  const row = db
    .query<{ row_hash: string | null }, [number]>("SELECT row_hash FROM events WHERE id = ?")
    .get(id);
  return row !== null && row.row_hash !== hash;
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
  const move = "UPDATE svc_bearings SET first_id = ?, first_prev_hash = ?, removed_rows = removed_rows + ?";
  db.query(move).run(first.id, first.prevHash, removed);
  db.query("DELETE FROM svc_gaps WHERE after_id < ?").run(first.id);
}

const NOT_KEPT = "the audit log did not keep a row: its database was altered";

/** A row to append. */
export interface NewRow {
  readonly ts: string;
  /** As `storable` gives it. */
  readonly event: AuditEvent;
}

interface AppendResult {
  /** Its id is that of the last row. */
  readonly head: Head;
  /** With these rows; undefined while so many rows are not in it that they join in steps. */
  readonly tree: Tree | undefined;
}

/**
 * Appends `rows` to the chain that ends with `head`, and to the tree, in a transaction that holds the write lock.
 *
 * @param tree as it was after an earlier transaction: saves reading it, if nothing joined it since.
 * @throws an `unavailable` failure when the database did something else with a row than keep it.
 */
export function appendRows(db: Database, head: Head, rows: readonly NewRow[], tree?: Tree): AppendResult {
  let { id, hash } = head;
  const hashes: string[] = [];
  const insert = db.query(
    `INSERT INTO events (id, ts, event_type, host_id, viewer_id, detail, prev_hash, row_hash)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
  );
  for (const { ts, event } of rows) {
    const prev = hash;
    hash = rowHash(prev, ts, event);
    id += 1;
    const { event_type, host_id, viewer_id, detail } = event;
    const { changes } = insert.run(id, ts, event_type, host_id, viewer_id, detail, prev, hash);
    if (changes !== 1) throw unavailable(NOT_KEPT);
    hashes.push(hash);
  }
  // As `moveHead`, if the last row can be read back.
  const moved = db
    .query(
      `UPDATE svc_bearings SET highest_id = ?1, highest_hash = ?2
       WHERE (SELECT row_hash FROM events WHERE id = ?1) = ?2`,
    )
    .run(id, hash);
  if (moved.changes !== 1) throw unavailable(NOT_KEPT);
  return { head: { id, hash }, tree: joinAppended(db, head.id + 1, hashes, tree) };
}
