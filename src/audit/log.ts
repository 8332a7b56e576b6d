/**
 * The audit log: rows chained by hashes, appended by any number of processes to one file.
 *
 * The promise: `append` resolves when the row is on disk, and the chain stays one chain whoever else writes to it; rows
 * that wait at the same time share a commit.
 */
import type { Database } from "bun:sqlite";
import { messageOf } from "../lib/errors";
import type { Log } from "../lib/log";
import { moveHead, readBearings, readHead } from "./bearings";
import { AuditFile } from "./file";
import { type ListedRow, type ListQuery, listRows } from "./list";
import { type AuditEvent, rowHash, rowTime, storable } from "./row";

export interface AuditLog {
  /**
   * Appends a row. Resolves to its id when it is on disk.
   *
   * @throws an `unavailable` failure when it cannot be written.
   */
  append(event: AuditEvent): Promise<number>;
  /** Rows in the log, kept by counting, not by a query. */
  rowCount(): number;
  /** The rows that `query` asks for, newest first. @throws an `unavailable` failure when it cannot be read. */
  list(query: ListQuery): Promise<ListedRow[]>;
  /** Writes what is waiting, then closes the file. */
  close(): Promise<void>;
}

export interface AuditLogOptions {
  readonly path: string;
  readonly log: Log;
  /** How long a write may wait for another process's lock (default 5,000). */
  readonly lockWaitMs?: number;
}

/** The most rows in one commit: more would hold the lock, and the event loop, for longer than a request may notice. */
const MAX_BATCH = 1_000;

interface Waiting {
  readonly ts: string;
  readonly event: AuditEvent;
  resolve(id: number): void;
  reject(error: unknown): void;
}

/**
 * Opens the log at `path`, which is made if it is not there. A file that cannot be opened is no reason to throw: it is
 * tried again by each call, and each fails as long as it cannot.
 */
export async function openAuditLog({ path, log, lockWaitMs }: AuditLogOptions): Promise<AuditLog> {
  const file = new AuditFile(path, lockWaitMs);
  let tally: Tally | undefined;
  let waiting: Waiting[] = [];
  let flushing: Promise<void> | undefined;
  let failing = false;

  /** Says in the process's log when writing begins to fail and when it works again, not for each row. */
  const report = (error?: unknown) => {
    if (error !== undefined && !failing) log.error(`${messageOf(error)}; what changes something is refused`);
    if (error === undefined && failing) log.info("the audit log can be written again");
    failing = error !== undefined;
  };

  /** One commit after the other, as long as rows are waiting. */
  const flush = async () => {
    while (waiting.length > 0) {
      // What arrives within this turn of the event loop shares the commit.
      await new Promise((resolve) => setImmediate(resolve));
      const batch = waiting.slice(0, MAX_BATCH);
      waiting = waiting.slice(MAX_BATCH);
      try {
        const written = await file.write((db) => appendRows(db, batch, tally));
        tally = written;
        report();
        for (const [nth, { resolve }] of batch.entries()) resolve(written.highestId - batch.length + 1 + nth);
      } catch (error) {
        report(error);
        for (const { reject } of batch) reject(error);
      }
    }
    flushing = undefined;
  };

  await file.read(countRows).then((found) => {
    tally = found;
  }, report);

  return {
    append: (event) =>
      new Promise((resolve, reject) => {
        waiting.push({ ts: rowTime(new Date()), event: storable(event), resolve, reject });
        flushing ??= flush();
      }),
    rowCount: () => tally?.rows ?? 0,
    list: (query) => file.read((db) => listRows(db, query)),
    async close() {
      await flushing;
      file.close();
    },
  };
}

/** The number of rows, and what tells whether it still holds. */
interface Tally {
  readonly rows: number;
  readonly firstId: number;
  readonly highestId: number;
}

function countRows(db: Database): Tally {
  const bearings = readBearings(db);
  const rows = db.query<{ rows: number }, []>("SELECT count(*) AS rows FROM events").get()?.rows ?? 0;
  return { rows, firstId: bearings.first_id, highestId: readHead(db, bearings).id };
}

function appendRows(db: Database, batch: readonly Waiting[], tally: Tally | undefined): Tally {
  const bearings = readBearings(db);
  const known = tally?.firstId === bearings.first_id ? tally : countRows(db);
  let { id, hash } = readHead(db, bearings);
  const insert = db.query(
    `INSERT INTO events (id, ts, event_type, host_id, viewer_id, detail, prev_hash, row_hash)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
  );
  for (const { ts, event } of batch) {
    const prev = hash;
    hash = rowHash(prev, ts, event);
    id += 1;
    insert.run(id, ts, event.event_type, event.host_id, event.viewer_id, event.detail, prev, hash);
  }
  moveHead(db, { id, hash });
  // Ids follow one another, so the difference also counts what other processes appended meanwhile.
  return { rows: known.rows + id - known.highestId, firstId: known.firstId, highestId: id };
}
