/**
 * Notices that another program overwrote or cut off the write-ahead log of an open file: the rows in it would be lost.
 *
 * It compares the beginning and the last frame of the log with what SQLite knows of them, in the index of the log that the
 * processes share (https://sqlite.org/walformat.html). What somebody overwrites between the two shows in verification.
 */
import { closeSync, fstatSync, openSync, readdirSync, readSync, statSync } from "node:fs";
import { orElse } from "../../lib/or-else";

/** The places of a field in the header of the log, of a frame, and of the index, in bytes. */
const HEADER = { bytes: 32, salts: 16, checksum: 24 };
const FRAME = { bytes: 24, salts: 8, checksum: 16 };
const INDEX = { bytes: 48, pageSize: 14, frames: 16, checksum: 24, salts: 32 };
const SALTS_BYTES = 8;

/** The beginning of a log whose checksums take words in little-endian order; with the lowest bit set, big-endian. */
const MAGIC = 0x377f0682;

/** What knows whether the write-ahead log is whole. */
interface WalGuard {
  /**
   * Whether the log is as SQLite left it. The caller holds the write lock, so that nobody writes meanwhile.
   *
   * @param alone whether no other connection wrote since the last call.
   */
  isIntact(alone: boolean): boolean;
  close(): void;
}

/** Guards the write-ahead log `walPath` with the index `indexPath`, both in use by a connection of this process. */
export function guardWal(walPath: string, indexPath: string): WalGuard {
  // First: where that throws, nothing of this process is open.
  const index = openIndex(indexPath);
  // SQLite has no lock on the log itself, so that closing this drops none.
  const log = openSync(walPath, "r");
  const known = Buffer.alloc(INDEX.bytes);
  const header = Buffer.alloc(HEADER.bytes);
  /** A header that was good: it stays the same until SQLite begins the log anew. */
  const good = Buffer.alloc(HEADER.bytes);
  let frame = Buffer.alloc(FRAME.bytes);
  /** A frame that was there before. */
  let seen = { at: 0, frame: Buffer.alloc(FRAME.bytes) };

  const isRead = (at: number, into: Buffer) => readSync(log, into, 0, into.length, at) === into.length;
  const hasSalts = (buffer: Buffer, at: number) =>
    buffer.compare(known, INDEX.salts, INDEX.salts + SALTS_BYTES, at, at + SALTS_BYTES) === 0;
  const isGoodHeader = () => {
    if (!isRead(0, header)) return false;
    if (!header.equals(good)) {
      if (!isHeader(header)) return false;
      header.copy(good);
    }
    return hasSalts(header, HEADER.salts);
  };

  return {
    isIntact(alone) {
      if (index === undefined) return true;
      if (readSync(index.fd, known, 0, known.length, 0) < known.length) return false;
      const frames = known.readUInt32LE(INDEX.frames);
      if (frames === 0) return true;
      if (!isGoodHeader()) return false;
      // Another program may have written behind a hole.
      if (!alone && hasSalts(seen.frame, FRAME.salts)) {
        if (!isRead(seen.at, frame) || !frame.equals(seen.frame)) return false;
      }
      const size = known.readUInt16LE(INDEX.pageSize);
      // 1 stands for 65,536, which has no room.
      const at = HEADER.bytes + (frames - 1) * (FRAME.bytes + (size === 1 ? 65_536 : size));
      if (!isRead(at, frame) || !hasSalts(frame, FRAME.salts)) return false;
      for (const word of [0, 4]) {
        const checksum = frame.readUInt32BE(FRAME.checksum + word);
        if (checksum !== known.readUInt32LE(INDEX.checksum + word)) return false;
      }
      [seen, frame] = [{ at, frame }, seen.frame];
      return true;
    },
    close() {
      closeSync(log);
      if (index?.isOurs) closeSync(index.fd);
    },
  };
}

/** Whether `header` has the checksum that its other fields give. */
function isHeader(header: Buffer): boolean {
  const magic = header.readUInt32BE(0);
  if ((magic & ~1) !== MAGIC) return false;
  let [first, second] = [0, 0];
  for (let at = 0; at < HEADER.checksum; at += 8) {
    const word = (from: number) => (magic & 1 ? header.readUInt32BE(from) : header.readUInt32LE(from));
    first = (first + word(at) + second) >>> 0;
    second = (second + word(at + 4) + first) >>> 0;
  }
  return (
    first === header.readUInt32BE(HEADER.checksum) && second === header.readUInt32BE(HEADER.checksum + 4)
  );
}

/**
 * The index of the log, by the descriptor that SQLite has: to close one of our own would drop SQLite's locks on it
 * (fcntl(2)), but on Windows. Undefined where the descriptors of a process cannot be listed.
 */
function openIndex(path: string): { readonly fd: number; readonly isOurs: boolean } | undefined {
  if (process.platform === "win32") return { fd: openSync(path, "r"), isOurs: true };
  const { dev, ino } = statSync(path);
  for (const fd of openDescriptors()) {
    try {
      const found = fstatSync(fd);
      if (found.dev === dev && found.ino === ino) return { fd, isOurs: false };
    } catch {
      // It was the one that listed them.
    }
  }
  return undefined;
}

const openDescriptors = (): number[] => orElse(() => readdirSync("/dev/fd").map(Number), []);
