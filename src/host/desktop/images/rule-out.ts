/**
 * Ruling out places by sums alone: the square of the difference of means is never above the mean of the squares (Jensen's
 * inequality), so no place within the limit is lost.
 */
import type { Box } from "./boxes";
import { type Sums, sumBetween } from "./sums";

/** A rectangle of a template, and what it has to look like. */
export interface Part extends Box {
  /** Of red, green and blue of all its pixels. */
  readonly sum: number;
}

/** A part of a template that is compared by itself. */
export interface Cell extends Part {
  readonly parts: readonly Part[];
}

/** Those columns of a row that are still possible, and what their errors amount to so far. */
export interface Row {
  readonly columns: Int32Array;
  readonly errors: Float64Array;
}

/** Cells whose mean rules places out, and cells whose parts do; the most useful first. */
export interface Tests {
  readonly means: readonly Cell[];
  readonly parts: readonly Cell[];
}

/** Puts those columns of row `y` into `row` that the means of cells and of their parts leave possible. @returns how many. */
export function possible(tests: Tests, sums: Sums, y: number, row: Row, limit: number): number {
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
    const found = sumBetween(table, top + x, bottom + x, width);
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
    const found = sumBetween(table, top + x, bottom + x, width);
    const error = (errors[nth] as number) + (found - sum) * (found - sum) * share;
    if (error > most) continue;
    columns[kept] = x;
    errors[kept++] = error;
  }
  return kept;
}
