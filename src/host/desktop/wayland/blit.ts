/**
 * Putting the picture of an output where it belongs in a picture of the desktop: turned, mirrored and scaled as the output is.
 */
import type { Rect, Size } from "../geometry";
import type { OutputPicture } from "./picture-buffer";

/** A picture of the desktop: pixels whose lowest byte is blue. */
export interface Canvas extends Size {
  readonly pixels: Int32Array;
}

/** The size of a picture as a person sees it. @param transform that of its output (`wl_output.transform`). */
export const shownSize = ({ width, height }: Size, transform: number): Size =>
  transform % 2 === 1 ? { width: height, height: width } : { width, height };

/**
 * @param place where on the canvas all of the picture goes; what lies beyond it is left out.
 * @param part what of that place is wanted, from its corner; all when left out.
 */
export function blit(
  picture: OutputPicture,
  transform: number,
  canvas: Canvas,
  place: Rect,
  part: Rect = { x: 0, y: 0, width: place.width, height: place.height },
): void {
  const left = Math.max(part.x, 0, -place.x);
  const top = Math.max(part.y, 0, -place.y);
  const right = Math.min(part.x + part.width, place.width, canvas.width - place.x);
  const bottom = Math.min(part.y + part.height, place.height, canvas.height - place.y);
  if (right <= left || bottom <= top) return;
  const shown = shownSize(picture, transform);
  const { base, perColumn, perRow } = stepsOf(picture, transform);
  const isSameSize = shown.width === place.width && shown.height === place.height;
  const { pixels, isRedFirst } = picture;
  for (let y = top; y < bottom; y++) {
    const row = isSameSize ? y : Math.floor((y * shown.height) / place.height);
    const from = base + row * perRow;
    const to = (place.y + y) * canvas.width + place.x;
    if (isSameSize && perColumn === 1 && !isRedFirst) {
      canvas.pixels.set(pixels.subarray(from + left, from + right), to + left);
      continue;
    }
    for (let x = left; x < right; x++) {
      const column = isSameSize ? x : Math.floor((x * shown.width) / place.width);
      const pixel = pixels[from + column * perColumn] ?? 0;
      canvas.pixels[to + x] = isRedFirst ? swapped(pixel) : pixel;
    }
  }
}

const swapped = (pixel: number) => (pixel & 0xff00ff00) | ((pixel & 0xff) << 16) | ((pixel >> 16) & 0xff);

/**
 * Where in memory what is shown of a picture lies.
 *
 * @param part of what is shown, in pixels. @param transform that of the picture, which is not upside down.
 */
export function inMemory(picture: Size, transform: number, part: Rect): Rect {
  const [x, y, columnX, columnY, rowX, rowY] = wayOf(picture, transform);
  const at = (column: number, row: number) =>
    [x + column * columnX + row * rowX, y + column * columnY + row * rowY] as const;
  const [one, other] = [at(part.x, part.y), at(part.x + part.width - 1, part.y + part.height - 1)];
  return {
    x: Math.min(one[0], other[0]),
    y: Math.min(one[1], other[1]),
    width: Math.abs(one[0] - other[0]) + 1,
    height: Math.abs(one[1] - other[1]) + 1,
  };
}

/** Where in memory the pixel is that is shown in column 0 of row 0, and how far the next column and row are. */
function stepsOf({ width, height, stride, isUpsideDown }: OutputPicture, transform: number) {
  const [x, y, columnX, columnY, rowX, rowY] = wayOf({ width, height }, transform);
  const down = isUpsideDown ? -stride : stride;
  const first = isUpsideDown ? (height - 1) * stride : 0;
  return { base: first + x + y * down, perColumn: columnX + columnY * down, perRow: rowX + rowY * down };
}

/** Column 0 of row 0, the step of a column, and that of a row: each as column and row in memory. */
type Way = readonly [x: number, y: number, columnX: number, columnY: number, rowX: number, rowY: number];

/**
 * A compositor draws what is shown at x, y of an output that is turned by 90° at y, width - 1 - x, and so on
 * (`wlr_box_transform` of wlroots, with the inverse of the transform).
 */
function wayOf({ width, height }: Size, transform: number): Way {
  const [lastColumn, lastRow] = [width - 1, height - 1];
  const ways: readonly Way[] = [
    [0, 0, 1, 0, 0, 1],
    [0, lastRow, 0, -1, 1, 0],
    [lastColumn, lastRow, -1, 0, 0, -1],
    [lastColumn, 0, 0, 1, -1, 0],
    [lastColumn, 0, -1, 0, 0, 1],
    [0, 0, 0, 1, 1, 0],
    [0, lastRow, 1, 0, 0, -1],
    [lastColumn, lastRow, 0, -1, -1, 0],
  ];
  return ways[transform] ?? [0, 0, 1, 0, 0, 1];
}
