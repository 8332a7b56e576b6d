/**
 * The operations of the keyboard.
 */
import * as v from "valibot";
import type { Caller } from "../../../core/caller";
import { field, flag, judged } from "../../../core/fields";
import { DEFAULT_PACE_S } from "../../../core/run";
import { nearest } from "../../../lib/nearest";
import type { Requester } from "../../../lib/slots";
import type { Stroke } from "../backend";
import type { Desktop } from "../desktop";
import { giveFocusBack, isHolding } from "../focus-hold";
import { isKey, isTypable, KEY_NAMES, keysNamed } from "../keys";
import { inputOperation } from "./input-operation";

const done = () => null;

/** What may be meant by `value`, which is no key: of several with `+` between them, each that is none has the name that is nearest. */
function meantKeys(value: string): readonly string[] {
  const keys = keysNamed(value);
  if (keys.length === 1) return KEY_NAMES;
  const near = keys.map((key) => (isKey(key) ? key : (nearest(key, KEY_NAMES) ?? key)));
  return near.every(isKey) ? [near.join("+")] : [];
}

const KEY = v.pipe(
  v.string(),
  v.rawCheck(({ dataset: { value, typed }, addIssue }) => {
    if (!typed || keysNamed(value).every(isKey)) return;
    const expected = meantKeys(value)
      .map((name) => JSON.stringify(name))
      .join(" | ");
    addIssue({ message: "one character, or the name of a key such as enter, esc, left or f5", expected });
  }),
);
const KEYS = v.pipe(v.array(KEY), v.minLength(1), v.maxLength(16));
const TEXT = v.pipe(
  v.string(),
  v.maxLength(20_000),
  v.check(isTypable, "text without control characters other than tab and line feed"),
);

/**
 * Keys go to the window that has the focus: they wait until a click before them has given it to the one that it was meant for, and the
 * one that the script holds has it again.
 */
async function beforeKeys(desktop: Desktop, requester: Requester, { run }: Caller): Promise<void> {
  await desktop.pointerRests(run?.pace ?? DEFAULT_PACE_S, requester);
  await giveFocusBack(desktop, requester, run);
}

/** What is pressed as `Shift` is released as `shift`. */
async function strike(
  desktop: Desktop,
  keys: readonly string[],
  stroke: Stroke,
  requester: Requester,
  caller: Caller,
) {
  if (stroke !== "release") await beforeKeys(desktop, requester, caller);
  return desktop.strike(keys.flatMap(keysNamed), stroke, requester).then(done);
}

function keyOperation(verb: string, summary: string, stroke: Stroke) {
  return inputOperation(verb, {
    summary,
    input: v.strictObject({
      keycode: field(
        KEY,
        "The key: one character, or a name such as enter, ctrl, f5 or num0; or several, such as ctrl+s",
      ),
      is_shift: flag("Use Shift together with the key"),
    }),
    output: v.null(),
    perform: (desktop, { keycode, is_shift }, requester, caller) =>
      strike(desktop, is_shift ? ["shift", keycode] : [keycode], stroke, requester, caller),
  });
}

export const typeKey = keyOperation("type_keyboard", "Press and release a key", "tap");
export const pressKey = keyOperation("press_keyboard_key", "Press a key and hold it", "press");
export const releaseKey = keyOperation("release_keyboard_key", "Release a key", "release");

export const hotkey = inputOperation("hotkey", {
  summary: "Press keys one after the other and release them in reverse order",
  example: { key_code_list: ["ctrl", "s"] },
  input: v.strictObject({
    key_code_list: field(KEYS, 'The keys in order, such as ["ctrl", "s"]'),
  }),
  output: v.null(),
  perform: (desktop, { key_code_list }, requester, caller) =>
    strike(desktop, key_code_list, "tap", requester, caller),
});

/** Characters that are typed before somebody looks whether the held window still has the focus. */
const PIECE = 24;

/** A text in pieces of {@link PIECE}, none of which ends within a character. */
function piecesOf(text: string): string[] {
  const characters = [...new Intl.Segmenter().segment(text)].map(({ segment }) => segment);
  const count = Math.ceil(characters.length / PIECE);
  return Array.from({ length: count }, (_, nth) => characters.slice(nth * PIECE, (nth + 1) * PIECE).join(""));
}

export const writeText = inputOperation("write", {
  summary: "Type text into the window that has the focus",
  example: { write_string: "Grüße" },
  input: v.strictObject({
    write_string: field(judged(TEXT), "Any Unicode text; a tab and a line feed are the keys Tab and Enter"),
  }),
  output: v.null(),
  async perform(desktop, { write_string }, requester, caller) {
    for (const piece of isHolding(desktop, caller.run) ? piecesOf(write_string) : [write_string]) {
      await beforeKeys(desktop, requester, caller);
      await desktop.type(piece, requester);
    }
    return null;
  },
});
