/**
 * Finding a text among the lines that were read from the screen.
 */
import type { Word } from "./tesseract";

/** Where a text is, and how sure the reader is of the least sure word of it. */
export interface TextPlace extends Word {
  readonly center_x: number;
  readonly center_y: number;
}

/** The places of `wanted`, from top to bottom: whole words that hold it, within one line. */
export function findText(
  lines: ReadonlyArray<readonly Word[]>,
  wanted: string,
  caseSensitive: boolean,
): TextPlace[] {
  const folded = (text: string) => (caseSensitive ? text : text.toLowerCase());
  const sought = folded(wanted.trim().replaceAll(/\s+/g, " "));
  return lines.flatMap((line) => {
    const words = line.map(({ text }) => folded(text));
    const all = words.join(" ");
    const found: TextPlace[] = [];
    for (let at = all.indexOf(sought); at >= 0; at = all.indexOf(sought, at + sought.length)) {
      const until = at + sought.length;
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
