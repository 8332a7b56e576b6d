/**
 * Pictures as PNG files (PNG specification, third edition, https://www.w3.org/TR/png-3/): 8 bits of red, green and blue.
 */
import { crc32, deflateSync } from "node:zlib";
import type { Picture } from "./backend";

const SIGNATURE = Uint8Array.of(0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a);
/** Bit depth 8, truecolour, the only compression and filter methods, and no interlacing (section 11.2.1). */
const FORMAT = [8, 2, 0, 0, 0];
/** Each byte minus the one above it (section 9.2): the flat areas of a desktop become zeros. */
const FILTER_UP = 2;
/** The fastest: higher levels take several times as long to save a tenth of the size of a desktop. */
const COMPRESSION_LEVEL = 1;
/** How many pixels are compared at once with those above them. */
const STRETCH = 64;

/** The whole file. */
export function encodePng(picture: Picture): Uint8Array {
  const { width, height } = picture;
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header.set(FORMAT, 8);
  const data = deflateSync(filteredRows(picture), { level: COMPRESSION_LEVEL });
  return Buffer.concat([
    SIGNATURE,
    chunk("IHDR", header),
    chunk("IDAT", data),
    chunk("IEND", new Uint8Array()),
  ]);
}

/**
 * Rows of red, green and blue, each less the row above it. Most of a desktop is as what is above it: stretches that are stay 0. That is soon
 * known also in a process that has just started, whose own code for each pixel is still to be compiled.
 */
function filteredRows({ width, height, pixels, redAt }: Picture): Uint8Array {
  const rows = new Uint8Array(height * (1 + width * 3));
  const words = wordsOf(pixels);
  const bytes = Buffer.from(words.buffer, words.byteOffset, words.byteLength);
  const isAsAbove = (at: number, count: number) => {
    const [from, above] = [at * 4, (at - width) * 4];
    return above >= 0 && bytes.compare(bytes, above, above + count * 4, from, from + count * 4) === 0;
  };
  for (let row = 0; row < height; row++) {
    const [start, out] = [row * width, row * (1 + width * 3)];
    rows[out] = FILTER_UP;
    if (isAsAbove(start, width)) continue;
    for (let x = 0; x < width; x += STRETCH) {
      const count = Math.min(STRETCH, width - x);
      if (isAsAbove(start + x, count)) continue;
      subtractAbove(words, { at: start + x, count, width, redAt }, rows, out + 1 + x * 3);
    }
  }
  return rows;
}

/** A part of a row of a picture. */
interface Stretch {
  /** The number of its first pixel. */
  readonly at: number;
  readonly count: number;
  /** Of the picture. */
  readonly width: number;
  readonly redAt: 0 | 2;
}

/** Puts the colours of the stretch, each less the one above it, into `rows` from `out` on. */
function subtractAbove(
  words: Int32Array,
  { at, count, width, redAt }: Stretch,
  rows: Uint8Array,
  out: number,
): void {
  const [redShift, blueShift] = redAt === 0 ? [0, 16] : [16, 0];
  for (let now = at, to = out; now < at + count; now++, to += 3) {
    const word = words[now] ?? 0;
    // Above the first row is none.
    const above = words[now - width] ?? 0;
    rows[to] = (word >> redShift) - (above >> redShift);
    rows[to + 1] = (word >> 8) - (above >> 8);
    rows[to + 2] = (word >> blueShift) - (above >> blueShift);
  }
}

/** A number for each pixel, whose first byte is the lowest, as on each system that svc runs on. */
function wordsOf(pixels: Uint8Array): Int32Array {
  const { buffer, byteOffset, length } = pixels.byteOffset % 4 === 0 ? pixels : new Uint8Array(pixels);
  return new Int32Array(buffer, byteOffset, length / 4);
}

function chunk(type: string, data: Uint8Array): Uint8Array {
  const typed = Buffer.concat([Buffer.from(type, "latin1"), data]);
  const length = Buffer.alloc(4);
  length.writeUInt32BE(data.length);
  const checksum = Buffer.alloc(4);
  checksum.writeUInt32BE(crc32(typed));
  return Buffer.concat([length, typed, checksum]);
}
