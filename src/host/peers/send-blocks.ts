/**
 * Sending a file to a peer that has a part of it: the list of its blocks, and what the peer then asks for.
 */
import { badInput } from "../../lib/errors";
import { BLOCKS_A_MESSAGE, encodeBlocks, type Range } from "./block-list";
import { type Block, MAX_BLOCKS, scanBlocks } from "./blocks";

/**
 * Reads the first `size` bytes of an open file.
 *
 * @param say sends a part of the block list, once there is room for it; also called, with null, where there is none yet. It
 *   ends the work when it throws.
 * @returns the offsets of the blocks and of the end, and the SHA-256 of the file.
 */
export async function listBlocks(
  file: number,
  size: number,
  average: number,
  say: (blocks: string | null, isLast: boolean) => Promise<void>,
): Promise<{ offsets: number[]; sha256: string }> {
  const hash = new Bun.CryptoHasher("sha256");
  const offsets = [0];
  let waiting: Block[] = [];
  const turn = async () => {
    let at = 0;
    for (; waiting.length - at > BLOCKS_A_MESSAGE; at += BLOCKS_A_MESSAGE)
      await say(encodeBlocks(waiting.slice(at, at + BLOCKS_A_MESSAGE)), false);
    waiting = waiting.slice(at);
    await say(null, false);
  };
  await scanBlocks(file, size, average, turn, (block, bytes) => {
    hash.update(bytes);
    waiting.push(block);
    offsets.push(block.offset + block.length);
  });
  await turn();
  await say(encodeBlocks(waiting), true);
  return { offsets, sha256: hash.digest("hex") };
}

/** The blocks that a peer asks for, as they arrive. */
export class Needs {
  readonly ranges: Range[] = [];
  isComplete = false;
  #end = 0;

  /** @throws a `bad_input` failure when the ranges are not in order, or go on: else a peer could ask without end. */
  add(ranges: readonly Range[], isLast: boolean): void {
    if (this.isComplete) throw badInput("the peer asked for more blocks than before");
    for (const [first, count] of ranges) {
      if (first < this.#end || count < 1) throw badInput("the peer asked for blocks out of order");
      this.#end = first + count;
      if (this.#end > MAX_BLOCKS) throw badInput("the peer asked for blocks that do not exist");
      this.ranges.push([first, count]);
    }
    this.isComplete = isLast;
  }

  /** The ranges as bytes of the file. @throws a `bad_input` failure when the file has not as many blocks. */
  bytesOf(offsets: readonly number[]): Array<{ from: number; to: number }> {
    return this.ranges.map(([first, count]) => {
      const [from, to] = [offsets[first], offsets[first + count]];
      if (from === undefined || to === undefined)
        throw badInput("the peer asked for blocks that do not exist");
      return { from, to };
    });
  }
}
