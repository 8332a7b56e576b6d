/**
 * Finding a picture in a larger one.
 *
 * The score of a place is 1 - e / 2v: `v` is the variance of the picture that is looked for, and `e` the mean square error in
 * the worst of its cells (an eighth of each side, some 12 pixels at least; neighbours overlap by half). A perfect copy has 1; noise, a lighter shade or another
 * rendering takes a little; a copy in which one part differs (another digit, another colour, greyed out) is not near 1.
 *
 * Promise: no place above the threshold is missed. A place is ruled out by the mean grey of parts alone, from a table of sums:
 * the square of the difference of means is never above the mean of the squares (Jensen's inequality).
 */
import { rejected } from "../../lib/errors";
import type { Picture } from "../backend";
import type { Point, Size } from "../geometry";

/** A place that was found, in pixels of the picture that was searched. */
export interface Match extends Point, Size {
  /** From 0 to 1. */
  readonly score: number;
}

/** What {@link search} found. */
export interface Found {
  /** Those at the threshold or above, the best first; of those that overlap by half or more, only the best. */
  readonly matches: readonly Match[];
  /** The best place below the threshold, where it was asked for and the picture fits in; about the best, when it is no good. */
  readonly nearest: Match | null;
}

export interface SearchOptions {
  /** The lowest score that counts. */
  readonly threshold: number;
  /** All matches, and not only the best one. */
  readonly all: boolean;
  /** Whether to look for the nearest place when there is no match: that takes longer. */
  readonly near: boolean;
  /** When to give up, as `performance.now()` counts. */
  readonly end: number;
}

/** The least standard deviation of a picture that differs enough from a plain area, of 255. */
const MIN_DEVIATION = 2;
/** About the smallest side of a cell, in pixels: a letter. */
const CELL = 12;
/** The most cells along a side, without those that overlap them. */
const MAX_CELLS = 8;
/** A cell has so many parts along each side. */
const PARTS = 4;
/** How many places of a screen show what rules out most there, and what spreads them evenly. */
const SAMPLES = 256;
const GOLDEN = 0.618_033_988_75;
/** The most matches that are listed separately. */
const MAX_MATCHES = 1_000;
/** The most places that may be above the threshold, neighbours of each match included. */
const MAX_PLACES = 100_000;
/** A score below which a place has nothing to do with the picture. */
const UNLIKE = 0.6;
/** How long the search for the nearest place may take, in milliseconds. */
const NEAREST_MS = 1_000;
/** How many unlike places are compared in full. */
const COMPARED = 16;

const ADVICE = "expected a picture that is easier to tell apart, or a smaller region";
const tooAlike = () => rejected(`image: it is in too many places; ${ADVICE}`);
const tooLong = () => rejected(`image: looking for it takes too long; ${ADVICE}`);

/**
 * @param image what is looked for; see {@link isPlain}.
 * @throws a `rejected` failure when too many places are above the threshold, or when it takes too long.
 */
export function search(screen: Picture, image: Picture, options: SearchOptions): Found {
  const { threshold, all, near, end } = options;
  if (screen.width < image.width || screen.height < image.height) return { matches: [], nearest: null };
  const template = new Template(inOrderOf(screen.redAt, image));
  const sums = sumsOf(screen);
  const matches = withoutOverlaps(template.scan(screen, sums, { threshold, all, end }));
  if (matches.length > 0 || !near) return { matches, nearest: null };
  return { matches, nearest: template.nearest(screen, sums) };
}

/** Whether a picture is of one colour, or nearly: it would be found on every plain area. */
export const isPlain = (image: Picture): boolean => varianceOf(image) < MIN_DEVIATION ** 2;

/** The best first; of matches that overlap by half of a side or more, the best. */
export function withoutOverlaps(matches: readonly Match[]): Match[] {
  const sorted = matches.toSorted((a, b) => b.score - a.score || a.y - b.y || a.x - b.x);
  const kept: Match[] = [];
  for (const one of sorted) {
    if (kept.some((other) => isSame(one, other))) continue;
    if (kept.length === MAX_MATCHES) throw tooAlike();
    kept.push(one);
  }
  return kept;
}

/** Whether their centres are nearer than half of the smaller one. */
function isSame(a: Match, b: Match): boolean {
  const dx = Math.abs(a.x + a.width / 2 - b.x - b.width / 2);
  const dy = Math.abs(a.y + a.height / 2 - b.y - b.height / 2);
  return dx < Math.min(a.width, b.width) / 2 && dy < Math.min(a.height, b.height) / 2;
}

