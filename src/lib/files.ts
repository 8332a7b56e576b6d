/**
 * Files that are written whole or not at all, and are private to their owner.
 */
import {
  chmodSync,
  closeSync,
  constants,
  fchmodSync,
  fchownSync,
  fstatSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  readSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { basename, dirname, join } from "node:path";
import { isAlive } from "./alive";
import { badInput, messageOf, systemCode, unavailable } from "./errors";
import { holdFolder, holdPlace } from "./held-place";
import { look, lookThrough } from "./look";
import { orElse, unlessCode } from "./or-else";

/** Owner only, as `ssh` demands of its own files. */
export const PRIVATE_FILE = 0o600;
export const PRIVATE_FOLDER = 0o700;

/** Makes the folder `path` (0700, whatever the umask says) and its parents where they are missing. */
export function ensurePrivateFolder(path: string): void {
  if (!isRoot() || !isMissing(path)) {
    const made = mkdirSync(path, { recursive: true, mode: PRIVATE_FOLDER });
    if (made !== undefined) chmodSync(path, PRIVATE_FOLDER);
    return;
  }
  using folder = holdFolder(path, PRIVATE_FOLDER);
  withOpen(folder.path, constants.O_RDONLY | constants.O_DIRECTORY | folder.flags, (fd) => {
    fchmodSync(fd, PRIVATE_FOLDER);
    giveToOwner(fd, dirname(path));
  });
}

/** Makes an empty file at `path` (0600) if there is none. SQLite itself would set neither mode nor owner. */
export const ensurePrivateFile = (path: string): void =>
  unlessCode("EEXIST", () => withOpen(path, "wx", (fd) => giveToOwner(fd, dirname(path))));

/** Runs `work` with the open file or folder at `path`; a new file is private. */
function withOpen(path: string, flags: string | number, work: (fd: number) => void): void {
  const fd = openSync(path, flags, PRIVATE_FILE);
  try {
    work(fd);
  } finally {
    closeSync(fd);
  }
}

const isRoot = () => process.getuid?.() === 0;

/**
 * Gives a file that root makes in the folder of another user (`sudo svc … --config-dir`) to that user. Otherwise their
 * server could not read it, and a replaced token would stay in force.
 */
function giveToOwner(made: number, folder: string): void {
  if (!isRoot()) return;
  const { uid, gid } = statSync(folder);
  if (uid === 0) return;
  try {
    fchownSync(made, uid, gid);
  } catch {
    // In a container root may lack the right; the file stays root's.
  }
}

/**
 * Begins to replace the file at `path`: a temporary name in the same folder, then fsync, rename, and fsync of the folder.
 * A reader sees the old content or the new, and so does a machine that lost power.
 *
 * @param mode permission bits of the new file, whatever the umask says.
 * @param owned whether a file that root writes belongs to the owner of its folder.
 * @returns the new file. Disposing of it removes it, unless it is in place by then.
 * @throws the system error of the step that failed, as `commit` does.
 */
export function beginReplace(path: string, mode: number, owned: boolean) {
  const temporary = `${path}.tmp-${process.pid}-${crypto.randomUUID()}`;
  const fd = openSync(temporary, "wx", mode);
  let open = true;
  const close = () => {
    if (open) closeSync(fd);
    open = false;
  };
  return {
    fd,
    /** Where the new file is until then. */
    temporary,
    /** Flushes the new file and puts it in place. */
    commit(): void {
      fchmodSync(fd, mode);
      if (owned) giveToOwner(fd, dirname(path));
      fsyncSync(fd);
      // Windows does not rename an open file.
      close();
      renameSync(temporary, path);
      syncFolder(dirname(path));
    },
    /** Never throws: it would hide the error of the step that failed. */
    [Symbol.dispose](): void {
      try {
        close();
      } catch {
        // What was written to it goes anyway.
      }
      try {
        rmSync(temporary, { force: true });
      } catch {
        // The next server clears it away (`clearLeftovers`).
      }
    },
  };
}

/** The name of a file that {@link beginReplace} has begun. */
const TEMPORARY = /\.tmp-(\d+)-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/**
 * Removes from `folder` what {@link beginReplace} left there when its process was killed: that may hold secrets. What seems to
 * be of a process that runs stays. Never throws.
 *
 * @param name the file that was to be replaced (default: any).
 */
export function clearLeftovers(folder: string, name = ""): void {
  try {
    for (const found of readdirSync(folder)) {
      const pid = Number(TEMPORARY.exec(found)?.[1] ?? Number.NaN);
      const path = join(folder, found);
      if (Number.isNaN(pid) || !(name === "" || found.startsWith(`${name}.tmp-`)) || isInUse(path, pid))
        continue;
      rmSync(path, { force: true });
    }
  } catch {
    // There is no such folder, or it cannot be written.
  }
}

/** Whether the process `pid` may still write the file. In a container, each start has the same id. */
const isInUse = (path: string, pid: number) =>
  pid === process.pid ? (look(path)?.mtimeMs ?? 0) >= performance.timeOrigin : isAlive(pid);

/** Replaces the file at `path` as {@link beginReplace} does. On an error, the old file is untouched. */
export function writeFileAtomic(
  path: string,
  data: string | Uint8Array,
  mode: number = PRIVATE_FILE,
  owned = true,
): void {
  using file = beginReplace(path, mode, owned);
  writeFileSync(file.fd, data);
  file.commit();
}

/** Makes what was written to the file at `path` durable (fsync(2)). */
export const syncFile = (path: string): void => withOpen(path, "r+", fsyncSync);

/** Makes a rename in the folder `path` durable (fsync(2)). Windows neither needs nor allows it. */
export function syncFolder(path: string): void {
  if (process.platform !== "win32") withOpen(path, "r", fsyncSync);
}

/**
 * The text of the regular file at `path`; undefined where it has more than `maxBytes`, or something else is there: a pipe would
 * have its reader wait.
 *
 * @param flags more of open(2): with `O_NOFOLLOW`, a link there is an error (`ELOOP`).
 * @throws the system error where it cannot be read.
 */
export function readSmallFile(path: string, maxBytes: number, flags = 0): string | undefined {
  // Windows has no O_NONBLOCK.
  const fd = openSync(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0) | flags);
  try {
    const found = fstatSync(fd);
    if (!found.isFile() || found.size > maxBytes) return undefined;
    const bytes = Buffer.alloc(maxBytes);
    return bytes.toString("utf8", 0, readSync(fd, bytes));
  } finally {
    closeSync(fd);
  }
}

