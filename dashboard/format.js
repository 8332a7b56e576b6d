/**
 * Formats numbers and times for people.
 */

const numbers = new Intl.NumberFormat();
const moments = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "long" });
const days = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short" });
const times = new Intl.DateTimeFormat(undefined, { timeStyle: "short" });

const short = new Intl.NumberFormat(undefined, { notation: "compact", maximumSignificantDigits: 4 });

/** @param {Date} date */
export const timeOfDay = (date) => times.format(date);

/** @param {number} value */
export const count = (value) => numbers.format(value);

/**
 * @param {number} value
 * @param {string} one
 * @param {string} [many]
 */
export const counted = (value, one, many = `${one}s`) => `${count(value)} ${value === 1 ? one : many}`;

/**
 * Three significant digits: 0.12, 1.23, 12.3, 1,234, 1.235M; a dash if not measured.
 *
 * @param {number | null | undefined} value
 */
export function measure(value) {
  if (value === null || value === undefined) return "–";
  if (Math.abs(value) >= 1_000_000) return short.format(value);
  const digits = value === 0 ? 0 : Math.max(0, Math.min(2, 2 - Math.floor(Math.log10(Math.abs(value)))));
  return value.toLocaleString(undefined, { maximumFractionDigits: digits });
}

const UNITS = ["B", "kB", "MB", "GB", "TB"];

/**
 * `512 B`, `1.23 MB`.
 *
 * @param {number} size in bytes
 */
export function bytes(size) {
  const at = Math.min(UNITS.length - 1, size < 1 ? 0 : Math.floor(Math.log10(size) / 3));
  return `${measure(size / 1_000 ** at)} ${UNITS[at]}`;
}

/**
 * The two largest units: `3 d 4 h`, `12 min 5 s`, `2 h`, `7 s`.
 *
 * @param {number} seconds
 */
export function duration(seconds) {
  const whole = Math.max(0, Math.floor(seconds));
  const parts = [
    [Math.floor(whole / 86_400), "d"],
    [Math.floor(whole / 3_600) % 24, "h"],
    [Math.floor(whole / 60) % 60, "min"],
    [whole % 60, "s"],
  ];
  const first = parts.findIndex(([value]) => value !== 0);
  if (first === -1) return "0 s";
  return parts
    .slice(first, first + 2)
    .filter(([value]) => value !== 0)
    .map(([value, unit]) => `${value} ${unit}`)
    .join(" ");
}

/**
 * A short time: `0.4 ms`, `12 ms`, `1.2 s`, `3 min 4 s`.
 *
 * @param {number | null} milliseconds
 */
export function milliseconds(milliseconds) {
  if (milliseconds === null) return "–";
  if (milliseconds < 1_000) return `${measure(milliseconds)} ms`;
  return milliseconds < 60_000 ? `${measure(milliseconds / 1_000)} s` : duration(milliseconds / 1_000);
}

/** The exact time with its time zone. @param {string} iso */
export const moment = (iso) => moments.format(new Date(iso));

/**
 * `just now`, `12 s ago`, `3 min ago`, `in 5 min`; a date and time when more than a day away.
 *
 * @param {string} iso
 * @param {number} [now] milliseconds since 1970
 */
export function ago(iso, now = Date.now()) {
  const seconds = (now - Date.parse(iso)) / 1_000;
  if (Number.isNaN(seconds)) return iso;
  const size = Math.abs(seconds);
  if (size < 5) return "just now";
  if (size >= 86_400) return days.format(new Date(iso));
  const text =
    size < 60
      ? `${Math.floor(size)} s`
      : size < 3_600
        ? `${Math.floor(size / 60)} min`
        : `${Math.floor(size / 3_600)} h`;
  return seconds > 0 ? `${text} ago` : `in ${text}`;
}
