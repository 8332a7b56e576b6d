/**
 * ZIP archives (APPNOTE.TXT 6.3.10, https://pkware.cachefly.net/webdocs/casestudies/APPNOTE.TXT): a writer that stores
 * files as they are, as pictures do not become smaller, and a reader for archives of others.
 *
 * Promise: the reader takes no more memory than its caller allows, whatever the archive says of itself.
 */
import { closeSync, fstatSync, openSync, readSync } from "node:fs";
import { open } from "node:fs/promises";
import { crc32, inflateRawSync } from "node:zlib";
import { ZipPassThrough, Zip as ZipWriter } from "fflate";
import { badInput, systemCode } from "./errors";
import { orElse } from "./or-else";

/** Signatures (sections 4.3.7, 4.3.12 and 4.3.16). */
const LOCAL = 0x0403_4b50;
const CENTRAL = 0x0201_4b50;
const END = 0x0605_4b50;

/** The size of each of these without what varies. */
const LOCAL_BYTES = 30;
const CENTRAL_BYTES = 46;
const END_BYTES = 22;

/** The first day that the format knows: an archive of the same files is the same archive. */
const DATE = new Date(1980, 0, 1);
/** Compression methods (section 4.4.5). */
const STORED = 0;
const DEFLATED = 8;

/** The longest comment at the end of an archive (section 4.4.12), before which the reader looks for its index. */
const MAX_COMMENT = 0xffff;
/** The most files of an archive, and the most bytes of its index, that the reader takes. */
const MAX_FILES = 10_000;
const MAX_INDEX = 4 * 1024 * 1024;

/** Writes an archive to `path`, which must not exist yet (0600). Without ZIP64: 4 GB and 65,535 files at most. */
export async function createZip(path: string) {
  const file = await open(path, "wx", 0o600);
  const ready: Uint8Array[] = [];
  const zip = new ZipWriter((error, bytes) => {
    if (error) throw error;
    ready.push(bytes);
  });
  const write = async () => {
    for (const bytes of ready.splice(0)) await file.appendFile(bytes);
  };
  return {
    async add(name: string, data: Uint8Array): Promise<void> {
      const entry = new ZipPassThrough(name);
      entry.mtime = DATE;
      zip.add(entry);
      entry.push(data, true);
      await write();
    },
    /** Writes the index and closes the file, which is on disk then. */
    async finish(): Promise<void> {
      zip.end();
      await write();
      await file.sync();
      await file.close();
    },
    close: () => file.close().catch(() => {}),
  };
}

interface Entry {
  readonly method: number;
  readonly checksum: number;
  /** In the archive, and when it is read. */
  readonly stored: number;
  readonly size: number;
  readonly at: number;
}

/** An archive that is open; dispose of it to close it. */
export interface Zip extends Disposable {
  names(): string[];
  /** The size of a file when it is read; undefined when there is none of that name. */
  size(name: string): number | undefined;
  /** @throws a `bad_input` failure when there is no such file, it has more than `max` bytes, or it is damaged. */
  read(name: string, max: number): Buffer;
}

/**
 * Opens the archive at `path`.
 *
 * @param what it is, for messages: `trace`.
 * @throws a `bad_input` failure when it cannot be read, or is no archive that svc reads.
 */
export function openZip(path: string, what: string): Zip {
  const bad = (why: string) => badInput(`${what}: ${why}`);
  const fd = opened(path, bad);
  const read = (at: number, length: number): Buffer => {
    const bytes = Buffer.alloc(length);
    if (readSync(fd, bytes, 0, length, at) === length) return bytes;
    throw bad("the archive is cut off");
  };
  try {
    const entries = indexOf(fstatSync(fd).size, read, bad);
    return {
      names: () => [...entries.keys()],
      size: (name) => entries.get(name)?.size,
      read(name, max) {
        const entry = entries.get(name);
        if (!entry) throw bad(`the archive has no ${name}`);
        if (entry.size > max || entry.stored > max) throw bad(`${name} in it has more than ${max} bytes`);
        const header = read(entry.at, LOCAL_BYTES);
        if (header.readUInt32LE(0) !== LOCAL) throw bad("the archive is damaged");
        const start = entry.at + LOCAL_BYTES + header.readUInt16LE(26) + header.readUInt16LE(28);
        const data = contentOf(entry, read(start, entry.stored));
        if (data?.length !== entry.size || crc32(data) !== entry.checksum)
          throw bad(`${name} in it is damaged`);
        return data;
      },
      [Symbol.dispose]: () => closeSync(fd),
    };
  } catch (error) {
    closeSync(fd);
    throw error;
  }
}

function opened(path: string, bad: (why: string) => Error): number {
  try {
    return openSync(path, "r");
  } catch (error) {
    throw bad(`${path} cannot be read (${systemCode(error) ?? "unknown error"})`);
  }
}

/** Undefined when it is damaged, or compressed in a way that svc does not read. */
function contentOf({ method, size }: Entry, stored: Buffer): Buffer | undefined {
  if (method === STORED) return stored;
  if (method !== DEFLATED) return undefined;
  return orElse(() => inflateRawSync(stored, { maxOutputLength: Math.max(size, 1) }), undefined);
}

function indexOf(
  size: number,
  read: (at: number, length: number) => Buffer,
  bad: (why: string) => Error,
): Map<string, Entry> {
  const tail = read(Math.max(0, size - END_BYTES - MAX_COMMENT), Math.min(size, END_BYTES + MAX_COMMENT));
  let end = tail.length - END_BYTES;
  while (end >= 0 && tail.readUInt32LE(end) !== END) end--;
  if (end < 0) throw bad("expected a ZIP archive");
  const count = tail.readUInt16LE(end + 10);
  const bytes = tail.readUInt32LE(end + 12);
  const start = tail.readUInt32LE(end + 16);
  if (count > MAX_FILES || bytes > MAX_INDEX) throw bad(`expected at most ${MAX_FILES} files in the archive`);
  if (start + bytes > size) throw bad("the archive is damaged");
  const index = read(start, bytes);
  const entries = new Map<string, Entry>();
  for (let at = 0, nth = 0; nth < count; nth++) {
    if (at + CENTRAL_BYTES > bytes || index.readUInt32LE(at) !== CENTRAL) throw bad("the archive is damaged");
    const lengths = [28, 30, 32].map((where) => index.readUInt16LE(at + where));
    const [nameBytes = 0] = lengths;
    const name = index.toString("utf8", at + CENTRAL_BYTES, at + CENTRAL_BYTES + nameBytes);
    if (entries.has(name)) throw bad("the archive has two files of one name");
    entries.set(name, {
      method: index.readUInt16LE(at + 10),
      checksum: index.readUInt32LE(at + 16),
      stored: index.readUInt32LE(at + 20),
      size: index.readUInt32LE(at + 24),
      at: index.readUInt32LE(at + 42),
    });
    at += CENTRAL_BYTES + lengths.reduce((sum, length) => sum + length, 0);
  }
  return entries;
}
