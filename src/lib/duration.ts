/**
 * Spans of time as people write them: `90s`, `15m`, `1h`, `7d`.
 */
const SECONDS = { s: 1, m: 60, h: 3_600, d: 86_400 } as const;

/** Seconds, or undefined when `text` is no number of s, m, h or d. */
export function parseDuration(text: string): number | undefined {
  const [, count, unit] = /^(\d{1,9}(?:\.\d{1,9})?)([smhd])$/.exec(text) ?? [];
  return isUnit(unit) ? Number(count) * SECONDS[unit] : undefined;
}

/** The time that a span such as `1h` ago was, ISO 8601 in UTC; undefined when `text` is no span. */
export function parseAgo(text: string, now: number = Date.now()): string | undefined {
  const seconds = parseDuration(text);
  return seconds === undefined ? undefined : new Date(now - seconds * 1_000).toISOString();
}

function isUnit(text: string | undefined): text is keyof typeof SECONDS {
  return text !== undefined && Object.hasOwn(SECONDS, text);
}

const LARGE_UNITS = [
  ["days", SECONDS.d],
  ["h", SECONDS.h],
  ["min", SECONDS.m],
] as const;

/** `seconds` for a person, in the largest unit of which there are at least two: `75 s`, `40 min`, `3 days`. */
export function durationText(seconds: number): string {
  const unit = LARGE_UNITS.find(([, length]) => seconds >= 2 * length);
  return unit ? `${Math.floor(seconds / unit[1])} ${unit[0]}` : `${Math.round(seconds)} s`;
}
