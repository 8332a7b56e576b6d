/**
 * Opening a SQLite file: private to its owner, with a write-ahead log, closed again when it cannot be prepared.
 */
import { constants, Database } from "bun:sqlite";
import { chmodSync } from "node:fs";
import { basename, dirname } from "node:path";
import { pathToFileURL } from "node:url";
import { version } from "../version";
import { conflict, systemCode, unavailable } from "./errors";
import { ensurePrivateFile, ensurePrivateFolder, PRIVATE_FILE } from "./files";
import { FORMAT, NEEDS } from "./format";
import { requireNotLost, sizeOf, unusable } from "./trust-files";

interface DatabaseOptions {
  /** `FULL`: a commit is on disk. `NORMAL`: a power cut may take back the last ones, and breaks nothing. */
  readonly synchronous: "FULL" | "NORMAL";
  /** How long a statement waits for a lock of another process, which blocks the thread, in milliseconds (default 0). */
  readonly busyMs?: number;
  readonly prepare: (db: Database) => void;
  /** Whether the file says which svc may use it, by its `user_version` (default true). */
  readonly hasVersion?: boolean;
}

/**
 * Opens the file at `path`; it and its folders are made if they are not there, and never were where trust rests on it. Named parameters have no prefix.
 *
 * @throws an `unavailable` failure when something else is there; the system or SQLite error; what `prepare` throws.
 */
export function openDatabase(
  path: string,
  { synchronous, busyMs = 0, prepare, hasVersion = true }: DatabaseOptions,
): Database {
  requireNotLost(path);
  return openPrivate(path, (db) => {
    db.run(`PRAGMA busy_timeout = ${busyMs}`);
    if (hasVersion) requireKnownVersion(db, path);
    useLog(db, busyMs);
    db.run(`PRAGMA synchronous = ${synchronous}`);
    // First: whoever is killed in between leaves nothing that an earlier svc takes for its own.
    if (hasVersion && versionOf(db) < NEEDS) db.run(`PRAGMA user_version = ${NEEDS}`);
    prepare(db);
  });
}

/**
 * Has a new file have its write-ahead log. SQLite waits for those who read the file, but fails at once where another connection writes it, or
 * does the same: by then it reads the file itself, and two that wait for one another would wait for ever
 * (https://sqlite.org/c3ref/busy_handler.html).
 *
 * @param ms how long it waits for them, which blocks the thread. @throws SQLite's error of a lock that is still held then.
 */
function useLog(db: Database, ms: number): void {
  const until = performance.now() + ms;
  for (;;) {
    try {
      db.run("PRAGMA journal_mode = WAL");
      return;
    } catch (error) {
      if (!isBusy(error) || performance.now() > until) throw error;
      Bun.sleepSync(PAUSE_MS);
    }
  }
}

/** The lowest format that a svc must know to use the file; 0 for those of format 1. */
const versionOf = (db: Database): number =>
  db.query<{ user_version: number }, []>("PRAGMA user_version").get()?.user_version ?? 0;

/** @throws a `conflict` failure for the file of a newer svc, which may have come alone, from a backup. */
function requireKnownVersion(db: Database, path: string): void {
  const found = versionOf(db);
  if (found > FORMAT)
    throw conflict(
      `${basename(path)} was written by a newer svc (format ${found}); this is svc ${version} (format ${FORMAT})`,
    );
}

/** {@link openDatabase} without its settings: for a file that is only ever locked. */
export function openPrivate(path: string, prepare: (db: Database) => void): Database {
  requireWhole(path);
  ensurePrivateFolder(dirname(path));
  // Never opens a file that is there: closing it would drop the locks that SQLite holds on it (fcntl(2)).
  ensurePrivateFile(path);
  chmodSync(path, PRIVATE_FILE);
  return opened(path, { readwrite: true }, prepare);
}

/**
 * A connection that reads the file at `path`, one without a version, as it is now, whatever is written meanwhile, until it is closed.
 *
 * @throws the SQLite error.
 */
export function openSnapshot(path: string, busyMs: number): Database {
  return opened(path, { readonly: true }, (db) => {
    db.run(`PRAGMA busy_timeout = ${busyMs}`);
    db.run("BEGIN");
  });
}

