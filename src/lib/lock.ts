/**
 * Mutual exclusion between processes through a lock file.
 *
 * The lock is an exclusive SQLite transaction on an otherwise empty file. The operating system releases it when its holder
 * dies, so no stale lock can remain (https://sqlite.org/lockingv3.html).
 */
import { Database } from "bun:sqlite";
import { basename } from "node:path";
import { timedOut } from "./errors";
import { lookThrough } from "./look";
import { isBusy, openPrivate } from "./sqlite";

/** Releases the lock; a second call does nothing. */
export type Release = () => void;

/**
 * Takes the lock at `path`; undefined when another process, or another holder in this process, has it.
 *
 * @throws the system or SQLite error when the lock file cannot be made or opened.
 */
export function tryLock(path: string): Release | undefined {
  try {
    const db = openPrivate(path, (file) => {
      file.run("PRAGMA busy_timeout = 0");
      file.run("BEGIN EXCLUSIVE");
    });
    return () => db.close();
  } catch (error) {
    if (isBusy(error)) return undefined;
    throw error;
  }
}

/** Whether somebody holds the lock at `path`. Takes and writes nothing. */
export function isLocked(path: string): boolean {
  try {
    // Opening a pipe would wait for who writes to it.
    if (!lookThrough(path)?.isFile()) return false;
    using file = new Database(path, { readonly: true });
    file.query("SELECT 1 FROM sqlite_schema").get();
    return false;
  } catch (error) {
    return isBusy(error);
  }
}

/**
 * Runs `work` while holding the lock at `path`, waiting for it without blocking the event loop.
 *
 * @param waitMs how long to wait for the holder (default 10,000).
 * @throws a `timeout` failure when the lock stays taken; whatever `work` throws.
 */
export async function withLock<T>(path: string, work: () => T | Promise<T>, waitMs = 10_000): Promise<T> {
  const deadline = performance.now() + waitMs;
  for (let pause = 1; ; pause = Math.min(pause * 2, 50)) {
    const release = tryLock(path);
    if (release) {
      try {
        return await work();
      } finally {
        release();
      }
    }
    if (performance.now() > deadline)
      throw timedOut(`another process has held ${basename(path)} for ${waitMs / 1000} s`);
    // At random: a process that takes the lock again and again must not always be there first.
    await Bun.sleep(pause * Math.random());
  }
}
