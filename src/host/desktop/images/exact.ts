/**
 * Where a picture is on a screen pixel by pixel. Most are, and memory is looked through in a hundredth of the time of a search.
 */
import type { Picture } from "../backend";
import type { Point } from "../geometry";

/** How many places are looked at that have one row of the picture: of stripes, there may be thousands. */
const MAX_PLACES = 1_000;

/**
 * The uppermost copy of `image`, and the leftmost of those; undefined where there is none, or too many places have a row of it.
 *
 * @param image in the order of the screen, and no larger.
 */
export function exactCopy(screen: Picture, image: Picture): Point | undefined {
  const { width, height } = image;
  const [there, own] = [bytesOf(screen), bytesOf(image)];
  const [stride, length] = [screen.width * 4, width * 4];
  const liveliest = liveliestRow(own, length);
  const sought = own.subarray(liveliest * length, (liveliest + 1) * length);
  let from = liveliest * stride;
  for (let nth = 0; nth < MAX_PLACES; nth++) {
    const at = there.indexOf(sought, from);
    if (at < 0) return undefined;
    from = at + 1;
    const [x, y] = [(at % stride) / 4, Math.floor(at / stride) - liveliest];
    if (!Number.isInteger(x) || x + width > screen.width || y + height > screen.height) continue;
    const isCopy = Array.from({ length: height }, (_, row) => row).every((row) => {
      const start = (y + row) * stride + x * 4;
      return there.compare(own, row * length, (row + 1) * length, start, start + length) === 0;
    });
    if (isCopy) return { x, y };
  }
  return undefined;
}

/** A copy whose unused bytes are 0: programs leave all kinds of values there. */
function bytesOf({ pixels }: Picture): Buffer {
  const { buffer } = new Uint8Array(pixels);
  const words = new Int32Array(buffer);
  for (let at = 0; at < words.length; at++) words[at] = (words[at] ?? 0) & 0xff_ff_ff;
  return Buffer.from(buffer);
}

/** The number of the row in which the most pixels differ from the one before: few places have it. @param length of a row, in bytes. */
function liveliestRow(bytes: Buffer, length: number): number {
  let best = { row: 0, changes: -1 };
  for (let row = 0; row * length < bytes.length; row++) {
    let changes = 0;
    for (let at = row * length + 4; at < (row + 1) * length; at += 4)
      if (bytes[at] !== bytes[at - 4] || bytes[at + 1] !== bytes[at - 3]) changes++;
    if (changes > best.changes) best = { row, changes };
  }
  return best.row;
}
