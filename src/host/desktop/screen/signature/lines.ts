/** The texts of a signature: lines of what a window shows, within bounds. */
import { printable } from "../../../../lib/sanitize";
import { createNormalForm, MOST_LINE, MOST_LINES, MOST_TEXT } from "../../../../wire/screen/signature";

/**
 * The lines of `texts`, of those with the same normal form one. Where there are more than a signature holds, two screens that show the
 * same lines keep the same ones: those of which the digest is the smallest.
 *
 * @param names of the machine, in lower case.
 */
export function linesOf(texts: readonly string[], names: readonly string[]): string[] {
  const normalOf = createNormalForm();
  const lines = new Map<string, string>();
  for (const text of texts) {
    for (const line of text.split("\n")) {
      const shown = cut(line, MOST_LINE);
      const normal = normalOf(shown, names);
      if (normal !== "" && !lines.has(normal)) lines.set(normal, shown);
    }
  }
  const all = [...lines];
  const size = all.reduce((sum, [, shown]) => sum + shown.length, 0);
  if (all.length > MOST_LINES || size > MOST_TEXT) {
    const digests = new Map(all.map(([normal]) => [normal, Bun.hash.xxHash32(normal)]));
    all.sort(([one], [other]) => (digests.get(one) ?? 0) - (digests.get(other) ?? 0));
  }
  let left = MOST_TEXT;
  return all
    .slice(0, MOST_LINES)
    .map(([, shown]) => shown)
    .filter((shown) => {
      left -= shown.length;
      return left >= 0;
    });
}

/** `text` on one line of at most so many characters, safe to show. */
export function cut(text: string, most: number): string {
  const one = text.replaceAll(/\s+/g, " ").trim();
  const short = printable(one.slice(0, most), most);
  return short.length > most ? short.slice(0, most) : short;
}
