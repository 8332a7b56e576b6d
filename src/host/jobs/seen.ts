/**
 * `{config_dir}/seen_jobs.db`: the jobs that this host has taken, and what became of each.
 *
 * The promise: a job is on disk as begun before anything of it runs, so that it is not run again,
 * whenever this process is killed. One that has no end in the file when a server starts was interrupted. A row is kept until long after the job
 * has expired; one that was forgotten is known to have expired, even if the clock is set back later. A file that is lost is not
 * mistaken for its successor: each has an id of its own, which the desk compares.
 */
import type { Database } from "bun:sqlite";
import { busy, conflict } from "../../lib/errors";
import { isWithinShare } from "../../lib/quota";
import { openDatabase } from "../../lib/sqlite";
import type { Ending } from "../../wire/job/answer";

/** How long a job is known after it has expired and ended, in milliseconds: a week. */
const KEPT_MS = 7 * 86_400_000;

/** The most jobs that are known: some 30 MB. A job is not given up for a newer one. */
const MAX_ROWS = 100_000;

/** `cancelled`: before it began, so that it never does. `interrupted`: this host cannot say how far it came. */
type SeenState = "running" | "done" | "interrupted" | "cancelled";

/** A job as it was taken. Times in milliseconds since 1970. */
export interface SeenJob {
  readonly id: string;
  readonly plan: string;
  readonly digest: string;
  /** The name of the token; null for the owner. */
  readonly token: string | null;
  readonly expires: number;
}

export type SeenRow = SeenJob & {
  readonly at: number;
  readonly state: SeenState;
  readonly ending: Ending | null;
};

/** The jobs of plans that this host has taken. */
export interface SeenJobs {
  readonly records: string;
  /** The row of a job; undefined for one that has not been taken, or is forgotten. */
  find(id: string): SeenRow | undefined;
  /** Whether a job with this expiry may have been taken and forgotten. */
  mayHaveForgotten(expires: number): boolean;
  /**
   * Puts a job on disk: as `running` before it runs, or as `cancelled` so that it never does.
   *
   * @throws `too_many` when this host cannot know more jobs; the SQLite error where it is there already, or cannot be written. Then
   *   it must not run.
   */
  begin(job: SeenJob, state: "running" | "cancelled"): void;
  /** Keeps how a job ended. @throws the SQLite error. */
  end(id: string, ending: Ending): void;
  close(): void;
}

/**
 * Opens the file. What another process has begun and not ended is `interrupted` from then on: one server at a time uses it.
 *
 * @throws as `openDatabase`.
 */
export function openSeenJobs(
  path: string,
  { now = Date.now, most = MAX_ROWS, keptMs = KEPT_MS } = {},
): SeenJobs {
  const db = openDatabase(path, { synchronous: "FULL", busyMs: 1_000, prepare });
  db.run("UPDATE jobs SET state = 'interrupted' WHERE state = 'running'");

  const countBy = db.query<{ rows: number }, [string | null]>(
    "SELECT count(*) AS rows FROM jobs WHERE token IS ?1",
  );
  const countAll = db.query<{ rows: number }, []>("SELECT count(*) AS rows FROM jobs");
  const found = db.query<Omit<SeenRow, "ending"> & { ending: string | null }, [string]>(
    "SELECT id, plan, digest, token, expires, at, state, ending FROM jobs WHERE id = ?1",
  );
  const gone = db.query<{ expires: number }, [number]>(
    "DELETE FROM jobs WHERE kept_until < ?1 AND state <> 'running' RETURNING expires",
  );
  const insert = db.query(
    `INSERT INTO jobs (id, plan, digest, token, expires, at, state, kept_until)
     VALUES ($id, $plan, $digest, $token, $expires, $at, $state, $kept_until)`,
  );
  /** The latest expiry of those that were forgotten. */
  const forgotten = db.query<{ expires: number }, []>("SELECT expires FROM forgotten");
  const records = db.query<{ id: string }, []>("SELECT id FROM records").get()?.id ?? "";
  const mayHaveForgotten = (expires: number): boolean => expires <= (forgotten.get()?.expires ?? 0);

  const forget = db.transaction(() => {
    const expiries = gone.all(now()).map(({ expires }) => expires);
    if (expiries.length === 0) return;
    db.run("UPDATE forgotten SET expires = max(expires, ?1)", [Math.max(...expiries)]);
  });

  return {
    records,
    find(id) {
      const row = found.get(id);
      return row ? { ...row, ending: row.ending === null ? null : JSON.parse(row.ending) } : undefined;
    },
    mayHaveForgotten,
    begin(job, state) {
      forget.immediate();
      if (mayHaveForgotten(job.expires)) throw conflict("this job has expired");
      const free = most - (countAll.get()?.rows ?? 0);
      const own = countBy.get(job.token)?.rows ?? 0;
      // The owner need not leave room for other tokens.
      if (free <= 0 || (job.token !== null && !isWithinShare(own, 1, free, 7)))
        throw busy(
          `this host knows ${most - free} jobs, and takes more once some of them have expired`,
          "too_many",
        );
      insert.run({ ...job, at: now(), state, kept_until: job.expires + keptMs });
    },
    end(id, ending) {
      db.run("UPDATE jobs SET state = 'done', ending = ?2, kept_until = max(kept_until, ?3) WHERE id = ?1", [
        ...[id, JSON.stringify(ending), now() + keptMs],
      ]);
    },
    close: () => db.close(),
  };
}

function prepare(db: Database): void {
  db.run(`CREATE TABLE IF NOT EXISTS jobs (
    id TEXT PRIMARY KEY, plan TEXT NOT NULL, digest TEXT NOT NULL, token TEXT, expires INTEGER NOT NULL,
    at INTEGER NOT NULL, state TEXT NOT NULL, kept_until INTEGER NOT NULL, ending TEXT) WITHOUT ROWID;
    CREATE INDEX IF NOT EXISTS jobs_kept ON jobs(kept_until);
    CREATE TABLE IF NOT EXISTS forgotten (one INTEGER PRIMARY KEY CHECK (one = 1), expires INTEGER NOT NULL);
    INSERT OR IGNORE INTO forgotten VALUES (1, 0);
    CREATE TABLE IF NOT EXISTS records (one INTEGER PRIMARY KEY CHECK (one = 1), id TEXT NOT NULL);
    INSERT OR IGNORE INTO records VALUES (1, '${crypto.randomUUID()}')`);
}
