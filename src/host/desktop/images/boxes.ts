/**
 * Rectangles that cover a picture.
 */
import type { Point, Size } from "../geometry";

/** A rectangle. */
export interface Box extends Point, Size {}

/** A stretch of a side, from its first pixel to the one after its last. */
type Stretch = readonly [from: number, to: number];

/** Stretches of about the same length that cover a side. */
export function edgesOf(side: number, count: number): Stretch[] {
  const parts = Math.max(1, Math.min(side, count));
  const edge = (nth: number) => Math.round((nth * side) / parts);
  return Array.from({ length: parts }, (_, nth) => [edge(nth), edge(nth + 1)]);
}

/** Stretches from the middle of each to the middle of the next. */
export function overlapping(stretches: readonly Stretch[]): Stretch[] {
  const middles = stretches.map(([from, to]) => (from + to) >> 1);
  return middles.slice(1).map((middle, nth) => [middles[nth] ?? 0, middle]);
}

/** The rectangles of every column in every row. */
export function boxes(columns: readonly Stretch[], rows: readonly Stretch[]): Box[] {
  return rows.flatMap(([top, bottom]) =>
    columns.map(([left, right]) => ({ x: left, y: top, width: right - left, height: bottom - top })),
  );
}
