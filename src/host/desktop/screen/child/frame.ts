/**
 * The picture that viewers are sent: pixels in tiles, and when each tile last changed.
 */
import type { Rect, Size } from "../../geometry";
import { bottomOf, goesOnRight, leftOf, type Parts, partsOf, rightOf, TILE, topOf, WHOLE } from "./parts";

/** Whether `rect` lies in `other`. */
export const isWithin = (rect: Rect, other: Rect) =>
  rect.x >= other.x &&
  rect.y >= other.y &&
  rect.x + rect.width <= other.x + other.width &&
  rect.y + rect.height <= other.y + other.height;

/** The pixels that viewers are sent, in tiles. Callers must not write to its arrays; the pointer does, and puts back what was there. */
export interface Frame extends Size {
  readonly columns: number;
  readonly rows: number;
  /** A pixel is blue, green, red and an unused byte, from the lowest; and the same memory as bytes. */
  readonly pixels: Int32Array<ArrayBuffer>;
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** Of each tile, the number of its last change; 0 before the first. */
  readonly generations: Int32Array;
  /** Of each tile, when it last changed, by performance.now(). */
  readonly changedAt: Float64Array;
  /** Of each tile, the part that its last change was in. */
  readonly changedParts: Parts;
  /** The number of the last change. */
  lastChange(): number;
  /** The place of a tile, by its number, or of a part of it. */
  placeOf(tile: number, part?: number): Rect;
  /** The part of each tile that `areas` cover. */
  touchedBy(areas: readonly Rect[]): Parts;
  /**
   * Takes over what differs in `areas`, and nothing beside them: what has changed there since they were reported is reported
   * again, and must differ then.
   *
   * @param now all pixels as they are now.
   * @returns the numbers of the tiles that changed.
   */
  update(now: Int32Array, areas: readonly Rect[]): number[];
}

/** A black frame. */
export function createFrame(width: number, height: number): Frame {
  const [columns, rows] = [Math.ceil(width / TILE), Math.ceil(height / TILE)];
  const pixels = new Int32Array(width * height);
  const generations = new Int32Array(columns * rows);
  const changedAt = new Float64Array(columns * rows);
  const changedParts = new Uint32Array(columns * rows);
  let generation = 0;

  const placeOf = (tile: number, part: number): Rect => {
    const [tileX, tileY] = [(tile % columns) * TILE, Math.floor(tile / columns) * TILE];
    const [x, y] = [tileX + leftOf(part), tileY + topOf(part)];
    const [right, bottom] = [
      Math.min(width, tileX + rightOf(part)),
      Math.min(height, tileY + bottomOf(part)),
    ];
    return { x, y, width: right - x, height: bottom - y };
  };
  const differs = (now: Int32Array, place: Rect) => {
    for (let y = place.y, toY = y + place.height; y < toY; y++) {
      let bits = 0;
      for (let at = y * width + place.x, end = at + place.width; at < end; at++) {
        bits |= (now[at] ?? 0) ^ (pixels[at] ?? 0);
      }
      if (bits & 0xff_ffff) return true;
    }
    return false;
  };
  /** Takes over the parts of `tiles` that changed, those in a row together. */
  const takeAll = (now: Int32Array, tiles: readonly number[]) => {
    for (let nth = 0; nth < tiles.length; nth++) {
      const first = tiles[nth] ?? 0;
      const place = placeOf(first, changedParts[first] ?? 0);
      let [last, right] = [first, place.x + place.width];
      for (; tiles[nth + 1] === last + 1 && (last + 1) % columns > 0; nth++, last++) {
        const next = changedParts[last + 1] ?? 0;
        if (!goesOnRight(changedParts[last] ?? 0, next)) break;
        right = Math.min(width, ((last + 1) % columns) * TILE + rightOf(next));
      }
      const span = right - place.x;
      for (let at = place.y * width + place.x, left = place.height; left > 0; left--, at += width) {
        pixels.set(now.subarray(at, at + span), at);
      }
    }
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
    changedParts,
    lastChange: () => generation,
    placeOf: (tile, part = WHOLE) => placeOf(tile, part),
    touchedBy: (areas) => partsOf(areas, width, height),
    update(now, areas) {
      const touched = partsOf(areas, width, height);
      const changed: number[] = [];
      const time = performance.now();
      for (let tile = 0; tile < touched.length; tile++) {
        const part = touched[tile] ?? 0;
        if (part === 0 || (generations[tile] && !differs(now, placeOf(tile, part)))) continue;
        generations[tile] = ++generation;
        changedAt[tile] = time;
        changedParts[tile] = part;
        changed.push(tile);
      }
      takeAll(now, changed);
      return changed;
    },
  };
}
