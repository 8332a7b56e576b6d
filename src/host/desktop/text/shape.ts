/**
 * The shape of what is drawn in one colour: whether it may be a letter, or the ground of letters.
 */

/** Brightness of each pixel, from 0 to 255. */
export interface Grey {
  readonly width: number;
  readonly height: number;
  readonly levels: Uint8Array;
}

/** Pixels of ink that touch, and the box around them. */
interface Ink extends Record<"left" | "top" | "wide" | "high", number> {
  readonly pixels: readonly number[];
}

/** The tallest letter, in pixels: in a headline on a screen of twice the usual density. What is larger is no letter. */
const TALLEST = 96;
/** Letters that touch are wider. */
export const WIDEST = 2 * TALLEST;
/** A stem is thicker than this part of its height; a rule or a caret is thinner. */
const THINNEST = 1 / 12;
/** Of a side of a frame, so much is ink: its corners may be round. */
const SIDE = 0.75;
/** Of the box around a frame, less is ink; of that around an l or a stop, more. */
const HOLLOW = 0.5;
/** What is wider than so often its height, with a line along it, is no letter; what is so much higher is no ground of a text. */
const LONG = 1.6;

/** What was seen of a pixel: nothing; that it is of some ink; that it is of ink too large for a letter. */
const [UNSEEN, SEEN, VAST] = [0, 1, 2];

/**
 * Finds the pixels that touch one another and are ink, each of a picture once.
 *
 * @returns a function of the pixel to start at; its answer is undefined where that is no ink, was seen, or is of ink too large for a letter.
 */
export function createInks({ width, levels }: Grey) {
  const seen = new Uint8Array(levels.length);
  return (start: number, isInk: (pixel: number) => boolean): Ink | undefined => {
    if (seen[start] !== UNSEEN || !isInk(start)) return undefined;
    const pixels = [start];
    seen[start] = SEEN;
    let [left, right, top, bottom] = [width, 0, Number.POSITIVE_INFINITY, 0];
    let isVast = false;
    for (let nth = 0; nth < pixels.length && !isVast; nth++) {
      const pixel = pixels[nth] as number;
      const x = pixel % width;
      const y = (pixel - x) / width;
      if (x < left) left = x;
      if (x > right) right = x;
      if (y < top) top = y;
      if (y > bottom) bottom = y;
      isVast = right - left >= WIDEST || bottom - top >= TALLEST;
      for (let down = -width; down <= width; down += width) {
        for (let across = x > 0 ? -1 : 0; across <= (x < width - 1 ? 1 : 0); across++) {
          const next = pixel + down + across;
          if (next < 0 || next >= seen.length || seen[next] === SEEN || !isInk(next)) continue;
          // The rest of what was given up half-way.
          if (seen[next] === VAST) isVast = true;
          else {
            pixels.push(next);
            seen[next] = SEEN;
          }
        }
      }
    }
    if (!isVast) return { pixels, left, top, wide: right - left + 1, high: bottom - top + 1 };
    for (const pixel of pixels) seen[pixel] = VAST;
    return undefined;
  };
}

/** Neither thin as a rule, nor with a line along its whole width and wide, nor with one along each side as a frame. */
export function hasShapeOfLetter(ink: Ink, width: number): boolean {
  const { pixels, wide, high } = ink;
  if (wide < high * THINNEST) return false;
  const { rows, columns } = countsOf(ink, width);
  if (wide > LONG * high && Math.max(...rows) >= SIDE * wide) return false;
  const isHollow = pixels.length < wide * high * HOLLOW;
  return !(isHollow && hasSides(rows, wide) && hasSides(columns, high));
}

/** Whether it is no ground of a text, as a button is: too narrow for one, or without straight sides all around. */
export function isNoGround(ink: Ink, width: number): boolean {
  const { wide, high } = ink;
  if (high > LONG * wide) return true;
  const { rows, columns } = countsOf(ink, width);
  return !(hasSides(rows, wide) && hasSides(columns, high));
}

/** How many pixels each row and each column has. */
function countsOf({ pixels, left, top, wide, high }: Ink, width: number) {
  const rows = new Uint16Array(high);
  const columns = new Uint16Array(wide);
  for (const pixel of pixels) {
    const [row, column] = [Math.floor(pixel / width) - top, (pixel % width) - left];
    rows[row] = (rows[row] as number) + 1;
    columns[column] = (columns[column] as number) + 1;
  }
  return { rows, columns };
}

/** Whether there is a line at the first and at the last of them. */
function hasSides(counts: Uint16Array, length: number): boolean {
  const near = Math.max(2, Math.round(counts.length * 0.08));
  return [counts.slice(0, near), counts.slice(-near)].every((edge) => Math.max(...edge) >= SIDE * length);
}
