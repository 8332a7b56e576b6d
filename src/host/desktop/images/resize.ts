/**
 * A picture at another size, as a toolkit would draw it larger or smaller.
 */
import type { Picture } from "../backend";

/** `picture` with its sides times `scale`: each pixel is the mean of those near its place, weighted by their distance. */
export function resize(picture: Picture, scale: number): Picture {
  if (scale === 1) return picture;
  const { pixels, redAt } = picture;
  const width = Math.max(1, Math.round(picture.width * scale));
  const height = Math.max(1, Math.round(picture.height * scale));
  const wide = new Uint8Array(width * picture.height * 4);
  for (let row = 0; row < picture.height; row++) {
    const line = { from: pixels, at: row * picture.width * 4, to: wide, out: row * width * 4 };
    along(line, picture.width, width, 4);
  }
  const result = new Uint8Array(width * height * 4);
  for (let column = 0; column < width; column++) {
    const line = { from: wide, at: column * 4, to: result, out: column * 4 };
    along(line, picture.height, height, width * 4);
  }
  return { width, height, pixels: result, redAt };
}

interface Line {
  readonly from: Uint8Array;
  readonly at: number;
  readonly to: Uint8Array;
  readonly out: number;
}

/** Resizes one row or column of `length` pixels, `step` bytes apart. */
function along({ from, at, to, out }: Line, length: number, size: number, step: number): void {
  const reach = Math.max(1, length / size);
  for (let nth = 0; nth < size; nth++) {
    const centre = ((nth + 0.5) * length) / size - 0.5;
    const first = Math.max(0, Math.ceil(centre - reach));
    const last = Math.min(length - 1, Math.floor(centre + reach));
    for (let channel = 0; channel < 4; channel++) {
      let [sum, weights] = [0, 0];
      for (let near = first; near <= last; near++) {
        const weight = 1 - Math.abs(near - centre) / reach;
        sum += weight * (from[at + near * step + channel] as number);
        weights += weight;
      }
      to[out + nth * step + channel] = Math.round(sum / weights);
    }
  }
}
