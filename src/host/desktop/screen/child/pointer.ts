/**
 * The pointer as it is drawn into the picture of those viewers that do not show it themselves.
 *
 * Promise: the frame that all viewers share never has it, except while {@link Pointer.within} runs.
 */
import type { Point, Rect } from "../../geometry";
import type { Cursor } from "./cursor";
import type { Frame } from "./frame";
import { findTile, type Parts } from "./parts";

/** The pointer in one frame. */
export interface Pointer {
  /** Whether a part of it is in a tile. */
  covers(tile: number): boolean;
  /** How often it has changed. */
  changes(): number;
  tiles(): number[];
  /** @returns the tiles in which it was or is; none when it is as before. */
  move(shape: Cursor | undefined, to: Point): number[];
  /** @param act is called while the pointer is in the pixels of the frame, which it must read at once. */
  within<T>(act: () => T): T;
}

/** A pointer in `frame`; it is nowhere yet. */
export function createPointer(frame: Frame): Pointer {
  let cursor: Cursor | undefined;
  let at: Point | undefined;
  let tiles = frame.touchedBy([]);
  let changes = 0;

  /** The part of the shape that is on the screen. */
  const place = (): Rect => {
    if (!cursor || !at) return { x: 0, y: 0, width: 0, height: 0 };
    const [left, top] = [at.x - cursor.hotX, at.y - cursor.hotY];
    const [x, y] = [Math.max(0, left), Math.max(0, top)];
    const width = Math.min(frame.width, left + cursor.width) - x;
    const height = Math.min(frame.height, top + cursor.height) - y;
    return { x, y, width: Math.max(0, width), height: Math.max(0, height) };
  };
  const forRows = (act: (inFrame: number, inShape: number, width: number) => void) => {
    const { x, y, width, height } = place();
    if (!cursor || !at) return;
    const [left, top] = [x - at.x + cursor.hotX, y - at.y + cursor.hotY];
    for (let row = 0; row < height; row++) {
      act((y + row) * frame.width + x, (top + row) * cursor.width + left, width);
    }
  };

  return {
    covers: (tile) => tiles[tile] !== 0,
    changes: () => changes,
    tiles: () => marked(tiles),
    move(shape, to) {
      if (shape === cursor && to.x === at?.x && to.y === at.y) return [];
      const before = tiles;
      cursor = shape;
      at = to;
      const rect = place();
      tiles = frame.touchedBy(rect.width > 0 && rect.height > 0 ? [rect] : []);
      changes += 1;
      return marked(tiles.map((mark, tile) => mark | (before[tile] ?? 0)));
    },
    within(act) {
      const { pixels } = frame;
      const under = new Int32Array(cursor?.pixels.length ?? 0);
      forRows((from, to, width) => {
        under.set(pixels.subarray(from, from + width), to);
        for (let nth = 0; nth < width; nth++) {
          pixels[from + nth] = blend(cursor?.pixels[to + nth] ?? 0, pixels[from + nth] ?? 0);
        }
      });
      try {
        return act();
      } finally {
        forRows((from, to, width) => pixels.set(under.subarray(to, to + width), from));
      }
    },
  };
}

function marked(tiles: Parts): number[] {
  const found: number[] = [];
  for (let tile = findTile(tiles); tile >= 0; tile = findTile(tiles, tile + 1)) found.push(tile);
  return found;
}

/** A pixel of a shape, whose colours are multiplied by its alpha, over one of a frame. */
function blend(over: number, under: number): number {
  const rest = 255 - (over >>> 24);
  if (rest === 255) return under;
  const channel = (bits: number) =>
    Math.min(255, ((over >>> bits) & 0xff) + Math.round((((under >>> bits) & 0xff) * rest) / 255)) << bits;
  return channel(16) | channel(8) | channel(0);
}
