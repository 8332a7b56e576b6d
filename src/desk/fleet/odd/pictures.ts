/**
 * The pictures of screens of a group: which blocks differ from the median of all by more than blocks do there.
 *
 * Medians and deviations come from a histogram for each block, so that the work is in proportion to the number of screens.
 */
import { BLOCKS, CHANNELS, LEFT_OUT, SIDE } from "../../../wire/screen/signature";
import type { PreparedScreen } from "./prepared";
import { createRareSums, MAD_SCALE, type RareSums } from "./standing";

/** How many pictures are looked at in one piece: about a millisecond. */
const PIECE = 100;
/** How many of them tell what is usual, at least. */
const SAMPLE = 1_000;
/** By how much a block may differ at least, in each plane: what smooths edges or compresses a picture makes less. */
const NOISE = [14, 10, 10, 16];
/** And by how many deviations. */
const DEVIATIONS = 4;
/** Of so many screens a block must be known. */
const LEAST = 4;
/** How many blocks count in full: a twenty-fifth of the screen, a small dialog. */
export const PICTURE_UNIT = 0.04 * BLOCKS;

const VALUES = 256;
const PLANES = BLOCKS * CHANNELS;
const EMPTY = new Uint8Array(PLANES);

/** What is found of the pictures: a value for each screen, NaN where it has none. */
export interface PicturesFound {
  readonly known: number;
  /** How many blocks differ, each by how rare that is; and the share of the others that differ in the part that counts (2 for none). */
  readonly differing: RareSums;
  readonly rarest: Float64Array;
  readonly blocks: ReadonlyArray<readonly number[] | undefined>;
  /** How much of the screens does not differ, on average: 0 to 1. */
  readonly alike: number;
  /** Whether most of the screens have nothing to see. */
  readonly isBlank: boolean;
}

/** Looks at the pictures. Yields after each piece of work. */
export function* findPictures(screens: readonly PreparedScreen[]): Generator<void, PicturesFound> {
  const { low, high, medians } = yield* usualIn(screens);
  const [differing, knownAt] = [new Uint32Array(BLOCKS), new Uint32Array(BLOCKS)];
  const blocks: Array<readonly number[] | undefined> = new Array(screens.length);
  let [known, differ] = [0, 0];
  for (const [nth, { picture }] of screens.entries()) {
    if (nth % PIECE === 0) yield;
    if (!picture) continue;
    known++;
    const mine = differingIn(picture, low, high);
    blocks[nth] = mine;
    differ += mine.length;
    for (const block of mine) count(differing, block);
    for (let block = 0; block < BLOCKS; block++)
      if (picture[3 * BLOCKS + block] !== LEFT_OUT) count(knownAt, block);
  }
  const sums = createRareSums(screens.length);
  const rarest = new Float64Array(screens.length).fill(2);
  for (const [nth, mine] of blocks.entries()) {
    if (nth % PIECE === 0) yield;
    if (!mine) continue;
    sums.begin(nth);
    const shares = mine
      .map((block) => ((differing[block] ?? 1) - 1) / Math.max(1, (knownAt[block] ?? 1) - 1))
      .sort((a, b) => a - b);
    for (const share of shares) sums.add(nth, share);
    rarest[nth] = shares[Math.min(shares.length, Math.ceil(PICTURE_UNIT)) - 1] ?? 2;
  }
  const alike = known === 0 ? 0 : 1 - differ / (known * BLOCKS);
  return { known, differing: sums, rarest, blocks, alike, isBlank: blankIn(medians) !== null };
}

/** What is usual for each block. Of many screens a thousand tell it, which lie evenly among them. */
function* usualIn(screens: readonly PreparedScreen[]): Generator<void, Limits> {
  const counted = new Uint32Array(PLANES * VALUES);
  const knownAt = new Uint32Array(BLOCKS);
  const pictures = screens.map(({ picture }) => picture).filter((picture) => picture !== null);
  const step = Math.max(1, Math.floor(pictures.length / SAMPLE));
  for (let nth = 0; nth < pictures.length; nth += step) {
    if (nth % PIECE < step) yield;
    const picture = pictures[nth] ?? EMPTY;
    for (let block = 0; block < BLOCKS; block++) {
      if (picture[3 * BLOCKS + block] === LEFT_OUT) continue;
      count(knownAt, block);
      for (let at = block; at < PLANES; at += BLOCKS) count(counted, at * VALUES + (picture[at] ?? 0));
    }
  }
  yield;
  return limitsOf(counted, knownAt);
}

