/**
 * The history of runs, in a file that outlives the process: what ran, from where, for how long, and how it ended.
 *
 * Promise: it never delays or fails a run, and never blocks the event loop while another process holds the lock: rows are
 * written a moment later, several at once, and written again when that fails. A run whose process died is `interrupted`.
 * The newest {@link HistoryOptions.maxRows} rows are kept, whichever process writes them.
 */
import type { Database } from "bun:sqlite";
import { messageOf, unavailable } from "../lib/errors";
import type { Log } from "../lib/log";
import { isBusy } from "../lib/sqlite";
import { findRows, keepRows, markInterrupted, openFile, prune, write } from "./history-db";
import type { HistoryQuery, HistoryRow, RunRecord } from "./types";

/** The most rows that wait to be written; beyond it the oldest are dropped. */
const MAX_WAITING = 10_000;

/** How long a row may wait to be written, in milliseconds. */
const FLUSH_MS = 100;

/** How long a reader waits for another process's lock, in milliseconds. */
const LOCK_WAIT_MS = 2_000;

export interface HistoryOptions {
  readonly path: string;
  /** How many rows to keep from now on (default: unchanged). */
  readonly maxRows: number | undefined;
  readonly log: Log;
}

export interface History {
  /** Records the run when it begins, and again when it ends. Never throws. */
  note(run: RunRecord): void;
  /** Newest first. @throws an `unavailable` failure when the file cannot be read. */
  list(query: HistoryQuery): Promise<HistoryRow[]>;
  /** Writes the waiting rows, then closes the file. */
  close(): Promise<void>;
}

export function createHistory({ path, maxRows, log }: HistoryOptions): History {
  let db: Database | undefined;
  let waiting = new Map<string, RunRecord>();
  let timer: ReturnType<typeof setTimeout> | undefined;
  let failing = false;

  const opened = () => {
    if (db) return db;
    const file = openFile(path);
    try {
      if (maxRows !== undefined) keepRows(file, maxRows);
      markInterrupted(file, true);
    } catch (error) {
      file.close();
      throw error;
    }
    db = file;
    return db;
  };

  /** Writes the waiting rows. @returns whether none waits any more. */
  const flush = (): boolean => {
    clearTimeout(timer);
    timer = undefined;
    if (waiting.size === 0) return true;
    try {
      const file = opened();
      file.transaction(() => {
        write(file, waiting.values());
        prune(file);
      })();
      waiting = new Map();
      if (failing) log.info("the history can be written again");
      failing = false;
    } catch (error) {
      if (!isBusy(error) && !failing) {
        failing = true;
        log.error(`the history cannot be written: ${messageOf(error)}`);
      }
    }
    return waiting.size === 0;
  };

  const flushLater = () => {
    timer ??= setTimeout(() => {
      if (!flush()) flushLater();
    }, FLUSH_MS);
    timer.unref();
  };

  /** Repeats `work` while another process holds the lock. */
  const patiently = async <T>(work: () => T): Promise<T> => {
    const deadline = performance.now() + LOCK_WAIT_MS;
    for (;;) {
      try {
        return work();
      } catch (error) {
        if (!isBusy(error) || performance.now() > deadline) {
          throw unavailable(`the history cannot be read: ${messageOf(error)}`);
        }
        await Bun.sleep(10);
      }
    }
  };

  return {
    note(run) {
      waiting.set(run.run_id, run);
      const [oldest] = waiting.keys();
      if (waiting.size > MAX_WAITING && oldest !== undefined) waiting.delete(oldest);
      flushLater();
    },
    list: (query) =>
      patiently(() => {
        flush();
        markInterrupted(opened());
        return findRows(opened(), query);
      }),
    async close() {
      const deadline = performance.now() + LOCK_WAIT_MS;
      while (!flush() && !failing && performance.now() < deadline) await Bun.sleep(10);
      if (waiting.size > 0 && !failing) {
        log.error(`the history cannot be written: another process has held it for ${LOCK_WAIT_MS / 1_000} s`);
      }
      clearTimeout(timer);
      db?.close();
      db = undefined;
    },
  };
}
