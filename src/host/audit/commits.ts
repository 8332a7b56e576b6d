/**
 * The commits of the audit log.
 *
 * The promise: a row that was appended is on disk or refused, in the order of the calls. Rows that wait at the same time share a
 * commit; when it fails, all of them are refused.
 */
import { messageOf } from "../../lib/errors";
import type { Log } from "../../lib/log";
import { nextTurn } from "../../lib/turn";
import type { AuditFile } from "./file";
import type { NewRow } from "./high-water";
import { type AuditEvent, rowTime, storable } from "./row";
import { appendBatch, countRows, type Tally } from "./tally";

/** The maximum number of rows in a commit. A larger one would hold the lock and the event loop noticeably long. */
const MAX_BATCH = 1_000;

/** How a row is appended. */
export interface AppendOptions {
  /** Makes no event by itself: it only says that somebody follows events. */
  readonly quiet?: boolean;
}

/** A row whose commit has not begun. */
interface QueuedRow extends NewRow {
  readonly quiet: boolean;
  resolve(id: number): void;
  reject(error: unknown): void;
}

interface CommitParts {
  readonly file: AuditFile;
  readonly log: Log;
  /** Whether it is logged when rows cannot be written, and when they can again. */
  readonly logsFailures: boolean;
  /** Is awaited before rows are written: what throws here refuses them. */
  beforeWriting(): Promise<void>;
  /** Takes the rows of a commit, the first of which has the id `firstId`. */
  written(rows: readonly NewRow[], firstId: number, isQuiet: boolean): void;
  /** A commit of so many rows has ended, well or not. */
  ended(rows: number): void;
}

interface Commits {
  /** Resolves to the id of the row when it is on disk. @throws an `unavailable` failure when it cannot be written. */
  append(event: AuditEvent, options?: AppendOptions): Promise<number>;
  /** The number of rows, without a query. */
  rows(): number;
  /** Counts the rows anew. Callers must do so after each other change of rows. @throws when the file cannot be read. */
  recount(): Promise<Tally>;
  /** Why the last commit failed; null where it did not. */
  failure(): string | null;
  /** Resolves when no row waits. */
  settled(): Promise<void>;
}

/** Begins to append to `file`. */
export function createCommits({
  file,
  log,
  logsFailures,
  beforeWriting,
  written,
  ended,
}: CommitParts): Commits {
  let tally: Tally | undefined;
  let queue: QueuedRow[] = [];
  let flushing: Promise<void> | undefined;
  let failure: string | null = null;

  /** Logs when writing begins to fail and when it works again, not each row. */
  const report = (error?: unknown) => {
    if (logsFailures && error !== undefined && failure === null)
      log.error(`${messageOf(error)}; what changes or reveals something here is refused`);
    if (logsFailures && error === undefined && failure !== null)
      log.info("the audit log can be written again");
    failure = error === undefined ? null : messageOf(error);
  };

  /** Commits until no row waits. */
  const flush = async () => {
    while (queue.length > 0) {
      // Rows that arrive in this turn of the event loop share the commit.
      await nextTurn();
      const batch = queue.slice(0, MAX_BATCH);
      queue = queue.slice(MAX_BATCH);
      try {
        await beforeWriting();
        const next = await file.write((db, epoch) => appendBatch(db, epoch, batch, tally));
        tally = next;
        file.remember(next.head);
        report();
        const first = next.head.id - batch.length + 1;
        for (const [nth, { resolve }] of batch.entries()) resolve(first + nth);
        const isQuiet = batch.every(({ quiet }) => quiet);
        written(batch, first, isQuiet);
      } catch (error) {
        report(error);
        for (const { reject } of batch) reject(error);
      }
      ended(batch.length);
    }
    flushing = undefined;
  };

  let clock = { ms: Number.NaN, text: "" };
  /** The time as rows carry it. Rows of the same millisecond share the text: to make it takes a tenth of a row. */
  const now = () => {
    const ms = Date.now();
    if (ms !== clock.ms) clock = { ms, text: rowTime(new Date(ms)) };
    return clock.text;
  };

  return {
    append: (event, { quiet = false } = {}) =>
      new Promise<number>((resolve, reject) => {
        queue.push({ ts: now(), event: storable(event), quiet, resolve, reject });
        flushing ??= flush();
      }),
    rows: () => tally?.rows ?? 0,
    async recount() {
      tally = await file.read(countRows);
      return tally;
    },
    failure: () => failure,
    settled: async () => flushing,
  };
}
