import { describe, expect, test } from "bun:test";
import { randomBytes } from "node:crypto";
import { closeSync, openSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createBlockReader, encodeBlocks } from "../../../src/host/peers/block-list";
import {
  type Block,
  blockLength,
  lengthBounds,
  MAX_BLOCKS,
  mayHaveBlocks,
  scanBlocks,
} from "../../../src/host/peers/blocks";
import { temporaryFolder } from "../../support";

const AVERAGE = 16_384;

async function blocksOf(content: Uint8Array, average = AVERAGE): Promise<Block[]> {
  using home = temporaryFolder();
  const path = join(home.path, "file");
  writeFileSync(path, content);
  const file = openSync(path, "r");
  const blocks: Block[] = [];
  await scanBlocks(
    file,
    content.length,
    average,
    async () => {},
    (block) => void blocks.push(block),
  );
  closeSync(file);
  return blocks;
}

describe("the blocks of a file", () => {
  test("cover it without a gap, within the bounds of their length, near the average", async () => {
    const content = randomBytes(5_000_000);
    const blocks = await blocksOf(content);
    const { least, most } = lengthBounds(AVERAGE);
    let offset = 0;
    for (const block of blocks) {
      expect(block.offset).toBe(offset);
      offset += block.length;
      expect(block.length).toBeLessThanOrEqual(most);
      if (offset < content.length) expect(block.length).toBeGreaterThanOrEqual(least);
    }
    expect(offset).toBe(content.length);
    expect(content.length / blocks.length).toBeWithin(AVERAGE / 2, AVERAGE * 2);
  });

  test("are the same after a change, but for those around it", async () => {
    const content = randomBytes(5_000_000);
    const changed = Buffer.concat([
      content.subarray(0, 2_000_000),
      Buffer.from("more"),
      content.subarray(2_000_000),
    ]);
    const before = new Set((await blocksOf(content)).map(({ hash }) => hash));
    const fresh = (await blocksOf(changed)).filter(({ hash }) => !before.has(hash));
    expect(fresh.length).toBeWithin(1, 5);
  });

  test("have the longest length where nothing ends them, and are the same in every build", async () => {
    const blocks = await blocksOf(Buffer.alloc(200_000));
    expect(blocks.map(({ length }) => length)).toEqual([65_536, 65_536, 65_536, 3_392]);
    const pattern = Buffer.from(Array.from({ length: 100_000 }, (_, at) => (at * at * 31 + (at >> 5)) & 255));
    expect((await blocksOf(pattern)).map(({ length }) => length)).toMatchInlineSnapshot(`
      [
        16497,
        18909,
        19647,
        18788,
        18909,
        7250,
      ]
    `);
  });

  test("are as many as a receiver takes, however large the file", () => {
    expect([1_000, 1_048_575, 300 * 2 ** 30].map(blockLength)).toEqual([undefined, undefined, undefined]);
    for (const size of [1_048_576, 2 ** 30, 2 ** 30 + 1, 2 ** 35, 256 * 2 ** 30]) {
      const average = blockLength(size) ?? 0;
      expect(mayHaveBlocks(size, average)).toBe(true);
      expect(size / lengthBounds(average).least).toBeLessThan(MAX_BLOCKS);
    }
    expect(mayHaveBlocks(256 * 2 ** 30, AVERAGE)).toBe(false);
    expect(mayHaveBlocks(2 ** 30, AVERAGE + 1)).toBe(false);
    expect(mayHaveBlocks(2 ** 30, 2 ** 40)).toBe(false);
  });
});

describe("a block list", () => {
  const read = (size: number) => {
    const found: Block[] = [];
    return { found, take: createBlockReader(size, AVERAGE, (block) => void found.push(block)) };
  };

  test("arrives as it was sent, in any number of parts", async () => {
    const content = randomBytes(300_000);
    const blocks = await blocksOf(content);
    const { found, take } = read(content.length);
    for (const block of blocks) take(encodeBlocks([block]), false);
    take("", true);
    expect(found).toEqual(blocks);
  });

  const block = (length: number, offset = 0): Block => ({ offset, length, hash: "0123456789abcdef" });
  test.each<[string, number, Block[]]>([
    ["a block longer than the longest", 200_000, [block(65_537)]],
    ["a block shorter than the shortest", 200_000, [block(4_095)]],
    ["an empty block", 200_000, [block(65_536), block(0)]],
    ["more than the file", 65_540, [block(65_536), block(5_000)]],
    ["less than the file", 200_000, [block(65_536)]],
  ])("with %s is refused", (_what, size, blocks) => {
    expect(() => read(size).take(encodeBlocks(blocks), true)).toThrow(/the block list/);
  });

  test("with half an entry is refused, and so is one that goes on after its end", () => {
    expect(() => read(200_000).take("AAAA", false)).toThrow("incomplete entry");
    const { take } = read(5_000);
    take(encodeBlocks([block(5_000)]), true);
    expect(() => take("", true)).toThrow("after its end");
  });
});
