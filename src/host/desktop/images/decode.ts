/**
 * Reading a PNG (PNG specification, third edition, https://www.w3.org/TR/png-3/): every colour type and bit depth.
 *
 * Promise: it takes no more memory than the picture's own size, which is checked before anything is unpacked. Chunks that
 * this does not need are not looked at.
 */
import { inflateSync } from "node:zlib";
import { badInput } from "../../../lib/errors";
import { orElse } from "../../../lib/or-else";
import type { Picture } from "../backend";

const SIGNATURE = "89504e470d0a1a0a";

/** Samples of a pixel by colour type (section 11.2.1), and the bit depths that each allows. */
const COLOURS: Readonly<Record<number, { readonly samples: number; readonly depths: readonly number[] }>> = {
  0: { samples: 1, depths: [1, 2, 4, 8, 16] },
  2: { samples: 3, depths: [8, 16] },
  3: { samples: 1, depths: [1, 2, 4, 8] },
  4: { samples: 2, depths: [8, 16] },
  6: { samples: 4, depths: [8, 16] },
};

/** Where the passes of an interlaced picture begin and how far apart their pixels are: x, y, across, down (section 8.1). */
const ADAM7 = [
  [0, 0, 8, 8],
  [4, 0, 8, 8],
  [0, 4, 4, 8],
  [2, 0, 4, 4],
  [0, 2, 2, 4],
  [1, 0, 2, 2],
  [0, 1, 1, 2],
] as const;
const WHOLE = [[0, 0, 1, 1]] as const;

/**
 * The picture in `file`. Of 16 bits, the upper 8 are kept; colour profiles and gamma are ignored, as in a screenshot.
 *
 * @param maxPixels the largest that is read.
 * @param field names it in messages, which quote none of its content.
 * @throws a `bad_input` failure when it is not a PNG, damaged, too large, or has a pixel that is not opaque.
 */
export function decodePng(file: Uint8Array, maxPixels: number, field: string): Picture {
  const bytes = Buffer.from(file.buffer, file.byteOffset, file.byteLength);
  const broken = () => badInput(`${field}: the PNG is damaged`);
  if (bytes.toString("hex", 0, 8) !== SIGNATURE) throw badInput(`${field}: expected a PNG`);
  const chunks = [...chunksOf(bytes)];
  const header = chunks[0];
  if (header?.type !== "IHDR" || header.data.length !== 13) throw broken();
  const [width, height] = [header.data.readUInt32BE(0), header.data.readUInt32BE(4)];
  const [depth = 0, colour = 0, compression, filter, interlace = 2] = header.data.subarray(8);
  const kind = COLOURS[colour];
  const isKnown = kind?.depths.includes(depth) && compression === 0 && filter === 0 && interlace <= 1;
  if (!kind || !isKnown || width === 0 || height === 0) throw broken();
  if (width * height > maxPixels) {
    throw badInput(`${field}: expected at most ${maxPixels} pixels but found ${width} x ${height}`);
  }
  const named = (type: string) => chunks.filter((chunk) => chunk.type === type).map(({ data }) => data);
  const format = { depth, colour, palette: named("PLTE")[0], clear: named("tRNS")[0] };
  const passes = (interlace === 1 ? ADAM7 : WHOLE).map(([x, y, across, down]) => {
    const [columns, rows] = [Math.ceil((width - x) / across), Math.ceil((height - y) / down)];
    const stride = Math.ceil((columns * kind.samples * depth) / 8);
    return { x, y, across, down, columns, rows, stride, bytes: columns > 0 ? rows * (stride + 1) : 0 };
  });
  const size = passes.reduce((sum, pass) => sum + pass.bytes, 0);
  const data = inflated(Buffer.concat(named("IDAT")), size);
  if (data?.length !== size) throw broken();

  const pixels = new Uint8Array(width * height * 4);
  const apart = Math.max(1, (kind.samples * depth) / 8);
  let at = 0;
  for (const pass of passes) {
    if (pass.bytes === 0) continue;
    const rows = data.subarray(at, at + pass.bytes);
    at += pass.bytes;
    if (!unfilter(rows, pass.stride, apart)) throw broken();
    const read = readerOf(format, kind.samples);
    for (let row = 0; row < pass.rows; row++) {
      const line = rows.subarray(row * (pass.stride + 1) + 1, (row + 1) * (pass.stride + 1));
      for (let column = 0; column < pass.columns; column++) {
        const out = ((pass.y + row * pass.down) * width + pass.x + column * pass.across) * 4;
        const fault = read(line, column, pixels, out);
        if (fault === "damaged") throw broken();
        if (fault)
          throw badInput(`${field}: expected an opaque picture but found one that is transparent in places`);
      }
    }
  }
  return { width, height, pixels, redAt: 0 };
}

