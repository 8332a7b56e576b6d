/**
 * Places on the desktop. Coordinates are relative to the corner of the main monitor, as the pointer's are.
 */
import { badInput } from "../lib/errors";

export interface Point {
  readonly x: number;
  readonly y: number;
}

export interface Size {
  readonly width: number;
  readonly height: number;
}

/** A rectangle; `x2` and `y2` are the first column and row outside it. */
export interface Region {
  readonly x1: number;
  readonly y1: number;
  readonly x2: number;
  readonly y2: number;
}

export const sizeOf = ({ x1, y1, x2, y2 }: Region): Size => ({ width: x2 - x1, height: y2 - y1 });

export const shifted = ({ x1, y1, x2, y2 }: Region, { x, y }: Point): Region => ({
  x1: x1 + x,
  y1: y1 + y,
  x2: x2 + x,
  y2: y2 + y,
});

/** @throws a `bad_input` failure that names the coordinate outside `desktop`. */
export function assertOn({ x1, y1, x2, y2 }: Region, { x, y }: Point): void {
  if (x < x1 || x >= x2) throw badInput(`x: expected ${x1} to ${x2 - 1} but found ${x}`);
  if (y < y1 || y >= y2) throw badInput(`y: expected ${y1} to ${y2 - 1} but found ${y}`);
}

/** @throws a `bad_input` failure naming `screen_region` when `region` is not entirely inside `whole`. */
export function assertInside(whole: Region, region: Region): void {
  const { x1, y1, x2, y2 } = region;
  if (x1 >= whole.x1 && y1 >= whole.y1 && x2 <= whole.x2 && y2 <= whole.y2) return;
  throw badInput(`screen_region: expected a part of [${corners(whole)}] but found [${corners(region)}]`);
}

const corners = ({ x1, y1, x2, y2 }: Region) => [x1, y1, x2, y2].join(", ");
