/**
 * A picture of the screen made like a scanned page: dark letters on white, whatever their colours, without the lines of frames.
 */
import type { Picture } from "../backend";

/** Brightness of each pixel, from 0 to 255. */
export interface Grey {
  readonly width: number;
  readonly height: number;
  readonly levels: Uint8Array;
}

/** The background is sought in squares of so many pixels and those around each: larger than the stem of a letter, smaller than a button. */
const SQUARE = 8;
/** A straight line of so many pixels may be that of a frame: letters of usual sizes have none. */
const LINE = 24;
/** The tallest letter, in pixels: in a headline on a screen of twice the usual density. What is larger is no letter. */
const TALLEST = 96;
/** Letters that touch are wider. */
const WIDEST = 2 * TALLEST;
/** A stem is thicker than this part of its height; a rule or a caret is thinner. */
const THINNEST = 1 / 12;
/** Of a side of a frame, so much is ink: its corners may be round. */
const SIDE = 0.75;
/** Of the box around a frame, less is ink; of that around an l or a stop, more. */
const HOLLOW = 0.5;
/** What is darker may be a line, and so may what is darker than white if it differs by no more levels from the next pixel. */
const INK = 200;
const WHITE = 250;
const EVEN = 2;
/** What a pixel may belong to. */
const [PAPER, FAINT, INKED] = [0, 1, 2];

export const cleaned = (picture: Picture): Grey => withoutLines(onWhite(greyOf(picture)));

function greyOf({ width, height, pixels }: Picture): Grey {
  const levels = new Uint8Array(width * height);
  for (let at = 0, from = 0; at < levels.length; at++, from += 4) {
    levels[at] =
      ((pixels[from] as number) + 2 * (pixels[from + 1] as number) + (pixels[from + 2] as number)) >> 2;
  }
  return { width, height, levels };
}

/** Each pixel as dark as it differs from the background of its place: the level that most pixels around have. */
function onWhite({ width, height, levels }: Grey): Grey {
  const [wide, high] = [Math.ceil(width / SQUARE), Math.ceil(height / SQUARE)];
  const counts = new Uint16Array(wide * high * 256);
  for (let y = 0; y < height; y++) {
    const row = Math.floor(y / SQUARE) * wide;
    for (let x = 0; x < width; x++) {
      const at = (row + Math.floor(x / SQUARE)) * 256 + (levels[y * width + x] as number);
      counts[at] = (counts[at] as number) + 1;
    }
  }
  const result = new Uint8Array(levels.length);
  for (let row = 0; row < high; row++) {
    for (let column = 0; column < wide; column++) {
      const background = commonest(counts, { wide, high, row, column });
      for (let y = row * SQUARE; y < Math.min(height, (row + 1) * SQUARE); y++) {
        for (let x = column * SQUARE; x < Math.min(width, (column + 1) * SQUARE); x++) {
          const at = y * width + x;
          result[at] = 255 - Math.abs((levels[at] as number) - background);
        }
      }
    }
  }
  return { width, height, levels: result };
}

/** The level, with those next to it, that is the most frequent one in a square and the eight around it. */
function commonest(
  counts: Uint16Array,
  { wide, high, row, column }: Record<"wide" | "high" | "row" | "column", number>,
): number {
  const total = new Uint32Array(258);
  for (let y = Math.max(0, row - 1); y <= Math.min(high - 1, row + 1); y++) {
    for (let x = Math.max(0, column - 1); x <= Math.min(wide - 1, column + 1); x++) {
      const start = (y * wide + x) * 256;
      for (let level = 0; level < 256; level++) {
        total[level + 1] = (total[level + 1] as number) + (counts[start + level] as number);
      }
    }
  }
  let [best, most] = [0, -1];
  for (let level = 0; level < 256; level++) {
    const near = (total[level] as number) + (total[level + 1] as number) + (total[level + 2] as number);
    if (near > most) [best, most] = [level, near];
  }
  return best;
}

/** Without the straight lines of frames, which the reader takes for letters. The stems of large letters stay. */
function withoutLines(grey: Grey): Grey {
  const { width, height, levels } = grey;
  const result = levels.slice();
  const isLetter = createLetters(grey);
  const erase = (lines: number, length: number, acrossStep: number, alongStep: number) => {
    for (let line = 0; line < lines; line++) {
      const levelAt = (at: number) =>
        at < 0 || at >= length ? 255 : (levels[line * acrossStep + at * alongStep] as number);
      const isEven = (at: number) =>
        Math.abs(levelAt(at) - levelAt(at - 1)) <= EVEN || Math.abs(levelAt(at) - levelAt(at + 1)) <= EVEN;
      let start = 0;
      let last = PAPER;
      for (let at = 0; at <= length; at++) {
        const level = levelAt(at);
        const kind = level < INK ? INKED : level < WHITE && isEven(at) ? FAINT : PAPER;
        if (kind === last && at < length) continue;
        const isLine = last !== PAPER && at - start >= LINE;
        const first = line * acrossStep + start * alongStep;
        if (isLine && !(last === INKED && at - start <= WIDEST && isLetter(first))) {
          for (let ink = start; ink < at; ink++) result[line * acrossStep + ink * alongStep] = 255;
        }
        [start, last] = [at, kind];
      }
    }
  };
  erase(height, width, width, 1);
  erase(width, height, 1, width);
  return { width, height, levels: result };
}

