/**
 * Text from outside (a device, a peer, a file, a header), made safe for a terminal or a log.
 */

/**
 * C0 and C1 controls and DEL (ECMA-48: escape sequences begin with one of these), and the bidirectional controls
 * that make a line read differently from what it says (Unicode UAX #9, CVE-2021-42574).
 */
const HOSTILE = /[\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;

/** `data` as one line of JSON with hostile characters escaped. It parses to the same data. */
export function jsonLine(data: unknown): string {
  return JSON.stringify(data).replace(HOSTILE, (character) => `\\u${hexOf(character, 4)}`);
}

/** `text` on one line, with controls as `\xNN` or `\uNNNN`, cut to `max` characters. */
export function printable(text: string, max = 2_000): string {
  const cut = text.length > max ? `${text.slice(0, max)}…` : text;
  return cut.replace(HOSTILE, (character) =>
    character < "\u0100" ? `\\x${hexOf(character, 2)}` : `\\u${hexOf(character, 4)}`,
  );
}

/**
 * `text` of several lines, with controls as `\\uNNNN`, so that JSON in it stays JSON. Line feeds and tabs stay, and a carriage return
 * before a line feed.
 */
export function printableLines(text: string): string {
  return text.replace(HOSTILE, (character, at: number) => {
    const isSpace = character === "\n" || character === "\t" || (character === "\r" && text[at + 1] === "\n");
    return isSpace ? character : `\\u${hexOf(character, 4)}`;
  });
}

const hexOf = (character: string, digits: number) =>
  character.charCodeAt(0).toString(16).padStart(digits, "0");
