/**
 * What something that was done has changed on the screen: the picture by which a replay sees that it has done the same.
 */
import type { Picture } from "../backend";
import type { Region } from "../geometry";
import { isPlain, search } from "../images/search";
import { encodePng } from "../png";
import { cut, type Scene } from "./scenes";

/** The screen is compared in squares of so many pixels; squares that changed and touch are one change. */
const SQUARE = 16;

/** Fewer pixels than these are no change, but a caret or noise. */
const MIN_CHANGED = 40;
/** A caret that blinks, or less. As `max_changed` of AC_wait_still. */
const CARET_PIXELS = 200;

/** The largest picture of a change: a larger one takes longer to find, and shows no more. */
const WIDEST = 260;
const HIGHEST = 120;
const MIN_SIDE = 12;

/** What is taken along around a change, so that the same text in another field is another picture. */
const MARGIN = { x: 40, y: 10 };
/** Behind what was typed is a caret, which blinks. */
const CARET = 3;

/** How alike the place must have looked before for the picture to show nothing new; a replay takes 0.9. */
const OLD = 0.88;
/** How long to look whether it did, in milliseconds. */
const SEARCH_MS = 500;

/** Two looks at the screen after something was done, and one before. */
interface Looks {
  readonly before: Scene;
  readonly after: Scene;
  /** Another look after it: what differs there is still moving. */
  readonly next: Scene;
  /** The window in which it was done: a replay may find it in front of something else. */
  readonly inside: Region | undefined;
}

/** Whether nothing but a caret differs. */
export const isStill = (one: Scene, other: Scene): boolean =>
  isAlikeIn(one.picture, other.picture, whole(one.picture));

/**
 * The largest change, as a PNG.
 *
 * @param isText whether it was typed.
 * @returns undefined where nothing has changed, or it goes on changing, or a picture of it would show nothing new.
 */
export function pictureOfChange(looks: Looks, isText: boolean): Uint8Array | undefined {
  const { before, after, next } = looks;
  if (!isSameSize(before.picture, after.picture) || !isSameSize(after.picture, next.picture))
    return undefined;
  const change = largestChange(before.picture, after.picture);
  if (!change) return undefined;
  const part = framed(change, looks.inside, isText);
  if (!isLarge(part)) return undefined;
  if (!isAlikeIn(after.picture, next.picture, part)) return undefined;
  const image = cut(after.picture, part);
  if (isPlain(image) || wasThere(before.picture, image, part)) return undefined;
  return encodePng(image);
}

const whole = ({ width, height }: Picture): Region => ({ x1: 0, y1: 0, x2: width, y2: height });

const isSameSize = (one: Picture, other: Picture) => one.width === other.width && one.height === other.height;

const isLarge = ({ x1, y1, x2, y2 }: Region) => x2 - x1 >= MIN_SIDE && y2 - y1 >= MIN_SIDE;

const shared = (one: Region, other: Region): Region => ({
  x1: Math.max(one.x1, other.x1),
  y1: Math.max(one.y1, other.y1),
  x2: Math.min(one.x2, other.x2),
  y2: Math.min(one.y2, other.y2),
});

/** The part of the screen that becomes the picture of a change: of the window alone, unless it is a menu outside it. */
function framed(change: Region, inside: Region | undefined, isText: boolean): Region {
  const within = inside && shared(change, inside);
  if (!inside || !within || !isLarge(within)) return limited(change);
  const { x1, y1, x2, y2 } = within;
  const right = isText ? x2 - CARET : x2 + MARGIN.x;
  return limited(shared(inside, { x1: x1 - MARGIN.x, y1: y1 - MARGIN.y, x2: right, y2: y2 + MARGIN.y }));
}

const limited = ({ x1, y1, x2, y2 }: Region): Region => ({
  x1: Math.max(0, x1),
  y1: Math.max(0, y1),
  x2: Math.min(x2, Math.max(0, x1) + WIDEST),
  y2: Math.min(y2, Math.max(0, y1) + HIGHEST),
});

function differs(one: Picture, other: Picture, at: number): boolean {
  const [a, b] = [one.pixels, other.pixels];
  return a[at] !== b[at] || a[at + 1] !== b[at + 1] || a[at + 2] !== b[at + 2];
}

function isAlikeIn(one: Picture, other: Picture, { x1, y1, x2, y2 }: Region): boolean {
  if (!isSameSize(one, other)) return false;
  let changed = 0;
  for (let y = y1; y < y2; y++) {
    for (let x = x1; x < x2; x++) {
      if (differs(one, other, (y * one.width + x) * 4) && ++changed > CARET_PIXELS) return false;
    }
  }
  return true;
}

interface Square {
  count: number;
  box: Region;
}

/** The box around the pixels that differ in those squares that touch and have most of them. */
function largestChange(before: Picture, after: Picture): Region | undefined {
  const squares = changedSquares(before, after);
  let best: Square | undefined;
  for (const start of squares.keys()) {
    const sum = takeTouching(squares, start, Math.ceil(after.width / SQUARE));
    if (sum && sum.count > (best?.count ?? MIN_CHANGED - 1)) best = sum;
  }
  return best?.box;
}

function changedSquares(before: Picture, after: Picture): Map<number, Square> {
  const across = Math.ceil(after.width / SQUARE);
  const squares = new Map<number, Square>();
  for (let y = 0, at = 0; y < after.height; y++) {
    for (let x = 0; x < after.width; x++, at += 4) {
      if (!differs(before, after, at)) continue;
      const key = Math.floor(y / SQUARE) * across + Math.floor(x / SQUARE);
      const pixel = { x1: x, y1: y, x2: x + 1, y2: y + 1 };
      const square = squares.get(key);
      if (square) add(square, { count: 1, box: pixel });
      else squares.set(key, { count: 1, box: pixel });
    }
  }
  return squares;
}

/** Takes the squares that touch `start`, and those that touch them, out of `squares`. @returns undefined where it is out already. */
function takeTouching(squares: Map<number, Square>, start: number, across: number): Square | undefined {
  const sum = squares.get(start);
  if (!sum) return undefined;
  squares.delete(start);
  const waiting = [start];
  for (let key = waiting.pop(); key !== undefined; key = waiting.pop()) {
    const column = key % across;
    for (const down of [-1, 0, 1]) {
      for (const aside of [-1, 0, 1]) {
        if (column + aside < 0 || column + aside >= across) continue;
        const near = key + down * across + aside;
        const square = squares.get(near);
        if (!square) continue;
        add(sum, square);
        squares.delete(near);
        waiting.push(near);
      }
    }
  }
  return sum;
}

function add(sum: Square, { count, box }: Square): void {
  sum.count += count;
  sum.box = {
    x1: Math.min(sum.box.x1, box.x1),
    y1: Math.min(sum.box.y1, box.y1),
    x2: Math.max(sum.box.x2, box.x2),
    y2: Math.max(sum.box.y2, box.y2),
  };
}

/** Whether the place looked so before, too, or nearly. */
function wasThere(before: Picture, image: Picture, part: Region): boolean {
  const there = cut(before, part);
  try {
    const end = performance.now() + SEARCH_MS;
    return search(there, image, { threshold: OLD, all: false, near: false, end }).matches.length > 0;
  } catch {
    return true;
  }
}
