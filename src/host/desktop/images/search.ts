/**
 * Finding a picture in a larger one.
 *
 * The score of a place is 1 - e / 2v: `v` is the variance of the picture that is looked for, and `e` the mean square error in
 * the worst of its cells (an eighth of each side, some 12 pixels at least; neighbours overlap by half). A perfect copy has 1;
 * noise, a lighter shade or another rendering takes a little; a copy in which one part differs (another digit, another colour,
 * greyed out) is not near 1.
 *
 * Promise: no place above the threshold is missed. A place is ruled out by the mean grey of parts alone (`rule-out.ts`).
 */
import type { Picture } from "../backend";
import type { Point, Size } from "../geometry";
import { exactCopy } from "./exact";
import { sumsOf } from "./sums";
import { Template, tooAlike, varianceOf } from "./template";

/** A place that was found, in pixels of the picture that was searched. */
export interface Match extends Point, Size {
  /** From 0 to 1. */
  readonly score: number;
}

/** What {@link search} found. */
export interface Matches {
  /** Those at the threshold or above, the best first; of those that overlap by half or more, only the best. */
  readonly matches: readonly Match[];
  /** The best place below the threshold, where it was asked for and the picture fits in; about the best, when it is no good. */
  readonly nearest: Match | null;
}

export interface SearchOptions {
  /** The lowest score that counts. */
  readonly threshold: number;
  /** All matches, and not only the best one. */
  readonly all: boolean;
  /** Whether to look for the nearest place when there is no match: that takes longer. */
  readonly near: boolean;
  /** When to give up, as `performance.now()` counts. */
  readonly end: number;
}

/** The least standard deviation of a picture that differs enough from a plain area, of 255. */
const MIN_DEVIATION = 2;
/** The most matches that are listed separately. */
const MAX_MATCHES = 1_000;
/**
 * @param image what is looked for; see {@link isPlain}.
 * @throws a `rejected` failure when too many places are above the threshold, or when it takes too long.
 */
export function search(screen: Picture, image: Picture, options: SearchOptions): Matches {
  const { threshold, all, near, end } = options;
  if (screen.width < image.width || screen.height < image.height) return { matches: [], nearest: null };
  const sought = inOrderOf(screen.redAt, image);
  const copy = all ? undefined : exactCopy(screen, sought);
  // The search would find that one, too.
  if (copy)
    return { matches: [{ ...copy, width: image.width, height: image.height, score: 1 }], nearest: null };
  const template = new Template(sought);
  const sums = sumsOf(screen);
  const matches = withoutOverlaps(template.scan(screen, sums, { threshold, all, end }));
  if (matches.length > 0 || !near) return { matches, nearest: null };
  return { matches, nearest: template.nearest(screen, sums) };
}

/** Whether a picture is of one colour, or nearly: it would be found on every plain area. */
export const isPlain = (image: Picture): boolean => varianceOf(image) < MIN_DEVIATION ** 2;

/** The best first; of matches that overlap by half of a side or more, the best. */
export function withoutOverlaps(matches: readonly Match[]): Match[] {
  const sorted = matches.toSorted((a, b) => b.score - a.score || a.y - b.y || a.x - b.x);
  const kept: Match[] = [];
  for (const one of sorted) {
    if (kept.some((other) => isSame(one, other))) continue;
    if (kept.length === MAX_MATCHES) throw tooAlike();
    kept.push(one);
  }
  return kept;
}

/** Whether their centres are nearer than half of the smaller one. */
function isSame(a: Match, b: Match): boolean {
  const dx = Math.abs(a.x + a.width / 2 - b.x - b.width / 2);
  const dy = Math.abs(a.y + a.height / 2 - b.y - b.height / 2);
  return dx < Math.min(a.width, b.width) / 2 && dy < Math.min(a.height, b.height) / 2;
}

/** The same picture with its bytes in another order. */
function inOrderOf(redAt: 0 | 2, picture: Picture): Picture {
  if (picture.redAt === redAt) return picture;
  const pixels = picture.pixels.slice();
  for (let at = 0; at < pixels.length; at += 4) {
    pixels[at] = picture.pixels[at + 2] as number;
    pixels[at + 2] = picture.pixels[at] as number;
  }
  return { ...picture, pixels, redAt };
}
