/**
 * A picture that is looked for, prepared: where it is on a screen, and how well it fits (see `search.ts`).
 */
import { rejected } from "../../../lib/errors";
import type { Picture } from "../backend";
import type { Point, Size } from "../geometry";
import { type Box, boxes, edgesOf, overlapping } from "./boxes";
import { type Cell, type Part, possible, type Row, type Tests } from "./rule-out";
import type { Match, SearchOptions } from "./search";
import { type Sums, sumIn, sumsOf } from "./sums";

/** About the smallest side of a cell, in pixels: a letter. */
const CELL = 12;
/** The most cells along a side, without those that overlap them. */
const MAX_CELLS = 8;
/** A cell has so many parts along each side. */
const PARTS = 4;
/** How many places of a screen show what rules out most there, and what spreads them evenly. */
const SAMPLES = 256;
const GOLDEN = 0.618_033_988_75;
/** The most places that may be above the threshold, neighbours of each match included. */
const MAX_PLACES = 100_000;
/** A score below which a place has nothing to do with the picture. */
const UNLIKE = 0.6;
/** How long the search for the nearest place may take, in milliseconds. */
const NEAREST_MS = 1_000;
/** How many unlike places are compared in full. */
const COMPARED = 16;

const ADVICE = "expected a picture that is easier to tell apart, or a smaller region";
/** The failure of a picture that fits too many places. */
export const tooAlike = () => rejected(`image: it is in too many places; ${ADVICE}`);
const tooLong = () => rejected(`image: looking for it takes too long; ${ADVICE}`);

/** What is looked for, prepared. Errors are mean squares over pixels and colours. */
export class Template {
  private readonly variance: number;
  /** Side by side. */
  private readonly cells: readonly Cell[];
  /** Those, and the ones that overlap them. */
  private readonly all: readonly Box[];

  constructor(private readonly image: Picture) {
    this.variance = varianceOf(image);
    const sums = sumsOf(image);
    const part = (x: number, y: number, width: number, height: number): Part => ({
      x,
      y,
      width,
      height,
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

/** The mean of the variances of red, green and blue. */
export function varianceOf({ pixels }: Picture): number {
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
