/**
 * The background of each place of a picture. It is the level that most pixels around have, unless these are a letter: the stems of
 * a bold headline fill more of their place than the paper does.
 */
import { createInks, type Grey, isNoGround } from "./shape";

/** The background is sought in squares of so many pixels and those around each: larger than the stem of a letter, smaller than a button. */
export const SQUARE = 8;
/** Of so many squares in a row, and those around, the background is that of the page: more than the largest letter covers. */
const BLOCK = 8;
/** A letter is darker or lighter than the page by more levels. */
const APART = 40;
const LEVELS = 256;
/** In place of the only level of a square: there are several, or none was seen yet. */
const [SEVERAL, NONE] = [-1, -2];

/** How often each level is in each cell of a grid. */
interface Counts extends Record<"wide" | "high", number> {
  readonly counts: Uint32Array;
  /** The level of a cell that has no other, as most of a screen; below 0 for one that may have several. */
  readonly plain: Int16Array;
}

/** @returns the level of the background of each square, in rows of `width / SQUARE`, rounded up. */
export function groundsOf(grey: Grey): Uint8Array {
  const squares = countsOf(grey);
  const pages = around(blocksOf(squares));
  const pageOf = (square: number) => {
    const [row, column] = [Math.floor(square / squares.wide), square % squares.wide];
    return pages[
      Math.floor(row / BLOCK) * Math.ceil(squares.wide / BLOCK) + Math.floor(column / BLOCK)
    ] as number;
  };
  const grounds = around(squares);
  const doubtful = grounds.flatMap((level, square) =>
    Math.abs(level - pageOf(square)) > APART ? [square] : [],
  );
  if (!withoutLetters(grey, squares, grounds, doubtful)) return Uint8Array.from(grounds);
  return Uint8Array.from(grounds, (level, square) =>
    Math.abs(level - pageOf(square)) > APART ? (commonest(squares, square) ?? pageOf(square)) : level,
  );
}

/** Takes letters out of the counts. @param doubtful squares whose background may be one. @returns whether there was one. */
function withoutLetters(
  grey: Grey,
  squares: Counts,
  grounds: readonly number[],
  doubtful: readonly number[],
): boolean {
  const { width, height, levels } = grey;
  const inkAt = createInks(grey);
  let isFound = false;
  for (const square of doubtful) {
    const level = grounds[square] as number;
    const isInk = (pixel: number) => Math.abs((levels[pixel] as number) - level) <= 1;
    for (const pixel of pixelsOf(square)) {
      const ink = inkAt(pixel, isInk);
      if (!ink || !isNoGround(ink, width)) continue;
      isFound = true;
      for (const one of ink.pixels) {
        const at = squareOf(one) * LEVELS + (levels[one] as number);
        squares.counts[at] = (squares.counts[at] as number) - 1;
        squares.plain[squareOf(one)] = SEVERAL;
      }
    }
  }
  return isFound;

  function* pixelsOf(square: number) {
    const [top, left] = [Math.floor(square / squares.wide) * SQUARE, (square % squares.wide) * SQUARE];
    for (let y = top; y < Math.min(height, top + SQUARE); y++) {
      for (let x = left; x < Math.min(width, left + SQUARE); x++) yield y * width + x;
    }
  }

  function squareOf(pixel: number) {
    const [x, y] = [pixel % width, Math.floor(pixel / width)];
    return Math.floor(y / SQUARE) * squares.wide + Math.floor(x / SQUARE);
  }
}

function countsOf({ width, height, levels }: Grey): Counts {
  const [wide, high] = [Math.ceil(width / SQUARE), Math.ceil(height / SQUARE)];
  const counts = new Uint32Array(wide * high * LEVELS);
  const plain = new Int16Array(wide * high).fill(NONE);
  for (let y = 0, pixel = 0; y < height; y++) {
    const row = Math.floor(y / SQUARE) * wide;
    for (let x = 0; x < width; x++, pixel++) {
      const level = levels[pixel] as number;
      const square = row + Math.floor(x / SQUARE);
      const at = square * LEVELS + level;
      counts[at] = (counts[at] as number) + 1;
      if (plain[square] === NONE) plain[square] = level;
      else if (plain[square] !== level) plain[square] = SEVERAL;
    }
  }
  return { wide, high, counts, plain };
}

/** The counts of `BLOCK` times `BLOCK` squares together. */
function blocksOf(squares: Counts): Counts {
  const [wide, high] = [Math.ceil(squares.wide / BLOCK), Math.ceil(squares.high / BLOCK)];
  const counts = new Uint32Array(wide * high * LEVELS);
  for (let square = 0; square < squares.wide * squares.high; square++) {
    const [row, column] = [Math.floor(square / squares.wide), square % squares.wide];
    const block = Math.floor(row / BLOCK) * wide + Math.floor(column / BLOCK);
    for (let level = 0; level < LEVELS; level++) {
      const at = block * LEVELS + level;
      counts[at] = (counts[at] as number) + (squares.counts[square * LEVELS + level] as number);
    }
  }
  return { wide, high, counts, plain: new Int16Array(wide * high).fill(SEVERAL) };
}

/** The commonest level of each cell. */
const around = (counts: Counts): number[] =>
  Array.from({ length: counts.wide * counts.high }, (_, cell) => commonest(counts, cell) ?? 0);

/** The level, with those next to it, that is the most frequent one in a cell and the eight around it; undefined where none is. */
function commonest({ wide, high, counts, plain }: Counts, cell: number): number | undefined {
  const [row, column] = [Math.floor(cell / wide), cell % wide];
  const [top, bottom] = [Math.max(0, row - 1), Math.min(high - 1, row + 1)];
  const [left, right] = [Math.max(0, column - 1), Math.min(wide - 1, column + 1)];
  const only = plain[cell] as number;
  let isPlain = only >= 0;
  for (let y = top; y <= bottom && isPlain; y++) {
    for (let x = left; x <= right; x++) isPlain &&= plain[y * wide + x] === only;
  }
  // The first of the three levels that have it next to them.
  if (isPlain) return Math.max(0, only - 1);
  const total = new Uint32Array(LEVELS + 2);
  for (let y = top; y <= bottom; y++) {
    for (let x = left; x <= right; x++) {
      const start = (y * wide + x) * LEVELS;
      for (let level = 0; level < LEVELS; level++) {
        total[level + 1] = (total[level + 1] as number) + (counts[start + level] as number);
      }
    }
  }
  let [best, most] = [0, 0];
  for (let level = 0; level < LEVELS; level++) {
    const near = (total[level] as number) + (total[level + 1] as number) + (total[level + 2] as number);
    if (near > most) [best, most] = [level, near];
  }
  return most === 0 ? undefined : best;
}
