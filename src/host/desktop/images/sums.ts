/**
 * Tables of sums of a picture, from which the sum of any rectangle is four look-ups away.
 */
import type { Picture } from "../backend";

/** A table of sums: at (x, y), of all that is left of x and above y. It overflows, which differences do not notice. */
export interface Sums {
  readonly table: Int32Array;
  readonly stride: number;
}

/** The table of a picture. */
export function sumsOf({ width, height, pixels }: Picture): Sums {
  const stride = width + 1;
  const table = new Int32Array(stride * (height + 1));
  for (let y = 0, at = 0; y < height; y++) {
    let sum = 0;
    let out = (y + 1) * stride + 1;
    for (let x = 0; x < width; x++, at += 4, out++) {
      sum += (pixels[at] as number) + (pixels[at + 1] as number) + (pixels[at + 2] as number);
      table[out] = ((table[out - stride] as number) + sum) | 0;
    }
  }
  return { table, stride };
}

/** The sum of a rectangle. */
export function sumIn({ table, stride }: Sums, x: number, y: number, width: number, height: number): number {
  const top = y * stride + x;
  return sumBetween(table, top, top + height * stride, width);
}

/** {@link sumIn}, by the places in the table of the left corners: above the first row, and at the last. */
export const sumBetween = (table: Int32Array, top: number, bottom: number, width: number): number =>
  ((table[bottom + width] as number) -
    (table[bottom] as number) -
    (table[top + width] as number) +
    (table[top] as number)) |
  0;
