/**
 * Spans of time and sizes as people write them: `90s`, `15m`, `1h`, `7d`; `512MB`, `1.5GiB`.
 */

const SECONDS = { s: 1, m: 60, h: 3_600, d: 86_400 };

/** Seconds; undefined when `text` is not a number of s, m, h or d. */
export const parseDuration = (text: string): number | undefined =>
  parse(text, /^(\d{1,9}(?:\.\d{1,9})?)([smhd])$/, SECONDS);

/**
 * The time that a person names by what it is from now, ISO 8601 in UTC: `1h` or `1h ago`, `now`, and `today` or `yesterday` for the
 * midnight with which the day began, `02:13` or `02:13:30` for the last time when it was so late, in the time zone of this process.
 * Undefined for any other text, and for a time before the year 0.
 */
export function parseAgo(text: string, now: number = Date.now()): string | undefined {
  const days = DAYS.get(text);
  if (days !== undefined) {
    const midnight = new Date(now);
    midnight.setHours(0, 0, 0, 0);
    midnight.setDate(midnight.getDate() - days);
    return midnight.toISOString();
  }
  const clock = CLOCK.exec(text);
  if (clock) return lastAt(clock, now);
  const seconds = text === "now" ? 0 : parseDuration(text.replace(/ +ago$/, ""));
  const time = new Date(now - (seconds ?? Number.NaN) * 1_000);
  return time.getUTCFullYear() >= 0 ? time.toISOString() : undefined;
}

/** A time of the day: `02:13`, `02:13:30`. */
const CLOCK = /^([01]?\d|2[0-3]):([0-5]\d)(?::([0-5]\d))?$/;

/** The last time when the clock of this process showed that. */
function lastAt([, hours, minutes, seconds = "0"]: readonly string[], now: number): string {
  const last = new Date(now);
  last.setHours(Number(hours), Number(minutes), Number(seconds), 0);
  if (last.getTime() > now) last.setDate(last.getDate() - 1);
  return last.toISOString();
}

const DAYS: ReadonlyMap<string, number> = new Map([
  ["today", 0],
  ["yesterday", 1],
]);

/** A limit as somebody types it who typed `text`: in its unit, where it is a whole number of that. Undefined for a text without a unit. */
export function limitAsTyped(limit: number, text: string): string | undefined {
  const [, unit = ""] = /^[\d.]+ ?([a-z]+)$/i.exec(text) ?? [];
  const length = SECONDS[unit as keyof typeof SECONDS] ?? FACTORS[unit.toLowerCase() as keyof typeof FACTORS];
  if (length === undefined) return undefined;
  if (limit % length === 0) return `${limit / length}${unit}`;
  return unit in SECONDS ? typedDuration(limit) : `${limit}B`;
}

/** `seconds` as somebody types it: `90s`, `15m`, `2h`, `7d`, in the largest unit of which it is a whole number. */
export function typedDuration(seconds: number): string {
  const units = Object.entries(SECONDS).reverse();
  const [unit = "s", length = 1] = units.find(([, one]) => seconds >= one && seconds % one === 0) ?? [];
  return `${seconds / length}${unit}`;
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

/** Decimal prefixes count in thousands, binary ones (IEC 80000-13) in 1,024. */
const FACTORS = {
  b: 1,
  kb: 1e3,
  mb: 1e6,
  gb: 1e9,
  tb: 1e12,
  kib: 2 ** 10,
  mib: 2 ** 20,
  gib: 2 ** 30,
  tib: 2 ** 40,
};

/** Bytes; undefined when `text` is not a number with one of these units. */
export function parseSize(text: string): number | undefined {
  const bytes = parse(text, /^(\d{1,12}(?:\.\d{1,6})?) ?([kmgt]?i?b)$/i, FACTORS);
  return bytes && Math.round(bytes);
}

/** @param form a number, then a unit. */
function parse(text: string, form: RegExp, factors: Readonly<Record<string, number>>): number | undefined {
  const [, count, unit = ""] = form.exec(text) ?? [];
  const factor = factors[unit.toLowerCase()];
  return factor && Number(count) * factor;
}

const BINARY = Object.entries({ B: 1, KiB: 2 ** 10, MiB: 2 ** 20, GiB: 2 ** 30, TiB: 2 ** 40 });

/** `bytes` for a person, to a tenth: `2 GiB`, `1.5 MiB`, `12 B`. */
export const sizeText = (bytes: number): string => sizeBy(Math.round, bytes);

/** The same for what is more than a limit: it is rounded up, and so not to the limit. */
export const sizeTextUp = (bytes: number): string => sizeBy(Math.ceil, bytes);

function sizeBy(rounded: (tenths: number) => number, bytes: number): string {
  const sizes = BINARY.map(([unit, factor]) => [rounded((bytes / factor) * 10) / 10, unit] as const);
  // The smallest unit of which it has, as it is written, fewer than the next one is.
  const [size, unit] = sizes.find(([count]) => count < 1_024) ?? sizes.at(-1) ?? [bytes, "B"];
  return `${size} ${unit}`;
}
