/**
 * The history of runs, in a file that outlives the process: what ran, from where, for how long, and how it ended.
 *
 * Promise: it never delays or fails a run, and never blocks the event loop while another process holds the lock: rows are
 * written a moment later, several at once, and written again when that fails. A run whose process died is `interrupted`.
 * The newest rows are kept, whichever process writes them. A file of another tool is adopted: missing columns are added,
 * its rows stay.
 */
import type { Database } from "bun:sqlite";
import { MAX_TIMEOUT_S } from "../../core/run";
import { isAlive } from "../../lib/alive";
import { messageOf, unavailable } from "../../lib/errors";
import { isMissing } from "../../lib/files";
import type { Log } from "../../lib/log";
import { isBusy, isUnwritable, openDatabase, openReadOnly } from "../../lib/sqlite";
import type { HistoryQuery, HistoryRow, RunState } from "./types";

/** How many rows are kept by default. */
const DEFAULT_MAX_ROWS = 10_000;

/** The most rows that wait to be written; beyond it the oldest are dropped. */
const MAX_WAITING = 10_000;

/** How long a row may wait to be written, in milliseconds. */
const FLUSH_MS = 100;

/** How long a reader waits for another process's lock, in milliseconds. */
const LOCK_WAIT_MS = 2_000;

/** The columns besides `id`. `pid` is the process that runs it. */
const COLUMNS = {
  run_id: "TEXT",
  source_type: "TEXT NOT NULL DEFAULT ''",
  source_id: "TEXT NOT NULL DEFAULT ''",
  token: "TEXT",
  script_path: "TEXT NOT NULL DEFAULT ''",
  started_at: "TEXT NOT NULL DEFAULT ''",
  finished_at: "TEXT",
  status: "TEXT NOT NULL DEFAULT ''",
  error_text: "TEXT",
  duration_seconds: "REAL",
  pid: "INTEGER",
} as const;

/** Which rows are of runs that have not ended. */
const GOING = "status IN ('running', 'waiting')";

const NAMES = Object.keys(COLUMNS);

/** How the fields of a query narrow it. */
const CONDITIONS: Readonly<Record<string, string>> = {
  source_type: "source_type = $source_type",
  source_id: `(source_id = $source_id OR
    ($source_id <> '' AND source_type = 'plan' AND substr(source_id, 1, length($source_id)) = $source_id))`,
  status: "status = $status",
  before_id: "id < $before_id",
  run_id: "run_id = $run_id",
  id: "id = $id",
};

type Query = HistoryQuery & { readonly run_id?: string; readonly id?: number };

interface HistoryOptions {
  readonly path: string;
  /** How many rows to keep from now on (default: unchanged). */
  readonly maxRows: number | undefined;
  readonly log: Log;
  /** Is called with each run that this process finds interrupted. */
  readonly interrupted?: (run: HistoryRow) => void;
}

/** The runs of this host, on disk. */
export interface History {
  /** Records the run when it begins, and again when it ends. Never throws. */
  note(run: RunState): void;
  /** Newest first. @throws an `unavailable` failure when the file cannot be read. */
  list(query: HistoryQuery): Promise<HistoryRow[]>;
  /** The row of a run; undefined when there is none. As {@link list}. */
  find(run_id: string): Promise<HistoryRow | undefined>;
  /** Marks the runs that were interrupted before the start. Never throws; does not open a file without such runs to write it. */
  settle(): Promise<void>;
  /** Writes the waiting rows, then closes the file. */
  close(): Promise<void>;
}

