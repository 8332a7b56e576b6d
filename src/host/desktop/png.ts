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

function filteredRows({ width, height, pixels, redAt }: Picture): Uint8Array {
  const blueAt = 2 - redAt;
  const rows = new Uint8Array(height * (1 + width * 3));
  const stride = width * 4;
  for (let row = 0, out = 0; row < height; row++) {
    rows[out++] = FILTER_UP;
    const start = row * stride;
    const above = row === 0 ? undefined : pixels.subarray(start - stride, start);
    for (let at = 0; at < stride; at += 4) {
      rows[out++] = byteAt(pixels, start + at + redAt) - byteAt(above, at + redAt);
      rows[out++] = byteAt(pixels, start + at + 1) - byteAt(above, at + 1);
      rows[out++] = byteAt(pixels, start + at + blueAt) - byteAt(above, at + blueAt);
    }
  }
  return rows;
}

const byteAt = (bytes: Uint8Array | undefined, at: number) => bytes?.[at] ?? 0;

function chunk(type: string, data: Uint8Array): Uint8Array {
  const typed = Buffer.concat([Buffer.from(type, "latin1"), data]);
  const length = Buffer.alloc(4);
  length.writeUInt32BE(data.length);
  const checksum = Buffer.alloc(4);
  checksum.writeUInt32BE(crc32(typed));
  return Buffer.concat([length, typed, checksum]);
}
