/**
 * A frame as rectangles for viewers: tiles that are alike are encoded together, and each rectangle once for all viewers that
 * want it in the same form.
 */
import { kindOf, PICTURE } from "./colours";
import type { Frame, Rect } from "./frame";
import type { PixelFormat } from "./incoming";
import { findTile, goesOnBelow, goesOnRight, type Parts, WHOLE } from "./parts";
import { encodeRaw, zrleData, zrleRect } from "./plain";
import { createPointer } from "./pointer";
import { encodeTight } from "./tight";

/** How a viewer takes rectangles, and whether it wants the pointer in them. */
export type Form = Coding & { readonly hasPointer: boolean };

type Coding =
  | { readonly coding: "tight"; readonly quality: number | null }
  | { readonly coding: "zrle" }
  | { readonly coding: "raw"; readonly format: PixelFormat };

/** A rectangle and its bytes. */
export interface Encoded {
  readonly rect: Rect;
  readonly bytes: Buffer | Promise<Buffer>;
  /** Whether its pixels are only similar to those of the frame. */
  readonly isLossy: boolean;
  /** The tiles that it is in. */
  readonly tiles: readonly number[];
}

/** The largest rectangle, in tiles: larger ones compress a little better, and are not encoded side by side. */
const MAX_TILES = { columns: 8, rows: 4 };
/** Of a JPEG: a browser takes longer for two than for one that is twice as large. */
const MAX_JPEG_TILES = { columns: 16, rows: 8 };
/** How many bytes are kept for the next viewer. */
const MAX_KEPT = 4 * 1_024 * 1_024;

