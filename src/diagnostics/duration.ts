/**
 * Durations for a person.
 */

const UNITS = [
  ["days", 86_400],
  ["h", 3_600],
  ["min", 60],
] as const;

/** `seconds` in the largest unit of which there are at least two: `75 s`, `40 min`, `3 days`. */
export function durationText(seconds: number): string {
  const unit = UNITS.find(([, length]) => seconds >= 2 * length);
  return unit ? `${Math.floor(seconds / unit[1])} ${unit[0]}` : `${Math.round(seconds)} s`;
}
