/** The picture of a signature: blocks of a frame, with what is known of each of them. */
import { BLOCKS, CHANNELS, LEFT_OUT, SIDE } from "../../../../wire/screen/signature";
import type { Rect } from "../../geometry";

/** The pixels of a frame: blue, green, red and an unused byte, from the lowest. */
interface Pixels {
  readonly width: number;
  readonly height: number;
  readonly pixels: Int32Array;
}

/** How many pixels of a block are looked at along each side, at most: a screen takes a millisecond then. */
const SAMPLES = 32;
/** By how much what there is to see in a block is multiplied: text on paper differs by some 20 from pixel to pixel. */
const GAIN = 4;

/** The planes of a frame, as {@link BLOCKS} has them. A screen of fewer pixels than blocks has the same pixel in several. */
export function blocksOf({ width, height, pixels }: Pixels): Uint8Array<ArrayBuffer> {
  const planes = new Uint8Array(BLOCKS * CHANNELS);
  for (let block = 0; block < BLOCKS; block++) {
    const [left, right] = spanOf(block % SIDE, width);
    const [top, bottom] = spanOf(Math.floor(block / SIDE), height);
    const stepX = Math.max(1, Math.floor((right - left) / SAMPLES));
    const stepY = Math.max(1, Math.floor((bottom - top) / SAMPLES));
    let [red, green, blue, edges, count] = [0, 0, 0, 0, 0];
    for (let y = top; y < bottom; y += stepY) {
      for (let x = left; x < right; x += stepX, count++) {
        const at = y * width + x;
        const pixel = pixels[at] ?? 0;
        red += (pixel >> 16) & 0xff;
        green += (pixel >> 8) & 0xff;
        blue += pixel & 0xff;
        const beside = x + 1 < right ? (pixels[at + 1] ?? 0) : pixel;
        // Green is most of the luminance.
        edges += Math.abs(((pixel >> 8) & 0xff) - ((beside >> 8) & 0xff));
      }
    }
    const luminance = (0.299 * red + 0.587 * green + 0.114 * blue) / count;
    planes[block] = Math.round(luminance);
    planes[BLOCKS + block] = byteOf(128 + 0.564 * (blue / count - luminance));
    planes[2 * BLOCKS + block] = byteOf(128 + 0.713 * (red / count - luminance));
    planes[3 * BLOCKS + block] = Math.min(LEFT_OUT - 1, Math.round((GAIN * edges) / count));
  }
  return planes;
}

const byteOf = (value: number) => Math.min(255, Math.max(0, Math.round(value)));

/** The pixels of one block along a side, at least one. */
function spanOf(nth: number, size: number): [from: number, to: number] {
  const from = Math.min(size - 1, Math.floor((nth * size) / SIDE));
  return [from, Math.min(size, Math.max(from + 1, Math.floor(((nth + 1) * size) / SIDE)))];
}

/** Leaves out of `planes` each block that one of the areas touches. */
export function leaveOut(planes: Uint8Array, areas: readonly Rect[], width: number, height: number): void {
  for (let block = 0; block < BLOCKS; block++) {
    const [left, right] = spanOf(block % SIDE, width);
    const [top, bottom] = spanOf(Math.floor(block / SIDE), height);
    const isTouched = areas.some(
      (area) => area.x < right && area.x + area.width > left && area.y < bottom && area.y + area.height > top,
    );
    if (!isTouched) continue;
    planes.fill(0, block, block + 1);
    planes[BLOCKS + block] = 128;
    planes[2 * BLOCKS + block] = 128;
    planes[3 * BLOCKS + block] = LEFT_OUT;
  }
}
