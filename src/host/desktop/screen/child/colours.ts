/**
 * Which colours a rectangle of a frame has: what decides how it is encoded, and the palette of what has few.
 */
import type { Rect } from "../../geometry";
import type { Frame } from "./frame";

/** What a tile is to the eye. */
export const [PLAIN, DRAWN, MIXED, PICTURE] = [1, 2, 3, 4];

/** The most colours of a palette (rfbproto, Tight: PaletteFilter). */
const MAX_PALETTE = 256;
/** The most colours of a tile that was drawn: text and its edges, icons. */
const DRAWN_COLOURS = 96;
/** Beyond so many colours, a tile has a picture in it, if only in a part. */
const PICTURE_COLOURS = 512;
/** Beyond so many colours in its first rows and in its last ones, too: most of a film is known by them. */
const [EDGE_ROWS, EDGE_COLOURS] = [4, 160];
/** A picture changes from one pixel to the next; what was drawn has runs of one colour, whatever its edges. */
const PICTURE_CHANGES = 0.5;

/** A table from colours to their place in the palette, twice as large as the most there are. */
const SLOTS = 1_024;
const slotColour = new Int32Array(SLOTS);
const slotIndex = new Int16Array(SLOTS);
/** The search that wrote a slot; others are empty. */
const slotSearch = new Int32Array(SLOTS);
let search = 0;
const palette = new Int32Array(PICTURE_COLOURS);

/**
 * Finds the colours of `rect`; they are in the array that {@link paletteOf} shares.
 *
 * @param indexes gets the place in the palette of each pixel, row by row.
 * @returns how many there are; more than `most` when there are more than that, and `indexes` is of no use then.
 */
function countColours(frame: Frame, rect: Rect, most: number, indexes?: Uint8Array): number {
  const { pixels, width } = frame;
  search += 1;
  let [count, lastColour, lastIndex, out] = [0, -1, 0, 0];
  for (let y = rect.y; y < rect.y + rect.height; y++) {
    for (let at = y * width + rect.x, end = at + rect.width; at < end; at++) {
      const colour = (pixels[at] ?? 0) & 0xff_ffff;
      if (colour !== lastColour) {
        let slot = Math.imul(colour, 0x9e37_79b1) >>> 22;
        while (slotSearch[slot] === search && slotColour[slot] !== colour) slot = (slot + 1) & (SLOTS - 1);
        if (slotSearch[slot] !== search) {
          if (count >= most) return most + 1;
          slotSearch[slot] = search;
          slotColour[slot] = colour;
          slotIndex[slot] = count;
          palette[count] = colour;
          count += 1;
        }
        lastColour = colour;
        lastIndex = slotIndex[slot] ?? 0;
      }
      if (indexes) indexes[out++] = lastIndex;
    }
  }
  return count;
}

/** The share of the pixels of `rect` that differ from the one before. */
function changesOf({ pixels, width }: Frame, rect: Rect): number {
  let changes = 0;
  for (let y = rect.y; y < rect.y + rect.height; y++) {
    let before = (pixels[y * width + rect.x] ?? 0) & 0xff_ffff;
    for (let at = y * width + rect.x + 1, end = y * width + rect.x + rect.width; at < end; at++) {
      const colour = (pixels[at] ?? 0) & 0xff_ffff;
      if (colour !== before) changes += 1;
      before = colour;
    }
  }
  return changes / (rect.width * rect.height);
}

/** {@link PLAIN}: one colour. {@link DRAWN}: few. {@link MIXED}: many, and still drawn. {@link PICTURE}: a photograph, a film. */
export function kindOf(frame: Frame, rect: Rect): number {
  const height = Math.min(rect.height, EDGE_ROWS);
  const hasMany = (y: number) => countColours(frame, { ...rect, y, height }, EDGE_COLOURS) > EDGE_COLOURS;
  // The first rows alone may be the end of a film above text.
  if (hasMany(rect.y) && hasMany(rect.y + rect.height - height)) return PICTURE;
  const count = countColours(frame, rect, PICTURE_COLOURS);
  if (count === 1) return PLAIN;
  if (count <= DRAWN_COLOURS) return DRAWN;
  return count <= PICTURE_COLOURS && changesOf(frame, rect) < PICTURE_CHANGES ? MIXED : PICTURE;
}

/** Room for the indexes of the largest rectangle; shared, as the palette is: both are good until the next call. */
let indexes = new Uint8Array(64 * 64);

/** The colours of `rect` and where each pixel has its own, row by row; undefined when there are more than `most`. */
export function paletteOf(
  frame: Frame,
  rect: Rect,
  most = MAX_PALETTE,
): { readonly colours: Int32Array; readonly indexes: Uint8Array } | undefined {
  const size = rect.width * rect.height;
  if (indexes.length < size) indexes = new Uint8Array(size);
  const count = countColours(frame, rect, most, indexes);
  return count > most
    ? undefined
    : { colours: palette.subarray(0, count), indexes: indexes.subarray(0, size) };
}
