/**
 * The file of the log: opened, locked for a moment at a time, and never written once it is not the file at its path.
 *
 * The promise: a transaction that resolved is on disk (WAL with `synchronous=FULL`); no lock that another process holds
 * ever blocks the event loop; a write fails in seconds rather than waiting for ever.
 */
import { type Database, SQLiteError } from "bun:sqlite";
import { existsSync, realpathSync, statSync } from "node:fs";
import { systemCode, unavailable } from "../lib/errors";
import { isBusy, openDatabase, openSnapshot } from "../lib/sqlite";
import { prepareSchema } from "./schema";

/** How long writes wait for a lock that another process holds. Once it has passed they fail at once until it is free. */
const LOCK_WAIT_MS = 5_000;

/** Pages in the write-ahead log before they are moved to the file: 16 MB, as each time costs two more flushes. */
const CHECKPOINT_PAGES = 4_000;

/** The longest pause between two attempts to take the lock, which others who write without a pause seldom leave free. */
const LONGEST_PAUSE_MS = 5;

type Kind = "write" | "read";

export class AuditFile {
  private db: Database | undefined;
  private identity: Identity | undefined;
  /**
   * Since when a lock is in the way, and when that was seen last; apart for each, as what reads succeeds while another
   * process holds the write lock.
   */
  private readonly blocked: Partial<
    Record<Kind, { readonly since: number; readonly seen: number } | undefined>
  > = {};

  constructor(
    readonly path: string,
    private readonly lockWaitMs: number = LOCK_WAIT_MS,
  ) {}

  /**
   * Runs `work` in a transaction that holds the write lock, and commits it.
   *
   * @throws an `unavailable` failure when the file cannot be opened, locked or written: then nothing was.
   */
  write<T>(work: (db: Database) => T): Promise<T> {
    return this.waiting("write", (db) => inTransaction(db, "BEGIN IMMEDIATE", work));
  }

  /**
   * Runs `work` on one state of the file, whatever is written meanwhile.
   *
   * @throws an `unavailable` failure when the file cannot be opened or read.
   */
  read<T>(work: (db: Database) => T): Promise<T> {
    return this.waiting("read", (db) => inTransaction(db, "BEGIN", work));
  }

  /** Gives the disk back what deleted rows took, if nobody else uses the file just now. */
  compact(): void {
    try {
      const db = this.opened();
      db.run("VACUUM");
      db.run("PRAGMA wal_checkpoint(TRUNCATE)");
    } catch {
      // Then later rows will use the space.
    }
  }

  close(): void {
    this.db?.close();
    this.db = undefined;
  }

  private async waiting<T>(kind: Kind, attempt: (db: Database) => T): Promise<T> {
    for (let pause = 1; ; pause = Math.min(pause * 2, LONGEST_PAUSE_MS)) {
      try {
        const result = attempt(this.opened());
        this.blocked[kind] = undefined;
        return result;
      } catch (error) {
        if (!isBusy(error)) throw asFailure(error);
        const seen = performance.now();
        const last = this.blocked[kind];
        // A lock that nobody has met for so long is another one.
        const since = last && seen - last.seen <= this.lockWaitMs ? last.since : seen;
        this.blocked[kind] = { since, seen };
        if (seen - since > this.lockWaitMs) {
          throw unavailable("the audit log is locked by another process");
        }
      }
      // Writers that wait in step would wake in step.
      await Bun.sleep(pause * (0.5 + Math.random()));
    }
  }

  private opened(): Database {
    if (!this.db) {
      this.db = openDatabase(this.path, { synchronous: "FULL", prepare: prepareLog });
      this.identity = new Identity(this.path);
    } else if (!this.identity?.holds()) {
      throw unavailable(
        "the audit log was replaced or removed while in use; restart svc to write to the new one",
      );
    }
    return this.db;
  }
}

/** Commits what `work` does, or none of it. `query` keeps the statements prepared, as `run` does not. */
function inTransaction<T>(db: Database, begin: "BEGIN" | "BEGIN IMMEDIATE", work: (db: Database) => T): T {
  db.query(begin).run();
  try {
    const result = work(db);
    db.query("COMMIT").run();
    return result;
  } catch (error) {
    if (db.inTransaction) db.run("ROLLBACK");
    throw error;
  }
}

/**
 * How long the file may go without a look at it. Less than a commit often takes, during which nobody looks either; to
 * look before each would cost an append on a fast disk a twentieth.
 */
export const CHECK_MS = 1;

/** How long a write-ahead log that was replaced by another one may go unnoticed. */
const WAL_CHECK_MS = 250;

/** Which files the path and its write-ahead log stand for; a write to one that is there no more would be lost. */
class Identity {
  private readonly file: string;
  /** Beside the file itself, also when the path is a symbolic link. */
  private readonly walPath: string;
  private readonly wal: string;
  private checkedAt = Number.NEGATIVE_INFINITY;
  private walCheckedAt = performance.now();

  constructor(private readonly path: string) {
    this.file = inodeOf(path);
    this.walPath = `${realpathSync(path)}-wal`;
    this.wal = inodeOf(this.walPath);
  }

  holds(): boolean {
    const now = performance.now();
    if (now - this.checkedAt < CHECK_MS) return true;
    if (inodeOf(this.path) !== this.file || !existsSync(this.walPath)) return false;
    this.checkedAt = now;
    // Asking for the times of a file makes its next fsync dearer by a third (Linux: multigrain timestamps), so the one
    // that every row is written to is seldom asked.
    if (now - this.walCheckedAt < WAL_CHECK_MS) return true;
    this.walCheckedAt = now;
    return inodeOf(this.walPath) === this.wal;
  }
}

function inodeOf(path: string): string {
  const found = statSync(path, { throwIfNoEntry: false });
  return found ? `${found.dev}:${found.ino}` : "none";
}

/** How long a reader waits for a lock; readers of a write-ahead log seldom meet one. Blocks the thread. */
const READER_WAIT_MS = 5_000;

/**
 * A connection that reads the log at `path` as it is now, whatever is written meanwhile, until it is closed.
 *
 * @throws an `unavailable` failure when it cannot be read.
 */
export function readLog(path: string): Database {
  try {
    return openSnapshot(path, READER_WAIT_MS);
  } catch (error) {
    throw asFailure(error);
  }
}

function prepareLog(db: Database): void {
  const mode = db.query<{ journal_mode: string }, []>("PRAGMA journal_mode").get()?.journal_mode;
  if (mode !== "wal") {
    throw unavailable(`the audit log cannot use a write-ahead log (its file system gives "${mode}")`);
  }
  db.run(`PRAGMA wal_autocheckpoint = ${CHECKPOINT_PAGES}`);
  prepareSchema(db);
}

/** What SQLite or the system refused, as an expected failure; anything else is a bug and stays one. */
export function asFailure(error: unknown): unknown {
  if (error instanceof SQLiteError) return unavailable(`the audit log cannot be used: ${error.message}`);
  const code = systemCode(error);
  return code && /^E[A-Z]+$/.test(code) ? unavailable(`the audit log cannot be used (${code})`) : error;
}
