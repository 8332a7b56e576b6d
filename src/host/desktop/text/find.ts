/**
 * Finding a text among the lines that were read from the screen.
 */
import { nearest } from "../../../lib/nearest";
import type { Word } from "./engine";

/** What has to be the text: whole words, a whole line, or any part of a line; or a line has a part that fits a pattern. */
export const TEXT_MATCHES = ["word", "line", "part", "regex"] as const;
type TextMatch = (typeof TEXT_MATCHES)[number];

/** Where a text is, and how sure the reader is of the least sure word of it. */
export interface TextPlace extends Word {
  readonly center_x: number;
  readonly center_y: number;
}

/** Where a text begins and ends in a line, in characters. */
export type Range = readonly [from: number, until: number];

/**
 * The places of `wanted`, from top to bottom, within one line each: the words that hold it.
 *
 * @param match `word`: no letter or digit stands right before or after it, unless it is of a script without blanks, such as Chinese.
 */
export function findText(
  lines: ReadonlyArray<readonly Word[]>,
  wanted: string,
  caseSensitive: boolean,
  match: Exclude<TextMatch, "regex"> = "word",
): TextPlace[] {
  const folded = (text: string) => (caseSensitive ? text : text.toLowerCase());
  const sought = folded(singleSpaced(wanted));
  return findRanges(
    lines.map((line) => line.map((word) => ({ word, text: folded(word.text) }))),
    (line) => {
      if (match === "line") return line === sought ? [[0, line.length]] : [];
      const found: Range[] = [];
      for (let at = line.indexOf(sought); at >= 0; ) {
        const until = at + sought.length;
        const isFound = match === "part" || !(isInside(line, at) || isInside(line, until));
        if (isFound) found.push([at, until]);
        at = line.indexOf(sought, isFound ? until : at + 1);
      }
      return found;
    },
  );
}

/** The places of what a pattern finds in a line, from top to bottom: the words that hold it. */
export const findPattern = (
  lines: ReadonlyArray<readonly Word[]>,
  rangesIn: (line: string) => readonly Range[],
): TextPlace[] =>
  findRanges(
    lines.map((line) => line.map((word) => ({ word, text: word.text }))),
    rangesIn,
  );

/** A word, and its text as it is looked at. */
interface FoldedWord {
  readonly word: Word;
  readonly text: string;
}

function findRanges(
  lines: ReadonlyArray<readonly FoldedWord[]>,
  rangesIn: (line: string) => readonly Range[],
): TextPlace[] {
  return lines.flatMap((line) => {
    let whole = "";
    const parts = line.map(({ word, text }) => {
      const from = whole.length + gap(whole, text).length;
      whole += gap(whole, text) + text;
      return { word, from, until: whole.length };
    });
    return rangesIn(whole).flatMap(([from, until]) => {
      const hit = parts.flatMap((part) => (part.from < until && part.until > from ? [part.word] : []));
      // A blank, or nothing, fits some patterns.
      return hit.length === 0 ? [] : [around(hit)];
    });
  });
}

/** A letter of a script that has no blanks between words: the reader takes one or several of them for a word, as it happens. */
const UNSPACED =
  "[\\p{sc=Han}\\p{sc=Hiragana}\\p{sc=Katakana}\\p{sc=Thai}\\p{sc=Lao}\\p{sc=Khmer}\\p{sc=Myanmar}\u30fc]";
const ENDS_UNSPACED = new RegExp(`${UNSPACED}\\p{M}*$`, "u");
const BEGINS_UNSPACED = new RegExp(`^${UNSPACED}`, "u");
const BLANK_IN_UNSPACED = new RegExp(`(?<=${UNSPACED}\\p{M}*) (?=${UNSPACED})`, "gu");

/** What stands between two words of a line: one blank, or nothing where their script has none. */
const gap = (before: string, after: string) =>
  before === "" || (ENDS_UNSPACED.test(before) && BEGINS_UNSPACED.test(after)) ? "" : " ";

const joined = (texts: readonly string[]) => texts.reduce((line, text) => line + gap(line, text) + text, "");

/** With one blank for white space, and none within a script that has no blanks. */
const singleSpaced = (text: string) => text.trim().replaceAll(/\s+/g, " ").replaceAll(BLANK_IN_UNSPACED, "");

/** Whether the place between two characters of a text is inside a word. In a script without blanks, nobody knows. */
const isInside = (text: string, at: number) => {
  const [before, after] = [text.slice(0, at), text.slice(at)];
  if (ENDS_UNSPACED.test(before) || BEGINS_UNSPACED.test(after)) return false;
  return /[\p{L}\p{N}\p{M}]$/u.test(before) && /^[\p{L}\p{N}\p{M}]/u.test(after);
};

/** As many words as `wanted` has, in one line, that a reader may have made of it; or the words that it is a part of. */
export function nearestText(lines: ReadonlyArray<readonly Word[]>, wanted: string): string | undefined {
  const [part] = findText(lines, wanted, false, "part");
  if (part) return part.text;
  const sought = singleSpaced(wanted);
  const count = sought.split(" ").length;
  const read = lines.flatMap((words) =>
    words.map((_, at) => joined(words.slice(at, at + count).map(({ text }) => text))),
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
    text: joined(words.map(({ text }) => text)),
    x,
    y,
    width,
    height,
    confidence: Math.min(...words.map(({ confidence }) => confidence)),
    center_x: x + Math.floor(width / 2),
    center_y: y + Math.floor(height / 2),
  };
}
