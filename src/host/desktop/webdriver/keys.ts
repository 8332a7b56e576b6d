/** The keys that WebDriver has code points for (W3C WebDriver, section 17.4.2), as svc names them. */

/** The code point that releases all modifiers. */
export const NULL_KEY = "\ue000";

const NAMED: Readonly<Record<string, string>> = {
  ...{ "\ue002": "help", "\ue003": "backspace", "\ue004": "tab", "\ue005": "delete", "\ue006": "enter" },
  ...{ "\ue007": "enter", "\ue00b": "pause", "\ue00c": "esc", "\ue00d": "space", "\ue00e": "pageup" },
  ...{ "\ue00f": "pagedown", "\ue010": "end", "\ue011": "home", "\ue012": "left", "\ue013": "up" },
  ...{ "\ue014": "right", "\ue015": "down", "\ue016": "insert", "\ue017": "delete", "\ue018": ";" },
  ...{ "\ue019": "=", "\ue024": "multiply", "\ue025": "add", "\ue026": ",", "\ue027": "subtract" },
  ...{ "\ue028": "decimal", "\ue029": "divide", "\ue054": "pageup", "\ue055": "pagedown", "\ue056": "end" },
  ...{ "\ue057": "home", "\ue058": "left", "\ue059": "up", "\ue05a": "right", "\ue05b": "down" },
  ...{ "\ue05c": "insert", "\ue05d": "delete" },
  ...Object.fromEntries(Array.from({ length: 10 }, (_, n) => [String.fromCharCode(0xe01a + n), `num${n}`])),
  ...Object.fromEntries(Array.from({ length: 12 }, (_, n) => [String.fromCharCode(0xe031 + n), `f${n + 1}`])),
};

const MODIFIERS: Readonly<Record<string, string>> = {
  ...{ "\ue008": "shift", "\ue009": "ctrl", "\ue00a": "alt", "\ue03d": "win", "\ue050": "shift" },
  ...{ "\ue051": "ctrl", "\ue052": "alt", "\ue053": "win" },
};

/** The modifier that a character stands for; undefined where it is none. */
const modifierOf = (character: string): string | undefined => MODIFIERS[character];

/** The key that a character stands for: itself, where it is none of WebDriver's own. */
export const keyOf = (character: string): string =>
  MODIFIERS[character] ??
  NAMED[character] ??
  (character === "\n" || character === "\r" ? "enter" : character);

/** The names of keys that change what others do. */
const MODIFIER_NAMES = new Set(Object.values(MODIFIERS));

/**
 * Whether a key that is pressed is typed, and not held: a character for which Shift may be needed. It would hold Shift for the characters
 * after it, as clients press all keys of a text before they let go of the first.
 *
 * @param held the keys that are down: with a modifier, each character is a key.
 */
export const isTyped = (character: string, held: readonly string[]): boolean =>
  !isSpecial(character) && !/^[a-z0-9 \r\n]$/.test(character) && !held.some((key) => MODIFIER_NAMES.has(key));

/** Whether a character stands for a key that types nothing. */
const isSpecial = (character: string): boolean =>
  character === NULL_KEY || Object.hasOwn(NAMED, character) || Object.hasOwn(MODIFIERS, character);

/** A part of what is to be typed: a text, a key to tap, a modifier to hold or to let go. */
type Piece =
  | { readonly text: string }
  | { readonly tap: string }
  | { readonly hold: string }
  | { readonly release: string };

/**
 * A text of Element Send Keys in pieces: a modifier is held until it comes again, the null key, or the end (section 12.5.3). While one
 * is held, each character is a key.
 */
export function piecesOf(text: string): Piece[] {
  const pieces: Piece[] = [];
  const held = new Set<string>();
  const releaseAll = () => {
    for (const key of [...held].toReversed()) pieces.push({ release: key });
    held.clear();
  };
  let plain = "";
  const flush = () => {
    if (plain !== "") pieces.push({ text: plain });
    plain = "";
  };
  for (const character of text) {
    const modifier = modifierOf(character);
    if (!isSpecial(character) && held.size === 0) {
      plain += character;
      continue;
    }
    flush();
    if (character === NULL_KEY) releaseAll();
    else if (modifier === undefined) pieces.push({ tap: keyOf(character) });
    else if (held.delete(modifier)) pieces.push({ release: modifier });
    else {
      held.add(modifier);
      pieces.push({ hold: modifier });
    }
  }
  flush();
  releaseAll();
  return pieces;
}
