/**
 * Rectangles for viewers without Tight, and for those that want other pixels: Raw and ZRLE (RFC 6143, sections 7.7.1 and 7.7.6).
 */
import { constants, deflateRawSync } from "node:zlib";
import type { Rect } from "../../geometry";
import { paletteOf } from "./colours";
import type { Frame } from "./frame";
import { rectHeader } from "./server-messages";
import type { PixelFormat } from "./viewer-messages";

const RAW = 0;
export const ZRLE = 16;

/** How this server has its pixels: as its ServerInit says. */
export const OWN_FORMAT: PixelFormat = {
  bits: 32,
  depth: 24,
  bigEndian: false,
  max: [255, 255, 255],
  shift: [16, 8, 0],
};

/** Whether three bytes of a pixel are its colours: then Tight sends those, whatever their order (rfbproto, TPIXEL). */
export const hasThreeBytes = ({ bits, depth, max }: PixelFormat) =>
  bits === 32 && depth === 24 && max.every((most) => most === 255);

/** The pixels of a rectangle as `format` has them. */
export function encodeRaw(frame: Frame, rect: Rect, format: PixelFormat): Buffer {
  const size = format.bits / 8;
  const data = Buffer.allocUnsafe(rect.width * rect.height * size);
  const write = writerOf(data, format);
  let out = 0;
  for (let y = rect.y; y < rect.y + rect.height; y++) {
    for (let at = y * frame.width + rect.x, end = at + rect.width; at < end; at++, out += size) {
      write(frame.pixels[at] ?? 0, out);
    }
  }
  return Buffer.concat([rectHeader(rect, RAW), data]);
}

/** A function that writes a pixel of a frame at a place in `data`. */
export function writerOf(data: Buffer, format: PixelFormat): (pixel: number, at: number) => void {
  const { bits, bigEndian, max, shift } = format;
  const drop = max.map((most) => 8 - Math.log2(most + 1));
  const [dropRed = 0, dropGreen = 0, dropBlue = 0] = drop;
  const [red, green, blue] = shift;
  const convert = (pixel: number) =>
    ((((pixel >> 16) & 0xff) >> dropRed) << red) |
    ((((pixel >> 8) & 0xff) >> dropGreen) << green) |
    (((pixel & 0xff) >> dropBlue) << blue);
  if (bits === 8) return (pixel, at) => void data.writeUInt8(convert(pixel) & 0xff, at);
  if (bits === 16) {
    if (bigEndian) return (pixel, at) => void data.writeUInt16BE(convert(pixel) & 0xffff, at);
    return (pixel, at) => void data.writeUInt16LE(convert(pixel) & 0xffff, at);
  }
  if (bigEndian) return (pixel, at) => void data.writeInt32BE(convert(pixel), at);
  return (pixel, at) => void data.writeInt32LE(convert(pixel), at);
}

const ZRLE_TILE = 64;
const ZRLE_COLOURS = 16;
/** The subencodings of a tile: pixels as they are; one colour. A palette is its number of colours. */
const [ZRLE_RAW, ZRLE_SOLID] = [0, 1];

/**
 * A rectangle in ZRLE, for {@link OWN_FORMAT} only: a pixel is its three lowest bytes. The stream of a viewer lasts, but each
 * rectangle is a block of it that looks back at none before: so this, too, is good for all viewers.
 *
 * @returns the data of the rectangle; the stream's first needs {@link ZLIB_HEADER} before it.
 */
export function zrleData(frame: Frame, rect: Rect): Buffer {
  const parts: Uint8Array[] = [];
  for (let y = 0; y < rect.height; y += ZRLE_TILE) {
    for (let x = 0; x < rect.width; x += ZRLE_TILE) {
      const [width, height] = [Math.min(ZRLE_TILE, rect.width - x), Math.min(ZRLE_TILE, rect.height - y)];
      parts.push(zrleTile(frame, { x: rect.x + x, y: rect.y + y, width, height }));
    }
  }
  return deflateRawSync(Buffer.concat(parts), { level: 1, finishFlush: constants.Z_SYNC_FLUSH });
}

/** Deflate with a window of 32 KiB, fastest (RFC 1950). */
const ZLIB_HEADER = Buffer.of(0x78, 0x01);

export function zrleRect(rect: Rect, data: Buffer, isFirst: boolean): Buffer {
  const length = Buffer.alloc(4);
  length.writeUInt32BE(data.length + (isFirst ? ZLIB_HEADER.length : 0));
  return Buffer.concat([rectHeader(rect, ZRLE), length, ...(isFirst ? [ZLIB_HEADER] : []), data]);
}

function zrleTile(frame: Frame, tile: Rect): Uint8Array {
  const found = paletteOf(frame, tile, ZRLE_COLOURS);
  if (!found) {
    const data = new Uint8Array(1 + tile.width * tile.height * 3);
    data[0] = ZRLE_RAW;
    let out = 1;
    for (let y = tile.y; y < tile.y + tile.height; y++) {
      for (let at = y * frame.width + tile.x, end = at + tile.width; at < end; at++, out += 3) {
        putColour(data, out, frame.pixels[at] ?? 0);
      }
    }
    return data;
  }
  const { colours, indexes } = found;
  const count = colours.length;
  const bits = count === 1 ? 0 : count === 2 ? 1 : count <= 4 ? 2 : 4;
  const stride = Math.ceil((tile.width * bits) / 8);
  const data = new Uint8Array(1 + count * 3 + stride * tile.height);
  data[0] = count === 1 ? ZRLE_SOLID : count;
  colours.forEach((colour, nth) => {
    putColour(data, 1 + nth * 3, colour);
  });
  if (bits === 0) return data;
  const start = 1 + count * 3;
  for (let y = 0, at = 0; y < tile.height; y++) {
    for (let x = 0; x < tile.width; x++, at++) {
      const place = start + y * stride + ((x * bits) >> 3);
      data[place] = (data[place] ?? 0) | ((indexes[at] ?? 0) << (8 - bits - ((x * bits) & 7)));
    }
  }
  return data;
}

function putColour(data: Uint8Array, at: number, colour: number): void {
  data[at] = colour;
  data[at + 1] = colour >> 8;
  data[at + 2] = colour >> 16;
}
