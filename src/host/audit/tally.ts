/**
 * Counting rows without a query for each append.
 */
import type { Database } from "bun:sqlite";
import { appendRows, type Head, headOf, laterHead, type NewRow, readHighWater } from "./high-water";
import type { Epoch } from "./open-file";
import type { Tree } from "./witness/tree";

/** The number of rows, and the state of the log that it belongs to. */
export interface Tally {
  readonly rows: number;
  readonly removedRows: number;
  readonly head: Head;
  /** Undefined when it was read, not written. */
  readonly epoch?: Epoch;
  /** As this process left it. */
  readonly tree?: Tree | undefined;
}

/**
 * Counts them by their ids, which is as fast in a large log as in a small one. Rows that somebody deleted past svc are counted until they
 * are cleared or pruned: verification finds them.
 *
 * @throws the SQLite error, or as {@link readHighWater}.
 */
export function countRows(db: Database): Tally {
  const highWater = readHighWater(db);
  const head = headOf(highWater);
  const unused =
    db.query<{ ids: number }, []>("SELECT total(next_id - after_id - 1) AS ids FROM svc_gaps").get()?.ids ??
    0;
  const rows = head.id - highWater.first_id + 1 - unused;
  return { rows, removedRows: highWater.removed_rows, head };
}

/** Appends `batch`, in a transaction that holds the write lock. @param tally as it was before. @returns as it is now. */
export function appendBatch(
  db: Database,
  epoch: Epoch,
  batch: readonly NewRow[],
  tally: Tally | undefined,
): Tally {
  const known = tally ?? countRows(db);
  const highWater = known.epoch === epoch ? undefined : readHighWater(db);
  // Never from before the row that this process wrote last: if that is gone or another one, the chain shows it.
  const from = highWater ? laterHead(headOf(highWater), known.head) : known.head;
  const { head, tree } = appendRows(db, from, batch, known.tree);
  const removedRows = highWater?.removed_rows ?? known.removedRows;
  // Ids have no gaps, so this also counts the rows that other processes appended and removed meanwhile.
  const rows = known.rows + (head.id - known.head.id) - (removedRows - known.removedRows);
  return { rows, removedRows, head, epoch, tree };
}
