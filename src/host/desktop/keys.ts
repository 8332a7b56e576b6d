/**
 * The names of keys in actions, and the platforms' names for them.
 *
 * A single character names the key, or the keys, that type it; the other names are in the table.
 */
import { badInput } from "../../lib/errors";

interface Key {
  /** X11 keysym (X11/keysymdef.h). */
  readonly keysym: number;
  /** robotjs's name (key_names in its robotjs.cc); null where it has no such key. */
  readonly robot: string | null;
}

const key = (keysym: number, robot: string | null): Key => ({ keysym, robot });

const numbered = (count: number, entry: (n: number) => [name: string, Key]) =>
  Object.fromEntries(Array.from({ length: count }, (_, n) => entry(n)));

const KEYS: Readonly<Record<string, Key>> = {
  backspace: key(0xff08, "backspace"),
  tab: key(0xff09, "tab"),
  enter: key(0xff0d, "enter"),
  return: key(0xff0d, "enter"),
  shift: key(0xffe1, "shift"),
  ctrl: key(0xffe3, "control"),
  alt: key(0xffe9, "alt"),
  pause: key(0xff13, null),
  capslock: key(0xffe5, "capslock"),
  esc: key(0xff1b, "escape"),
  pageup: key(0xff55, "pageup"),
  pagedown: key(0xff56, "pagedown"),
  end: key(0xff57, "end"),
  home: key(0xff50, "home"),
  left: key(0xff51, "left"),
  up: key(0xff52, "up"),
  right: key(0xff53, "right"),
  down: key(0xff54, "down"),
  select: key(0xff60, null),
  print: key(0xff61, "printscreen"),
  insert: key(0xff63, "insert"),
  delete: key(0xffff, "delete"),
  help: key(0xff6a, null),
  win: key(0xffeb, "command"),
  apps: key(0xff67, "menu"),
  altgr: key(0xfe03, "right_alt"),
  numlock: key(0xff7f, null),
  scrolllock: key(0xff14, null),
  volumemute: key(0x1008_ff12, "audio_mute"),
  volumedown: key(0x1008_ff11, "audio_vol_down"),
  volumeup: key(0x1008_ff13, "audio_vol_up"),
  space: key(0x20, "space"),
  multiply: key(0xffaa, "numpad_*"),
  add: key(0xffab, "numpad_+"),
  subtract: key(0xffad, "numpad_-"),
  decimal: key(0xffae, "numpad_."),
  divide: key(0xffaf, "numpad_/"),
  ...numbered(10, (n) => [`num${n}`, key(0xffb0 + n, `numpad_${n}`)]),
  ...numbered(24, (n) => [`f${n + 1}`, key(0xffbe + n, `f${n + 1}`)]),
};

/** The names of the keys that are not a character. */
export const KEY_NAMES: readonly string[] = Object.keys(KEYS);

/** Whether `name` is a key: a name of the table, or one character that is not a control. */
export function isKey(name: string): boolean {
  return Object.hasOwn(KEYS, name) || /^[^\p{Cc}\p{Cs}]$/u.test(name);
}

/** Names that other programs have for keys (X11's keysyms, pyautogui, AutoHotkey, Playwright), without blanks and lines. */
const OTHER_NAMES: Readonly<Record<string, string>> = {
  ...{ escape: "esc", del: "delete", ins: "insert", bksp: "backspace", spacebar: "space", caps: "capslock" },
  ...{ super: "win", cmd: "win", command: "win", meta: "win", windows: "win", superl: "win", superr: "win" },
  ...{ metal: "win", metar: "win", winleft: "win", winright: "win", lwin: "win", rwin: "win" },
  ...{ control: "ctrl", controll: "ctrl", controlr: "ctrl", ctrlleft: "ctrl", ctrlright: "ctrl" },
  ...{ option: "alt", altl: "alt", altr: "alt", altleft: "alt", altright: "alt", shiftl: "shift" },
  ...{ shiftr: "shift", shiftleft: "shift", shiftright: "shift", isolevel3shift: "altgr", altgraph: "altgr" },
  ...{ pgup: "pageup", pgdn: "pagedown", pgdown: "pagedown", prior: "pageup", next: "pagedown" },
  ...{ arrowleft: "left", arrowup: "up", arrowright: "right", arrowdown: "down", kpenter: "enter" },
  ...{ printscreen: "print", prtsc: "print", prtscr: "print", prntscrn: "print", contextmenu: "apps" },
  ...{ menu: "apps", mute: "volumemute", audiomute: "volumemute", xf86audiomute: "volumemute" },
  ...{ audiovolumemute: "volumemute", audiovolumedown: "volumedown", audiovolumeup: "volumeup" },
  ...{ xf86audiolowervolume: "volumedown", xf86audioraisevolume: "volumeup" },
};

