/**
 * Who owns a `{config_dir}`: the server that runs on it, for its life; without one, a process that changes something, for the time of that
 * change. So a server starts between two changes, never in the middle of one.
 *
 * Callers must take no other lock of the folder before this one: all others are taken inside it.
 */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { conflict, systemCode } from "./errors";
import { PRIVATE_FILE } from "./files";
import { isLocked, lockWithin, type Release } from "./lock";
import { orElse } from "./or-else";
import { configFiles } from "./paths";
import { printable } from "./sanitize";

/** How long to wait for another owner, in milliseconds. */
const WAIT_MS = 10_000;

/**
 * Owns the folder until it is released: for a server that has claimed it.
 *
 * @throws a `conflict` failure that names who has changed something there for so long.
 */
export async function ownForLife(configDir: string, waitMs = WAIT_MS): Promise<Release> {
  const { ownerLock } = configFiles(configDir);
  const release = await lockWithin(ownerLock, waitMs);
  if (!release) throw isOwned(configDir, waitMs);
  leaveName(configDir, "the server");
  return release;
}

/**
 * Owns the folder for the time of `work`.
 *
 * @param what it does, for those who wait.
 * @returns undefined where a server owns the folder by now: it is to be asked.
 * @throws a `conflict` failure when another process owns it for too long; what `work` throws.
 */
export async function ownForChange<T>(
  configDir: string,
  what: string,
  work: () => Promise<T>,
  waitMs = WAIT_MS,
): Promise<{ readonly value: T } | undefined> {
  const { ownerLock, ownerFile, serveLock } = configFiles(configDir);
  // Without the lock of a server, the file is of one that died.
  const hasServer = () => existsSync(ownerFile) && isLocked(serveLock);
  const release = await lockWithin(ownerLock, waitMs, hasServer).catch((error) => {
    if (NOT_WRITABLE.has(systemCode(error) ?? "")) return NOTHING_HELD;
    throw error;
  });
  if (!release) {
    if (hasServer()) return undefined;
    throw isOwned(configDir, waitMs);
  }
  try {
    leaveName(configDir, what);
    return { value: await work() };
  } finally {
    release();
  }
}

/** In a folder where nothing can be written nobody changes anything: `work` itself says best what it lacks there. */
const NOT_WRITABLE = new Set(["EROFS", "EACCES", "EPERM"]);
const NOTHING_HELD: Release = () => {};

/** For those who wait. Without it, they only know that somebody owns the folder. */
function leaveName(configDir: string, what: string): void {
  try {
    writeFileSync(configFiles(configDir).ownerName, `${what} (pid ${process.pid})`, { mode: PRIVATE_FILE });
  } catch {
    // The disk is full.
  }
}

/** The name that the last owner left: nobody asks while there is none. */
const nameOf = (configDir: string): string =>
  orElse(() => printable(readFileSync(configFiles(configDir).ownerName, "utf8"), 200), "another process");

const isOwned = (configDir: string, waitMs: number) =>
  conflict(
    `${nameOf(configDir)} has owned ${configDir} for ${waitMs / 1_000} s: try again when it has ended`,
  );
