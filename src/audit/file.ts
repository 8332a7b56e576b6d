/**
 * The file of the log: opened, locked for a moment at a time, and never written once it is not the file at its path.
 *
 * The promise: a transaction that resolved is on disk (WAL with `synchronous=FULL`); no lock that another process holds
 * ever blocks the event loop; a write fails in seconds rather than waiting for ever.
 */
import { Database, SQLiteError } from "bun:sqlite";
import { chmodSync, closeSync, openSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { systemCode, unavailable } from "../lib/errors";
import { ensurePrivateFolder, PRIVATE_FILE } from "../lib/files";
import { isBusy } from "../lib/lock";
import { prepareSchema } from "./schema";

/** How long writes wait for a lock that another process holds. Once it has passed they fail at once until it is free. */
export const LOCK_WAIT_MS = 5_000;

/** The longest pause between two attempts to take the lock. */
const LONGEST_PAUSE_MS = 20;

export class AuditFile {
  private db: Database | undefined;
  private identity: string | undefined;
  private blockedSince: number | undefined;

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
    return this.waiting((db) => {
      db.run("BEGIN IMMEDIATE");
      try {
        const result = work(db);
        db.run("COMMIT");
        return result;
      } catch (error) {
        if (db.inTransaction) db.run("ROLLBACK");
        throw error;
      }
    });
  }

  /**
   * Runs `work` on one state of the file, whatever is written meanwhile.
   *
   * @throws an `unavailable` failure when the file cannot be opened or read.
   */
  read<T>(work: (db: Database) => T): Promise<T> {
    return this.waiting((db) => {
      db.run("BEGIN");
      try {
        return work(db);
      } finally {
        if (db.inTransaction) db.run("COMMIT");
      }
    });
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

  private async waiting<T>(attempt: (db: Database) => T): Promise<T> {
    for (let pause = 1; ; pause = Math.min(pause * 2, LONGEST_PAUSE_MS)) {
      try {
        const result = attempt(this.opened());
        this.blockedSince = undefined;
        return result;
      } catch (error) {
        if (!isBusy(error)) throw asFailure(error);
        this.blockedSince ??= performance.now();
        if (performance.now() - this.blockedSince > this.lockWaitMs) {
          throw unavailable("the audit log is locked by another process");
        }
      }
      // Writers that wait in step would wake in step.
      await Bun.sleep(pause * (0.5 + Math.random()));
    }
  }

  private opened(): Database {
    if (!this.db) {
      this.db = openDatabase(this.path);
      this.identity = identityOf(this.path);
    } else if (identityOf(this.path) !== this.identity) {
      throw unavailable(
        "the audit log was replaced or removed while in use; restart svc to write to the new one",
      );
    }
    return this.db;
  }
}

/** How long a reader waits for a lock; readers of a write-ahead log seldom meet one. Blocks the thread. */
const READER_WAIT_MS = 5_000;

/**
 * A connection that reads the log at `path` as it is now, whatever is written meanwhile, until it is closed.
 *
 * @throws an `unavailable` failure when it cannot be read.
 */
export function openSnapshot(path: string): Database {
  let db: Database | undefined;
  try {
    db = new Database(path, { readonly: true });
    db.run(`PRAGMA busy_timeout = ${READER_WAIT_MS}`);
    db.run("BEGIN");
    return db;
  } catch (error) {
    db?.close();
    throw asFailure(error);
  }
}

function openDatabase(path: string): Database {
  ensurePrivateFolder(dirname(path));
  makePrivate(path);
  const db = new Database(path);
  try {
    db.run("PRAGMA busy_timeout = 0");
    const mode = db.query<{ journal_mode: string }, []>("PRAGMA journal_mode = WAL").get()?.journal_mode;
    if (mode !== "wal")
      throw unavailable(`the audit log cannot use a write-ahead log (its file system gives "${mode}")`);
    db.run("PRAGMA synchronous = FULL");
    prepareSchema(db);
    return db;
  } catch (error) {
    db.close();
    throw error;
  }
}

/** Makes the file if need be. Never opens one that is there: closing it would drop the locks SQLite holds on it. */
function makePrivate(path: string): void {
  try {
    closeSync(openSync(path, "wx", PRIVATE_FILE));
  } catch (error) {
    if (systemCode(error) !== "EEXIST") throw error;
  }
  chmodSync(path, PRIVATE_FILE);
}

/** Which files the path and its write-ahead log stand for now; a write to an unlinked one would be lost. */
function identityOf(path: string): string {
  return [path, `${path}-wal`]
    .map((name) => {
      const found = statSync(name, { throwIfNoEntry: false });
      return found ? `${found.dev}:${found.ino}` : "none";
    })
    .join(" ");
}

/** What SQLite or the system refused, as an expected failure; anything else is a bug and stays one. */
export function asFailure(error: unknown): unknown {
  if (error instanceof SQLiteError) return unavailable(`the audit log cannot be used: ${error.message}`);
  const code = systemCode(error);
  return code && /^E[A-Z]+$/.test(code) ? unavailable(`the audit log cannot be used (${code})`) : error;
}
