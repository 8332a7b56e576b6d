/**
 * Where two files differ, in words that a person can look for.
 */
import { printable } from "../src/lib/sanitize";

/** Bytes of two files that are not the same. */
export interface Difference {
  /** Where they begin, in both. */
  readonly offset: number;
  /** How many there are in each. */
  readonly lengths: readonly [number, number];
  /** What stands there in each, with some of what is before and after. */
  readonly texts: readonly [string, string];
  /** How many characters of text in a row there are at most: a path or a name has more than code that differs with it. */
  readonly readable: number;
}

/** Equal bytes between two differences that belong to one. */
const GAP = 32;

/** How many bytes are shown before and after a difference, and of it. */
const AROUND = 24;
const SHOWN = 48;

/**
 * The differences of `first` and `second`, in order; none where they are equal. Of files that differ in length there is one, from the first to the
 * last byte that is not the same.
 */
export function differences(first: Buffer, second: Buffer): Difference[] {
  if (first.equals(second)) return [];
  if (first.length !== second.length) {
    const least = Math.min(first.length, second.length);
    let start = 0;
    while (start < least && first[start] === second[start]) start++;
    let same = 0;
    while (same < least - start && first.at(-1 - same) === second.at(-1 - same)) same++;
    return [between(first, second, start, [first.length - same, second.length - same])];
  }
  const found: Difference[] = [];
  let [start, end] = [-1, 0];
  const add = () => {
    if (start >= 0) found.push(between(first, second, start, [end, end]));
  };
  for (let at = 0; at < first.length; at++) {
    if (first[at] === second[at]) continue;
    if (start < 0 || at - end >= GAP) {
      add();
      start = at;
    }
    end = at + 1;
  }
  add();
  return found;
}

function between(first: Buffer, second: Buffer, start: number, ends: readonly [number, number]): Difference {
  const textOf = (file: Buffer, end: number) => {
    const bytes = file.subarray(Math.max(0, start - AROUND), Math.min(end, start + SHOWN) + AROUND);
    return printable(bytes.toString("latin1").replaceAll(/[^ -~]+/g, "·"), 200);
  };
  return {
    offset: start,
    lengths: [ends[0] - start, ends[1] - start],
    texts: [textOf(first, ends[0]), textOf(second, ends[1])],
    readable: Math.max(
      longestText(first.subarray(start, ends[0])),
      longestText(second.subarray(start, ends[1])),
    ),
  };
}

/** The length of the longest text in `bytes`. */
function longestText(bytes: Buffer): number {
  let [longest, current] = [0, 0];
  for (const byte of bytes) {
    current = byte >= 0x20 && byte < 0x7f ? current + 1 : 0;
    if (current > longest) longest = current;
  }
  return longest;
}

/** The most differences that are listed of a file. */
const MAX_LISTED = 20;

/** What a person reads of two files of that name, what is the most text first; a single line where they are the same. */
export function compared(name: string, first: Buffer, second: Buffer): string[] {
  const found = differences(first, second);
  if (found.length === 0) return [`${name}: the same ${first.length} bytes`];
  const sizes = first.length === second.length ? "" : `, ${first.length} and ${second.length} bytes`;
  const listed = found
    .toSorted((a, b) => b.readable - a.readable)
    .slice(0, MAX_LISTED)
    .flatMap(({ offset, lengths, texts }) => [
      `  at ${offset}, length ${lengths[0] === lengths[1] ? lengths[0] : lengths.join(" and ")}:`,
      `    ${texts[0]}`,
      `    ${texts[1]}`,
    ]);
  const more = found.length > MAX_LISTED ? [`  and ${found.length - MAX_LISTED} more`] : [];
  return [
    `${name}: differs in ${found.length === 1 ? "one place" : `${found.length} places`}${sizes}`,
    ...listed,
    ...more,
  ];
}