function count(counts: Uint32Array, at: number): void {
  counts[at] = (counts[at] ?? 0) + 1;
}

/** Between which values each block of a plane is as the others. */
interface Limits {
  readonly low: Int16Array;
  readonly high: Int16Array;
  readonly medians: Uint8Array;
}

function limitsOf(counted: Uint32Array, knownAt: Uint32Array): Limits {
  const [low, high] = [new Int16Array(PLANES), new Int16Array(PLANES).fill(VALUES)];
  const medians = new Uint8Array(PLANES);
  for (let at = 0; at < PLANES; at++) {
    const known = knownAt[at % BLOCKS] ?? 0;
    if (known < LEAST) continue;
    const values = counted.subarray(at * VALUES, (at + 1) * VALUES);
    const half = (known + 1) >> 1;
    let median = 0;
    for (let below = values[0] ?? 0; below < half; below += values[median] ?? 0) median++;
    let spread = 0;
    for (let within = values[median] ?? 0; within < half; ) {
      spread++;
      within += (values[median - spread] ?? 0) + (values[median + spread] ?? 0);
    }
    const most = Math.max(NOISE[Math.floor(at / BLOCKS)] ?? 0, DEVIATIONS * MAD_SCALE * spread);
    medians[at] = median;
    low[at] = Math.ceil(median - most);
    high[at] = Math.floor(median + most);
  }
  return { low, high, medians };
}

function differingIn(picture: Uint8Array, low: Int16Array, high: Int16Array): number[] {
  const found: number[] = [];
  for (let block = 0; block < BLOCKS; block++) {
    if (picture[3 * BLOCKS + block] === LEFT_OUT) continue;
    for (let at = block; at < PLANES; at += BLOCKS) {
      const value = picture[at] ?? 0;
      if (value >= (low[at] ?? 0) && value <= (high[at] ?? 0)) continue;
      found.push(block);
      break;
    }
  }
  return found;
}

/** How much the blocks of a screen of one colour may differ, and how bright black may be. */
const [EVEN, BLACK] = [6, 24];

/** Whether the picture has nothing to see: `black`, `one colour`; null where it has something. */
export function blankIn(picture: Uint8Array): "black" | "one colour" | null {
  const known = Array.from({ length: BLOCKS }, (_, block) => block).filter(
    (block) => picture[3 * BLOCKS + block] !== LEFT_OUT,
  );
  if (known.length < BLOCKS / 2) return null;
  for (let plane = 0; plane < CHANNELS; plane++) {
    const values = known.map((block) => picture[plane * BLOCKS + block] ?? 0);
    if (Math.max(...values) - Math.min(...values) > EVEN) return null;
  }
  const luminance = known.map((block) => picture[block] ?? 0);
  return Math.max(...luminance) <= BLACK ? "black" : "one colour";
}

/** Where most of these blocks are, in words. */
export function placeOf(blocks: readonly number[]): string {
  const mean = (of: (block: number) => number) =>
    blocks.reduce((sum, block) => sum + of(block), 0) / Math.max(1, blocks.length) / (SIDE - 1);
  const across = thirdOf(
    mean((block) => block % SIDE),
    ["left", "", "right"],
  );
  const down = thirdOf(
    mean((block) => Math.floor(block / SIDE)),
    ["top", "", "bottom"],
  );
  return down === "" && across === ""
    ? "in the middle"
    : `at the ${[down, across].filter(Boolean).join(" ")}`;
}

const thirdOf = (share: number, [first, middle, last]: [string, string, string]) =>
  share < 1 / 3 ? first : share > 2 / 3 ? last : middle;
