/**
 * Finding a text among the lines that were read from the screen.
 */
import { nearest } from "../../../lib/nearest";
import type { Word } from "./tesseract";

/** What has to be the text: whole words, a whole line, or any part of a line. */
export const TEXT_MATCHES = ["word", "line", "part"] as const;
export type TextMatch = (typeof TEXT_MATCHES)[number];

/** Where a text is, and how sure the reader is of the least sure word of it. */
export interface TextPlace extends Word {
  readonly center_x: number;
  readonly center_y: number;
}

/**
 * The places of `wanted`, from top to bottom, within one line each: the words that hold it.
 *
 * @param match `word`: no letter or digit stands right before or after it.
 */
export function findText(
  lines: ReadonlyArray<readonly Word[]>,
  wanted: string,
  caseSensitive: boolean,
  match: TextMatch = "word",
): TextPlace[] {
  const folded = (text: string) => (caseSensitive ? text : text.toLowerCase());
  const sought = folded(singleSpaced(wanted));
  return lines.flatMap((line) => {
    const words = line.map(({ text }) => folded(text));
    const all = words.join(" ");
    const found: TextPlace[] = [];
    for (let at = all.indexOf(sought); at >= 0; at = all.indexOf(sought, at + sought.length)) {
      const until = at + sought.length;
      if (match === "line" && all !== sought) break;
      if (match === "word" && (isInside(all, at) || isInside(all, until))) continue;
      let start = 0;
      const hit = line.filter((_, nth) => {
        const from = start;
        start += (words[nth]?.length ?? 0) + 1;
        return from < until && start - 1 > at;
      });
      found.push(around(hit));
    }
    return found;
  });
}

const singleSpaced = (text: string) => text.trim().replaceAll(/\s+/g, " ");

/** Whether the place between two characters of a text is inside a word. */
const isInside = (text: string, at: number) =>
  /[\p{L}\p{N}]$/u.test(text.slice(0, at)) && /^[\p{L}\p{N}]/u.test(text.slice(at));

/** As many words as `wanted` has, in one line, that a reader may have made of it; or the words that it is a part of. */
export function nearestText(lines: ReadonlyArray<readonly Word[]>, wanted: string): string | undefined {
  const [part] = findText(lines, wanted, false, "part");
  if (part) return part.text;
  const sought = singleSpaced(wanted);
  const count = sought.split(" ").length;
  const read = lines.flatMap((words) =>
    words.map((_, at) =>
      words
        .slice(at, at + count)
        .map(({ text }) => text)
        .join(" "),
    ),
  );
  return nearest(sought, read);
}

/** The words as one. @param words one at least. */
export function around(words: readonly Word[]): TextPlace {
  const x = Math.min(...words.map((word) => word.x));
  const y = Math.min(...words.map((word) => word.y));
  const width = Math.max(...words.map((word) => word.x + word.width)) - x;
  const height = Math.max(...words.map((word) => word.y + word.height)) - y;
  return {
    text: words.map(({ text }) => text).join(" "),
    ...{ x, y, width, height },
    confidence: Math.min(...words.map(({ confidence }) => confidence)),
    center_x: x + Math.floor(width / 2),
    center_y: y + Math.floor(height / 2),
  };
}
