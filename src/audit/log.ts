/**
 * The audit log: rows chained by hashes, appended by any number of processes to one file.
 *
 * The promise: `append` resolves when the row is on disk, and the chain stays one chain whoever else writes to it; rows
 * that wait at the same time share a commit.
 */
import type { Database } from "bun:sqlite";
import { dirname } from "node:path";
import { messageOf } from "../lib/errors";
import type { Log } from "../lib/log";
import { configFiles } from "../lib/paths";
import { appendRows, type NewRow } from "./append";
import { AuditFile } from "./file";
import { headOf, readBearings } from "./high-water";
import { type ListedRow, type ListQuery, listRows } from "./list";
import type { Pruned, PruneOptions } from "./prune";
import { createLimit } from "./retention";
import { type AuditEvent, rowTime, storable } from "./row";
import type { Verdict, VerifyOptions } from "./verify";
import { inChild } from "./worker";

export interface AuditLog {
  /**
   * Appends a row. Resolves to its id when it is on disk.
   *
   * @throws an `unavailable` failure when it cannot be written.
   */
  append(event: AuditEvent): Promise<number>;
  /** Rows in the log, kept by counting, not by a query. */
  rowCount(): number;
  /** Why no row can be written now; null when one can. Waits for a lock as a row would; writes none. */
  problem(): Promise<string | null>;
  /** The rows that `query` asks for, newest first. @throws an `unavailable` failure when it cannot be read. */
  list(query: ListQuery): Promise<ListedRow[]>;
  /** Verifies the whole log, in a process of its own. @throws an `unavailable` failure when it cannot be read. */
  verify(options?: VerifyOptions): Promise<Verdict>;
  /** The whole log as it is now, as JSON lines, some at a time. @throws an `unavailable` failure likewise. */
  exported(): AsyncGenerator<string>;
  /** Removes every row, of which a new first row tells. Returns how many. @throws an `unavailable` failure. */
  clear(by: string): Promise<number>;
  /** Moves the oldest rows to an archive, in a process of its own. @throws what `pruneRows` throws. */
  prune(options: PruneOptions): Promise<Pruned>;
  /** From now on, moves the oldest rows to `audit-archive` when there are more than `maxRows`; 0: never. */
  limitRows(maxRows: number): void;
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

interface Waiting extends NewRow {
  resolve(id: number): void;
  reject(error: unknown): void;
}

/**
 * Opens the log at `path`, which is made if it is not there. A file that cannot be opened is no reason to throw: it is
 * tried again by each call, and each fails as long as it cannot.
 */
export async function openAuditLog({ path, log, lockWaitMs }: AuditLogOptions): Promise<AuditLog> {
  const file = new AuditFile(path, lockWaitMs);
  const closing = new AbortController();
  let tally: Tally | undefined;
  let waiting: Waiting[] = [];
  let flushing: Promise<void> | undefined;
  let failure: string | null = null;
  let verifying: Promise<unknown> = Promise.resolve();
  /** The last that was asked for and has not begun. It serves whoever asks meanwhile, so that no queue grows. */
  let next: { readonly noted: string | undefined; readonly verdict: Promise<Verdict> } | undefined;

  /** Says in the process's log when writing begins to fail and when it works again, not for each row. */
  const report = (error?: unknown) => {
    if (error !== undefined && failure === null)
      log.error(`${messageOf(error)}; what changes something is refused`);
    if (error === undefined && failure !== null) log.info("the audit log can be written again");
    failure = error === undefined ? null : messageOf(error);
  };

  /** One commit after the other, as long as rows are waiting. */
  const flush = async () => {
    while (waiting.length > 0) {
      // What arrives within this turn of the event loop shares the commit.
      await new Promise((resolve) => setImmediate(resolve));
      const batch = waiting.slice(0, MAX_BATCH);
      waiting = waiting.slice(MAX_BATCH);
      try {
        const written = await file.write((db) => appendBatch(db, batch, tally));
        tally = written;
        report();
        for (const [nth, { resolve }] of batch.entries()) resolve(written.highestId - batch.length + 1 + nth);
      } catch (error) {
        report(error);
        for (const { reject } of batch) reject(error);
      }
      limit.check(tally?.rows ?? 0);
    }
    flushing = undefined;
  };

  const verify = ({ noted, progress }: VerifyOptions = {}): Promise<Verdict> => {
    if (next && next.noted === noted && !progress) return next.verdict;
    // One at a time: each wants a processor for itself.
    const verdict = verifying.then(async () => {
      if (next?.verdict === verdict) next = undefined;
      // Opened for the first time it takes its bearings. What cannot be opened here may yet be read.
      let unopened: unknown;
      await file
        .read(() => {})
        .catch((error) => {
          unopened = error;
        });
      return inChild((audit) => audit.verify(path, noted), { signal: closing.signal, log, progress }).catch(
        (error) => {
          throw unopened ?? error;
        },
      );
    });
    verifying = verdict.catch(() => {});
    next = { noted, verdict };
    return verdict;
  };

  const prune = (options: PruneOptions) =>
    inChild((audit) => audit.prune(path, options), { signal: closing.signal, log });
  const limit = createLimit(
    (keep) =>
      prune({
        what: { keep },
        archive: { folder: configFiles(dirname(path)).auditArchive },
        by: "svc serve --audit-max-rows",
      }),
    log,
    closing.signal,
  );

  tally = await file.read(countRows).catch(() => undefined);

  return {
    append: (event) =>
      new Promise((resolve, reject) => {
        waiting.push({ ts: rowTime(new Date()), event: storable(event), resolve, reject });
        flushing ??= flush();
      }),
    rowCount: () => tally?.rows ?? 0,
    problem: async () => (await file.write(() => null).catch(messageOf)) ?? failure,
    list: (query) => listRows((work) => file.read(work), query),
    verify,
    async *exported() {
      const { exportAll } = await import("./export");
      await file.read(() => {});
      yield* exportAll(path);
    },
    async clear(by) {
      const { clearRows } = await import("./prune");
      const verdict = await verify().catch(() => null);
      const deleted = await file.write((db) => clearRows(db, by, verdict));
      file.compact();
      return deleted;
    },
    prune,
    limitRows(maxRows) {
      limit.set(maxRows);
      limit.check(tally?.rows ?? 0);
    },
    async close() {
      closing.abort();
      await flushing;
      file.close();
    },
  };
}

/** The number of rows, and what tells how it has changed since. */
interface Tally {
  readonly rows: number;
  readonly removedRows: number;
  readonly highestId: number;
}

function countRows(db: Database): Tally {
  const bearings = readBearings(db);
  const rows = db.query<{ rows: number }, []>("SELECT count(*) AS rows FROM events").get()?.rows ?? 0;
  return { rows, removedRows: bearings.removed_rows, highestId: headOf(bearings).id };
}

function appendBatch(db: Database, batch: readonly Waiting[], tally: Tally | undefined): Tally {
  const known = tally ?? countRows(db);
  const bearings = readBearings(db);
  const { id } = appendRows(db, bearings, batch);
  const removedRows = bearings.removed_rows;
  // Ids follow one another, so this also counts what other processes appended and removed meanwhile.
  const rows = known.rows + (id - known.highestId) - (removedRows - known.removedRows);
  return { rows, removedRows, highestId: id };
}
