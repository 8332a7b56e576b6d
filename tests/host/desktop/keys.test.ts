import { expect, test } from "bun:test";
import fc from "fast-check";
import {
  isKey,
  isTypable,
  KEY_NAMES,
  keysNamed,
  keysymOf,
  keysymOfCharacter,
  robotKeyOf,
} from "../../../src/host/desktop/keys";

test("every name that existing scripts use is a key", () => {
  const names = [
    ..."abcdefghijklmnopqrstuvwxyz0123456789",
    ..."backspace tab enter return shift ctrl alt pause capslock esc pageup pagedown end home".split(" "),
    ..."left up right down select print insert delete help win apps space".split(" "),
    ..."multiply add subtract decimal divide".split(" "),
    ...Array.from({ length: 10 }, (_, nth) => `num${nth}`),
    ...Array.from({ length: 24 }, (_, nth) => `f${nth + 1}`),
  ];
  expect(names.filter((name) => !isKey(name))).toEqual([]);
});

test("one character is a key; other words, controls and halves of surrogate pairs are not", () => {
  expect(["ä", "中", "😀", "!", " "].filter((name) => !isKey(name))).toEqual([]);
  const odd = [
    "",
    "ab",
    "Enter",
    "f25",
    "num10",
    "\n",
    "\u0000",
    "\u009f",
    "\ud800",
    "toString",
    "__proto__",
  ];
  expect(odd.filter(isKey)).toEqual([]);
  expect(() => keysymOf("nope")).toThrow('expected the name of a key but found "nope"');
});

test("each key has its own keysym, except enter and return", () => {
  const keysyms = KEY_NAMES.filter((name) => name !== "return").map(keysymOf);
  expect(new Set(keysyms).size).toBe(keysyms.length);
});

test("a character's keysym follows the rule of the X protocol", () => {
  expect(["a", "ÿ", "Ā", "€", "😀"].map(keysymOfCharacter)).toEqual([
    0x61, 0xff, 0x0100_0100, 0x0100_20ac, 0x0101_f600,
  ]);
  expect(["\n", "\t"].map(keysymOfCharacter)).toEqual([keysymOf("enter"), keysymOf("tab")]);
});

test("a key may have the name that another program has for it", () => {
  const names = "escape Esc DEL super cmd Control Control_L Page_Down PgDn page-up altgr ArrowLeft Return";
  const found = "esc esc delete win win ctrl ctrl pagedown pagedown pageup altgr left return";
  expect(names.split(" ").map(keysNamed)).toEqual(found.split(" ").map((name) => [name]));
  expect(["XF86AudioMute", "AudioVolumeUp", "volume_down"].flatMap(keysNamed)).toEqual([
    ...["volumemute", "volumeup", "volumedown"],
  ]);
  expect(keysNamed("constructor").filter(isKey)).toEqual([]);
});

test("keys may stand in one text with plus signs between them; capitals in it need no Shift", () => {
  expect(keysNamed("ctrl+s")).toEqual(["ctrl", "s"]);
  expect(keysNamed("Ctrl + Shift + S")).toEqual(["ctrl", "shift", "s"]);
  expect(keysNamed("ctrl++")).toEqual(["ctrl", "+"]);
  expect(keysNamed("cmd+pgdn")).toEqual(["win", "pagedown"]);
  expect(["+", "S"].flatMap(keysNamed)).toEqual(["+", "S"]);
  expect(["ctrl+", "+s", "ctrl+entr", "++"].filter((text) => keysNamed(text).every(isKey))).toEqual([]);
});

test("macOS and Windows have every named key but five", () => {
  expect(KEY_NAMES.filter((name) => robotKeyOf(name) === null)).toEqual([
    ...["pause", "select", "help", "numlock", "scrolllock"],
  ]);
  expect(robotKeyOf("é")).toBeNull();
});

test("text is typable unless it has control characters or halves of surrogate pairs", () => {
  fc.assert(fc.property(fc.string({ unit: "grapheme" }), (text) => isTypable(text)));
  expect(isTypable("a\tb\r\nc")).toBe(true);
  expect(["\u0000", "\u001b[31m", "\u007f", "\u0085", "\ud83d", "\ude00x"].filter(isTypable)).toEqual([]);
});
