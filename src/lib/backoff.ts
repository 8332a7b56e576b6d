/**
 * How long to wait before the next attempt, so that what fails is not asked ever faster, and those who failed together do not come back
 * together.
 */

/** From 0 to 1, as `Math.random`. */
export type Random = () => number;

/** The pause after the first attempt, and the longest, in milliseconds. */
export interface Backoff {
  readonly firstMs: number;
  readonly longestMs: number;
}

/** A part of a time: from the first to the second. */
type Spread = readonly [least: number, most: number];

const ABOUT: Spread = [0.75, 1.25];

/** No earlier than somebody asked for, and a little later. */
export const NO_EARLIER: Spread = [1, 1.25];

/** Any part of it ("full jitter"): that spreads many evenly. */
export const ANY_PART: Spread = [0, 1];

/** The pause before the next attempt after `failures` others: it doubles up to the longest. In milliseconds. */
export const doubled = ({ firstMs, longestMs }: Backoff, failures: number): number =>
  Math.min(longestMs, firstMs * 2 ** failures);

/** A random time within the spread of `ms` (default: a quarter less or more). */
export const jitter = (ms: number, [least, most]: Spread = ABOUT, random: Random = Math.random): number =>
  ms * (least + (most - least) * random());

/** A random part of {@link doubled}, which no minimum narrows. */
export const pauseBefore = (limits: Backoff, failures: number, random?: Random): number =>
  jitter(doubled(limits, failures), ANY_PART, random);
