/**
 * How much one value stands out among the others: robust statistics, so that those that stand out do not move the measure.
 */

/** By what the median absolute deviation is multiplied to be that of a normal distribution (Rousseeuw and Croux, 1993). */
export const MAD_SCALE = 1.4826;
/** How many deviations, and times the distance from the median to the ninth tenth, count as full: 10,000 like hosts have none of that. */
const [DEVIATIONS, TENTHS] = [8, 6];
/** A median of few values says little: it counts as a spread in so far as there are fewer than these. */
const FEW = 20;

/**
 * How much something counts that this share of the others has too: less in proportion, and nothing from a quarter on.
 *
 * @returns 0 to 1.
 */
const rarity = (share: number): number => Math.min(1, Math.max(0, 1 - 4 * share));

/**
 * What is rare is looked at beside what is up to four times as common, and not beside the rest: an advertisement that few screens show at a
 * time hides nothing that one screen shows alone, and is no news beside the others that take turns with it. The shares of the others that
 * have it.
 */
const MOST_SHARE = 0.25;
const LEVELS = [0, 0.01, 0.0625, MOST_SHARE];
/** How many times as common. */
const BESIDE = 4;

/** By how rare it is all that a screen has together, at each level; NaN of a screen where it is not known. */
export interface RareSums {
  readonly sums: readonly Float64Array[];
  /** Begins with the nth screen. */
  begin(nth: number): void;
  /** Adds to the nth screen what that share of the others has too. */
  add(nth: number, share: number): void;
}

/** Sums of that many screens, of which nothing is known yet. */
export function createRareSums(size: number): RareSums {
  const sums = LEVELS.map(() => new Float64Array(size).fill(Number.NaN));
  return {
    sums,
    begin(nth) {
      for (const sum of sums) sum[nth] = 0;
    },
    add(nth, share) {
      // Most of what a screen has is on most others: it counts nothing.
      if (share > MOST_SHARE) return;
      const rare = rarity(share);
      for (let level = 0; level < LEVELS.length; level++) {
        const sum = sums[level];
        if (sum && share <= (LEVELS[level] ?? 0)) sum[nth] = (sum[nth] ?? 0) + rare;
      }
    },
  };
}

/**
 * {@link standings} at the level where it is the most.
 *
 * @param shares the share of the others that has what counts of a screen; more than 1 of one with nothing.
 */
export function standingsOf(
  { sums }: RareSums,
  shares: Readonly<Float64Array>,
  unit: number,
): Float64Array<ArrayBuffer> {
  const found = new Float64Array(shares.length);
  for (const [nth, values] of sums.entries()) {
    const level = LEVELS[nth] ?? 0;
    const isLast = nth === LEVELS.length - 1;
    const most = shares.map((share) => (isLast || share * BESIDE <= level ? rarity(share) : 0));
    const standing = standings(values, most, unit);
    for (let at = 0; at < found.length; at++) found[at] = Math.max(found[at] ?? 0, standing[at] ?? 0);
  }
  return found;
}

/**
 * How much each value stands out above the others, from 0 to 1; 0 for NaN, of which nothing is known.
 *
 * @param most at most so much, for each value.
 * @param unit by how much a value has to be above the median to count in full where the others are all alike.
 */
function standings(values: Readonly<Float64Array>, most: Readonly<Float64Array>, unit: number): Float64Array {
  const sorted = values.filter((value) => !Number.isNaN(value)).sort();
  const found = new Float64Array(values.length);
  if (sorted.length < 2) return found;
  const median = middleOf(sorted);
  const spread = middleOf(sorted.map((value) => Math.abs(value - median)).sort());
  const tenth = sorted[Math.floor(0.9 * (sorted.length - 1))] ?? 0;
  const scale = Math.max(
    ...[unit, DEVIATIONS * MAD_SCALE * spread, TENTHS * (tenth - median), (median * FEW) / sorted.length],
  );
  for (let at = 0; at < values.length; at++) {
    const above = (values[at] ?? Number.NaN) - median;
    if (!(above > 0)) continue;
    // As many stand out about as far.
    const like = sorted.length - placeOf(sorted, median + 0.75 * above) - 1;
    found[at] = Math.min(1, most[at] ?? 0, above / scale, rarity(like / (sorted.length - 1)));
  }
  return found;
}

const middleOf = (sorted: Readonly<Float64Array>): number => sorted[(sorted.length - 1) >> 1] ?? 0;

/** How many of the values are below `value`. */
function placeOf(sorted: Readonly<Float64Array>, value: number): number {
  let [low, high] = [0, sorted.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((sorted[middle] ?? 0) < value) low = middle + 1;
    else high = middle;
  }
  return low;
}
