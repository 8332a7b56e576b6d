/**
 * Which part of each tile of a frame is meant: the smallest rectangle around it, as one number; 0 for nothing of the tile.
 *
 * Its left, top, right and bottom are bytes, from the lowest, in pixels from the tile's corner. A part that reaches the end of a
 * tile at the edge of the screen, which is smaller, is as one of a whole tile.
 */
import type { Place } from "../../backend";

/** The width and height of a tile, in pixels; those at the right and the bottom may be smaller. */
export const TILE = 64;

/** A part for each tile. */
export type Parts = Uint32Array;

const partOf = (left: number, top: number, right: number, bottom: number) =>
  (left | (top << 8) | (right << 16) | (bottom << 24)) >>> 0;

/** All of a tile. */
export const WHOLE = partOf(0, 0, TILE, TILE);

export const leftOf = (part: number) => part & 0xff;
export const topOf = (part: number) => (part >>> 8) & 0xff;
export const rightOf = (part: number) => (part >>> 16) & 0xff;
export const bottomOf = (part: number) => part >>> 24;

/** The smallest part that has both in it. */
export function around(one: number, other: number): number {
  if (one === 0 || other === 0 || one === other) return one || other;
  return partOf(
    Math.min(leftOf(one), leftOf(other)),
    Math.min(topOf(one), topOf(other)),
    Math.max(rightOf(one), rightOf(other)),
    Math.max(bottomOf(one), bottomOf(other)),
  );
}

/** Whether the part of a tile goes on in the one to its right: the two are a rectangle. */
export const goesOnRight = (part: number, right: number) =>
  rightOf(part) === TILE &&
  leftOf(right) === 0 &&
  topOf(part) === topOf(right) &&
  bottomOf(part) === bottomOf(right);

/** Whether the part of a tile goes on in the one below. */
export const goesOnBelow = (part: number, below: number) =>
  bottomOf(part) === TILE &&
  topOf(below) === 0 &&
  leftOf(part) === leftOf(below) &&
  rightOf(part) === rightOf(below);

/** The number of the first tile from `from` on that has a part; below 0 when none has. */
export function findTile(parts: Parts, from = 0): number {
  for (let tile = from; tile < parts.length; tile++) if (parts[tile]) return tile;
  return -1;
}

/** The parts of a screen of this size that `areas` cover; an area beyond it counts as far as it lies within. */
export function partsOf(areas: readonly Place[], width: number, height: number): Parts {
  const [columns, rows] = [Math.ceil(width / TILE), Math.ceil(height / TILE)];
  const parts = new Uint32Array(columns * rows);
  /** The end of an area in the tile that begins at `start`. */
  const endIn = (end: number, start: number, size: number) =>
    end >= size ? TILE : Math.min(TILE, end - start);
  for (const area of areas) {
    const [right, bottom] = [area.x + area.width, area.y + area.height];
    if (area.width <= 0 || area.height <= 0) continue;
    const lastColumn = Math.min(columns - 1, Math.floor((right - 1) / TILE));
    const lastRow = Math.min(rows - 1, Math.floor((bottom - 1) / TILE));
    for (let row = Math.max(0, Math.floor(area.y / TILE)); row <= lastRow; row++) {
      const y = row * TILE;
      const [top, low] = [Math.max(0, area.y - y), endIn(bottom, y, height)];
      for (let column = Math.max(0, Math.floor(area.x / TILE)); column <= lastColumn; column++) {
        const x = column * TILE;
        const part = partOf(Math.max(0, area.x - x), top, endIn(right, x, width), low);
        parts[row * columns + column] = around(parts[row * columns + column] ?? 0, part);
      }
    }
  }
  return parts;
}
