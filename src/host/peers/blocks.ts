/**
 * Content-defined blocks of a file: where one ends depends on the bytes around its end only, so that the blocks around a
 * change are the same in both versions of a file, wherever they are.
 *
 * FastCDC with normalized cuts (Xia et al., USENIX ATC 2016), and the first half of the SHA-256 of each block.
 */
import { readSync } from "node:fs";

/** Smaller files are sent whole: a block list would save little. Bytes. */
const LEAST_SIZE = 1_048_576;

/** Larger files too: their block list would need too much memory. Bytes. */
export const MOST_SIZE = 256 * 1_073_741_824;

/** The average length of a block is a power of two between these, bytes. */
const LEAST_LENGTH = 16_384;
const MOST_LENGTH = 1_048_576;

/** How many blocks a file is cut into, where the bounds of their length allow it. */
const AIM = 65_536;

/** A block has at least a quarter of the average length, and at most four times that. */
const SPREAD = 4;

/** No file that has blocks has more. */
export const MAX_BLOCKS = MOST_SIZE / (MOST_LENGTH / SPREAD) + 1;

/** How much of a file is read at once, bytes. */
const READ_BYTES = 1_048_576;

/** Bytes of a {@link Block.hash}. */
export const HASH_BYTES = 16;

export interface Block {
  readonly offset: number;
  readonly length: number;
  /** {@link HASH_BYTES} bytes, each a character. */
  readonly hash: string;
}

/** The average length of the blocks of a file of `size` bytes; undefined when it is sent whole. */
export function blockLength(size: number): number | undefined {
  if (size < LEAST_SIZE || size > MOST_SIZE) return undefined;
  const length = 2 ** Math.ceil(Math.log2(size / AIM));
  return Math.min(Math.max(length, LEAST_LENGTH), MOST_LENGTH);
}

/** Whether a file of `size` bytes may have blocks of that average length: then it has at most {@link MAX_BLOCKS}. */
export function mayHaveBlocks(size: number, average: number): boolean {
  const least = blockLength(size);
  return (
    least !== undefined && average >= least && average <= MOST_LENGTH && Number.isInteger(Math.log2(average))
  );
}

/** The bounds of the length of a block; the last one of a file may be shorter. */
export const lengthBounds = (average: number) => ({ least: average / SPREAD, most: average * SPREAD });

const sha256 = (bytes: Uint8Array | string): Buffer => new Bun.CryptoHasher("sha256").update(bytes).digest();

/** 256 numbers without a pattern, the same on every host. */
const gear = () => Int32Array.from({ length: 256 }, (_, byte) => sha256(`gear ${byte}`).readInt32LE());

/**
 * A function that returns the length of the block that starts at `from` in `bytes`. It needs the rest of the file, or the
 * most that a block can have.
 */
function createCutter(average: number): (bytes: Uint8Array, from: number, end: number) => number {
  const table = gear();
  const { least, most } = lengthBounds(average);
  const bits = Math.log2(average);
  // Each byte ends a block with half the probability 1 / average up to the average length, then with four times that.
  const [rare, frequent] = [-1 << (32 - bits - 1), -1 << (32 - bits + 2)];
  return (bytes, from, end) => {
    const length = Math.min(end - from, most);
    if (length <= least) return length;
    let at = from + least;
    // Kept to 32 bits: where it may grow it is a floating-point number, and a scan takes a third more processor time.
    let sum = 0;
    for (const stop = from + Math.min(average, length); at < stop; at++) {
      sum = ((sum << 1) + (table[bytes[at] ?? 0] ?? 0)) | 0;
      if ((sum & rare) === 0) return at + 1 - from;
    }
    for (const stop = from + length; at < stop; at++) {
      sum = ((sum << 1) + (table[bytes[at] ?? 0] ?? 0)) | 0;
      if ((sum & frequent) === 0) return at + 1 - from;
    }
    return length;
  };
}

/**
 * Cuts the first `size` bytes of an open file into blocks.
 *
 * @param read called before each read, some milliseconds apart: it lets other work run, and ends the scan when it throws.
 * @param found receives each block, in order, and its bytes.
 * @returns how many bytes there were: fewer when the file has become shorter.
 */
export async function scanBlocks(
  file: number,
  size: number,
  average: number,
  read: () => Promise<void>,
  found: (block: Block, bytes: Uint8Array) => void,
): Promise<number> {
  const cut = createCutter(average);
  const { most } = lengthBounds(average);
  const buffer = Buffer.allocUnsafe(Math.max(READ_BYTES, 2 * most));
  let [offset, filled] = [0, 0];
  for (let isLast = false; !isLast; ) {
    await read();
    const wanted = Math.min(buffer.length - filled, size - offset - filled);
    const got = wanted > 0 ? readSync(file, buffer, filled, wanted, offset + filled) : 0;
    filled += got;
    isLast = got === 0 || offset + filled >= size;
    let from = 0;
    while (from < filled && (isLast || filled - from >= most)) {
      const length = cut(buffer, from, filled);
      const bytes = buffer.subarray(from, from + length);
      const hash = sha256(bytes).toString("latin1", 0, HASH_BYTES);
      found({ offset: offset + from, length, hash }, bytes);
      from += length;
    }
    buffer.copyWithin(0, from, filled);
    [offset, filled] = [offset + from, filled - from];
  }
  return offset;
}
