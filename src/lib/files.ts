/**
 * Files that matter: written whole or not at all, and private to their owner.
 */
import {
  chmodSync,
  closeSync,
  constants,
  fchmodSync,
  fchownSync,
  fsyncSync,
  lstatSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeSync,
} from "node:fs";
import { dirname } from "node:path";
import { badInput, messageOf, systemCode } from "./errors";

/** Owner only, as `ssh` demands of its own files. */
export const PRIVATE_FILE = 0o600;
export const PRIVATE_FOLDER = 0o700;

/** Makes `path` (and its parents) if it is not there; the folder itself is 0700 whatever the umask says. */
export function ensurePrivateFolder(path: string): void {
  const made = mkdirSync(path, { recursive: true, mode: PRIVATE_FOLDER });
  if (made === undefined) return;
  chmodSync(path, PRIVATE_FOLDER);
  if (!isRoot()) return;
  const folder = openSync(path, constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW);
  try {
    giveToOwner(folder, dirname(path));
  } finally {
    closeSync(folder);
  }
}

/** Makes the file at `path`, empty and 0600, if it is not there: for SQLite, which does not know whose it is to be. */
export function ensurePrivateFile(path: string): void {
  try {
    const file = openSync(path, "wx", PRIVATE_FILE);
    try {
      giveToOwner(file, dirname(path));
    } finally {
      closeSync(file);
    }
  } catch (error) {
    if (systemCode(error) !== "EEXIST") throw error;
  }
}

const isRoot = () => process.getuid?.() === 0;

/**
 * What root makes in the folder of somebody else (`sudo svc … --config-dir`) is theirs as the rest of it is: their server
 * could not read it otherwise, and a token that was replaced would stay in force.
 */
function giveToOwner(made: number, folder: string): void {
  if (!isRoot()) return;
  const { uid, gid } = statSync(folder);
  if (uid === 0) return;
  try {
    fchownSync(made, uid, gid);
  } catch {
    // In a container root may not; it stays root's.
  }
}

/**
 * Replaces the file at `path`: temporary name in the same folder, fsync, rename, fsync of the folder. A reader
 * sees the old content or the new, and so does a machine that lost power.
 *
 * @param mode permission bits of the new file, whatever the umask says (default 0600).
 * @param owned whether it is to belong to the owner of its folder when root writes it (default true).
 * @throws the system error of the step that failed; the temporary file is gone and the old file untouched.
 */
export function writeFileAtomic(
  path: string,
  data: string | Uint8Array,
  mode: number = PRIVATE_FILE,
  owned = true,
): void {
  const temporary = `${path}.tmp-${process.pid}-${crypto.randomUUID()}`;
  try {
    const file = openSync(temporary, "wx", mode);
    try {
      fchmodSync(file, mode);
      if (owned) giveToOwner(file, dirname(path));
      const bytes = typeof data === "string" ? Buffer.from(data) : data;
      for (let at = 0; at < bytes.length; ) at += writeSync(file, bytes, at);
      fsyncSync(file);
    } finally {
      closeSync(file);
    }
    renameSync(temporary, path);
  } catch (error) {
    rmSync(temporary, { force: true });
    throw error;
  }
  syncFolder(dirname(path));
}

/** A rename is durable once its folder is flushed (fsync(2)); Windows neither needs nor allows it. */
export function syncFolder(path: string): void {
  if (process.platform === "win32") return;
  const folder = openSync(path, "r");
  try {
    fsyncSync(folder);
  } finally {
    closeSync(folder);
  }
}

/**
 * The text of a file that a person named; of standard input for `-`.
 *
 * @param flag what it was given as.
 * @throws a `bad_input` failure when it cannot be read.
 */
export function readTextFile(path: string, flag: string): string {
  try {
    return readFileSync(path === "-" ? 0 : path, "utf8");
  } catch (error) {
    throw badInput(`${flag}: ${path} cannot be read (${systemCode(error) ?? "unknown error"})`);
  }
}

/**
 * Replaces the file at a `path` that a person named (0600, and that person's wherever it is).
 *
 * @param field what the person calls the path.
 * @throws a `bad_input` failure when something other than a regular file is there, or it cannot be written.
 */
export function writeNamedFile(path: string, data: string | Uint8Array, field: string): void {
  try {
    // Not even at the end of a link: root would put a file in the place of /dev/stdout.
    if (lstatSync(path, { throwIfNoEntry: false })?.isFile() === false) {
      throw badInput(`${field}: what is there is not a regular file`);
    }
    writeFileAtomic(path, data, PRIVATE_FILE, false);
  } catch (error) {
    const code = systemCode(error);
    if (code === "ENOENT" || code === "ENOTDIR") throw badInput(`${field}: its folder does not exist`);
    if (code?.startsWith("E")) throw badInput(`${field}: cannot be written (${code})`);
    throw error;
  }
}

/** Changes whenever the file is replaced or written; empty when there is none. */
export function fileStamp(path: string): string {
  const found = statSync(path, { throwIfNoEntry: false });
  return found ? `${found.ino}:${found.mtimeMs}:${found.size}` : "";
}

/** How old the content that {@link watchFile} returns may be, in milliseconds. */
const WATCH_MS = 1_000;

/**
 * Keeps what `read` made of the file at `path`, and reads the file again once it has changed.
 *
 * @param read does not throw.
 * @returns a function that returns the content. It checks the file once in {@link WATCH_MS}, or now if `fresh` is set.
 */
export function watchFile<T>(path: string, read: () => T): (fresh?: boolean) => T {
  const look = () => {
    try {
      return fileStamp(path);
    } catch (error) {
      // What the matter is, `read` finds out too.
      return messageOf(error);
    }
  };
  let stamp = look();
  let made = read();
  let checkedAt = performance.now();
  return (fresh = false) => {
    const now = performance.now();
    if (!fresh && now - checkedAt < WATCH_MS) return made;
    checkedAt = now;
    const found = look();
    if (found !== stamp) {
      stamp = found;
      made = read();
    }
    return made;
  };
}
