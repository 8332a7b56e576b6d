/**
 * The shape of the pointer, as viewers draw it themselves.
 */
import type { Size } from "../../geometry";
import { writerOf } from "./plain";
import { PSEUDO, rectHeader } from "./server-messages";
import type { PixelFormat } from "./viewer-messages";

/** A shape; `pixels` are blue, green, red and alpha, from the lowest, multiplied by alpha. */
export interface Cursor extends Size {
  /** The point of it that points. */
  readonly hotX: number;
  readonly hotY: number;
  readonly pixels: Uint32Array;
}

/** No pointer at all. */
export const NO_CURSOR: Cursor = { width: 0, height: 0, hotX: 0, hotY: 0, pixels: new Uint32Array() };

/** Whether a viewer shows the pointer itself, once it has its shape. */
export const showsCursor = (known: ReadonlySet<number>) =>
  [PSEUDO.alphaCursor, PSEUDO.vmwareCursor, PSEUDO.cursor].some((one) => known.has(one));

/** The shape in the best form that the viewer knows; undefined when it knows none. */
export function cursorRect(
  cursor: Cursor,
  known: ReadonlySet<number>,
  format: PixelFormat,
): Buffer | undefined {
  if (known.has(PSEUDO.alphaCursor)) return alphaCursor(cursor);
  if (known.has(PSEUDO.vmwareCursor)) return vmwareCursor(cursor);
  return known.has(PSEUDO.cursor) ? maskedCursor(cursor, format) : undefined;
}

const headerOf = ({ hotX: x, hotY: y, width, height }: Cursor, encoding: number) =>
  rectHeader({ x, y, width, height }, encoding);

/** Raw, red first, multiplied by alpha (rfbproto, Cursor With Alpha). */
function alphaCursor(cursor: Cursor): Buffer {
  const data = Buffer.alloc(4 + cursor.pixels.length * 4);
  cursor.pixels.forEach((pixel, nth) => {
    data.writeUInt32BE((((pixel & 0xff_ffff) << 8) | (pixel >>> 24)) >>> 0, 4 + nth * 4);
  });
  return Buffer.concat([headerOf(cursor, PSEUDO.alphaCursor), data]);
}

/** Red first, not multiplied (rfbproto, VMware Cursor, type 1). */
function vmwareCursor(cursor: Cursor): Buffer {
  const data = Buffer.alloc(2 + cursor.pixels.length * 4);
  data.writeUInt8(1, 0);
  cursor.pixels.forEach((pixel, nth) => {
    const alpha = pixel >>> 24;
    const whole = (bits: number) =>
      alpha ? Math.min(255, Math.round((((pixel >>> bits) & 0xff) * 255) / alpha)) : 0;
    data.set([whole(16), whole(8), whole(0), alpha], 2 + nth * 4);
  });
  return Buffer.concat([headerOf(cursor, PSEUDO.vmwareCursor), data]);
}

/** Pixels as the viewer has them, and a bit for each that is not transparent (RFC 6143, section 7.8.1). */
function maskedCursor(cursor: Cursor, format: PixelFormat): Buffer {
  const { width, height, pixels } = cursor;
  const size = format.bits / 8;
  const data = Buffer.alloc(pixels.length * size);
  const stride = (width + 7) >> 3;
  const mask = Buffer.alloc(stride * height);
  const write = writerOf(data, format);
  pixels.forEach((pixel, nth) => {
    write(pixel, nth * size);
    const [x, y] = [nth % width, Math.floor(nth / width)];
    const at = y * stride + (x >> 3);
    if (pixel >>> 24 > 127) mask[at] = (mask[at] ?? 0) | (0x80 >> (x & 7));
  });
  return Buffer.concat([headerOf(cursor, PSEUDO.cursor), data, mask]);
}