export function createHistory({ path, maxRows, log, interrupted = () => {} }: HistoryOptions): History {
  let db: Database | undefined;
  const waiting = new Map<string, RunState>();
  let timer: NodeJS.Timeout | undefined;
  let failing = false;

  const opened = () => {
    db ??= openDatabase(path, {
      synchronous: "NORMAL",
      prepare(file) {
        prepareTables(file);
        // For processes that do not have the option, too: `svc execute` next to a server.
        if (maxRows !== undefined) file.run("UPDATE kept SET max_rows = ?1 WHERE max_rows <> ?1", [maxRows]);
        markInterrupted(file, interrupted, true);
      },
    });
    return db;
  };

  /** Writes the waiting rows. @returns whether none waits any more. */
  const flush = (): boolean => {
    clearTimeout(timer);
    timer = undefined;
    if (waiting.size === 0) return true;
    try {
      const file = opened();
      file
        .transaction(() => {
          write(file, waiting.values());
          prune(file);
        })
        .immediate();
      waiting.clear();
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

  const list = async (query: Query): Promise<HistoryRow[]> => {
    if (!db && waiting.size === 0 && isMissing(path)) return [];
    const deadline = performance.now() + LOCK_WAIT_MS;
    for (;;) {
      try {
        flush();
        markInterrupted(opened(), interrupted);
        return findRows(opened(), query);
      } catch (error) {
        if (!db && isUnwritable(error)) return listAsItIs(path, query);
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
    list: (query) => list(query),
    find: async (run_id) => (await list({ limit: 1, run_id }))[0],
    async settle() {
      try {
        if (db || isMissing(path) || !hasGoing(path)) return;
        await list({ limit: 1 });
      } catch (error) {
        log.warn(`runs that were interrupted are not known: ${messageOf(error)}`);
      }
    },
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

/** The rows of a file that cannot be written, where runs that were interrupted stay as they were. */
function listAsItIs(path: string, query: Query): HistoryRow[] {
  try {
    using db = openReadOnly(path);
    return findRows(db, query);
  } catch (error) {
    throw unavailable(`the history cannot be read: ${messageOf(error)}`);
  }
}

/** Whether the file has runs that have not ended. @throws the SQLite error. */
function hasGoing(path: string): boolean {
  using db = openReadOnly(path);
  const isKnown = db.query("SELECT 1 FROM pragma_table_info('runs') WHERE name = 'status'").get() !== null;
  return isKnown && db.query(`SELECT 1 FROM runs WHERE ${GOING} LIMIT 1`).get() !== null;
}

function prepareTables(db: Database): void {
  const lacking = () => {
    const columns = db.query<{ name: string }, []>("PRAGMA table_info(runs)").all();
    const found = new Set(columns.map(({ name }) => name));
    return Object.entries(COLUMNS).filter(([name]) => !found.has(name));
  };
  const hasKept = () => db.query("SELECT 1 FROM sqlite_schema WHERE name = 'kept'").get() !== null;
  if (lacking().length === 0 && hasKept()) return;
  db.transaction(() => {
    if (!hasKept()) db.run(`CREATE TABLE kept AS SELECT ${DEFAULT_MAX_ROWS} AS max_rows`);
    db.run("CREATE TABLE IF NOT EXISTS runs (id INTEGER PRIMARY KEY AUTOINCREMENT)");
    // Read again: another process may have prepared it meanwhile.
    for (const [name, type] of lacking()) db.run(`ALTER TABLE runs ADD COLUMN ${name} ${type}`);
    db.run("CREATE UNIQUE INDEX IF NOT EXISTS runs_run_id ON runs(run_id)");
    db.run("CREATE INDEX IF NOT EXISTS runs_source ON runs(source_type, source_id)");
  }).immediate();
}

/** Inserts new runs, and completes those that have ended. */
function write(db: Database, runs: Iterable<RunState>): void {
  // No upsert: it would use up an id also when it updates.
  const complete = db.query(
    `UPDATE runs SET finished_at = $finished_at, status = $status, error_text = $error_text,
       duration_seconds = $duration_seconds, pid = $pid WHERE run_id = $run_id`,
  );
  const insert = db.query(
    `INSERT INTO runs (${NAMES.join(", ")}) VALUES (${NAMES.map((name) => `$${name}`).join(", ")})`,
  );
  for (const { commands: _, trace_id: __, ...state } of runs) {
    const run = { ...state, pid: process.pid };
    if (complete.run(run).changes === 0) insert.run(run);
  }
}

/** Deletes all but the newest rows. */
function prune(db: Database): void {
  db.run(`DELETE FROM runs WHERE id <=
    (SELECT id FROM runs ORDER BY id DESC LIMIT 1 OFFSET (SELECT max_rows FROM kept))`);
}

/**
 * Marks the runs whose process has ended without recording how they ended.
 *
 * @param marked is called with each; of several processes, one marks a run.
 * @param untouched whether this process has recorded no run yet: a run with its process id is then of an earlier process
 *   (in a container, each svc may have the same id). Afterwards those with its id are its own, however late the clock says it is.
 */
function markInterrupted(db: Database, marked: (run: HistoryRow) => void, untouched = false): void {
  const going = db
    .query<{ id: number; pid: number | null; started_at: string }, []>(
      `SELECT id, pid, started_at FROM runs WHERE ${GOING} AND run_id IS NOT NULL`,
    )
    .all();
  // Process ids are reused; no active run is older than the longest deadline.
  const oldest = Date.now() - (MAX_TIMEOUT_S + 60) * 1_000;
  const isGone = (pid: number | null) => pid === null || (untouched && pid === process.pid) || !isAlive(pid);
  const mark = db.query(
    `UPDATE runs SET status = 'interrupted', error_text = 'the process that ran it has ended' WHERE id = ? AND ${GOING}`,
  );
  for (const { id, pid, started_at } of going) {
    const isOwn = !untouched && pid === process.pid;
    if (isOwn || (!isGone(pid) && !(Date.parse(started_at) < oldest))) continue;
    if (mark.run(id).changes === 0) continue;
    for (const row of findRows(db, { limit: 1, id })) marked(row);
  }
}

/** The rows that match `query`, newest first. */
function findRows(db: Database, query: Query): HistoryRow[] {
  const isGiven = (pair: [string, unknown]): pair is [string, string | number] => pair[1] !== undefined;
  const given = Object.entries(query).filter(isGiven);
  const where = given.flatMap(([field]) => CONDITIONS[field] ?? []);
  const columns = NAMES.filter((name) => name !== "pid");
  return db
    .query<HistoryRow, [Record<string, string | number>]>(
      `SELECT id, ${columns.join(", ")} FROM runs WHERE ${where.join(" AND ") || "TRUE"} ORDER BY id DESC LIMIT $limit`,
    )
    .all(Object.fromEntries(given));
}