/** What a pixel of ink was found to be. */
const [UNKNOWN, LETTER, OTHER] = [0, 1, 2];

/** @returns whether the ink around a pixel, as far as it goes without a gap, has the height and the shape of a letter. */
function createLetters({ width, levels }: Grey): (pixel: number) => boolean {
  const found = new Uint8Array(levels.length);
  /** The ink around `start`. @returns undefined where it is too large for a letter. */
  const inkAround = (start: number): Ink | undefined => {
    const pixels = [start];
    found[start] = OTHER;
    let [left, right, top, bottom] = [width, 0, Number.POSITIVE_INFINITY, 0];
    for (let nth = 0; nth < pixels.length; nth++) {
      const pixel = pixels[nth] as number;
      const [x, y] = [pixel % width, Math.floor(pixel / width)];
      [left, right, top, bottom] = [
        Math.min(left, x),
        Math.max(right, x),
        Math.min(top, y),
        Math.max(bottom, y),
      ];
      if (right - left >= WIDEST || bottom - top >= TALLEST) return undefined;
      for (let down = -1; down <= 1; down++) {
        for (let across = -1; across <= 1; across++) {
          const next = pixel + down * width + across;
          if (x + across < 0 || x + across >= width || found[next] === OTHER) continue;
          if ((levels[next] ?? WHITE) >= INK) continue;
          found[next] = OTHER;
          pixels.push(next);
        }
      }
    }
    return { pixels, left, top, wide: right - left + 1, high: bottom - top + 1 };
  };
  return (pixel) => {
    if (found[pixel] === UNKNOWN) {
      const ink = inkAround(pixel);
      if (ink && hasShapeOfLetter(ink, width)) for (const one of ink.pixels) found[one] = LETTER;
    }
    return found[pixel] === LETTER;
  };
}

/** Pixels of ink that touch, and the box around them. */
interface Ink extends Record<"left" | "top" | "wide" | "high", number> {
  readonly pixels: readonly number[];
}

/** Neither thin as a rule, nor with a line along its whole width and wide, nor with one along each side as a frame. */
function hasShapeOfLetter({ pixels, left, top, wide, high }: Ink, width: number): boolean {
  if (wide < high * THINNEST) return false;
  const rows = new Uint16Array(high);
  const columns = new Uint16Array(wide);
  for (const pixel of pixels) {
    const [row, column] = [Math.floor(pixel / width) - top, (pixel % width) - left];
    rows[row] = (rows[row] as number) + 1;
    columns[column] = (columns[column] as number) + 1;
  }
  if (wide > 1.6 * high && Math.max(...rows) >= SIDE * wide) return false;
  const hasSides = (counts: Uint16Array, length: number) => {
    const near = Math.max(2, Math.round(counts.length * 0.08));
    return [counts.slice(0, near), counts.slice(-near)].every((edge) => Math.max(...edge) >= SIDE * length);
  };
  const isHollow = pixels.length < wide * high * HOLLOW;
  return !(isHollow && hasSides(rows, wide) && hasSides(columns, high));
}

/** `times` as wide and high, as pixels: each new one is between those of the original around it. */
export function enlarged({ width, height, levels }: Grey, times: number): Picture {
  const [wide, high] = [width * times, height * times];
  const result = new Uint32Array(wide * high);
  const columns = Array.from({ length: wide }, (_, x) => between(x, times, width));
  for (let y = 0; y < high; y++) {
    const [above, below, down] = between(y, times, height);
    for (let x = 0; x < wide; x++) {
      const [left, right, across] = columns[x] as readonly [number, number, number];
      const at = (row: number, column: number) => levels[row * width + column] as number;
      const upper = at(above, left) * (1 - across) + at(above, right) * across;
      const lower = at(below, left) * (1 - across) + at(below, right) * across;
      result[y * wide + x] = Math.round(upper * (1 - down) + lower * down) * 0x01_01_01;
    }
  }
  return { width: wide, height: high, pixels: new Uint8Array(result.buffer), redAt: 0 };
}

/** The two pixels around a place of the enlarged picture, and the share of the second. */
function between(place: number, times: number, length: number): readonly [number, number, number] {
  const exact = Math.min(length - 1, Math.max(0, (place + 0.5) / times - 0.5));
  const first = Math.floor(exact);
  return [first, Math.min(length - 1, first + 1), exact - first];
}
