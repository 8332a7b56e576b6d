/**
 * What a key that was pressed means: a character, the name of a key, or a modifier.
 */
import { isKey, KEY_NAMES, keysymOf } from "../keys";
import type { XConnection } from "../x11/connection";
import { isKeypad } from "../x11/layout";

/** Keysyms of modifiers (X11/keysymdef.h), and what is pressed with them; null for locks. */
const MODIFIERS: ReadonlyMap<number, string | null> = new Map([
  [0xffe1, "shift"],
  [0xffe2, "shift"],
  [0xffe3, "ctrl"],
  [0xffe4, "ctrl"],
  [0xffe7, "alt"],
  [0xffe8, "alt"],
  [0xffe9, "alt"],
  [0xffea, "alt"],
  [0xffeb, "win"],
  [0xffec, "win"],
  [0xffe5, null],
  [0xff7f, null],
  [0xfe03, "altgr"],
  [0xff7e, "altgr"],
]);

/** Keysyms of keys that have another name in actions, or none: the keypad without Num Lock, and Shift-Tab. */
const OTHER_KEYS: ReadonlyMap<number, string> = new Map([
  [0xff8d, "enter"],
  [0xfe20, "tab"],
  [0xff95, "home"],
  [0xff96, "left"],
  [0xff97, "up"],
  [0xff98, "right"],
  [0xff99, "down"],
  [0xff9a, "pageup"],
  [0xff9b, "pagedown"],
  [0xff9c, "end"],
  [0xff9e, "insert"],
  [0xff9f, "delete"],
]);

const NAMES: ReadonlyMap<number, string> = new Map(
  KEY_NAMES.filter((name) => name !== "return" && name !== "space").map((name) => [keysymOf(name), name]),
);

/** Bits of the state of the keyboard (X11/X.h); the group in force is in bits 13 and 14 (XKB protocol, section 2.2). */
const SHIFT = 1 << 0;
const LOCK = 1 << 1;
const MOD2 = 1 << 4;
const MOD5 = 1 << 7;

/** A key: what it types, or its name; `undefined` for one that actions have no name for. */
export type Meaning =
  | { readonly modifier: string | null }
  | { readonly key: string; readonly isCharacter: boolean }
  | undefined;

/** What is known of a key when it is struck. */
export interface KeyReading {
  readonly row: readonly number[];
  /** The state of the keyboard. */
  readonly mask: number;
}

/** Reads a key that is struck now. */
export async function readKey({ need, screen }: XConnection, keycode: number): Promise<KeyReading> {
  const [[row = []], { keyMask }] = await Promise.all([
    need.GetKeyboardMapping(keycode, 1),
    need.QueryPointer(screen.root),
  ]);
  return { row, mask: keyMask };
}

/**
 * What a key means.
 *
 * @param held the modifiers that were down when it was struck: by now others may be.
 */
export async function meaningOf(
  { row, mask }: KeyReading,
  held: { readonly shift: boolean; readonly third: boolean },
): Promise<Meaning> {
  const modifier = row.find((keysym) => MODIFIERS.has(keysym));
  if (modifier !== undefined) return { modifier: MODIFIERS.get(modifier) ?? null };
  const locks = mask & ~(SHIFT | MOD5);
  const keysym = keysymIn(row, locks | (held.shift ? SHIFT : 0) | (held.third ? MOD5 : 0));
  const name = OTHER_KEYS.get(keysym) ?? NAMES.get(keysym);
  const character = await characterOf(keysym);
  if (character !== undefined && isKey(character)) return { key: character, isCharacter: true };
  return name === undefined ? undefined : { key: name, isCharacter: false };
}

/** The keysym of a row in force (X Window System Protocol, section 5; the third level as XKB puts it into the core row). */
function keysymIn(row: readonly number[], mask: number): number {
  const group = (mask >> 13) & 3;
  const [g1 = 0, g1s = 0, g2 = 0, g2s = 0, third = 0, thirdShift = 0] = row;
  const [plain, shifted] = group === 1 && (g2 || g2s) ? [g2, g2s] : [g1, g1s];
  const isShifted = (mask & SHIFT) !== 0;
  if ((mask & MOD5) !== 0 && third !== 0) return isShifted ? thirdShift || third : third;
  if (isKeypad(shifted) && (mask & MOD2) !== 0) return isShifted ? plain : shifted;
  const capital = shifted || plain;
  const isLetter = plain < 0x100 && /\p{Ll}/u.test(String.fromCodePoint(plain));
  const upper = isLetter && (mask & LOCK) !== 0 ? !isShifted : isShifted;
  return upper ? capital : plain;
}

/** The character of a keysym; undefined for a key that types none. */
async function characterOf(keysym: number): Promise<string | undefined> {
  if (keysym >= 0xffaa && keysym <= 0xffb9) return "*+,-./0123456789"[keysym - 0xffaa];
  if ((keysym >= 0x20 && keysym < 0x7f) || (keysym >= 0xa0 && keysym <= 0xff))
    return String.fromCodePoint(keysym);
  if (keysym >= 0x0100_0100 && keysym <= 0x0110_ffff) return String.fromCodePoint(keysym - 0x0100_0000);
  if (keysym < 0x100 || keysym >= 0xfd00) return undefined;
  return (await olderKeysyms()).get(keysym);
}

let older: Promise<ReadonlyMap<number, string>> | undefined;

/** The characters of keysyms from before Unicode, from the comments of X11/keysymdef.h. */
function olderKeysyms() {
  older ??= import("x11").then(({ keySyms }) => {
    const known = Object.values(keySyms).flatMap(({ code, description }) => {
      const [, character] = /^\((.)\)/u.exec(description ?? "") ?? [];
      return character === undefined ? [] : [[code, character] as const];
    });
    return new Map(known);
  });
  return older;
}
