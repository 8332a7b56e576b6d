/**
 * A connection that writes to the file of the log, and notices what other programs do to its files meanwhile.
 *
 * The promise: a transaction that was committed is on disk (WAL with `synchronous=FULL`), in the files that others open;
 * once another file is at one of their paths, nothing is written any more.
 */
import type { Database } from "bun:sqlite";
import { existsSync, realpathSync } from "node:fs";
import { unavailable } from "../../lib/errors";
import type { Log } from "../../lib/log";
import { lookThrough } from "../../lib/look";
import { openDatabase } from "../../lib/sqlite";
import { prepareLog } from "./adopt";
import { readNote } from "./note";
import { schemaFault } from "./schema";
import { guardWal } from "./wal-guard";

/** Pages in the write-ahead log before they are moved to the file (16 MB): each move costs two more flushes. */
const CHECKPOINT_PAGES = 4_000;

/** The time in which one connection alone wrote to the file: another object after any other connection did. */
export type Epoch = object;

/** What is said where another file, or none, is at its path. */
export const REPLACED =
  "the audit log was replaced or removed while in use; restart svc to write to the new one";
const OVERWRITTEN =
  "the write-ahead log of the audit log was overwritten or cut off while in use; restart svc, then verify the log";

/** The file of the audit log, while it is open. */
export interface OpenFile {
  readonly db: Database;
  requireInPlace(): void;
  read(work: (db: Database) => unknown): unknown;
  write(work: (db: Database, epoch: Epoch) => unknown): unknown;
  close(): void;
}

/**
 * Opens the log at `path`, or makes it.
 *
 * @throws an `unavailable` failure when it is none, the system error, or that of SQLite.
 */
export function openFile(path: string, log: Log): OpenFile {
  const db = openDatabase(path, {
    synchronous: "FULL",
    prepare: (opened) => prepare(opened, path, log),
    // Other tools write it too. What is in it says which svc can read it (`schema.ts`).
    hasVersion: false,
  });
  const { isInPlace, wal } = guarded(db, path);
  const dataVersion = db.query<{ data_version: number }, []>("PRAGMA data_version");
  const schemaVersion = db.query<{ schema_version: number }, []>("PRAGMA schema_version");
  let seen = { data: -1, schema: -1 };
  let epoch: Epoch = {};
  let isOverwritten = false;

  const requireInPlace = () => {
    if (isOverwritten) throw unavailable(OVERWRITTEN);
    if (!isInPlace()) throw unavailable(REPLACED);
  };

  /** With the lock: fails if somebody tampered with the file since the last write. */
  const requireUntouched = () => {
    const data = dataVersion.get()?.data_version ?? -1;
    const alone = data === seen.data;
    isOverwritten = !wal.isIntact(alone);
    if (isOverwritten) throw unavailable(OVERWRITTEN);
    if (alone) return;
    const schema = schemaVersion.get()?.schema_version ?? -1;
    const fault = schema === seen.schema ? null : schemaFault(db);
    if (fault !== null) throw unavailable(`the audit log was altered: ${fault}`);
    seen = { data, schema };
    epoch = {};
  };

  // Made once for a connection: making them takes as long as a small transaction.
  const reading = db.transaction((work: (db: Database) => unknown) => work(db));
  const writing = db.transaction((work: (db: Database, epoch: Epoch) => unknown) => {
    requireUntouched();
    return work(db, epoch);
  });
  return {
    db,
    requireInPlace,
    read: reading.deferred,
    write: writing.immediate,
    close() {
      wal.close();
      // Closing would move what was overwritten into the file, or delete a write-ahead log that is not its own. The next to
      // open it takes only what is whole.
      if (!isOverwritten && isInPlace(true)) db.close();
      // Collecting it would close it, too.
      else process.once("exit", () => db);
    },
  };
}

/** What notices what is done to the files of `db`, which is closed where that cannot be: no attempt leaves files open. */
function guarded(db: Database, path: string) {
  try {
    return { isInPlace: watchPlace(path), wal: guardWal(...besides(path)) };
  } catch (error) {
    db.close();
    throw error;
  }
}

/** The paths of the write-ahead log and its index: in the folder of the file itself, also when `path` is a symbolic link. */
function besides(path: string): [wal: string, index: string] {
  const file = realpathSync(path);
  return [`${file}-wal`, `${file}-shm`];
}

/** How often the paths are checked at most, milliseconds. A check before each append would cost a twentieth on a fast disk. */
export const CHECK_MS = 1;

/** How often the inode of the write-ahead log is checked at most, milliseconds. */
const WAL_CHECK_MS = 250;

/**
 * @returns a function that says whether the file at `path`, its write-ahead log and the index of that are still the ones that
 *   they are now: what one process writes to a file that was replaced is lost for the others. Its answer may be as old as
 *   the limits above allow, unless `fresh` is set.
 */
function watchPlace(path: string): (fresh?: boolean) => boolean {
  const file = inodeOf(path);
  const [walPath, indexPath] = besides(path);
  const [wal, index] = [walPath, indexPath].map(inodeOf);
  let checkedAt = Number.NEGATIVE_INFINITY;
  let walCheckedAt = performance.now();
  return (fresh = false) => {
    const now = performance.now();
    if (!fresh && now - checkedAt < CHECK_MS) return true;
    if (inodeOf(path) !== file || inodeOf(indexPath) !== index || !existsSync(walPath)) return false;
    checkedAt = now;
    // Linux: a stat makes the next fsync of a file slower by a third (multigrain timestamps), and every row is written
    // to this one.
    if (!fresh && now - walCheckedAt < WAL_CHECK_MS) return true;
    walCheckedAt = now;
    return inodeOf(walPath) === wal;
  };
}

function inodeOf(path: string): string {
  const found = lookThrough(path);
  return found ? `${found.dev}:${found.ino}` : "none";
}

function prepare(db: Database, path: string, log: Log): void {
  const mode = db.query<{ journal_mode: string }, []>("PRAGMA journal_mode").get()?.journal_mode;
  if (mode !== "wal") {
    throw unavailable(`the audit log cannot use a write-ahead log (its file system gives "${mode}")`);
  }
  db.run(`PRAGMA wal_autocheckpoint = ${CHECKPOINT_PAGES}`);
  for (const warning of prepareLog(db, readNote(path))) log.warn(warning);
}