/** A rectangle of a template. */
interface Box extends Point, Size {}

interface Part extends Box {
  /** Of red, green and blue of all its pixels. */
  readonly sum: number;
}

interface Cell extends Part {
  readonly parts: readonly Part[];
}

/** A table of sums: at (x, y), of all that is left of x and above y. It overflows, which differences do not notice. */
interface Sums {
  readonly table: Int32Array;
  readonly stride: number;
}

/** What is looked for, prepared. Errors are mean squares over pixels and colours. */
class Template {
  private readonly variance: number;
  /** Side by side. */
  private readonly cells: readonly Cell[];
  /** Those, and the ones that overlap them. */
  private readonly all: readonly Box[];

  constructor(private readonly image: Picture) {
    this.variance = varianceOf(image);
    const sums = sumsOf(image);
    const part = (x: number, y: number, width: number, height: number): Part => ({
      ...{ x, y, width, height },
      sum: sumIn(sums, x, y, width, height),
    });
    const columns = edgesOf(image.width, Math.min(MAX_CELLS, Math.round(image.width / CELL)));
    const rows = edgesOf(image.height, Math.min(MAX_CELLS, Math.round(image.height / CELL)));
    const cells = boxes(columns, rows).map(({ x, y, width, height }) => {
      const parts = boxes(edgesOf(width, PARTS), edgesOf(height, PARTS));
      return {
        ...part(x, y, width, height),
        parts: parts.map((inner) => part(x + inner.x, y + inner.y, inner.width, inner.height)),
      };
    });
    this.cells = cells;
    const [across, down] = [overlapping(columns), overlapping(rows)];
    const others = [...boxes(across, rows), ...boxes(columns, down), ...boxes(across, down)];
    this.all = [...this.cells, ...others];
  }

  errorAt(score: number): number {
    return 2 * this.variance * (1 - score);
  }

  scoreOf(error: number): number {
    return Math.max(0, 1 - error / (2 * this.variance));
  }

  /** The places at the threshold or above; only the best of them unless `all` is set. */
  scan(
    screen: Picture,
    sums: Sums,
    { threshold, all, end }: Pick<SearchOptions, "threshold" | "all" | "end">,
  ): Match[] {
    const { width, height } = this.image;
    const places: Match[] = [];
    const row: Row = {
      columns: new Int32Array(screen.width - width + 1),
      errors: new Float64Array(screen.width - width + 1),
    };
    let limit = this.errorAt(threshold);
    const tests = this.testsFor(screen, sums, limit);
    for (let y = 0; y <= screen.height - height; y++) {
      if (performance.now() > end) throw tooLong();
      const count = possible(tests, sums, y, row, limit);
      for (let nth = 0; nth < count; nth++) {
        const x = row.columns[nth] as number;
        const error = this.error(screen, x, y, limit);
        if (error > limit) continue;
        const match = { x, y, width, height, score: this.scoreOf(error) };
        if (all) {
          places.push(match);
          if (places.length > MAX_PLACES) throw tooAlike();
        } else if (error < limit || places.length === 0) {
          places[0] = match;
          limit = error;
          if (error === 0) return places;
        }
      }
    }
    return places;
  }

  /** What to look at first on this screen: what rules out most of some places all over it. */
  private testsFor(screen: Size, sums: Sums, limit: number): Tests {
    const [right, bottom] = [screen.width - this.image.width, screen.height - this.image.height];
    const places = Array.from({ length: SAMPLES }, (_, nth) => ({
      x: Math.floor((((nth + 0.5) * GOLDEN) % 1) * (right + 1)),
      y: Math.floor(((nth + 0.5) / SAMPLES) * (bottom + 1)),
    }));
    const differing = (part: Part) =>
      places.map(
        ({ x, y }) => (sumIn(sums, x + part.x, y + part.y, part.width, part.height) - part.sum) ** 2,
      );
    const found = this.cells.map((cell) => {
      const area = cell.width * cell.height;
      const errors = new Float64Array(SAMPLES);
      const parts = cell.parts.map((part) => {
        const each = differing(part).map((square) => square / (part.width * part.height));
        each.forEach((error, nth) => {
          errors[nth] = (errors[nth] as number) + error;
        });
        return { part, error: each.reduce((a, b) => a + b) };
      });
      return {
        cell: { ...cell, parts: parts.sort((a, b) => b.error - a.error).map(({ part }) => part) },
        leftByMean: differing(cell).filter((square) => square <= limit * 9 * area ** 2).length,
        leftByParts: errors.filter((error) => error <= limit * 9 * area).length,
      };
    });
    const byMean = found.filter(({ leftByMean }) => leftByMean < SAMPLES / 2);
    return {
      means: byMean.sort((a, b) => a.leftByMean - b.leftByMean).map(({ cell }) => cell),
      parts: found.sort((a, b) => a.leftByParts - b.leftByParts).map(({ cell }) => cell),
    };
  }

