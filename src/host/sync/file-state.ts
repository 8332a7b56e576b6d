/**
 * The state of a file, by which a change is detected.
 */
import { closeSync, constants, openSync, type Stats } from "node:fs";
import { openLibc } from "../../lib/libc";
import { lookThrough } from "../../lib/look";
import { orElse } from "../../lib/or-else";

/** A file has changed when any of these has. */
export interface FileState {
  /** Milliseconds since 1970, with the fraction that the file system keeps. */
  readonly mtimeMs: number;
  /** Bytes. */
  readonly size: number;
  readonly inode: number;
}

export const sameState = (a: FileState | undefined, b: FileState): boolean =>
  a !== undefined && a.mtimeMs === b.mtimeMs && a.size === b.size && a.inode === b.inode;

export const toState = ({ mtimeMs, size, ino }: Stats): FileState => ({ mtimeMs, size, inode: ino });

/** The state of the regular file at `path`; undefined when there is none. */
export function stateOf(path: string): FileState | undefined {
  const stats = lookThrough(path);
  return stats?.isFile() ? toState(stats) : undefined;
}

interface OpenFolder extends Disposable {
  /** The state of the regular file of that name; undefined where there is none, or where only its path says more. */
  stateOf(name: string): FileState | undefined;
}

/**
 * Opens a folder for the states of its files: on Linux, they are read without a walk along the path for each, and without what
 * else `lstat` gives. Never throws: what cannot be opened knows no state.
 */
export function openFolder(path: string): OpenFolder {
  // A file whose own path is too long is found here, but could not be opened to be sent.
  const read = Buffer.byteLength(path) + NAME_MAX < PATH_MAX ? openReader() : null;
  const folder = read ? openOrNone(path) : undefined;
  if (!read || folder === undefined) return { stateOf: () => undefined, [Symbol.dispose]() {} };
  return { stateOf: (name) => read(folder, name), [Symbol.dispose]: () => closeSync(folder) };
}

const openOrNone = (path: string): number | undefined =>
  orElse(() => openSync(path, constants.O_RDONLY | constants.O_DIRECTORY), undefined);

type Reader = (folder: number, name: string) => FileState | undefined;

let reader: Reader | null | undefined;
/** Null where there is none. It is made once: each loading of the C library needs memory. */
function openReader(): Reader | null {
  if (reader !== undefined) return reader;
  try {
    reader = process.platform === "linux" ? createReader() : null;
  } catch {
    reader = null;
  }
  return reader;
}

/** linux/fcntl.h and linux/stat.h: links are not followed; the type, the time of the last change, the inode and the size. */
const [AT_SYMLINK_NOFOLLOW, WANTED] = [0x100, 0x1 | 0x40 | 0x100 | 0x200];
const [TYPE, REGULAR] = [0xf000, 0x8000];
/** linux/limits.h: bytes of a path, with the zero at its end; longer than any name. */
const PATH_MAX = 4_096;
/** The longest name that any file system has, that of FUSE, with the separator before it. */
const NAME_MAX = 1_025;

/** statx(2), whose answer is laid out alike on every processor. @throws when the C library has no such function. */
function createReader(): Reader {
  const { statx } = openLibc({ statx: { args: ["i32", "ptr", "i32", "u32", "ptr"], returns: "i32" } });
  const path = Buffer.alloc(PATH_MAX);
  const bytes = new Uint8Array(256);
  const found = new DataView(bytes.buffer);
  const whole = (at: number) => found.getUint32(at, true) + found.getUint32(at + 4, true) * 2 ** 32;
  return (folder, name) => {
    path[path.write(name, 0, PATH_MAX - 1)] = 0;
    if (statx(folder, path, AT_SYMLINK_NOFOLLOW, WANTED, bytes) !== 0) return undefined;
    if ((found.getUint16(28, true) & TYPE) !== REGULAR) return undefined;
    const [inode, size, seconds] = [whole(32), whole(40), whole(112)];
    // What a number does not hold, as the seconds before 1970, is read by the path, so that it is always the same.
    if (Math.max(inode, size, seconds) > Number.MAX_SAFE_INTEGER) return undefined;
    return { mtimeMs: seconds * 1_000 + found.getUint32(120, true) / 1e6, size, inode };
  };
}
