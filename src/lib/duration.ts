/**
 * Spans of time as people write them: `90s`, `15m`, `1h`, `7d`.
 */
const SECONDS = { s: 1, m: 60, h: 3_600, d: 86_400 } as const;

/** Seconds, or undefined when `text` is no number of s, m, h or d. */
export function parseDuration(text: string): number | undefined {
  const [, count, unit] = /^(\d{1,9}(?:\.\d{1,9})?)([smhd])$/.exec(text) ?? [];
  return isUnit(unit) ? Number(count) * SECONDS[unit] : undefined;
}

function isUnit(text: string | undefined): text is keyof typeof SECONDS {
  return text !== undefined && Object.hasOwn(SECONDS, text);
}
