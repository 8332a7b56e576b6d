/**
 * A row of values as a row of bars, for a terminal.
 */

const BARS = ["▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"] as const;

/**
 * One character a value, from the lowest bar for the smallest to the highest for the largest; a space where there is none.
 * Values that are all the same are all low.
 */
export function sparkline(values: ReadonlyArray<number | null>): string {
  const known = values.filter((value) => value !== null);
  const [min, max] = [Math.min(...known), Math.max(...known)];
  const bar = (value: number) =>
    BARS[max === min ? 0 : Math.round(((value - min) / (max - min)) * (BARS.length - 1))];
  return values.map((value) => (value === null ? " " : bar(value))).join("");
}