/**
 * The key that a person calls `name`: capitals, blanks and lines do not matter in a name (`Page_Down`), but in a character (`A`)
 * they do.
 *
 * @returns a name that {@link isKey}; else `name` in small letters.
 */
function keyNamed(name: string): string {
  if ([...name].length <= 1) return name;
  const small = name.toLowerCase();
  const plain = small.replaceAll(/[ _-]/g, "");
  return Object.hasOwn(OTHER_NAMES, plain) ? (OTHER_NAMES[plain] ?? small) : isKey(plain) ? plain : small;
}

/**
 * The keys that a person writes as `text`: one, or several with `+` between them (`ctrl+s`, `ctrl++`). With `+`, a capital is the
 * key and not its capital letter, as menus write it: `Ctrl+S` has no Shift.
 */
export function keysNamed(text: string): string[] {
  const parts = text.length > 2 ? text.split(/(?<=[^+])\+/) : [text];
  if (parts.length === 1) return [keyNamed(text)];
  return parts.map((part) => {
    const key = part.trim();
    return [...key].length === 1 ? key.toLowerCase() : keyNamed(key);
  });
}

/**
 * Whether keys can type `text`: no control characters except tab and line ends, which are keys, and no lone surrogate,
 * which is no character.
 */
export function isTypable(text: string): boolean {
  return /^[^\p{Cs}\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f]*$/u.test(text);
}

/** The keysym of a key that {@link isKey}. @throws a `bad_input` failure for any other. */
export function keysymOf(name: string): number {
  if (!isKey(name)) throw unknownKey(name);
  return KEYS[name]?.keysym ?? keysymOfCharacter(name);
}

/**
 * The keysym that types `character`: Latin-1 as it is, line feed and tab as the keys, any other by the rule of X11's
 * keysym encoding (X Window System Protocol, appendix A: 0x01000000 + code point).
 */
export function keysymOfCharacter(character: string): number {
  if (character === "\n") return 0xff0d;
  if (character === "\t") return 0xff09;
  const code = character.codePointAt(0) ?? 0;
  return code < 0x100 ? code : 0x0100_0000 + code;
}

/** The right keys of those that there are two of, and others that a keyboard has under another keysym. */
const OTHER_KEYSYMS: Readonly<Record<number, string>> = {
  ...{ 65506: "shift", 65508: "ctrl", 65514: "alt", 65516: "win", 65511: "win", 65512: "win" },
  ...{ 65421: "enter", 65056: "tab", 32: "space" },
};

/** The name of the key that has `keysym`, or the character that it types; undefined where it has neither. */
export function keyOfKeysym(keysym: number): string | undefined {
  const name = OTHER_KEYSYMS[keysym] ?? KEY_NAMES.find((key) => KEYS[key]?.keysym === keysym);
  if (name !== undefined) return name;
  const code = keysym >= 0x0100_0000 ? keysym - 0x0100_0000 : keysym;
  if (code > 0x10_ffff || (keysym < 0x0100_0000 && keysym > 0xff)) return undefined;
  const character = String.fromCodePoint(code);
  return isKey(character) ? character : undefined;
}

/** robotjs's name for a key that {@link isKey}; null where it has none. */
export function robotKeyOf(name: string): string | null {
  if (!isKey(name)) throw unknownKey(name);
  const known = KEYS[name];
  if (known) return known.robot;
  return /^[!-~]$/.test(name) ? name : null;
}

const unknownKey = (name: string) => badInput(`expected the name of a key but found ${JSON.stringify(name)}`);
