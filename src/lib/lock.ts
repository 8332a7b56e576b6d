/**
 * Mutual exclusion between processes through a lock file.
 *
 * The lock is an exclusive SQLite transaction on an otherwise empty file. The operating system releases it when its holder
 * dies, so no stale lock can remain (https://sqlite.org/lockingv3.html).
 */
import { Database } from "bun:sqlite";
import { basename } from "node:path";
import { type Backoff, pauseBefore } from "./backoff";
import { timedOut } from "./errors";
import { lookThrough } from "./look";
import { isBusy, openPrivate } from "./sqlite";

/** Releases the lock; a second call does nothing. */
export type Release = () => void;

/** How long a look may be in the way, in milliseconds, and how long one attempt waits for it to end. */
const LOOKS_MS = 1_000;
const LOOK_MS = 50;

/** Between two attempts to take a lock that another holds. */
const RETRY: Backoff = { firstMs: 1, longestMs: 50 };

/**
 * Takes the lock at `path`; undefined when another process, or another holder in this process, has it.
 *
 * A look ({@link isLocked}) shares the file for a moment, which is no hold: SQLite keeps further looks out while this waits for
 * those under way. It blocks the thread then, {@link LOOKS_MS} at most, where a process was stopped in the middle of a look.
 *
 * @throws the system or SQLite error when the lock file cannot be made or opened.
 */
export function tryLock(path: string): Release | undefined {
  const until = performance.now() + LOOKS_MS;
  for (let waitMs = 0; ; waitMs = LOOK_MS) {
    const release = attempt(path, waitMs);
    if (release || isLocked(path) || performance.now() > until) return release;
  }
}

/** Takes the lock; undefined where it, or a look at it, was in the way for `waitMs` milliseconds. */
function attempt(path: string, waitMs: number): Release | undefined {
  try {
    const db = openPrivate(path, (file) => {
      file.run(`PRAGMA busy_timeout = ${waitMs}`);
      file.run("BEGIN EXCLUSIVE");
    });
    return () => db.close();
  } catch (error) {
    if (isBusy(error)) return undefined;
    throw error;
  }
}

/** Whether somebody holds the lock at `path`. Writes nothing, and keeps nobody from taking it. */
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

/** How long to wait for the holder of a lock, in milliseconds. */
const WAIT_MS = 10_000;

/**
 * Runs `work` while holding the lock at `path`, waiting for it without blocking the event loop.
 *
 * @throws a `timeout` failure when the lock stays taken; whatever `work` throws.
 */
export async function withLock<T>(path: string, work: () => T | Promise<T>): Promise<T> {
  const release = await lockWithin(path, WAIT_MS);
  if (!release) throw timedOut(`another process has held ${basename(path)} for ${WAIT_MS / 1000} s`);
  try {
    return await work();
  } finally {
    release();
  }
}

/**
 * Takes the lock at `path`, waiting for it without blocking the event loop.
 *
 * @param isOver looked at between attempts: whether to wait no longer.
 * @returns undefined when it stays taken for `waitMs` milliseconds, or the wait is over.
 */
export async function lockWithin(
  path: string,
  waitMs: number,
  isOver = () => false,
): Promise<Release | undefined> {
  const deadline = performance.now() + waitMs;
  for (let failures = 0; ; failures++) {
    const release = tryLock(path);
    if (release || isOver() || performance.now() > deadline) return release;
    // At random: a process that takes the lock again and again must not always be there first.
    await Bun.sleep(pauseBefore(RETRY, failures));
  }
}
