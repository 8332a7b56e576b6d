/**
 * A picture of the screen made like a scanned page: dark letters on white, whatever their colours, without the lines of frames.
 */
import type { Picture } from "../backend";
import { groundsOf, SQUARE } from "./ground";
import { createInks, type Grey, hasShapeOfLetter, WIDEST } from "./shape";

/** A straight line of so many pixels may be that of a frame: letters of usual sizes have none. */
const LINE = 24;
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

/** Each pixel as dark as it differs from the background of its place. */
function onWhite(grey: Grey): Grey {
  const { width, height, levels } = grey;
  const grounds = groundsOf(grey);
  const wide = Math.ceil(width / SQUARE);
  const result = new Uint8Array(levels.length);
  for (let y = 0, at = 0; y < height; y++) {
    const row = Math.floor(y / SQUARE) * wide;
    for (let x = 0; x < width; x++, at++) {
      const ground = grounds[row + Math.floor(x / SQUARE)] as number;
      result[at] = 255 - Math.abs((levels[at] as number) - ground);
    }
  }
  return { width, height, levels: result };
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

/** @returns whether the ink around a pixel, as far as it goes without a gap, has the height and the shape of a letter. */
function createLetters(grey: Grey): (pixel: number) => boolean {
  const { width, levels } = grey;
  const inkAt = createInks(grey);
  const letters = new Uint8Array(levels.length);
  const isInk = (pixel: number) => (levels[pixel] as number) < INK;
  return (pixel) => {
    const ink = inkAt(pixel, isInk);
    if (ink && hasShapeOfLetter(ink, width)) for (const one of ink.pixels) letters[one] = 1;
    return letters[pixel] === 1;
  };
}

/** `times` as wide and high: each new pixel is between those of the original around it. */
export function enlarged(grey: Grey, times: number): Grey {
  if (times === 1) return grey;
  const [wide, high] = [grey.width * times, grey.height * times];
  const result = new Uint8Array(wide * high);
  const widened = createWidened(grey, times);
  const rows = between(times, grey.height);
  for (let y = 0, to = 0; y < high; y++) {
    const down = rows.shares[y] as number;
    const upper = widened(rows.first[y] as number);
    const lower = widened(rows.second[y] as number);
    for (let x = 0; x < wide; x++, to++) {
      result[to] = (upper[x] as number) * (1 - down) + (lower[x] as number) * down + 0.5;
    }
  }
  return { width: wide, height: high, levels: result };
}

/** @returns a row of `grey` made `times` as wide. It is good until the one after the next: each is needed for several rows in turn. */
function createWidened({ width, levels }: Grey, times: number): (row: number) => Float64Array {
  const wide = width * times;
  const columns = between(times, width);
  const kept = [new Float64Array(wide), new Float64Array(wide)] as const;
  const rows = [-1, -1];
  return (row) => {
    const nth = row % 2 === 0 ? 0 : 1;
    const widened = kept[nth];
    if (rows[nth] === row) return widened;
    rows[nth] = row;
    for (let x = 0, start = row * width; x < wide; x++) {
      const across = columns.shares[x] as number;
      const left = levels[start + (columns.first[x] as number)] as number;
      const right = levels[start + (columns.second[x] as number)] as number;
      widened[x] = left * (1 - across) + right * across;
    }
    return widened;
  };
}

/** Of each place of an enlarged row or column, the two pixels around it, and the share of the second. */
function between(times: number, length: number) {
  const [first, second] = [new Int32Array(length * times), new Int32Array(length * times)];
  const shares = new Float64Array(length * times);
  for (let place = 0; place < shares.length; place++) {
    const exact = Math.min(length - 1, Math.max(0, (place + 0.5) / times - 0.5));
    const before = Math.floor(exact);
    first[place] = before;
    second[place] = Math.min(length - 1, before + 1);
    shares[place] = exact - before;
  }
  return { first, second, shares };
}
