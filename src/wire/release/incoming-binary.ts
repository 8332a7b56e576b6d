/**
 * A newer program on its way to this host: it comes in pieces, and goes on after a cut where it was.
 *
 * Promises. There is one file at a time, of which the release key has signed that version for this target; another takes its place only once
 * that has stood still. Its size is what the plan says, up to the largest of a program. It is whole (SHA-256) and signed before anything may use it, and what is not goes.
 */
import {
  appendFileSync,
  createReadStream,
  readdirSync,
  renameSync,
  rmSync,
  type Stats,
  statfsSync,
  statSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { oldestKept } from "../../lib/age";
import { conflict, rejected } from "../../lib/errors";
import { ensurePrivateFolder, PRIVATE_FILE, syncFile } from "../../lib/files";
import { lookThrough } from "../../lib/look";
import { acceptable, type OwnProgram } from "./candidate";
import { isCommentOf } from "./index";
import { type PublicKey, parseSignature, SIGNATURE_EXTENSION, verify, verifyComment } from "./minisign";
import type { ReleasedBinary } from "./released-binary";
import type { UploadState } from "./upgrade-messages";

/** How long a file has to stand still before another takes its place, in milliseconds. */
const STILL_MS = 60_000;

/** A file that came no further for so long is removed, in milliseconds. */
const OLD_MS = 7 * 86_400_000;

/** What has to be free on each disk besides the file, and the copy of it that becomes the program, in bytes. */
const SPARE_BYTES = 64 * 1_048_576;

interface Disk {
  readonly id: number;
  readonly free: number;
}

export interface IncomingBinaryOptions {
  /** A folder of its own; it is made with the first piece. */
  readonly folder: string;
  readonly own: Pick<OwnProgram, "version" | "target">;
  readonly key: PublicKey;
  /** The folder of the program, where the copy of the file goes. */
  readonly programs: string;
  /** The disk of a folder, and how many bytes are free on it, for tests. */
  readonly disk?: (folder: string) => Disk;
}

/** The file that a desk sends. */
interface IncomingBinary {
  /** How far the file has come that is here; null where there is none. */
  state(): UploadState | null;
  /**
   * Takes a piece. What is here already of it is left as it is, so that a piece may come twice.
   *
   * @param offset where the piece begins in the file, in bytes.
   * @returns how far the file has come; it is complete once its last byte is here and it was verified.
   * @throws `conflict` for a piece that does not begin where the file ends; `rejected` for a file that is not taken; then nothing
   *   of it is left where it was whole.
   */
  receive(file: ReleasedBinary, offset: number, piece: Uint8Array): Promise<UploadState>;
  /** The path of the file and that of its signature, once it is complete; undefined before. */
  complete(released: Pick<ReleasedBinary, "sha256">): { file: string; signature: string } | undefined;
  /** Removes what came no further for a week. @param used the SHA-256 of a file that goes at once where it is whole. */
  forgetOld(used?: string): void;
}

const NAME = /^([0-9a-f]{64})(\.part)?$/;

export function createIncomingBinary({
  folder,
  own,
  key,
  programs,
  disk = diskOf,
}: IncomingBinaryOptions): IncomingBinary {
  let checking: Promise<void> | undefined;
  const pathOf = (sha256: string) => join(folder, sha256);
  const partOf = (sha256: string) => `${pathOf(sha256)}.part`;

  const now = () => fileIn(folder);
  const clear = () => clearFolder(folder);

  /** Makes room for a file that is new here. */
  const begin = (file: ReleasedBinary, found: FoundFile | null): void => {
    const signature = parseSignature(file.signature);
    const comment = verifyComment(key, signature);
    acceptable(comment, own, false);
    if (!isCommentOf(comment, file)) throw rejected(`the signature is of another file: ${comment}`);
    // In the future where the clock was set back.
    if (found && Math.abs(Date.now() - found.stat.mtimeMs) < STILL_MS)
      throw conflict("another file for an upgrade is on its way to this host: try again in a minute");
    ensurePrivateFolder(folder);
    clear();
    const [here, there] = [disk(folder), disk(programs)];
    const isOne = here.id === there.id;
    if (here.free < (isOne ? 2 : 1) * file.size + SPARE_BYTES || there.free < file.size + SPARE_BYTES)
      throw rejected(`the disk has no room for a program of ${file.size} bytes and a copy of it`);
    writeFileSync(`${pathOf(file.sha256)}${SIGNATURE_EXTENSION}`, file.signature, { mode: PRIVATE_FILE });
    writeFileSync(partOf(file.sha256), "", { mode: PRIVATE_FILE });
  };

  /** The whole file is there: from here on it may be used, or it is gone. */
  const finish = async (file: ReleasedBinary): Promise<void> => {
    const part = partOf(file.sha256);
    try {
      syncFile(part);
      if ((await sha256Of(part)) !== file.sha256)
        throw rejected(
          "the file is not the one that was announced: it was changed on its way, or on the disk",
        );
      const comment = await verify(key, parseSignature(file.signature), part);
      acceptable(comment, own, false);
      renameSync(part, pathOf(file.sha256));
    } catch (error) {
      clear();
      throw error;
    }
  };

  return {
    state() {
      const found = now();
      return found && { sha256: found.sha256, received: found.received, complete: found.complete };
    },
    async receive(file, offset, piece) {
      while (checking) await checking;
      let found = now();
      if (found?.sha256 !== file.sha256) {
        if (offset > 0) throw conflict("the file has not begun here: expected its first piece");
        begin(file, found);
        found = now();
      }
      if (!found || found.complete) return { sha256: file.sha256, received: file.size, complete: true };
      const { received } = found;
      if (offset > received) throw conflict(`expected the piece that begins at ${received}, not ${offset}`);
      if (offset + piece.length > file.size)
        throw rejected(`the piece goes beyond the end of the file, ${file.size} bytes`);
      const fresh = piece.subarray(received - offset);
      const length = received + fresh.length;
      if (fresh.length > 0) append(partOf(file.sha256), fresh, received);
      if (length < file.size) return { sha256: file.sha256, received: length, complete: false };
      const done = finish(file);
      // Who comes meanwhile waits for the end, whatever it is.
      checking = done
        .catch(() => {})
        .finally(() => {
          checking = undefined;
        });
      await done;
      return { sha256: file.sha256, received: length, complete: true };
    },
    complete({ sha256 }) {
      const found = now();
      if (found?.sha256 !== sha256 || !found.complete) return undefined;
      return { file: pathOf(sha256), signature: `${pathOf(sha256)}${SIGNATURE_EXTENSION}` };
    },
    forgetOld(used) {
      const found = now();
      if (found?.complete && found.sha256 === used) clear();
      else if (found && found.stat.mtimeMs < oldestKept(OLD_MS)) clear();
    },
  };
}

/** A file that is on its way, or whole. */
interface FoundFile extends UploadState {
  readonly stat: Stats;
}

function fileIn(folder: string): FoundFile | null {
  for (const name of namesIn(folder)) {
    const [, sha256, part] = NAME.exec(name) ?? [];
    const stat = sha256 === undefined ? undefined : lookThrough(join(folder, name));
    if (sha256 !== undefined && stat?.isFile())
      return { sha256, received: stat.size, complete: part === undefined, stat };
  }
  return null;
}

function clearFolder(folder: string): void {
  for (const name of namesIn(folder))
    if (NAME.test(name.replace(SIGNATURE_EXTENSION, ""))) rmSync(join(folder, name), { force: true });
}

/** Adds to the end of a file of `length` bytes; a piece that is not written whole leaves nothing. @throws the system error. */
function append(path: string, piece: Uint8Array, length: number): void {
  try {
    appendFileSync(path, piece);
  } catch (error) {
    truncateSync(path, length);
    throw error;
  }
}

/** The SHA-256 of a file, as 64 hexadecimal digits. @throws the system error. */
export async function sha256Of(path: string): Promise<string> {
  const hash = new Bun.CryptoHasher("sha256");
  for await (const piece of createReadStream(path, { highWaterMark: 1_048_576 })) hash.update(piece);
  return hash.digest("hex");
}

function namesIn(folder: string): string[] {
  return lookThrough(folder)?.isDirectory() ? readdirSync(folder) : [];
}

function diskOf(folder: string): Disk {
  const { bavail, bsize } = statfsSync(folder);
  return { id: statSync(folder).dev, free: bavail * bsize };
}
