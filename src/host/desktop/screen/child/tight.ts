/**
 * Rectangles in the Tight encoding (rfbproto), for pixels of 32 bits with three colours of 8.
 *
 * Each rectangle resets the stream that it is compressed with, and a pixel's form does not depend on where a viewer wants its
 * colours: so one encoding of a rectangle is good for all viewers.
 */
import { constants, deflate, deflateSync } from "node:zlib";
import type { Rect } from "../../geometry";
import { PICTURE, paletteOf } from "./colours";
import type { Frame } from "./frame";
import { jpegOf } from "./jpeg";
import { rectHeader } from "./server-messages";

const TIGHT = 7;
/** Control bytes: a fill, a JPEG; and zlib streams 0 and 1, reset, the second with the filter that is named next. */
const [FILL, JPEG, COPY, FILTERED] = [0x80, 0x90, 0x01, 0x52];
const PALETTE_FILTER = 1;
/** Data shorter than this goes as it is. */
const MIN_COMPRESSED = 12;
/** Data longer than this is compressed on another thread. */
const MAX_AT_ONCE = 65_536;
/** Speed: a byte more costs less than a millisecond. */
const OPTIONS = { level: 1, finishFlush: constants.Z_SYNC_FLUSH };

/** @param quality of a JPEG, from 1 to 100; null for none. @param kind of its tiles. */
export function encodeTight(
  frame: Frame,
  rect: Rect,
  kind: number,
  quality: number | null,
): Buffer | Promise<Buffer> {
  const header = rectHeader(rect, TIGHT);
  if (kind === PICTURE && quality !== null) return encodeJpeg(frame, rect, header, quality);
  const found = kind === PICTURE ? undefined : paletteOf(frame, rect);
  if (!found) return compressed([header, Buffer.of(COPY)], rgbOf(frame, rect));
  const { colours, indexes } = found;
  const tpixels = Buffer.alloc(colours.length * 3);
  colours.forEach((colour, nth) => {
    tpixels[nth * 3] = colour >> 16;
    tpixels[nth * 3 + 1] = colour >> 8;
    tpixels[nth * 3 + 2] = colour;
  });
  if (colours.length === 1) return Buffer.concat([header, Buffer.of(FILL), tpixels]);
  const before = [header, Buffer.of(FILTERED, PALETTE_FILTER, colours.length - 1), tpixels];
  return compressed(before, colours.length === 2 ? bitsOf(indexes, rect) : indexes);
}

function compressed(before: readonly Buffer[], data: Uint8Array): Buffer | Promise<Buffer> {
  if (data.length < MIN_COMPRESSED) return Buffer.concat([...before, data]);
  const whole = (packed: Buffer) => Buffer.concat([...before, compactLength(packed.length), packed]);
  if (data.length <= MAX_AT_ONCE) return whole(deflateSync(data, OPTIONS));
  const { promise, resolve, reject } = Promise.withResolvers<Buffer>();
  // The data may lie in memory that the next rectangle uses.
  deflate(data.slice(), OPTIONS, (error, packed) => (error ? reject(error) : resolve(whole(packed))));
  return promise;
}

/** Seven bits a byte, the lowest first, at most three bytes. */
function compactLength(length: number): Buffer {
  if (length < 0x80) return Buffer.of(length);
  if (length < 0x4000) return Buffer.of((length & 0x7f) | 0x80, length >> 7);
  return Buffer.of((length & 0x7f) | 0x80, ((length >> 7) & 0x7f) | 0x80, length >> 14);
}

/** One bit a pixel, the leftmost the highest, each row filled up to a byte. */
function bitsOf(indexes: Uint8Array, { width, height }: Rect): Uint8Array {
  const stride = (width + 7) >> 3;
  const bits = new Uint8Array(stride * height);
  for (let y = 0, at = 0; y < height; y++) {
    for (let x = 0; x < width; x++, at++) {
      if (indexes[at]) bits[y * stride + (x >> 3)] = (bits[y * stride + (x >> 3)] ?? 0) | (0x80 >> (x & 7));
    }
  }
  return bits;
}

function rgbOf({ pixels, width }: Frame, rect: Rect): Uint8Array {
  const rgb = new Uint8Array(rect.width * rect.height * 3);
  let out = 0;
  for (let y = rect.y; y < rect.y + rect.height; y++) {
    for (let at = y * width + rect.x, end = at + rect.width; at < end; at++) {
      const pixel = pixels[at] ?? 0;
      rgb[out++] = pixel >> 16;
      rgb[out++] = pixel >> 8;
      rgb[out++] = pixel;
    }
  }
  return rgb;
}

async function encodeJpeg(frame: Frame, rect: Rect, header: Buffer, quality: number): Promise<Buffer> {
  const jpeg = await jpegOf(frame, rect, quality);
  return Buffer.concat([header, Buffer.of(JPEG), compactLength(jpeg.length), jpeg]);
}
