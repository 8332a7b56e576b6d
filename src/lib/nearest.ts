/**
 * The known name that somebody who typed another one probably meant.
 *
 * `fastest-levenshtein` counts two letters that are swapped as two changes: it would find no `list` for `lsit`.
 */

/** Longer names are not compared: the work grows with the square of the length. */
const MAX_LENGTH = 64;

/** How many pairs of characters are compared for one name, which takes some milliseconds: who asks may also have chosen what is known. */
const MOST_COMPARED = 150_000;

/** What is left of {@link MOST_COMPARED}. */
interface Budget {
  left: number;
}

/** Fewer characters than these begin too many names. */
const MIN_PREFIX = 6;

/**
 * The name in `known` that is nearest to `name`, with at most a third of its characters changed; else the only one that begins
 * with `name`; else undefined.
 */
export function nearest(name: string, known: Iterable<string>): string | undefined {
  if (name.length > MAX_LENGTH) return undefined;
  const names = [...known];
  return similar(name, names) ?? completed(name, names);
}

function completed(name: string, known: readonly string[]): string | undefined {
  if (name.length < MIN_PREFIX) return undefined;
  const [found, ...others] = known.filter((one) => one.toLowerCase().startsWith(name.toLowerCase()));
  return others.length === 0 ? found : undefined;
}

function similar(name: string, known: readonly string[]): string | undefined {
  let best: string | undefined;
  let least = Math.max(1, Math.floor(name.length / 3)) + 1;
  const budget = { left: MOST_COMPARED };
  for (const one of known) {
    if (Math.abs(one.length - name.length) >= least) continue;
    const steps = distance(name.toLowerCase(), one.toLowerCase(), least, budget);
    if (steps < least) [best, least] = [one, steps];
  }
  return best;
}

/** `items`, the one whose name is nearest to `name` first; those with long names last, and those for which it would take too long. */
export function byDistance<T>(name: string, items: readonly T[], nameOf: (item: T) => string): T[] {
  const far = MAX_LENGTH + 1;
  const budget = { left: MOST_COMPARED };
  const steps = (one: string) =>
    name.length > MAX_LENGTH || one.length > MAX_LENGTH
      ? far
      : distance(name.toLowerCase(), one.toLowerCase(), far, budget);
  return items
    .map((item) => ({ item, steps: steps(nameOf(item)) }))
    .toSorted((a, b) => a.steps - b.steps)
    .map(({ item }) => item);
}

/** ` (did you mean AC_sleep?)`, or nothing where no known name is near. */
export function meant(name: string, known: Iterable<string>): string {
  const found = nearest(name, known);
  return found === undefined ? "" : ` (did you mean ${found}?)`;
}

/**
 * How many characters to insert, delete, replace or swap with the next one (optimal string alignment); `most` where it is not less than
 * that, which is known sooner, or where nothing is left of the budget.
 */
function distance(left: string, right: string, most: number, budget: Budget): number {
  let [before, last]: [number[], number[]] = [[], Array.from({ length: right.length + 1 }, (_, n) => n)];
  let leastBefore = 0;
  for (let i = 1; i <= left.length; i++) {
    budget.left -= right.length;
    if (budget.left < 0) return most;
    const row = [i];
    let least = i;
    for (let j = 1; j <= right.length; j++) {
      const cost = left[i - 1] === right[j - 1] ? 0 : 1;
      const swapped = i > 1 && j > 1 && left[i - 1] === right[j - 2] && left[i - 2] === right[j - 1];
      let steps = Math.min((last[j] ?? 0) + 1, (row[j - 1] ?? 0) + 1, (last[j - 1] ?? 0) + cost);
      if (swapped) steps = Math.min(steps, (before[j - 2] ?? 0) + 1);
      row[j] = steps;
      least = Math.min(least, steps);
    }
    // A swap needs one of the two rows before.
    if (Math.min(least, leastBefore) >= most) return most;
    [before, last, leastBefore] = [last, row, least];
  }
  return last[right.length] ?? 0;
}
