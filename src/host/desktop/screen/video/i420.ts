/**
 * Pixels as encoders of videos take them: I420, with the matrix of BT.601 and luma from 16 to 235. By the host's libyuv, which does it in a
 * tenth of the time; without it, here.
 */
import { dlopen, ptr } from "bun:ffi";
import { orElse } from "../../../../lib/or-else";
import type { Size } from "../../geometry";

/** A picture in I420: all of its luma, then the two chroma planes of half the width and height. Both sizes are even. */
export interface Planes extends Size {
  readonly bytes: Uint8Array<ArrayBuffer>;
}

/** Memory for a picture in I420. @param size even. */
export const createPlanes = ({ width, height }: Size): Planes => ({
  width,
  height,
  bytes: new Uint8Array((width * height * 3) / 2),
});

/** Says in a structure of C where the planes are. @param at where it has their strides, and their addresses. */
export function pointAtPlanes(
  view: DataView,
  at: { readonly strides: number; readonly pointers: number },
  { bytes, width, height }: Planes,
): void {
  const luma = width * height;
  const start = BigInt(ptr(bytes));
  for (const [nth, stride] of [width, width / 2, width / 2].entries())
    view.setInt32(at.strides + 4 * nth, stride, true);
  for (const [nth, from] of [0, luma, luma + luma / 4].entries())
    view.setBigUint64(at.pointers + 8 * nth, start + BigInt(from), true);
}

/**
 * Fills `planes`.
 *
 * @param pixels as many: blue, green, red and an unused byte, from the lowest.
 */
export type Converter = (pixels: Int32Array, planes: Planes) => void;

/** The fastest that the host has. */
export const findConverter = (): Converter => orElse(openLibyuv, convert);

const openLibyuv = (): Converter => {
  const { symbols } = dlopen("libyuv.so.0", {
    ARGBToI420: {
      args: ["ptr", "i32", "ptr", "i32", "ptr", "i32", "ptr", "i32", "i32", "i32"],
      returns: "i32",
    },
  });
  return (pixels, { bytes, width, height }) => {
    const [luma, half] = [width * height, width / 2];
    const [u, v] = [bytes.subarray(luma), bytes.subarray(luma + luma / 4)];
    const to = { y: ptr(bytes), u: ptr(u), v: ptr(v) };
    symbols.ARGBToI420(ptr(pixels), width * 4, to.y, width, to.u, half, to.v, half, width, height);
  };
};

/** The same without a library. */
export const convert: Converter = (pixels, { bytes, width, height }) => {
  const luma = width * height;
  const chroma = luma / 4;
  let at = luma;
  for (let y = 0; y < height; y += 2) {
    for (let top = y * width, end = top + width; top < end; top += 2, at++) {
      let [red, green, blue] = [0, 0, 0];
      for (let nth = 0; nth < 4; nth++) {
        const place = top + (nth & 1) + (nth >> 1) * width;
        const pixel = pixels[place] ?? 0;
        const [r, g, b] = [(pixel >> 16) & 0xff, (pixel >> 8) & 0xff, pixel & 0xff];
        bytes[place] = ((66 * r + 129 * g + 25 * b + 128) >> 8) + 16;
        red += r;
        green += g;
        blue += b;
      }
      // Of four pixels: two bits more.
      bytes[at] = ((112 * blue - 74 * green - 38 * red + 512) >> 10) + 128;
      bytes[at + chroma] = ((112 * red - 94 * green - 18 * blue + 512) >> 10) + 128;
    }
  }
};
