/**
 * The list of the blocks of a file, as it travels: 4 bytes of length (big-endian) and the hash of each, in base64.
 */
import { badInput } from "../../lib/errors";
import { type Block, HASH_BYTES, lengthBounds } from "./blocks";

const ENTRY_BYTES = 4 + HASH_BYTES;

/** How many blocks one message lists: in base64, they leave room for the rest of it (`MAX_TEXT`). */
export const BLOCKS_A_MESSAGE = 600;

/** How many ranges one `file_need` has. */
export const RANGES_A_MESSAGE = 500;

/** Blocks that a receiver needs: the number of the first, and how many. */
export type Range = [first: number, count: number];

export function encodeBlocks(blocks: readonly Block[]): string {
  const bytes = Buffer.allocUnsafe(blocks.length * ENTRY_BYTES);
  for (const [at, { length, hash }] of blocks.entries()) {
    bytes.writeUInt32BE(length, at * ENTRY_BYTES);
    bytes.write(hash, at * ENTRY_BYTES + 4, "latin1");
  }
  return bytes.toString("base64");
}

/**
 * Collects the list of a file of `size` bytes, whose blocks have that average length.
 *
 * @returns a function that takes the next part. It throws a `bad_input` failure as soon as the list is not one of such a file:
 *   it cannot have more than `MAX_BLOCKS`.
 */
export function createBlockReader(size: number, average: number, found: (block: Block) => void) {
  const { least, most } = lengthBounds(average);
  let offset = 0;
  let isComplete = false;
  return (encoded: string, isLast: boolean): void => {
    if (isComplete) throw badInput("the block list goes on after its end");
    const bytes = Buffer.from(encoded, "base64");
    if (bytes.length % ENTRY_BYTES !== 0) throw badInput("the block list has an incomplete entry");
    for (let at = 0; at < bytes.length; at += ENTRY_BYTES) {
      const length = bytes.readUInt32BE(at);
      const isLastBlock = offset + length === size;
      if (length > most || length === 0 || (length < least && !isLastBlock) || offset + length > size)
        throw badInput("the block list has a block of a length that it cannot have");
      found({ offset, length, hash: bytes.toString("latin1", at + 4, at + ENTRY_BYTES) });
      offset += length;
    }
    if (isLast && offset !== size) throw badInput("the block list ends before the file");
    isComplete = isLast;
  };
}
