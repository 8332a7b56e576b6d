/**
 * Finding a picture that was drawn anew at another size: letters and lines are not those of the picture enlarged, so no part of it is the
 * same, but light and dark are in the same places.
 *
 * The score of a place is the normalized correlation of picture and place (`TM_CCOEFF_NORMED` of OpenCV). It is computed for all places of
 * the screen where both are made smaller, then in full around the best of them.
 */
import { rejected } from "../../../lib/errors";
import type { Picture } from "../backend";
import type { Size } from "../geometry";
import { type Match, type Matches, type SearchOptions, withoutOverlaps } from "./search";

/** By how much both are made smaller for the first look: as little as there is time for. */
const STEPS = [2, 4, 8, 16];
/** The least side of a picture that was made smaller, in pixels: of a smaller one nothing would be left. */
const MIN_SIDE = 8;
/** The most multiplications of a first look: some 0.3 seconds. */
const FIRST_WORK = 3e8;
/** Those of the second look, which has this number of places at least. */
const SECOND_WORK = 6e8;
const LEAST = 4;
/** How much lower the score of a place may be at the first look. */
const SLACK = 0.25;
/** How many places get a second look. */
const MOST = 60;
/** The least variance of a place, of levels up to 255. */
const MIN_VARIANCE = 4;

/** One channel of a picture, or its grey. */
interface Plane extends Size {
  readonly levels: Float32Array;
}

interface Place {
  readonly x: number;
  readonly y: number;
  readonly score: number;
}

/**
 * @param image as large as it may be shown.
 * @returns as `search` does.
 */
export function searchRedrawn(screen: Picture, image: Picture, options: SearchOptions): Matches {
  const { threshold, near, end } = options;
  const { width, height } = image;
  if (screen.width < width || screen.height < height) return { matches: [], nearest: null };
  const step = stepFor(screen, image);
  const [small, wanted] = [smaller(screen, step), smaller(image, step)];
  const each = (2 * step + 1) ** 2 * width * height * 3;
  const count = Math.min(MOST, Math.max(LEAST, Math.floor(SECOND_WORK / each)));
  const places = firstLook(small, wanted, { least: threshold - SLACK, end }).slice(0, count);
  const colours = [0, 1, 2].map((nth) => ({
    there: plane(screen, nth === 1 ? 1 : nth === 0 ? screen.redAt : 2 - screen.redAt),
    here: centred(plane(image, nth === 1 ? 1 : nth === 0 ? image.redAt : 2 - image.redAt)),
  }));
  const found: Match[] = [];
  for (const place of places) {
    const { x, y, score } = bestAround(colours, place, step, end);
    found.push({ x, y, width, height, score });
  }
  const sorted = withoutOverlaps(found);
  const matches = sorted.filter(({ score }) => score >= threshold);
  return { matches, nearest: matches.length > 0 || !near ? null : (sorted[0] ?? none(image)) };
}

/** @throws a `rejected` failure where the first look takes too long. */
function stepFor(screen: Size, image: Size): number {
  const step = STEPS.find((one) => {
    const places = ((screen.width - image.width) / one + 1) * ((screen.height - image.height) / one + 1);
    return (places * image.width * image.height) / one ** 2 <= FIRST_WORK;
  });
  if (step === undefined || (step > 2 && Math.min(image.width, image.height) / step < MIN_SIDE))
    throw tooLarge();
  return step;
}

const none = ({ width, height }: Picture): Match => ({ x: 0, y: 0, width, height, score: 0 });

/** The grey of a picture, each pixel the mean of a square of so many. */
function smaller({ width, height, pixels }: Picture, step: number): Plane {
  const [wide, high] = [Math.floor(width / step), Math.floor(height / step)];
  const levels = new Float32Array(wide * high);
  for (let y = 0; y < high * step; y++) {
    for (let x = 0; x < wide * step; x++) {
      const at = (y * width + x) * 4;
      const to = Math.floor(y / step) * wide + Math.floor(x / step);
      const sum = (pixels[at] as number) + (pixels[at + 1] as number) + (pixels[at + 2] as number);
      levels[to] = (levels[to] as number) + sum;
    }
  }
  return { width: wide, height: high, levels };
}

