/**
 * Places on the desktop. Coordinates are relative to the corner of the main monitor, as the pointer's are.
 */
import { badInput } from "../../lib/errors";

export interface Point {
  readonly x: number;
  readonly y: number;
}

export interface Size {
  readonly width: number;
  readonly height: number;
}

/** A rectangle by its corner. */
export interface Rect extends Point, Size {}

/** A rectangle; `x2` and `y2` are the first column and row outside it. */
export interface Region {
  readonly x1: number;
  readonly y1: number;
  readonly x2: number;
  readonly y2: number;
}

/** The smallest rectangle that holds all of them. */
export const around = (regions: readonly Region[]): Region => ({
  x1: Math.min(...regions.map(({ x1 }) => x1)),
  y1: Math.min(...regions.map(({ y1 }) => y1)),
  x2: Math.max(...regions.map(({ x2 }) => x2)),
  y2: Math.max(...regions.map(({ y2 }) => y2)),
});

export const sizeOf = ({ x1, y1, x2, y2 }: Region): Size => ({ width: x2 - x1, height: y2 - y1 });

/** Where a place is in a picture of `region`, of which `scale` pixels are one unit of the pointer. */
export const inPicture = ({ x, y }: Point, { x1, y1 }: Region, scale: number): Point => ({
  x: Math.round((x - x1) * scale),
  y: Math.round((y - y1) * scale),
});

/** @throws a `bad_input` failure that names the coordinate outside `desktop`. */
export function assertOn({ x1, y1, x2, y2 }: Region, { x, y }: Point): void {
  if (x < x1 || x >= x2) throw badInput(`x: expected ${x1} to ${x2 - 1} but found ${x}`);
  if (y < y1 || y >= y2) throw badInput(`y: expected ${y1} to ${y2 - 1} but found ${y}`);
}
