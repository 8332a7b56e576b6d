import * as v from "valibot";
import { field, secret } from "../../core/fields";
import { operation } from "../../core/operation";
import type { Service } from "../../service";
import type { Stroke } from "../backend";
import { isKey, isTypable, KEY_NAMES } from "../keys";
import { DONE } from "./fields";

/** The most characters that one action writes, and the most keys in one hotkey. */
const MAX_WRITTEN = 20_000;
const MAX_HOTKEY = 16;

const KEY = v.pipe(v.string(), v.check(isKey, `one character, or one of ${KEY_NAMES.join(" ")}`));

export const typeKeyboard = keyOperation("type_keyboard", "Press and release a key", "tap");
export const pressKey = keyOperation("press_keyboard_key", "Press a key and leave it down", "press");
export const releaseKey = keyOperation("release_keyboard_key", "Release a key", "release");

function keyOperation(verb: string, summary: string, stroke: Stroke) {
  return operation({
    name: `desktop.${verb}`,
    summary,
    scope: "operate",
    changes: true,
    uses: "input",
    command: `AC_${verb}`,
    input: v.strictObject({
      keycode: field(KEY, "The key: one character, or a name such as enter, ctrl, f5 or num0"),
      is_shift: field(v.optional(v.boolean(), false), "Shift goes with it"),
    }),
    output: DONE,
    async run(service: Service, { keycode, is_shift }, { signal }) {
      const keys = is_shift ? ["shift", keycode] : [keycode];
      await (await service.desktop()).strike(keys, stroke, signal);
      return null;
    },
  });
}

export const hotkey = operation({
  name: "desktop.hotkey",
  summary: "Press keys one after the other and release them in reverse",
  scope: "operate",
  changes: true,
  uses: "input",
  command: "AC_hotkey",
  example: { key_code_list: ["ctrl", "s"] },
  input: v.strictObject({
    key_code_list: field(
      v.pipe(v.array(KEY), v.minLength(1), v.maxLength(MAX_HOTKEY)),
      'The keys in order, such as ["ctrl", "s"]',
    ),
  }),
  output: DONE,
  async run(service: Service, { key_code_list }, { signal }) {
    await (await service.desktop()).strike(key_code_list, "tap", signal);
    return null;
  },
});

export const writeText = operation({
  name: "desktop.write",
  summary: "Type a text into the window that has the focus",
  scope: "operate",
  changes: true,
  uses: "input",
  command: "AC_write",
  example: { write_string: "Grüße" },
  input: v.strictObject({
    write_string: field(
      secret(
        v.pipe(
          v.string(),
          v.maxLength(MAX_WRITTEN),
          v.check(isTypable, "text without control characters other than tab and line feed"),
        ),
      ),
      "Any Unicode text; a tab and a line feed are the keys Tab and Enter",
    ),
  }),
  output: DONE,
  async run(service: Service, { write_string }, { signal }) {
    await (await service.desktop()).type(write_string, signal);
    return null;
  },
});

export const operations = [typeKeyboard, pressKey, releaseKey, hotkey, writeText];
