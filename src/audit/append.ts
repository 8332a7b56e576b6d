/**
 * Appending: rows put at the end of the chain, within a transaction that holds the write lock.
 */
import type { Database } from "bun:sqlite";
import { type Bearings, type Head, headOf, moveHead } from "./high-water";
import { type AuditEvent, rowHash } from "./row";

/** A row on its way into the log. */
export interface NewRow {
  readonly ts: string;
  /** As `storable` gives it. */
  readonly event: AuditEvent;
}

/** Appends `rows` and moves the head. Returns the new one: ids follow one another, the last row has its id. */
export function appendRows(db: Database, bearings: Bearings, rows: readonly NewRow[]): Head {
  let { id, hash } = headOf(bearings);
  const insert = db.query(
    `INSERT INTO events (id, ts, event_type, host_id, viewer_id, detail, prev_hash, row_hash)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
  );
  for (const { ts, event } of rows) {
    const prev = hash;
    hash = rowHash(prev, ts, event);
    id += 1;
    insert.run(id, ts, event.event_type, event.host_id, event.viewer_id, event.detail, prev, hash);
  }
  moveHead(db, { id, hash });
  return { id, hash };
}
