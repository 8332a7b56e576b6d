/**
 * A frame as rectangles for viewers: tiles that are alike are encoded together, and each rectangle once for all viewers that
 * want it in the same form.
 */

import type { Rect } from "../../geometry";
import { PICTURE } from "./colours";
import { EncodingCache } from "./encoding-cache";
import type { Frame } from "./frame";
import { findTile, type Parts, WHOLE } from "./parts";
import { encodeRaw, zrleData, zrleRect } from "./plain";
import { createPointer, type Pointer } from "./pointer";
import { encodeTight } from "./tight";
import { type BlockLimit, TileBlocks } from "./tile-blocks";
import type { PixelFormat } from "./viewer-messages";

/** How a viewer takes rectangles, and whether it wants the pointer in them. */
export type Form = Coding & { readonly hasPointer: boolean };

type Coding =
  | { readonly coding: "tight"; readonly quality: number | null }
  | { readonly coding: "zrle" }
  | { readonly coding: "raw"; readonly format: PixelFormat };

/** A rectangle and its bytes. */
export interface EncodedRect {
  readonly rect: Rect;
  readonly bytes: Buffer | Promise<Buffer>;
  /** Whether its pixels are only similar to those of the frame. */
  readonly isLossy: boolean;
  readonly tiles: readonly number[];
}

/** The largest rectangle, in tiles: larger ones compress a little better, and are not encoded side by side. */
const MAX_TILES: BlockLimit = { columns: 8, rows: 4 };
/** Of a JPEG: a browser takes longer for two than for one that is twice as large. */
const MAX_JPEG_TILES: BlockLimit = { columns: 16, rows: 8 };

/** The encoder of one frame. */
export interface Encoder {
  /** Drawn in the forms that have it. */
  readonly pointer: Pointer;
  /**
   * What is `wanted` of each tile, as few rectangles.
   *
   * @param wanted loses the parts that are encoded; what is beyond `budget` stays.
   * @param budget about how many pixels are enough.
   * @param first the tile to begin with: who is sent a part goes on after it, so that each tile has its turn.
   */
  encode(wanted: Parts, form: Form, budget: number, first?: number): EncodedRect[];
}

export function createEncoder(frame: Frame): Encoder {
  const pointer = createPointer(frame);
  const blocks = new TileBlocks(frame, pointer.covers);
  const cache = new EncodingCache(frame.columns * frame.rows);

  const encodeOnce = (rect: Rect, kind: number, form: Form, generation: number, hasPointer: boolean) => {
    const place = `${rect.x} ${rect.y} ${rect.width} ${rect.height}`;
    const key = `${nameOf(form)} ${kind} ${place}${hasPointer ? " with the pointer" : ""}`;
    const version = hasPointer ? `${generation} ${pointer.changes()}` : `${generation}`;
    const known = cache.find(key, version);
    if (known) return known;
    const encodeNow = () => bytesOf(frame, rect, kind, form);
    const bytes = hasPointer ? pointer.within(encodeNow) : encodeNow();
    cache.keep(key, version, bytes);
    return bytes;
  };
  /** Encodes the block that begins with a tile. */
  const encodeAt = (tile: number, wanted: Parts, form: Form): EncodedRect => {
    const kind = blocks.kindAt(tile, wanted[tile] ?? WHOLE);
    const hasPointer = form.hasPointer && pointer.covers(tile);
    const isLossy = kind === PICTURE && form.coding === "tight" && form.quality !== null;
    const most = isLossy ? MAX_JPEG_TILES : MAX_TILES;
    const tiles = blocks.blockAt(tile, kind, wanted, most, form.hasPointer);
    const rect = blocks.rectOf(tiles, wanted);
    let generation = 0;
    for (const covered of tiles) {
      wanted[covered] = 0;
      generation = Math.max(generation, frame.generations[covered] ?? 0);
    }
    return { rect, bytes: encodeOnce(rect, kind, form, generation, hasPointer), isLossy, tiles };
  };

  return {
    pointer,
    encode(wanted, form, budget, first = 0) {
      const encoded: EncodedRect[] = [];
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
        const made = encodeAt(tile, wanted, form);
        left -= made.rect.width * made.rect.height;
        encoded.push(made);
      }
      return encoded;
    },
  };
}

function bytesOf(frame: Frame, rect: Rect, kind: number, form: Form): Buffer | Promise<Buffer> {
  if (form.coding === "tight") return encodeTight(frame, rect, kind, form.quality);
  return form.coding === "zrle" ? zrleData(frame, rect) : encodeRaw(frame, rect, form.format);
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