  /** The error of the worst cell; once it is above `limit`, no more is looked at. */
  error(screen: Picture, x: number, y: number, limit: number): number {
    const [there, here] = [screen.pixels, this.image.pixels];
    let worst = 0;
    for (const cell of this.all) {
      const most = limit * 3 * cell.width * cell.height;
      let total = 0;
      for (let row = 0; row < cell.height && total <= most; row++) {
        let at = ((y + cell.y + row) * screen.width + x + cell.x) * 4;
        let own = ((cell.y + row) * this.image.width + cell.x) * 4;
        const end = own + cell.width * 4;
        for (; own < end; own += 4, at += 4) {
          const first = (there[at] as number) - (here[own] as number);
          const second = (there[at + 1] as number) - (here[own + 1] as number);
          const third = (there[at + 2] as number) - (here[own + 2] as number);
          total += first * first + second * second + third * third;
        }
      }
      worst = Math.max(worst, total / (3 * cell.width * cell.height));
      if (worst > limit) break;
    }
    return worst;
  }

  /** The best place where one is alike; else about the best, by the means of cells here and there. */
  nearest(screen: Picture, sums: Sums): Match {
    const end = performance.now() + NEAREST_MS;
    try {
      const [best] = this.scan(screen, sums, { threshold: UNLIKE, all: false, end });
      if (best) return best;
    } catch {
      // It would take too long.
    }
    const { width, height } = this.image;
    const step = Math.max(2, Math.floor(Math.min(width, height) / 8));
    const likely: Array<Point & { readonly error: number }> = [];
    for (let y = 0; y <= screen.height - height; y += step) {
      for (let x = 0; x <= screen.width - width; x += step) {
        const worst = likely.at(COMPARED - 1)?.error ?? Number.POSITIVE_INFINITY;
        const error = this.cellsError(sums, x, y, worst);
        if (error >= worst) continue;
        likely.splice(COMPARED - 1);
        likely.splice(likely.findLastIndex((other) => other.error <= error) + 1, 0, { x, y, error });
      }
    }
    let best = { x: 0, y: 0, error: Number.POSITIVE_INFINITY };
    for (const { x, y } of likely) {
      const error = this.error(screen, x, y, best.error);
      if (error < best.error) best = { x, y, error };
    }
    return { x: best.x, y: best.y, width, height, score: this.scoreOf(best.error) };
  }

  /** The least error that the means of cells leave possible; once it is at `limit`, no more is looked at. */
  private cellsError(sums: Sums, x: number, y: number, limit: number): number {
    let worst = 0;
    for (const cell of this.cells) {
      const difference = sumIn(sums, x + cell.x, y + cell.y, cell.width, cell.height) - cell.sum;
      worst = Math.max(worst, (difference / (3 * cell.width * cell.height)) ** 2);
      if (worst >= limit) break;
    }
    return worst;
  }
}

/** Those columns of a row that are still possible, and what their errors amount to so far. */
interface Row {
  readonly columns: Int32Array;
  readonly errors: Float64Array;
}

/** Cells whose mean rules places out, and cells whose parts do; the most useful first. */
interface Tests {
  readonly means: readonly Cell[];
  readonly parts: readonly Cell[];
}

/** Puts those columns of row `y` into `row` that the means of cells and of their parts leave possible. @returns how many. */
function possible(tests: Tests, sums: Sums, y: number, row: Row, limit: number): number {
  const { columns, errors } = row;
  let count = columns.length;
  for (let x = 0; x < count; x++) columns[x] = x;
  for (const cell of tests.means) {
    count = without(sums, y, row, count, cell, limit * 9 * (cell.width * cell.height) ** 2);
    if (count === 0) return 0;
  }
  for (const { parts, width, height } of tests.parts) {
    errors.fill(0, 0, count);
    const most = limit * 9 * width * height;
    for (const part of parts) {
      count = adding(sums, y, row, count, part, most);
      if (count === 0) return 0;
    }
  }
  return count;
}

