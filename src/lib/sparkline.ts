/**
 * Values as a line of bars on a terminal.
 */

const BARS = ["▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"] as const;

/**
 * One character for each value, from the lowest bar for the smallest to the highest for the largest; a space for null.
 * Equal values all have the lowest bar.
 */
export function sparkline(values: ReadonlyArray<number | null>): string {
  const known = values.filter((value) => value !== null);
  const [min, max] = [Math.min(...known), Math.max(...known)];
  const bar = (value: number) =>
    BARS[max === min ? 0 : Math.round(((value - min) / (max - min)) * (BARS.length - 1))];
  return values.map((value) => (value === null ? " " : bar(value))).join("");
}