/** What `read` returns; undefined where what it reads is not there. @throws what else the system says. */
export const unlessMissing = <T>(read: () => T): T | undefined => unlessCode("ENOENT", read);

/** The text of the file at `path`; undefined where there is none. @throws `unavailable`, with `name`, when it cannot be read. */
export function readIfThere(path: string, name = path): string | undefined {
  try {
    return unlessMissing(() => readFileSync(path, "utf8"));
  } catch (error) {
    throw unavailable(`${name} cannot be read (${systemCode(error) ?? messageOf(error)})`);
  }
}

/**
 * The text of a file that a person named; of standard input for `-`.
 *
 * @param flag the flag that named it.
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
 * Replaces the file at a `path` that a person named (0600, owned by that person).
 *
 * @param field the field that named it.
 * @throws a `bad_input` failure when it cannot be written, or something other than a regular file is there.
 */
export function writeNamedFile(path: string, data: string | Uint8Array, field: string): void {
  try {
    using place = holdPlace(path);
    // A link counts too: as root, a rename would replace /dev/stdout.
    if (look(place.path)?.isFile() === false) {
      throw badInput(`${field}: not a regular file`);
    }
    writeFileAtomic(place.path, data, PRIVATE_FILE, false);
  } catch (error) {
    const code = systemCode(error);
    if (code === "ENOENT" || code === "ENOTDIR") throw badInput(`${field}: its folder does not exist`);
    if (code?.startsWith("E")) throw badInput(`${field}: cannot be written (${code})`);
    throw error;
  }
}

/**
 * The names in a folder of svc; none where there is no such folder.
 *
 * @throws an `unavailable` failure where it cannot be read, or is no folder.
 */
export function namesInFolder(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch (error) {
    const code = systemCode(error);
    if (code === "ENOENT") return [];
    throw unavailable(
      `${basename(folder)} cannot be read (${code ?? messageOf(error)}): mend it, or move it away`,
    );
  }
}

/** Whether nothing is at `path`, not even a link; false where that cannot be seen. Never throws. */
export function isMissing(path: string): boolean {
  return orElse(() => look(path) === undefined, false);
}

/** `path` itself where it is there, else the nearest folder above it that is. @throws the system error where that cannot be seen. */
export function nearestExisting(path: string): string {
  return look(path) ? path : nearestExisting(dirname(path));
}

/** A text that changes whenever the file is replaced or written; empty when there is no file. Never throws. */
export function fileStamp(path: string): string {
  try {
    const found = lookThrough(path);
    return found ? `${found.ino}:${found.mtimeMs}:${found.size}` : "";
  } catch (error) {
    // A reader of the file finds the same error.
    return messageOf(error);
  }
}

/** How old the content that {@link watchFile} returns may be, in milliseconds. */
const WATCH_MS = 1_000;

/**
 * Keeps what `read` made of the file at `path`, and reads the file again once it has changed. Where `read` throws, the file is read
 * again in {@link WATCH_MS}, also as it is: what the system has refused, such as one more open file or a file of another user, it may
 * grant then.
 *
 * @param failed says what counts while the file cannot be read; it is given the error, and whether that is another than the last
 *   time. It does not throw.
 * @returns a function that returns the content. It checks the file once in {@link WATCH_MS}, or now if `fresh` is set.
 */
export function watchFile<T>(
  path: string,
  read: () => T,
  failed: (error: unknown, isNew: boolean) => T,
): (fresh?: boolean) => T {
  let complaint: string | undefined;
  let readAt = performance.now();
  const readNow = (): T => {
    readAt = performance.now();
    try {
      const content = read();
      complaint = undefined;
      return content;
    } catch (error) {
      const before = complaint;
      complaint = messageOf(error);
      return failed(error, complaint !== before);
    }
  };
  let stamp = fileStamp(path);
  let made = readNow();
  let checkedAt = readAt;
  return (fresh = false) => {
    const now = performance.now();
    if (!fresh && now - checkedAt < WATCH_MS) return made;
    checkedAt = now;
    const found = fileStamp(path);
    const isUnread = complaint !== undefined && now - readAt >= WATCH_MS;
    if (found !== stamp || isUnread) {
      stamp = found;
      made = readNow();
    }
    return made;
  };
}
