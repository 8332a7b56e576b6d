/**
 * The file of the log: opened when it is used, and locked for a moment at a time.
 *
 * The promise: a transaction that resolved is on disk (`open-file.ts`); a lock of another process never blocks the event
 * loop; a write that cannot get the lock fails within seconds.
 */
import { Database, SQLiteError } from "bun:sqlite";
import { type Backoff, doubled, jitter } from "../../lib/backoff";
import { messageOf, systemCode, unavailable } from "../../lib/errors";
import { isMissing } from "../../lib/files";
import { type Log, silentLog } from "../../lib/log";
import { isBusy, openSnapshot } from "../../lib/sqlite";
import { prepareLog } from "./adopt";
import { type Head, isAnother } from "./high-water";
import { NOTE_MS, readNote, writeNote } from "./note";
import { type Epoch, type OpenFile, openFile, REPLACED } from "./open-file";

/** How long writes wait for the lock of another process, milliseconds. After that they fail at once until it is free. */
const LOCK_WAIT_MS = 5_000;

/** The pauses between two attempts to take the lock: processes that write all the time seldom free it. */
const PAUSES: Backoff = { firstMs: 1, longestMs: 5 };

type Kind = "write" | "read";

export class AuditFile {
  private open: OpenFile | undefined;
  /** Since when a lock is in the way, and when it was last met; for each kind, as readers pass while a writer waits. */
  private readonly blocked = new Map<Kind, { readonly since: number; readonly seen: number }>();
  /** What `audit_head` records of this file. */
  private remembered: Head | undefined;
  private noting: NodeJS.Timeout | undefined;

  constructor(
    readonly path: string,
    private readonly lockWaitMs: number = LOCK_WAIT_MS,
    private readonly log: Log = silentLog,
  ) {}

  /**
   * Runs `work` in a transaction that holds the write lock, and commits it.
   *
   * @throws an `unavailable` failure when the file cannot be opened, locked or written, or somebody tampered with it: then
   *   nothing was written.
   */
  write<T>(work: (db: Database, epoch: Epoch) => T): Promise<T> {
    return this.waiting("write", (open) => open.write(work) as T);
  }

  /**
   * Runs `work` on one state of the file, whatever is written meanwhile.
   *
   * @throws an `unavailable` failure when the file cannot be opened or read.
   */
  async read<T>(work: (db: Database) => T): Promise<T> {
    if (this.open || !isAbsent(this.path)) return this.waiting("read", (open) => open.read(work) as T);
    using empty = emptyLog();
    return work(empty);
  }

  /** @throws `unavailable` where the file was open here and somebody has removed it: it is not a log without rows. */
  requireThere(): void {
    if (this.open && isMissing(this.path)) throw unavailable(REPLACED);
  }

  /** Notes outside of the file, within {@link NOTE_MS}, that the row `head` is in it. */
  remember(head: Head): void {
    this.remembered = head;
    this.noting ??= setTimeout(() => this.note(), NOTE_MS);
    this.noting.unref();
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
    this.note();
    this.open?.close();
    this.open = undefined;
  }

  private note(): void {
    clearTimeout(this.noting);
    this.noting = undefined;
    const head = this.remembered;
    this.remembered = undefined;
    const known = head && readNote(this.path);
    // Another process may have been later. A note that the log contradicts is evidence, and stays.
    if (!head || (known && (known.id >= head.id || this.contradicts(known)))) return;
    try {
      writeNote(this.path, head);
    } catch (error) {
      this.log.warn(`the end of the audit log cannot be noted: ${messageOf(error)}`);
    }
  }

  private contradicts(known: Head): boolean {
    try {
      return this.open !== undefined && isAnother(this.open.db, known);
    } catch {
      return false;
    }
  }

  private async waiting<T>(kind: Kind, attempt: (open: OpenFile) => T): Promise<T> {
    for (let failures = 0; ; failures++) {
      try {
        const result = attempt(this.opened());
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
      await Bun.sleep(jitter(doubled(PAUSES, failures), [0.5, 1.5]));
    }
  }

  private opened(): OpenFile {
    if (this.open) this.open.requireInPlace();
    else this.open = openFile(this.path, this.log);
    return this.open;
  }
}

/** How long a reader waits for a lock, milliseconds, which blocks the thread. Readers of a write-ahead log seldom wait. */
const READER_WAIT_MS = 5_000;

/** Whether no log was ever at `path`; false where that cannot be seen, which opening it reports. */
const isAbsent = (path: string) => isMissing(path) && readNote(path) === undefined;

/** What a reader sees where there is no log yet: reading makes none. */
function emptyLog(): Database {
  const db = new Database(":memory:", { strict: true });
  prepareLog(db, undefined);
  return db;
}

/**
 * A connection that reads the log at `path` as it is now.
 *
 * @param required whether there must be one.
 * @throws an `unavailable` failure when it cannot be read.
 */
export function readLog(path: string, required = false): Database {
  try {
    return !required && isAbsent(path) ? emptyLog() : openSnapshot(path, READER_WAIT_MS);
  } catch (error) {
    throw asFailure(error);
  }
}

/** An error of SQLite or the system as an expected failure; any other error is a bug and is returned as it is. */
export function asFailure(error: unknown): unknown {
  const code = systemCode(error) ?? "";
  const isSystem = /^E[A-Z]+$/.test(code);
  if (!isSystem && !(error instanceof SQLiteError)) return error;
  const place = PLACES.find(([codes]) => codes.test(code))?.[1];
  const reason = place ?? (isSystem ? "the system refuses it" : messageOf(error));
  const failure = unavailable(`the audit log cannot be used: ${reason}${isSystem ? ` (${code})` : ""}`);
  return place === undefined ? failure : Object.assign(failure, { cause: new Error(ADVICE) });
}

/** What is wrong with the place of the log, by the code of the system or of SQLite. */
const PLACES: ReadonlyArray<readonly [RegExp, string]> = [
  [/^(ENOENT|ENOTDIR)$/, "its folder cannot be made"],
  [/^(EACCES|EPERM)$/, "its folder belongs to another user"],
  [/^EROFS$|^SQLITE_READONLY/, "its folder is read-only"],
];

/** On the command line; a server has its folder for good. */
const ADVICE = "name a folder that you can write with --config-dir (to read an old log, copy it there)";