/**
 * A connection that reads the file at `path` in a folder that cannot be written. What a killed process left in a write-ahead
 * log alone may be missing.
 *
 * @throws the SQLite error; a `conflict` failure for the file of a newer svc.
 */
export function openReadOnly(path: string): Database {
  const look = (db: Database) => {
    db.run(`PRAGMA busy_timeout = ${READER_WAIT_MS}`);
    db.query("SELECT 1 FROM sqlite_schema").get();
    requireKnownVersion(db, path);
  };
  try {
    return prepared(path, { readonly: true }, look);
  } catch (error) {
    // A file that is in use or damaged is not read as one that nobody changes.
    if (!/^SQLITE_(CANTOPEN|READONLY)/.test(systemCode(error) ?? "")) throw nameFile(path, error);
    // Without files of a write-ahead log, SQLite reads such a file as one that nobody changes (https://sqlite.org/wal.html).
    const flags = constants.SQLITE_OPEN_READONLY | constants.SQLITE_OPEN_URI;
    try {
      return prepared(`${pathToFileURL(path).href}?immutable=1`, flags, look);
    } catch (fault) {
      throw nameFile(path, fault);
    }
  }
}

/** How long a reader waits for who recovers the file or closes it last, in milliseconds: it blocks the thread. */
const READER_WAIT_MS = 1_000;

/** Whether `error` says that a file or its folder cannot be written. */
export const isUnwritable = (error: unknown): boolean =>
  /^(EROFS|EACCES|EPERM)$|^SQLITE_READONLY/.test(systemCode(error) ?? "");

/** @throws `unavailable` where the write-ahead log is all that is left: SQLite would say `disk I/O error`. */
export function requireWhole(path: string): void {
  const wal = `${path}-wal`;
  if (sizeOf(path) > 0 || sizeOf(wal) <= 0) return;
  const [name, rest] = [basename(path), basename(wal)];
  throw unavailable(
    `${name} is missing or empty, and ${rest} is there: stop svc and restore ${name} from a backup, or move ${rest} away`,
  );
}

/** The bytes of a new database as `prepare` makes it, to be written as one file (`writeFileAtomic`). @throws what `prepare` throws. */
export function databaseBytes(prepare: (db: Database) => void): Uint8Array {
  using db = new Database(":memory:", { strict: true });
  db.run(`PRAGMA user_version = ${NEEDS}`);
  prepare(db);
  return db.serialize();
}

type Mode = number | { readonly: true } | { readwrite: true };

function opened(path: string, mode: Mode, prepare: (db: Database) => void): Database {
  requireWhole(path);
  try {
    return prepared(path, mode, prepare);
  } catch (error) {
    throw nameFile(path, error);
  }
}

/** @throws the SQLite error; what `prepare` throws. */
function prepared(path: string, mode: Mode, prepare: (db: Database) => void): Database {
  const db = new Database(path, typeof mode === "number" ? mode : { ...mode, strict: true });
  try {
    prepare(db);
    return db;
  } catch (error) {
    db.close();
    throw error;
  }
}

/** `error`, or, when what is at the path is no database, a failure that says which file it is. */
function nameFile(path: string, error: unknown): unknown {
  const code = systemCode(error);
  if (code === "SQLITE_NOTADB" || code === "SQLITE_CORRUPT") return unusable(path, "is not a database");
  if (code === "SQLITE_CANTOPEN")
    return unavailable(`a database cannot be opened: ${basename(path)} (${code})`);
  return error;
}

/** The pause before a lock is asked for again, in milliseconds. */
const PAUSE_MS = 10;

/**
 * What `work` returns once no other connection holds the lock that it needs: the event loop goes on meanwhile.
 *
 * @param ms how long to wait, at most. @throws what `work` throws; SQLite's error of a lock that is still held then.
 */
export async function whenFree<T>(work: () => T, ms: number): Promise<T> {
  const until = performance.now() + ms;
  for (;;) {
    try {
      return work();
    } catch (error) {
      if (!isBusy(error) || performance.now() > until) throw error;
      await Bun.sleep(PAUSE_MS);
    }
  }
}

/** Whether SQLite failed because another connection holds the lock. */
export function isBusy(error: unknown): boolean {
  return error instanceof Error && "code" in error && String(error.code).startsWith("SQLITE_BUSY");
}
