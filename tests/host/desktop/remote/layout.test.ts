/** What keyboard layouts type, as xkbcommon reads them. On Linux. */
import { CString, dlopen, ptr } from "bun:ffi";
import { expect } from "bun:test";
import { readLayout } from "../../../../src/host/desktop/remote/layout";
import { testWith } from "../../../support";

const test = testWith("/usr/share/X11/xkb/rules/evdev");
const TEXT_V1 = 1;
const cString = (text: string) => Buffer.from(`${text}\0`);

/** The keymap of layouts, as a compositor hands it out. */
function keymapOf(layouts: string): string {
  const { symbols: xkb } = dlopen("libxkbcommon.so.0", {
    xkb_context_new: { args: ["i32"], returns: "ptr" },
    xkb_keymap_new_from_names: { args: ["ptr", "ptr", "i32"], returns: "ptr" },
    xkb_keymap_get_as_string: { args: ["ptr", "i32"], returns: "ptr" },
  });
  const texts = ["evdev", "pc105", layouts, "", ""].map(cString);
  const names = new BigUint64Array(texts.map((text) => BigInt(ptr(text))));
  const keymap = xkb.xkb_keymap_new_from_names(xkb.xkb_context_new(0), ptr(names), 0);
  const text = keymap && xkb.xkb_keymap_get_as_string(keymap, TEXT_V1);
  if (!text) throw new Error(`there is no keymap of ${layouts}`);
  return new CString(text).toString();
}

/** Which of `characters` are typed. */
const typed = (layouts: string, lookedUp: "in use" | "first", characters: string) =>
  Array.from(characters).filter((one) =>
    readLayout(keymapOf(layouts), lookedUp).characters.has(one.codePointAt(0) ?? 0),
  );

test("one layout types what is on it without modifiers, with Shift, and on its third level", () => {
  expect(typed("de", "first", "aZöß€世")).toEqual(["a", "Z", "ö", "ß", "€"]);
  expect(typed("us", "in use", "aZö")).toEqual(["a", "Z"]);
});

test("of several layouts, what is on all of them; where the first counts, what has the same key on all of them", () => {
  expect(typed("us,de", "in use", "azö-1")).toEqual(["a", "z", "-", "1"]);
  expect(typed("us,de", "first", "azö-1")).toEqual(["a", "1"]);
});
