/**
 * Rectangles of a frame as JPEGs, made by `Bun.Image` on another thread.
 *
 * It is handed a PNG whose rows are not compressed: it reads that in a tenth of the time that it takes for a bitmap.
 */
import { crc32 } from "node:zlib";
import type { Rect } from "../../geometry";
import type { Frame } from "./frame";

/** PNGs that were read, by their size: a film needs the same ones all the time. */
const read = new Map<string, Png[]>();
const MAX_READ_BYTES = 8 * 1_024 * 1_024;
/** The largest that is kept: of a rectangle of a film. Small pictures of a screen are larger, and rare. */
const MAX_KEPT_BYTES = 2.2 * 1_024 * 1_024;
let readBytes = 0;

/** @param quality from 1 to 100. The pixels of `frame` are read before this returns. */
export async function jpegOf(frame: Frame, rect: Rect, quality: number): Promise<Uint8Array> {
  const size = `${rect.width} ${rect.height}`;
  const png = takePng(size) ?? createPng(rect.width, rect.height);
  png.fill(frame, rect);
  const jpeg = await new Bun.Image(png.bytes).jpeg({ quality }).bytes();
  if (png.bytes.length <= MAX_KEPT_BYTES) keepPng(size, png);
  return jpeg;
}

/** Frees what {@link jpegOf} keeps. */
export function forgetPngs(): void {
  read.clear();
  readBytes = 0;
}

function takePng(size: string): Png | undefined {
  const same = read.get(size);
  const png = same?.pop();
  if (png) readBytes -= png.bytes.length;
  if (same?.length === 0) read.delete(size);
  return png;
}

/** Those of sizes that were not needed for the longest time make room. */
function keepPng(size: string, png: Png): void {
  const same = read.get(size) ?? [];
  read.delete(size);
  read.set(size, [...same, png]);
  readBytes += png.bytes.length;
  for (const oldest of read.keys()) {
    if (readBytes <= MAX_READ_BYTES) break;
    takePng(oldest);
  }
}

/** A picture in the format PNG, without compression. */
interface Png {
  readonly bytes: Buffer<ArrayBuffer>;
  fill(frame: Frame, rect: Rect): void;
}

const SIGNATURE = [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a];
/** 8 bits each of red, green, blue and alpha (PNG specification, third edition, section 11.2.1). */
const FORMAT = [8, 6, 0, 0, 0];
/** The length and the type of a chunk, before its data, and the checksum after. */
const [BEFORE_CHUNK, AFTER_CHUNK] = [8, 4];
const ZLIB_HEADER = [0x78, 0x01];
/** A block that is not compressed (RFC 1951, section 3.2.4): a byte, its length, and that again with each bit turned round. */
const BLOCK_HEADER = 5;
const LAST_BLOCK = 1;
const NO_FILTER = 0;

/**
 * A PNG of this size, whose pixels are still to be filled in: each row is a block of its own, so that all else stays as it is.
 *
 * The compressed data has no checksum (Adler-32) at its end: the decoder of Bun stops when it has all rows.
 *
 * @param width at most 16,383: a row is one block.
 */
function createPng(width: number, height: number): Png {
  const rowLength = 1 + width * 4;
  const dataLength = ZLIB_HEADER.length + height * (BLOCK_HEADER + rowLength);
  const dataAt = SIGNATURE.length + BEFORE_CHUNK + 13 + AFTER_CHUNK + BEFORE_CHUNK;
  const bytes = Buffer.alloc(dataAt + dataLength + AFTER_CHUNK + BEFORE_CHUNK + AFTER_CHUNK);
  const finish = (type: string, at: number, length: number) => {
    bytes.writeUInt32BE(length, at - BEFORE_CHUNK);
    bytes.write(type, at - 4, "latin1");
    bytes.writeUInt32BE(crc32(bytes.subarray(at - 4, at + length)), at + length);
  };
  bytes.set(SIGNATURE);
  const formatAt = SIGNATURE.length + BEFORE_CHUNK;
  bytes.writeUInt32BE(width, formatAt);
  bytes.writeUInt32BE(height, formatAt + 4);
  bytes.set(FORMAT, formatAt + 8);
  finish("IHDR", formatAt, 13);
  bytes.set(ZLIB_HEADER, dataAt);
  const firstRow = dataAt + ZLIB_HEADER.length;
  for (let y = 0, at = firstRow; y < height; y++, at += BLOCK_HEADER + rowLength) {
    bytes[at] = y === height - 1 ? LAST_BLOCK : 0;
    bytes.writeUInt16LE(rowLength, at + 1);
    bytes.writeUInt16LE(~rowLength & 0xffff, at + 3);
    bytes[at + BLOCK_HEADER] = NO_FILTER;
  }
  finish("IEND", dataAt + dataLength + AFTER_CHUNK + BEFORE_CHUNK, 0);

  const row = new Int32Array(width);
  const rowBytes = new Uint8Array(row.buffer);
  return {
    bytes,
    fill({ pixels, width: stride }, { x, y }) {
      let out = firstRow + BLOCK_HEADER + 1;
      for (let nth = 0; nth < height; nth++, out += BLOCK_HEADER + rowLength) {
        const from = (y + nth) * stride + x;
        for (let at = 0; at < width; at++) {
          const pixel = pixels[from + at] ?? 0;
          // Red first, and no pixel is transparent.
          row[at] = (pixel << 16) | (pixel & 0xff00) | ((pixel >> 16) & 0xff) | OPAQUE;
        }
        bytes.set(rowBytes, out);
      }
      finish("IDAT", dataAt, dataLength);
    },
  };
}

const OPAQUE = 0xff00_0000 | 0;