/** Keeps those of the first `count` columns at which the sum of `part` is off by a square of `most` at most. @returns how many. */
function without(
  { table, stride }: Sums,
  y: number,
  { columns }: Row,
  count: number,
  part: Part,
  most: number,
) {
  const { x: left, y: above, width, height, sum } = part;
  const top = (y + above) * stride + left;
  const bottom = top + height * stride;
  let kept = 0;
  for (let nth = 0; nth < count; nth++) {
    const x = columns[nth] as number;
    const found =
      ((table[bottom + x + width] as number) -
        (table[bottom + x] as number) -
        (table[top + x + width] as number) +
        (table[top + x] as number)) |
      0;
    if ((found - sum) * (found - sum) <= most) columns[kept++] = x;
  }
  return kept;
}

/** Adds the error of `part` to each of the first `count` columns, and keeps those with `most` at most. @returns how many. */
function adding(
  { table, stride }: Sums,
  y: number,
  { columns, errors }: Row,
  count: number,
  part: Part,
  most: number,
) {
  const { x: left, y: above, width, height, sum } = part;
  const top = (y + above) * stride + left;
  const bottom = top + height * stride;
  const share = 1 / (width * height);
  let kept = 0;
  for (let nth = 0; nth < count; nth++) {
    const x = columns[nth] as number;
    const found =
      ((table[bottom + x + width] as number) -
        (table[bottom + x] as number) -
        (table[top + x + width] as number) +
        (table[top + x] as number)) |
      0;
    const error = (errors[nth] as number) + (found - sum) * (found - sum) * share;
    if (error > most) continue;
    columns[kept] = x;
    errors[kept++] = error;
  }
  return kept;
}
/** A stretch of a side, from its first pixel to the one after its last. */
type Stretch = readonly [from: number, to: number];

/** Stretches of about the same length that cover a side. */
function edgesOf(side: number, count: number): Stretch[] {
  const parts = Math.max(1, Math.min(side, count));
  const edge = (nth: number) => Math.round((nth * side) / parts);
  return Array.from({ length: parts }, (_, nth) => [edge(nth), edge(nth + 1)]);
}

/** Stretches from the middle of each to the middle of the next. */
function overlapping(stretches: readonly Stretch[]): Stretch[] {
  const middles = stretches.map(([from, to]) => (from + to) >> 1);
  return middles.slice(1).map((middle, nth) => [middles[nth] ?? 0, middle]);
}

/** The rectangles of every column in every row. */
function boxes(columns: readonly Stretch[], rows: readonly Stretch[]): Box[] {
  return rows.flatMap(([top, bottom]) =>
    columns.map(([left, right]) => ({ x: left, y: top, width: right - left, height: bottom - top })),
  );
}

function sumsOf({ width, height, pixels }: Picture): Sums {
  const stride = width + 1;
  const table = new Int32Array(stride * (height + 1));
  for (let y = 0, at = 0; y < height; y++) {
    let sum = 0;
    let out = (y + 1) * stride + 1;
    for (let x = 0; x < width; x++, at += 4, out++) {
      sum += (pixels[at] as number) + (pixels[at + 1] as number) + (pixels[at + 2] as number);
      table[out] = ((table[out - stride] as number) + sum) | 0;
    }
  }
  return { table, stride };
}

function sumIn({ table, stride }: Sums, x: number, y: number, width: number, height: number): number {
  const top = y * stride + x;
  const bottom = top + height * stride;
  return (
    ((table[bottom + width] as number) -
      (table[bottom] as number) -
      (table[top + width] as number) +
      (table[top] as number)) |
    0
  );
}

/** The mean of the variances of red, green and blue. */
function varianceOf({ pixels }: Picture): number {
  const count = pixels.length / 4;
  const variances = [0, 1, 2].map((channel) => {
    let [sum, squares] = [0, 0];
    for (let at = channel; at < pixels.length; at += 4) {
      const value = pixels[at] as number;
      sum += value;
      squares += value * value;
    }
    return squares / count - (sum / count) ** 2;
  });
  return variances.reduce((a, b) => a + b) / 3;
}

/** The same picture with its bytes in another order. */
function inOrderOf(redAt: 0 | 2, picture: Picture): Picture {
  if (picture.redAt === redAt) return picture;
  const pixels = picture.pixels.slice();
  for (let at = 0; at < pixels.length; at += 4) {
    pixels[at] = picture.pixels[at + 2] as number;
    pixels[at + 2] = picture.pixels[at] as number;
  }
  return { ...picture, pixels, redAt };
}
