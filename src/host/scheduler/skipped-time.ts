/**
 * The time at which a cron job runs whose hour the clocks leave out up to midnight, as in Greenland: croner, which finds every other one, leaves
 * it out for that day.
 */

const DAY_MS = 86_400_000;

/** How far ahead a change of the clocks is looked for, and in which steps: no zone changes them forward and back within one. In milliseconds. */
const MAX_MS = 400 * DAY_MS;
const STEP_MS = 7 * DAY_MS;

/** Which of the first fields of an expression follow the clock where they have a wildcard: minutes and hours, and seconds before them. */
const follows = (expression: string): boolean => {
  const fields = expression.trim().split(/\s+/);
  return expression.includes("@") || fields.slice(0, fields.length - 3).some((field) => field.includes("*"));
};

/** By how much the local time of a zone is ahead of UTC at a time, in milliseconds. */
function offsetsOf(timeZone: string): (ms: number) => number {
  const format = new Intl.DateTimeFormat("en-US", {
    timeZone,
    hourCycle: "h23",
    year: "numeric",
    month: "numeric",
    day: "numeric",
    hour: "numeric",
    minute: "numeric",
    second: "numeric",
  });
  return (ms) => {
    const parts = new Map(format.formatToParts(ms).map(({ type, value }) => [type, Number(value)]));
    const part = (name: Intl.DateTimeFormatPartTypes) => parts.get(name) ?? 0;
    const [year, month, day] = [part("year"), part("month") - 1, part("day")];
    const local = Date.UTC(year, month, day, part("hour"), part("minute"), part("second"));
    return local - Math.floor(ms / 1_000) * 1_000;
  };
}

/**
 * The first change of the clocks after `after` that leaves out a time of the expression; null where there is none before `before`.
 *
 * @param nextAt the next time of the expression after another one, at that distance from UTC in minutes; all times in milliseconds since 1970.
 */
export function skippedRun(
  expression: string,
  timeZone: string,
  { after, before }: { readonly after: number; readonly before: number },
  nextAt: (after: number, utcOffset: number) => number | null,
): number | null {
  if (follows(expression)) return null;
  const offset = offsetsOf(timeZone);
  const end = Math.min(before, after + MAX_MS);
  let was = offset(after);
  for (let from = after; from < end; from += STEP_MS) {
    const to = Math.min(from + STEP_MS, end);
    const [earlier, is] = [was, offset(to)];
    was = is;
    if (is <= earlier) continue;
    const change = changeBetween(from, to, (ms) => offset(ms) === earlier);
    const run = nextAt(change - 1, earlier / 60_000);
    if (change > after && change < before && run !== null && run < change + is - earlier) return change;
  }
  return null;
}

/** The first whole second after `from` at which it is not as before; it is another one at `to`. */
function changeBetween(from: number, to: number, isBefore: (ms: number) => boolean): number {
  let [low, high] = [Math.floor(from / 1_000), Math.ceil(to / 1_000)];
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2);
    if (isBefore(middle * 1_000)) low = middle;
    else high = middle;
  }
  return high * 1_000;
}
