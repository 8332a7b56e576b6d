/**
 * How much a pattern of RE2 repeats. `x{1000}` becomes 1,000 instructions: 500 characters of those take a tenth of a second to read,
 * long before their number is known.
 */

/** The most that the counted repetitions of a pattern from outside may repeat, together. */
const MAX_REPEATS = 2_000;

/** Whether the counted repetitions of `pattern` (`{3}`, `{2,5}`) are too many, together. */
export function repeatsTooMuch(pattern: string): boolean {
  let repeats = 0;
  for (const [, least, most] of pattern.matchAll(/\{(\d+)(?:,(\d*))?\}/g)) repeats += Number(most || least);
  return repeats > MAX_REPEATS;
}
