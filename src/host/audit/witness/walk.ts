/**
 * A walk over the rows of the log in steps, each on one state of the file: what chain and tree say is wrong with them.
 *
 * The promise: rows that were cleared or pruned by svc, and rows that were appended meanwhile, are no fault. A walk goes on behind a
 * fault, so that a second one is found too.
 */
import type { Database } from "bun:sqlite";
import { Failure, messageOf } from "../../../lib/errors";
import { Chain, type LinkedRow } from "../chain";
import { headOf, readHighWater } from "../high-water";
import type { AuditRow } from "../row";
import { schemaFault } from "../schema";
import { followers, isDamage, newestGone, textFault } from "../verify";
import type { AlteredRow } from "./findings";
import { leafCheck } from "./leaves";
import { endOf } from "./tree";

/** What a step of a walk has found. */
export interface WalkStep {
  readonly altered: readonly AlteredRow[];
  /** The row at which the next step goes on; undefined where there is none yet. */
  readonly at: LinkedRow | undefined;
  readonly isReadable: boolean;
  /** Whether no row comes after that. */
  readonly isEnd: boolean;
}

/**
 * Goes on from the row `at`, over at most `limit` rows.
 *
 * @param at undefined for the beginning of the log.
 * @throws the SQLite error when the file cannot be read.
 */
export function walk(db: Database, at: LinkedRow | undefined, limit: number): WalkStep {
  try {
    // Reading something else than the table may never end.
    const fault = schemaFault(db);
    return fault === null ? walkRows(db, at, limit) : unreadable(fault);
  } catch (error) {
    if (isDamage(error)) return unreadable(`the file is damaged: ${messageOf(error)}`);
    // The high-water mark, or the tree.
    if (error instanceof Failure) return unreadable(error.message);
    throw error;
  }
}

/** The end of the log, as svc knows it. @throws as `readHighWater`. */
export function endOfLog(db: Database): LinkedRow {
  const { id, hash } = headOf(readHighWater(db));
  return { id, row_hash: hash };
}

const unreadable = (reason: string): WalkStep => ({
  altered: [{ id: null, reason }],
  at: undefined,
  isReadable: false,
  isEnd: true,
});

function walkRows(db: Database, from: LinkedRow | undefined, limit: number): WalkStep {
  const highWater = readHighWater(db);
  const start = { id: highWater.first_id, prevHash: highWater.first_prev_hash };
  const written = { id: highWater.highest_id, hash: highWater.highest_hash, what: "that svc wrote there" };
  const chain = new Chain(start, [written], followers(db));
  // The rows may have been cleared or pruned since.
  const at = from && from.id >= start.id - 1 ? from : undefined;
  if (at) chain.goOn(at);
  const after = at?.id ?? Number.MIN_SAFE_INTEGER;
  const rows = db
    .query<AuditRow, [number, number]>(
      `SELECT id, ts, event_type, host_id, viewer_id, detail, prev_hash, row_hash FROM events
       WHERE id > ? ORDER BY id LIMIT ?`,
    )
    .all(after, limit);
  const { size, lastId } = endOf(db);
  const leafFault = leafCheck(db, size, rows[0]?.id);
  const altered: AlteredRow[] = [];
  for (const row of rows) {
    const { id, row_hash: hash } = row;
    const wrong = chain.next(row) ?? textFault(db, row) ?? (id <= lastId ? leafFault({ id, hash }) : null);
    if (wrong === null) continue;
    altered.push({ id, reason: wrong });
    chain.goOn(row);
  }
  const isEnd = rows.length < limit;
  const gone = isEnd ? newestGone(chain, highWater) : null;
  if (gone) altered.push(gone);
  return { altered, at: chain.last, isReadable: true, isEnd };
}