export function createEncoder(frame: Frame) {
  const tiles = frame.columns * frame.rows;
  const kinds = new Uint8Array(tiles);
  /** The generation and the part of the tile that `kinds` is for. */
  const kindsOf = new Int32Array(tiles);
  const kindParts = new Uint32Array(tiles);
  const pointer = createPointer(frame);
  /** By form and place, the oldest first; `version` is that of the pixels, and of the pointer in them. */
  const kept = new Map<string, { readonly version: string; readonly bytes: Buffer | Promise<Buffer> }>();
  let keptBytes = 0;

  const kindOfPart = (tile: number, part: number) => {
    const generation = frame.generations[tile] ?? 0;
    if (kindsOf[tile] !== generation || kindParts[tile] !== part) {
      kinds[tile] = kindOf(frame, frame.placeOf(tile, part));
      kindsOf[tile] = generation;
      kindParts[tile] = part;
    }
    return kinds[tile] ?? PICTURE;
  };

  const forget = (key: string) => {
    const bytes = kept.get(key)?.bytes;
    if (bytes && !(bytes instanceof Promise)) keptBytes -= bytes.length;
    kept.delete(key);
  };
  const keep = (key: string, version: string, bytes: Buffer | Promise<Buffer>) => {
    forget(key);
    kept.set(key, { version, bytes });
    if (!(bytes instanceof Promise)) keptBytes += bytes.length;
    else {
      bytes.then(
        (done) => kept.get(key)?.bytes === bytes && keep(key, version, done),
        () => kept.get(key)?.bytes === bytes && forget(key),
      );
    }
    for (const oldest of kept.keys()) {
      if (keptBytes <= MAX_KEPT && kept.size <= tiles) break;
      forget(oldest);
    }
  };

  const encode = (rect: Rect, kind: number, form: Form): Buffer | Promise<Buffer> => {
    if (form.coding === "tight") return encodeTight(frame, rect, kind, form.quality);
    return form.coding === "zrle" ? zrleData(frame, rect) : encodeRaw(frame, rect, form.format);
  };
  const encodeOnce = (rect: Rect, kind: number, form: Form, generation: number, hasPointer: boolean) => {
    const place = `${rect.x} ${rect.y} ${rect.width} ${rect.height}`;
    const key = `${nameOf(form)} ${kind} ${place}${hasPointer ? " with the pointer" : ""}`;
    const version = hasPointer ? `${generation} ${pointer.changes()}` : `${generation}`;
    const found = kept.get(key);
    if (found?.version === version) return found.bytes;
    const encodeNow = () => encode(rect, kind, form);
    const bytes = hasPointer ? pointer.within(encodeNow) : encodeNow();
    keep(key, version, bytes);
    return bytes;
  };

  return {
    /** Drawn in the forms that have it. */
    pointer,
    /**
     * What is `wanted` of each tile, as few rectangles.
     *
     * @param wanted loses the parts that are encoded; what is beyond `budget` stays.
     * @param budget about how many pixels are enough.
     * @param first the tile to begin with: who is sent a part goes on after it, so that each tile has its turn.
     */
    encode(wanted: Parts, form: Form, budget: number, first = 0): Encoded[] {
      const encoded: Encoded[] = [];
      let left = budget;
      let hasWrapped = false;
      for (let next = first; left > 0; ) {
        const tile = findTile(wanted, next);
        if (tile < 0 && (hasWrapped || first === 0)) break;
        if (tile < 0) {
          hasWrapped = true;
          next = 0;
          continue;
        }
        next = tile + 1;
        const kind = kindOfPart(tile, wanted[tile] ?? WHOLE);
        const hasPointer = form.hasPointer && pointer.covers(tile);
        const isLossy = kind === PICTURE && form.coding === "tight" && form.quality !== null;
        const most = isLossy ? MAX_JPEG_TILES : MAX_TILES;
        const block = blockAt(tile, kind, wanted, most, form.hasPointer);
        const rect = around(block, wanted);
        let generation = 0;
        for (const covered of block) {
          wanted[covered] = 0;
          generation = Math.max(generation, frame.generations[covered] ?? 0);
        }
        left -= rect.width * rect.height;
        encoded.push({
          rect,
          bytes: encodeOnce(rect, kind, form, generation, hasPointer),
          isLossy,
          tiles: block,
        });
      }
      return encoded;
    },
  };

  /**
   * The tiles of one kind around the first of them whose wanted parts are a rectangle: as wide as possible, then as high.
   *
   * @param isApart whether those with the pointer are apart, so that the others are good for all viewers.
   */
  function blockAt(
    first: number,
    kind: number,
    wanted: Parts,
    most: typeof MAX_TILES,
    isApart: boolean,
  ): number[] {
    const { columns, rows } = frame;
    const [x, y] = [first % columns, Math.floor(first / columns)];
    const isLike = (tile: number) => !isApart || pointer.covers(tile) === pointer.covers(first);
    const partOf = (tile: number) => wanted[tile] ?? 0;
    const fits = (tile: number) => kindOfPart(tile, partOf(tile)) === kind && isLike(tile);
    const fitsRight = (tile: number) => goesOnRight(partOf(tile - 1), partOf(tile)) && fits(tile);
    const fitsBelow = (tile: number) => goesOnBelow(partOf(tile - columns), partOf(tile)) && fits(tile);
    let width = 1;
    while (width < most.columns && x + width < columns && fitsRight(first + width)) width++;
    const rowOf = (nth: number) =>
      Array.from({ length: width }, (_, column) => first + nth * columns + column);
    const block = rowOf(0);
    for (let nth = 1; nth < most.rows && y + nth < rows; nth++) {
      const row = rowOf(nth);
      if (!row.every((tile, column) => fitsBelow(tile) && (column === 0 || fitsRight(tile)))) break;
      block.push(...row);
    }
    return block;
  }

  /** The rectangle that the wanted parts of a block of tiles are. */
  function around(block: readonly number[], wanted: Parts): Rect {
    const [first = 0, end = 0] = [block[0], block.at(-1)];
    const { x, y } = frame.placeOf(first, wanted[first]);
    const last = frame.placeOf(end, wanted[end]);
    return { x, y, width: last.x + last.width - x, height: last.y + last.height - y };
  }
}

/** The bytes of `encoded` as the viewer gets them. @param isFirst whether it is the first in ZRLE that this viewer gets. */
export const wrap = (form: Form, rect: Rect, bytes: Buffer, isFirst: boolean): Buffer =>
  form.coding === "zrle" ? zrleRect(rect, bytes, isFirst) : bytes;

function nameOf(form: Form): string {
  if (form.coding === "tight") return `tight ${form.quality}`;
  if (form.coding === "zrle") return "zrle";
  const { bits, bigEndian, max, shift } = form.format;
  return `raw ${bits} ${bigEndian} ${max} ${shift}`;
}
