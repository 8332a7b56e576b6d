/**
 * Numbers and times as a person reads them.
 */

const numbers = new Intl.NumberFormat();
const moments = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "medium" });

/** @param {number} value */
export const count = (value) => numbers.format(value);

/**
 * The two largest units: `3 d 4 h`, `12 min 5 s`, `7 s`.
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
    .map(([value, unit]) => `${value} ${unit}`)
    .join(" ");
}

/** @param {string} iso */
export const moment = (iso) => moments.format(new Date(iso));
