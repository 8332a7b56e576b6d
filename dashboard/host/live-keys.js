/**
 * Keys for the screen of a host: those that a browser keeps for itself, text that is typed for a person, and what an input
 * method or the keyboard of a phone composes.
 */
import { button, el } from "../dom.js";

/** Keysyms of X (keysymdef.h). */
const KEYS = {
  Ctrl: 0xffe3,
  Alt: 0xffe9,
  Shift: 0xffe1,
  Super: 0xffeb,
  AltGr: 0xfe03,
  Esc: 0xff1b,
  Tab: 0xff09,
  Del: 0xffff,
  Insert: 0xff63,
  Home: 0xff50,
  End: 0xff57,
  PageUp: 0xff55,
  PageDown: 0xff56,
  Left: 0xff51,
  Up: 0xff52,
  Right: 0xff53,
  Down: 0xff54,
  Print: 0xff61,
  Menu: 0xff67,
};
const F1 = 0xffbe;
const BACKSPACE = 0xff08;
const ENTER = 0xff0d;

/** @typedef {(keysym: number, isDown: boolean) => void} Send */

/** @type {Array<[string, number[]]>} */
const COMBINATIONS = [
  ["Ctrl+Alt+Del", [KEYS.Ctrl, KEYS.Alt, KEYS.Del]],
  ["Alt+Tab", [KEYS.Alt, KEYS.Tab]],
  ["Alt+F4", [KEYS.Alt, F1 + 3]],
  ["Super", [KEYS.Super]],
];

const HELD = /** @type {const} */ (["Ctrl", "Alt", "Shift", "Super", "AltGr"]);

const SINGLE = /** @type {const} */ ([
  "Esc",
  "Tab",
  "Del",
  "Insert",
  "Home",
  "End",
  "PageUp",
  "PageDown",
  "Left",
  "Up",
  "Down",
  "Right",
  "Print",
  "Menu",
]);

/**
 * The keysym of a character: of Latin-1 its own number, of others that of Unicode (RFC 6143 section 7.5.4).
 *
 * @param {string} character
 */
export function keysymOf(character) {
  const point = character.codePointAt(0) ?? 0;
  if (character === "\n" || character === "\r") return ENTER;
  if (character === "\t") return KEYS.Tab;
  if ((point >= 0x20 && point <= 0x7e) || (point >= 0xa0 && point <= 0xff)) return point;
  return 0x01000000 + point;
}

/**
 * Presses keys in their order and lets them go in reverse.
 *
 * @param {Send} send
 * @param {readonly number[]} keysyms
 */
function press(send, keysyms) {
  for (const keysym of keysyms) send(keysym, true);
  for (const keysym of keysyms.toReversed()) send(keysym, false);
}

/** Characters that are typed at once, and milliseconds until the next. */
const BATCH = 16;
const BATCH_MS = 20;

/**
 * Types `text`, slowly enough that a program which reads keys keeps up.
 *
 * @param {Send} send
 * @param {string} text
 * @param {AbortSignal} signal
 */
export async function typeText(send, text, signal) {
  const characters = [...text.replaceAll("\r\n", "\n")];
  for (let at = 0; at < characters.length && !signal.aborted; at += BATCH) {
    for (const character of characters.slice(at, at + BATCH)) press(send, [keysymOf(character)]);
    await new Promise((resolve) => setTimeout(resolve, BATCH_MS));
  }
}

/**
 * Buttons for keys that a browser or a phone keeps for itself. A modifier stays down until it is pressed again.
 *
 * @param {Send} send
 */
export function keyButtons(send) {
  /** @type {Map<number, HTMLButtonElement>} */
  const held = new Map();
  const set = (
    /** @type {number} */ keysym,
    /** @type {HTMLButtonElement} */ made,
    isDown = !held.has(keysym),
  ) => {
    if (isDown) held.set(keysym, made);
    else held.delete(keysym);
    made.setAttribute("aria-pressed", String(isDown));
    send(keysym, isDown);
  };
  const modifiers = HELD.map((name) => {
    const made = button(name, () => set(KEYS[name], made), { "aria-pressed": "false" });
    return made;
  });
  const keys = [
    ...COMBINATIONS,
    ...SINGLE.map((name) => /** @type {[string, number[]]} */ ([name, [KEYS[name]]])),
    ...Array.from({ length: 12 }, (_, at) => /** @type {[string, number[]]} */ ([`F${at + 1}`, [F1 + at]])),
  ];
  const root = el(
    "div",
    { class: "live-keys", role: "group", "aria-label": "Keys" },
    el("span", { class: "hint" }, "Hold"),
    ...modifiers,
    el("span", { class: "hint" }, "Press"),
    ...keys.map(([name, keysyms]) => button(name, () => press(send, keysyms))),
  );
  return {
    root,
    /** Lets all modifiers go. */
    release() {
      for (const [keysym, made] of held) set(keysym, made, false);
    },
  };
}

/** What stands in the field before each input, so that deleting is one, too. */
const PADDING = "_".repeat(16);

/**
 * The field that has the focus while a person types: noVNC gets the keys of it, and what an input method or a phone composes
 * arrives here as text.
 *
 * @param {() => HTMLCanvasElement | null} canvas of noVNC
 * @param {Send} send
 */
export function keyboardField(canvas, send) {
  const field = el("textarea", {
    class: "live-field",
    "aria-label": "Keyboard of the host",
    autocapitalize: "off",
    autocomplete: "off",
    autocorrect: "off",
    spellcheck: "false",
    tabindex: -1,
  });
  const clear = () => {
    field.value = PADDING;
    field.setSelectionRange(PADDING.length, PADDING.length);
  };
  const take = () => {
    let kept = 0;
    while (kept < PADDING.length && field.value[kept] === PADDING[kept]) kept += 1;
    for (let gone = kept; gone < PADDING.length; gone += 1) press(send, [BACKSPACE]);
    for (const character of field.value.slice(kept)) press(send, [keysymOf(character)]);
    clear();
  };
  const pass = (/** @type {KeyboardEvent} */ event) => {
    // What is being composed is no key of its own.
    if (event.isComposing || event.key === "Process" || event.key === "Unidentified") return;
    const same = new KeyboardEvent(event.type, event);
    canvas()?.dispatchEvent(same);
    if (same.defaultPrevented) event.preventDefault();
  };
  clear();
  field.addEventListener("keydown", pass);
  field.addEventListener("keyup", pass);
  field.addEventListener("focus", clear);
  field.addEventListener("input", (event) => {
    if (!(event instanceof InputEvent && event.isComposing)) take();
  });
  field.addEventListener("compositionend", take);
  // noVNC lets keys go when the window loses the focus; here it is the field.
  field.addEventListener("blur", () => dispatchEvent(new Event("blur")));
  return field;
}
