/**
 * The data of an event as one line of JSON of at most {@link MAX_BYTES}: what is longer has its strings cut.
 */

/** The most that the data of an event may take, in bytes of UTF-8. */
export const MAX_BYTES = 4_096;

/** How much of each string and of each list is left, tried one after the other; then fields that are no plain values go. */
const CUTS = [
  { characters: 1_024, items: 256, depth: 8 },
  { characters: 256, items: 32, depth: 6 },
  { characters: 64, items: 8, depth: 4 },
  { characters: 32, items: 8, depth: 1 },
] as const;

type Cut = (typeof CUTS)[number];

/** The data of an event that happened `at` this time. @throws for what is no JSON. */
export function dataText(data: unknown, at: Date): string {
  const time = { at: at.toISOString() };
  const whole = JSON.stringify({ ...time, ...(data as object) });
  if (fits(whole)) return whole;
  for (const cut of CUTS) {
    const text = JSON.stringify({ ...time, ...(shortened(data, cut, 0) as object), truncated: true });
    if (fits(text)) return text;
  }
  return JSON.stringify({ ...time, truncated: true });
}

/** No character has more than three bytes for each unit of a string. */
const fits = (text: string) =>
  text.length * 3 <= MAX_BYTES || (text.length <= MAX_BYTES && Buffer.byteLength(text) <= MAX_BYTES);

/** `value` with its strings and lists cut, and what is nested too deep left out. */
function shortened(value: unknown, cut: Cut, depth: number): unknown {
  if (typeof value === "string")
    return value.length > cut.characters ? `${value.slice(0, cut.characters).toWellFormed()}…` : value;
  if (typeof value !== "object" || value === null) return value;
  if (depth >= cut.depth) return undefined;
  if (Array.isArray(value))
    return value.slice(0, cut.items).map((item) => shortened(item, cut, depth + 1) ?? null);
  return Object.fromEntries(
    Object.entries(value).map(([name, item]) => [name, shortened(item, cut, depth + 1)]),
  );
}
