/**
 * Mutual exclusion between processes through a lock file.
 *
 * The lock is an exclusive SQLite transaction on an otherwise empty file: the operating system releases it when
 * the holder dies, however it dies, so there is no stale lock to recognise (https://sqlite.org/lockingv3.html).
 */
import { Database } from "bun:sqlite";
import { chmodSync } from "node:fs";
import { basename, dirname } from "node:path";
import { timedOut } from "./errors";
import { ensurePrivateFile, ensurePrivateFolder, PRIVATE_FILE } from "./files";

/** Releases the lock; a second call does nothing. */
export type Release = () => void;

/**
 * Takes the lock at `path` now, or returns undefined when another process, or another holder in this one, has it.
 *
 * @throws the system or SQLite error when the lock file cannot be made or opened.
 */
export function tryLock(path: string): Release | undefined {
  ensurePrivateFolder(dirname(path));
  ensurePrivateFile(path);
  const db = new Database(path);
  try {
    chmodSync(path, PRIVATE_FILE);
    db.run("PRAGMA busy_timeout = 0");
    db.run("BEGIN EXCLUSIVE");
  } catch (error) {
    db.close();
    if (isBusy(error)) return undefined;
    throw error;
  }
  let held = true;
  return () => {
    if (!held) return;
    held = false;
    db.close();
  };
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
    await Bun.sleep(pause);
  }
}

/** Whether SQLite failed because somebody else holds the lock. */
export function isBusy(error: unknown): boolean {
  return error instanceof Error && "code" in error && String(error.code).startsWith("SQLITE_BUSY");
}
