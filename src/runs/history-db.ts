/**
 * `history.db`: its tables and statements.
 *
 * A file of another tool is adopted: missing columns are added, its rows stay.
 */
import type { Database } from "bun:sqlite";
import { MAX_TIMEOUT_S } from "../core/run";
import { openDatabase } from "../lib/sqlite";
import type { HistoryQuery, HistoryRow, RunRecord } from "./types";

/** How many rows are kept by default. */
const DEFAULT_MAX_ROWS = 10_000;

/** The columns besides `id`. `pid` is the process that runs it. */
const COLUMNS = {
  run_id: "TEXT",
  source_type: "TEXT NOT NULL DEFAULT ''",
  source_id: "TEXT NOT NULL DEFAULT ''",
  script_path: "TEXT NOT NULL DEFAULT ''",
  started_at: "TEXT NOT NULL DEFAULT ''",
  finished_at: "TEXT",
  status: "TEXT NOT NULL DEFAULT ''",
  error_text: "TEXT",
  duration_seconds: "REAL",
  pid: "INTEGER",
} as const;

/** The columns of a {@link HistoryRow}. */
const ROW_COLUMNS = ["id", ...Object.keys(COLUMNS).filter((name) => name !== "pid")].join(", ");

/**
 * Opens the file, or makes it. Never waits for a lock of another process.
 *
 * @throws the SQLite or system error.
 */
export function openFile(path: string): Database {
  return openDatabase(path, { synchronous: "NORMAL", prepare: prepareTables });
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
export function write(db: Database, runs: Iterable<RunRecord>): void {
  // No upsert: it would use up an id also when it updates.
  const complete = db.query(
    "UPDATE runs SET finished_at = ?, status = ?, error_text = ?, duration_seconds = ? WHERE run_id = ?",
  );
  const insert = db.query(
    `INSERT INTO runs (run_id, source_type, source_id, script_path, started_at, finished_at, status, error_text,
       duration_seconds, pid)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  );
  for (const run of runs) {
    const { finished_at, status, error_text, duration_seconds } = run;
    const { changes } = complete.run(finished_at, status, error_text, duration_seconds, run.run_id);
    if (changes > 0) continue;
    const begun = [run.run_id, run.source_type, run.source_id, run.script_path, run.started_at] as const;
    insert.run(...begun, finished_at, status, error_text, duration_seconds, process.pid);
  }
}

/** Stores how many rows to keep, for processes that do not have the option: `svc execute` beside a server. */
export function keepRows(db: Database, maxRows: number): void {
  db.query("UPDATE kept SET max_rows = ? WHERE max_rows <> ?").run(maxRows, maxRows);
}

/** Deletes all but the newest rows; {@link keepRows} has stored how many. */
export function prune(db: Database): void {
  db.run(`DELETE FROM runs WHERE id <=
    (SELECT id FROM runs ORDER BY id DESC LIMIT 1 OFFSET (SELECT max_rows FROM kept))`);
}

/**
 * Marks the runs whose process has ended without recording how they ended.
 *
 * @param untouched whether this process has recorded no run yet: a run with its process id is then of an earlier process
 *   (in a container, each svc may have the same id).
 */
export function markInterrupted(db: Database, untouched = false): void {
  const going = db
    .query<{ id: number; pid: number | null; started_at: string }, []>(
      "SELECT id, pid, started_at FROM runs WHERE status IN ('running', 'waiting') AND run_id IS NOT NULL",
    )
    .all();
  // Process ids are reused; no active run is older than the longest deadline.
  const oldest = Date.now() - (MAX_TIMEOUT_S + 60) * 1_000;
  const isGone = (pid: number) => (untouched && pid === process.pid) || !isAlive(pid);
  const gone = going.filter(
    ({ pid, started_at }) => pid === null || isGone(pid) || Date.parse(started_at) < oldest,
  );
  const mark = db.query(
    "UPDATE runs SET status = 'interrupted', error_text = 'the process that ran it has ended' WHERE id = ?",
  );
  for (const { id } of gone) mark.run(id);
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // EPERM: it is alive and belongs to another user (kill(2)).
    return error instanceof Error && "code" in error && error.code === "EPERM";
  }
}

/** The rows that match `query`, newest first. */
export function findRows(db: Database, query: HistoryQuery): HistoryRow[] {
  const narrowing: Array<[condition: string, value: string | number | undefined]> = [
    ["source_type = ?", query.source_type],
    ["source_id = ?", query.source_id],
    ["status = ?", query.status],
    ["id < ?", query.before_id],
  ];
  const given = narrowing.filter((pair): pair is [string, string | number] => pair[1] !== undefined);
  const where = given.length > 0 ? `WHERE ${given.map(([condition]) => condition).join(" AND ")}` : "";
  return db
    .query<HistoryRow, Array<string | number>>(
      `SELECT ${ROW_COLUMNS} FROM runs ${where} ORDER BY id DESC LIMIT ?`,
    )
    .all(...given.map(([, value]) => value), query.limit);
}
