/**
 * The file of the log: opened, locked for a moment at a time, and no longer written once another file is at its path.
 *
 * The promise: a transaction that resolved is on disk (WAL with `synchronous=FULL`); a lock of another process never
 * blocks the event loop; a write that cannot get the lock fails within seconds.
 */
import { type Database, SQLiteError } from "bun:sqlite";
import { existsSync, realpathSync, statSync } from "node:fs";
import { systemCode, unavailable } from "../lib/errors";
import { isBusy, openDatabase, openSnapshot } from "../lib/sqlite";
import { prepareSchema } from "./schema";

/** How long writes wait for the lock of another process, milliseconds. After that they fail at once until it is free. */
const LOCK_WAIT_MS = 5_000;

/** Pages in the write-ahead log before they are moved to the file (16 MB): each move costs two more flushes. */
const CHECKPOINT_PAGES = 4_000;

/** The longest pause between two attempts to take the lock, milliseconds: processes that write all the time seldom free it. */
const LONGEST_PAUSE_MS = 5;

type Kind = "write" | "read";

export class AuditFile {
  private open: OpenFile | undefined;
  /** Since when a lock is in the way, and when it was last met; for each kind, as readers pass while a writer waits. */
  private readonly blocked = new Map<Kind, { readonly since: number; readonly seen: number }>();

  constructor(
    readonly path: string,
    private readonly lockWaitMs: number = LOCK_WAIT_MS,
  ) {}

  /**
   * Runs `work` in a transaction that holds the write lock, and commits it.
   *
   * @throws an `unavailable` failure when the file cannot be opened, locked or written: then nothing was written.
   */
  write<T>(work: (db: Database) => T): Promise<T> {
    return this.waiting("write", (transaction) => transaction.immediate(work) as T);
  }

  /**
   * Runs `work` on one state of the file, whatever is written meanwhile.
   *
   * @throws an `unavailable` failure when the file cannot be opened or read.
   */
  read<T>(work: (db: Database) => T): Promise<T> {
    return this.waiting("read", (transaction) => transaction.deferred(work) as T);
  }

  /** Gives the space of deleted rows back to the disk, if no other process uses the file just now. */
  compact(): void {
    try {
      const { db } = this.opened();
      db.run("VACUUM");
      db.run("PRAGMA wal_checkpoint(TRUNCATE)");
    } catch {
      // Later rows will use the space.
    }
  }

  close(): void {
    this.open?.db.close();
    this.open = undefined;
  }

  private async waiting<T>(kind: Kind, attempt: (transaction: OpenFile["transaction"]) => T): Promise<T> {
    for (let pause = 1; ; pause = Math.min(pause * 2, LONGEST_PAUSE_MS)) {
      try {
        const result = attempt(this.opened().transaction);
        this.blocked.delete(kind);
        return result;
      } catch (error) {
        if (!isBusy(error)) throw asFailure(error);
        const seen = performance.now();
        const last = this.blocked.get(kind);
        // A lock that was not met for this long is a different one.
        const since = last && seen - last.seen <= this.lockWaitMs ? last.since : seen;
        this.blocked.set(kind, { since, seen });
        if (seen - since > this.lockWaitMs) {
          throw unavailable("the audit log is locked by another process");
        }
      }
      // Random, so that writers do not wake at the same time.
      await Bun.sleep(pause * (0.5 + Math.random()));
    }
  }

  private opened(): OpenFile {
    if (!this.open) {
      this.open = openFile(this.path);
    } else if (!this.open.isInPlace()) {
      throw unavailable(
        "the audit log was replaced or removed while in use; restart svc to write to the new one",
      );
    }
    return this.open;
  }
}

type OpenFile = ReturnType<typeof openFile>;

function openFile(path: string) {
  const db = openDatabase(path, { synchronous: "FULL", prepare: prepareLog });
  // Made once for a connection: making it takes as long as a small transaction.
  const transaction = db.transaction((work: (db: Database) => unknown) => work(db));
  return { db, transaction, isInPlace: watchPlace(path) };
}

/** How often the path is checked at most, milliseconds. A check before each append would cost a twentieth on a fast disk. */
export const CHECK_MS = 1;

/** How often the inode of the write-ahead log is checked at most, milliseconds. */
const WAL_CHECK_MS = 250;

/**
 * @returns a function that says whether the file at `path` and its write-ahead log are still the ones that they are now: a
 *   write to a file that was replaced would be lost.
 */
function watchPlace(path: string): () => boolean {
  const file = inodeOf(path);
  // In the folder of the file itself, also when the path is a symbolic link.
  const walPath = `${realpathSync(path)}-wal`;
  const wal = inodeOf(walPath);
  let checkedAt = Number.NEGATIVE_INFINITY;
  let walCheckedAt = performance.now();
  return () => {
    const now = performance.now();
    if (now - checkedAt < CHECK_MS) return true;
    if (inodeOf(path) !== file || !existsSync(walPath)) return false;
    checkedAt = now;
    // Linux: a stat makes the next fsync of a file slower by a third (multigrain timestamps), and every row is written
    // to this one.
    if (now - walCheckedAt < WAL_CHECK_MS) return true;
    walCheckedAt = now;
    return inodeOf(walPath) === wal;
  };
}

function inodeOf(path: string): string {
  const found = statSync(path, { throwIfNoEntry: false });
  return found ? `${found.dev}:${found.ino}` : "none";
}

/** How long a reader waits for a lock, milliseconds, which blocks the thread. Readers of a write-ahead log seldom wait. */
const READER_WAIT_MS = 5_000;

/** A connection that reads the log at `path` as it is now. @throws an `unavailable` failure when it cannot be read. */
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

/** An error of SQLite or the system as an expected failure; any other error is a bug and is returned as it is. */
export function asFailure(error: unknown): unknown {
  if (error instanceof SQLiteError) return unavailable(`the audit log cannot be used: ${error.message}`);
  const code = systemCode(error);
  return code && /^E[A-Z]+$/.test(code) ? unavailable(`the audit log cannot be used (${code})`) : error;
}
