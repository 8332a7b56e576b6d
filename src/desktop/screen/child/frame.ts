/**
 * The picture that viewers are sent: pixels in tiles, and when each tile last changed.
 */
import type { Size } from "../../geometry";

/** A rectangle of pixels. */
export interface Rect extends Size {
  readonly x: number;
  readonly y: number;
}

/** The width and height of a tile, in pixels; those at the right and the bottom may be smaller. */
export const TILE = 64;

export type Frame = ReturnType<typeof createFrame>;

/** A black frame. A pixel is blue, green, red and an unused byte, from the lowest. */
export function createFrame(width: number, height: number) {
  const [columns, rows] = [Math.ceil(width / TILE), Math.ceil(height / TILE)];
  const pixels = new Int32Array(width * height);
  /** Of each tile, the number of its last change; 0 before the first. */
  const generations = new Int32Array(columns * rows);
  /** Of each tile, when it last changed, by performance.now(). */
  const changedAt = new Float64Array(columns * rows);
  let generation = 0;

  const differs = (now: Int32Array, fromX: number, toX: number, fromY: number, toY: number) => {
    for (let y = fromY; y < toY; y++) {
      let bits = 0;
      for (let at = y * width + fromX, end = y * width + toX; at < end; at++) {
        bits |= (now[at] ?? 0) ^ (pixels[at] ?? 0);
      }
      if (bits & 0xff_ffff) return true;
    }
    return false;
  };

  return {
    width,
    height,
    columns,
    rows,
    pixels,
    bytes: new Uint8Array(pixels.buffer),
    generations,
    changedAt,
    /** The number of the last change. */
    lastChange: () => generation,
    /** The place of a tile, by its number. */
    placeOf(tile: number): Rect {
      const [x, y] = [(tile % columns) * TILE, Math.floor(tile / columns) * TILE];
      return { x, y, width: Math.min(TILE, width - x), height: Math.min(TILE, height - y) };
    },
    /** A mark for each tile that one of `areas` touches. */
    touchedBy: (areas: readonly Rect[]) => tilesOf(areas, columns, rows),
    /**
     * Takes over what differs in the tiles that `areas` touch.
     *
     * @param now all pixels as they are now.
     * @returns the numbers of the tiles that changed.
     */
    update(now: Int32Array, areas: readonly Rect[]): number[] {
      const touched = tilesOf(areas, columns, rows);
      const changed: number[] = [];
      const time = performance.now();
      for (let row = 0; row < rows; row++) {
        const [fromY, toY] = [row * TILE, Math.min(height, (row + 1) * TILE)];
        let [first, last] = [-1, 0];
        for (let column = 0; column < columns; column++) {
          const tile = row * columns + column;
          if (!touched[tile]) continue;
          const [fromX, toX] = [column * TILE, Math.min(width, (column + 1) * TILE)];
          if (generations[tile] && !differs(now, fromX, toX, fromY, toY)) continue;
          if (first < 0) first = fromX;
          last = toX;
          generations[tile] = ++generation;
          changedAt[tile] = time;
          changed.push(tile);
        }
        if (first < 0) continue;
        // Whole spans of a row: what lies between two tiles that changed is the same in both.
        for (let y = fromY; y < toY; y++) {
          pixels.set(now.subarray(y * width + first, y * width + last), y * width + first);
        }
      }
      return changed;
    },
  };
}

function tilesOf(areas: readonly Rect[], columns: number, rows: number): Uint8Array {
  const touched = new Uint8Array(columns * rows);
  for (const { x, y, width, height } of areas) {
    const first = Math.max(0, Math.floor(x / TILE));
    const last = Math.min(columns - 1, Math.floor((x + width - 1) / TILE));
    const bottom = Math.min(rows - 1, Math.floor((y + height - 1) / TILE));
    for (let row = Math.max(0, Math.floor(y / TILE)); row <= bottom; row++) {
      if (last >= first) touched.fill(1, row * columns + first, row * columns + last + 1);
    }
  }
  return touched;
}
