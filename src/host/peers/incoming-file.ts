/**
 * The bytes of a file under way: they are written in order, over those of a partial file if there is one.
 */
import {
  closeSync,
  constants,
  fdatasyncSync,
  fstatSync,
  ftruncateSync,
  openSync,
  readSync,
  rmSync,
  type Stats,
  writeSync,
} from "node:fs";
import { PRIVATE_FILE } from "../../lib/files";

/** Flushing in pieces keeps each flush short: at 1 MB/s, one takes less than a sender waits (`STALL_MS`). */
const FLUSH_BYTES = 16 * 1_048_576;

/** Opens the file at `path`, and never what a link there leads to. */
export const openPlain = (path: string, flags: number): number =>
  openSync(path, flags | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0), PRIVATE_FILE);

/** A file under way. */
export interface IncomingFile {
  readonly descriptor: number;
  /** How many bytes of a partial file were there at the start. */
  readonly before: number;
  /** Where the next byte goes. */
  position(): number;
  /** Reads the file itself. @returns the number of bytes. */
  read(bytes: Uint8Array, at: number): number;
  write(bytes: Uint8Array): void;
  /** Leaves bytes of the partial file as they are. */
  skip(bytes: number): void;
  /** Flushes everything. @returns the version on disk. */
  finish(): Stats;
  close(): void;
}

/**
 * @param size bytes that it will have.
 * @param continues whether a partial file is at `path`; else nothing must be there.
 * @throws the system error; then nothing is left at `path`.
 */
export function openIncoming(path: string, size: number, continues: boolean): IncomingFile {
  const file = openPlain(path, constants.O_RDWR | (continues ? 0 : constants.O_CREAT | constants.O_EXCL));
  let before = 0;
  try {
    const found = fstatSync(file);
    // Who took over the process of a session may have put something else there.
    if (!found.isFile() || found.nlink !== 1) throw new Error("a partial file is not a plain file");
    before = Math.min(found.size, size);
    if (found.size > size) ftruncateSync(file, size);
  } catch (error) {
    closeSync(file);
    rmSync(path, { recursive: true, force: true });
    throw error;
  }
  let [position, unflushed] = [0, 0];
  return {
    descriptor: file,
    before,
    position: () => position,
    read: (bytes, at) => readSync(file, bytes, 0, bytes.byteLength, at),
    write(bytes) {
      for (let at = 0; at < bytes.byteLength; )
        at += writeSync(file, bytes, at, bytes.byteLength - at, position + at);
      position += bytes.byteLength;
      unflushed += bytes.byteLength;
      if (unflushed < FLUSH_BYTES) return;
      fdatasyncSync(file);
      unflushed = 0;
    },
    skip(bytes) {
      position += bytes;
    },
    finish() {
      fdatasyncSync(file);
      return fstatSync(file);
    },
    close: () => closeSync(file),
  };
}
