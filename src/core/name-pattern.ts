/**
 * Names with `*` and `?` in them, as people type them: of hosts, and of their tags.
 *
 * Promise: a match takes a time in proportion to the name for each part between two `*`.
 */

/** What stands between two `*` of a pattern: its characters, and the longest run of them without `?`, with how many are before that. */
interface PatternPart {
  readonly characters: readonly string[];
  readonly literal: string;
  readonly before: number;
}

function patternPart(text: string): PatternPart {
  const characters = [...text];
  let [literal, before, at] = ["", 0, 0];
  for (const run of text.split("?")) {
    if (run.length > literal.length) [literal, before] = [run, at];
    at += [...run].length + 1;
  }
  return { characters, literal, before };
}

/** Whether a text is what {@link namePattern} takes. */
export const isPattern = (text: string): boolean => /[*?]/.test(text);

/** What a text with `*` (any characters) or `?` (one) matches; undefined for a text without either. Nothing else in it is special. */
export function namePattern(text: string): ((name: string) => boolean) | undefined {
  if (!isPattern(text)) return undefined;
  const parts = text.split(/\*+/).map(patternPart);
  const [first = patternPart(""), ...rest] = parts;
  const last = rest.pop();
  return (name) => {
    // Where each character is one unit, the name needs no list of them.
    const characters = /[\ud800-\udfff]/.test(name) ? [...name] : name;
    if (!fitsAt(characters, 0, first)) return false;
    if (last === undefined) return characters.length === first.characters.length;
    const end = characters.length - last.characters.length;
    let at = first.characters.length;
    for (const part of rest) {
      const found = placeIn(characters, at, end, part);
      if (found === undefined) return false;
      at = found + part.characters.length;
    }
    return at <= end && fitsAt(characters, end, last);
  };
}

/** Where `part` stands first between two places; undefined where it does not. */
function placeIn(
  characters: string | readonly string[],
  from: number,
  end: number,
  part: PatternPart,
): number | undefined {
  const { literal, before } = part;
  const latest = end - part.characters.length;
  for (let at = from; at <= latest; at++) {
    // What is sure to be there is looked for first: a name may be compared with thousands of patterns, and seldom has it.
    if (typeof characters === "string") at = characters.indexOf(literal, at + before) - before;
    if (at < from || at > latest) return undefined;
    if (fitsAt(characters, at, part)) return at;
  }
  return undefined;
}

/** Whether `part`, in which `?` is any character, stands at this place. */
function fitsAt(
  characters: string | readonly string[],
  at: number,
  { characters: wanted }: PatternPart,
): boolean {
  if (at + wanted.length > characters.length) return false;
  for (let nth = 0; nth < wanted.length; nth++)
    if (wanted[nth] !== "?" && wanted[nth] !== characters[at + nth]) return false;
  return true;
}
