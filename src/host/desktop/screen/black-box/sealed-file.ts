/**
 * Files of records that nobody reads without the key of this host: AES-256-GCM (NIST SP 800-38D), a key for each file.
 *
 * Promise: a file that ends in the middle of a record, as one does whose process was killed, is read up to its last whole record.
 *
 * The key of the host makes a key for each run of the recorder (HKDF, RFC 5869), and that one makes the key of each file: so the process
 * that records can read what it has written itself, and nothing of before.
 */
import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from "node:crypto";
import { closeSync, openSync, readFileSync, rmSync, writeSync } from "node:fs";
import { unavailable } from "../../../../lib/errors";
import { PRIVATE_FILE, unlessMissing } from "../../../../lib/files";
import { orElse } from "../../../../lib/or-else";

/** The head of a file: these bytes, the id of the run, and a salt that no other file has. */
const MAGIC = Buffer.from("svcBBox1", "latin1");
const [RUN_BYTES, SALT_BYTES, KEY_BYTES, TAG_BYTES, LENGTH_BYTES] = [16, 32, 32, 16, 4];
const HEAD_BYTES = MAGIC.length + RUN_BYTES + SALT_BYTES;

/** What a run of the recorder writes with: its id and its key, in hexadecimal digits. */
export interface RunKey {
  readonly run: string;
  readonly key: string;
}

/** The key of a new run. @param hostKey 64 hexadecimal digits. */
export function newRunKey(hostKey: string): RunKey {
  const run = randomBytes(RUN_BYTES);
  return { run: run.toString("hex"), key: runKeyOf(hostKey, run).toString("hex") };
}

const derived = (key: Uint8Array, salt: Uint8Array, purpose: string) =>
  Buffer.from(hkdfSync("sha256", key, salt, `svc black box: ${purpose}`, KEY_BYTES));

const runKeyOf = (hostKey: string, run: Uint8Array) => derived(Buffer.from(hostKey, "hex"), run, "run");

/** A number that no other record of the file has: its place. */
function nonceOf(nth: number): Buffer {
  const nonce = Buffer.alloc(12);
  nonce.writeUIntLE(nth, 0, 6);
  return nonce;
}

/** A file that is being written. */
export interface SealedFile {
  readonly bytes: number;
  /** Writes a record at once. @throws what the system says. */
  append(record: Uint8Array): void;
  close(): void;
}

/**
 * Makes a file (0600).
 *
 * @param purpose what is in it: it is read with the same.
 * @throws what the system says, also where the file is there.
 */
export function createSealedFile(path: string, { run, key }: RunKey, purpose: string): SealedFile {
  const file = openSync(path, "wx", PRIVATE_FILE);
  const salt = randomBytes(SALT_BYTES);
  const own = derived(Buffer.from(key, "hex"), salt, purpose);
  let bytes = 0;
  let count = 0;
  let fault: unknown;
  const write = (piece: Uint8Array) => {
    // What comes after a part of a record is read by nobody.
    if (fault !== undefined) throw fault;
    try {
      for (let done = 0; done < piece.length; ) done += writeSync(file, piece, done);
      bytes += piece.length;
    } catch (error) {
      fault = error;
      throw error;
    }
  };
  try {
    write(Buffer.concat([MAGIC, Buffer.from(run, "hex"), salt]));
  } catch (error) {
    closeSync(file);
    rmSync(path, { force: true });
    throw error;
  }
  return {
    get bytes() {
      return bytes;
    },
    append(record) {
      const cipher = createCipheriv("aes-256-gcm", own, nonceOf(count++));
      const length = Buffer.alloc(LENGTH_BYTES);
      length.writeUInt32LE(record.length + TAG_BYTES);
      const sealed = [cipher.update(record), cipher.final()];
      write(Buffer.concat([length, ...sealed, cipher.getAuthTag()]));
    },
    close: () => closeSync(file),
  };
}

/**
 * The records of a file, up to the last whole one.
 *
 * @param hostKey 64 hexadecimal digits.
 * @throws what the system says, but for a file that has been removed; `unavailable` where its first record was written with the key of another host.
 */
export function* readSealedFile(path: string, hostKey: string, purpose: string): Generator<Buffer> {
  // What is too old goes at any time.
  const bytes = unlessMissing(() => readFileSync(path));
  if (!bytes || bytes.length < HEAD_BYTES || !bytes.subarray(0, MAGIC.length).equals(MAGIC)) return;
  const saltAt = MAGIC.length + RUN_BYTES;
  const runKey = runKeyOf(hostKey, bytes.subarray(MAGIC.length, saltAt));
  const own = derived(runKey, bytes.subarray(saltAt, HEAD_BYTES), purpose);
  let at = HEAD_BYTES;
  for (let nth = 0; at + LENGTH_BYTES <= bytes.length; nth++) {
    const length = bytes.readUInt32LE(at);
    const [start, end] = [at + LENGTH_BYTES, at + LENGTH_BYTES + length];
    if (length < TAG_BYTES || end > bytes.length) return;
    const record = opened(own, nth, bytes.subarray(start, end));
    if (!record && nth === 0)
      throw unavailable("the black box was written with another key than that in black_box_key");
    if (!record) return;
    yield record;
    at = end;
  }
}

/** Undefined where it is not as it was written. */
function opened(key: Uint8Array, nth: number, sealed: Buffer): Buffer | undefined {
  const cipher = createDecipheriv("aes-256-gcm", key, nonceOf(nth));
  const end = sealed.length - TAG_BYTES;
  cipher.setAuthTag(sealed.subarray(end));
  return orElse(() => Buffer.concat([cipher.update(sealed.subarray(0, end)), cipher.final()]), undefined);
}