function plane({ width, height, pixels }: Picture, channel: number): Plane {
  const levels = new Float32Array(width * height);
  for (let at = 0, from = channel; at < levels.length; at++, from += 4) levels[at] = pixels[from] as number;
  return { width, height, levels };
}

/** With a mean of 0. */
function centred({ width, height, levels }: Plane): Plane {
  let sum = 0;
  for (const level of levels) sum += level;
  const mean = sum / levels.length;
  return { width, height, levels: levels.map((level) => level - mean) };
}

/** The places of the first look, the best first, none beside a better one. */
function firstLook(
  screen: Plane,
  image: Plane,
  { least, end }: { readonly least: number; readonly end: number },
): Place[] {
  const here = centred(image);
  const [wide, high] = [screen.width - image.width + 1, screen.height - image.height + 1];
  const scores = new Float32Array(wide * high);
  for (let y = 0; y < high; y++) {
    if (performance.now() > end) throw tooLarge();
    for (let x = 0; x < wide; x++) scores[y * wide + x] = correlation([{ there: screen, here }], x, y);
  }
  const places: Place[] = [];
  for (let y = 0; y < high; y++) {
    for (let x = 0; x < wide; x++) {
      const score = scores[y * wide + x] as number;
      if (score >= least && isPeak(scores, wide, high, x, y)) places.push({ x, y, score });
    }
  }
  return places.sort((a, b) => b.score - a.score);
}

function isPeak(scores: Float32Array, wide: number, high: number, x: number, y: number): boolean {
  const own = scores[y * wide + x] as number;
  for (let down = -1; down <= 1; down++) {
    for (let across = -1; across <= 1; across++) {
      const [column, row] = [x + across, y + down];
      if (column < 0 || row < 0 || column >= wide || row >= high) continue;
      if ((scores[row * wide + column] as number) > own) return false;
    }
  }
  return true;
}

const tooLarge = () =>
  rejected(
    "image: looking for it at another size takes too long; expected a smaller picture, or a smaller region",
  );

interface Colour {
  readonly there: Plane;
  /** Centred. */
  readonly here: Plane;
}

/** The best place within a step of one of the first look. */
function bestAround(colours: readonly Colour[], { x, y }: Place, step: number, end: number): Place {
  const [{ there, here }] = colours as [Colour];
  let best = { x: x * step, y: y * step, score: Number.NEGATIVE_INFINITY };
  for (let row = (y - 1) * step; row <= (y + 1) * step; row++) {
    if (performance.now() > end) throw tooLarge();
    if (row < 0 || row > there.height - here.height) continue;
    for (let column = (x - 1) * step; column <= (x + 1) * step; column++) {
      if (column < 0 || column > there.width - here.width) continue;
      const score = correlation(colours, column, row);
      if (score > best.score) best = { x: column, y: row, score };
    }
  }
  return best;
}

/** The normalized correlation at a place, from -1 to 1; 0 for a plain area. */
function correlation(colours: readonly Colour[], x: number, y: number): number {
  let product = 0;
  let own = 0;
  let other = 0;
  for (const { there, here } of colours) {
    let sum = 0;
    let squares = 0;
    for (let row = 0, at = 0; row < here.height; row++) {
      let from = (y + row) * there.width + x;
      for (let column = 0; column < here.width; column++, at++, from++) {
        const level = there.levels[from] as number;
        const wanted = here.levels[at] as number;
        product += level * wanted;
        own += wanted * wanted;
        sum += level;
        squares += level * level;
      }
    }
    other += squares - (sum * sum) / here.levels.length;
  }
  // What is nearly plain has only noise to compare.
  const pixels = colours.length * (colours[0]?.here.levels.length ?? 0);
  return own > 0 && other > pixels * MIN_VARIANCE ? product / Math.sqrt(own * other) : 0;
}