/** The chunks up to the end or to one that is cut off. Checksums are not verified: what is damaged is found by its content. */
function* chunksOf(bytes: Buffer): Generator<{ readonly type: string; readonly data: Buffer }> {
  let at = 8;
  while (at + 12 <= bytes.length) {
    const length = bytes.readUInt32BE(at);
    const end = at + 8 + length;
    if (end + 4 > bytes.length) return;
    yield { type: bytes.toString("latin1", at + 4, at + 8), data: bytes.subarray(at + 8, end) };
    at = end + 4;
  }
}

/** Undefined when it is damaged, or longer than `size`. */
const inflated = (data: Uint8Array, size: number): Uint8Array | undefined =>
  orElse(() => inflateSync(data, { maxOutputLength: size }), undefined);

/** Undoes the filters in place (section 9.2). @returns false when a row has an unknown one. */
function unfilter(rows: Uint8Array, stride: number, apart: number): boolean {
  for (let start = 0; start < rows.length; start += stride + 1) {
    const filter = rows[start] as number;
    if (filter > 4) return false;
    for (let nth = 0; nth < stride && filter > 0; nth++) {
      const at = start + 1 + nth;
      const left = nth >= apart ? (rows[at - apart] as number) : 0;
      const up = start > 0 ? (rows[at - stride - 1] as number) : 0;
      const corner = start > 0 && nth >= apart ? (rows[at - stride - 1 - apart] as number) : 0;
      rows[at] = (rows[at] as number) + guess(filter, left, up, corner);
    }
  }
  return true;
}

function guess(filter: number, left: number, up: number, corner: number): number {
  if (filter === 1) return left;
  if (filter === 2) return up;
  return filter === 3 ? (left + up) >> 1 : paeth(left, up, corner);
}

/** Section 9.4. */
function paeth(left: number, up: number, corner: number): number {
  const [a, b, c] = [Math.abs(up - corner), Math.abs(left - corner), Math.abs(left + up - 2 * corner)];
  return a <= b && a <= c ? left : b <= c ? up : corner;
}

interface Format {
  readonly depth: number;
  readonly colour: number;
  readonly palette: Buffer | undefined;
  /** tRNS: the transparent colour, or the alpha of the palette's entries. */
  readonly clear: Buffer | undefined;
}

/** @returns a function that puts one pixel of a row into `pixels`, and says what is wrong with it. */
function readerOf({ depth, colour, palette, clear }: Format, samples: number) {
  const sampleAt = (line: Uint8Array, nth: number): number => {
    if (depth === 8) return line[nth] as number;
    if (depth === 16) return ((line[2 * nth] as number) << 8) | (line[2 * nth + 1] as number);
    const bit = nth * depth;
    return ((line[bit >> 3] as number) >> (8 - depth - (bit & 7))) & ((1 << depth) - 1);
  };
  const most = 2 ** depth - 1;
  const toByte = (sample: number) => (depth === 16 ? sample >> 8 : Math.round((sample * 255) / most));
  const isGrey = colour === 0 || colour === 4;
  const hasAlpha = colour === 4 || colour === 6;
  const clearColour =
    clear && !hasAlpha && colour !== 3 && clear.length >= 2 * samples
      ? Array.from({ length: samples }, (_, nth) => clear.readUInt16BE(2 * nth))
      : undefined;
  return (line: Uint8Array, column: number, pixels: Uint8Array, out: number): string | undefined => {
    const first = column * samples;
    pixels[out + 3] = 255;
    if (colour === 3) {
      const entry = sampleAt(line, first);
      if (!palette || 3 * entry + 3 > palette.length) return "damaged";
      if ((clear?.[entry] ?? 255) < 255) return "transparent";
      pixels.set(palette.subarray(3 * entry, 3 * entry + 3), out);
      return undefined;
    }
    for (let nth = 0; nth < 3; nth++) pixels[out + nth] = toByte(sampleAt(line, first + (isGrey ? 0 : nth)));
    if (hasAlpha && sampleAt(line, first + samples - 1) < most) return "transparent";
    if (clearColour?.every((sample, nth) => sample === sampleAt(line, first + nth))) return "transparent";
    return undefined;
  };
}
