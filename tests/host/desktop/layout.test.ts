import { describe, expect, test } from "bun:test";
import { keysymOf, keysymOfCharacter } from "../../../src/host/desktop/keys";
import { type KeyboardState, strokeOf } from "../../../src/host/desktop/x11/layout";

const [A, H, DIGIT, SHIFT, NUM_LOCK, KP_HOME] = [38, 43, 10, 50, 77, 79];
const sym = keysymOfCharacter;
const pair = (plain: string, shifted: string) => [sym(plain), sym(shifted)];

/** The American, the Greek and a third layout, whose keysyms the core protocol puts after the first two. */
const rows: Record<number, number[]> = {
  [DIGIT]: [...pair("1", "!"), ...pair("1", "!"), ...pair("1", "!")],
  [A]: [...pair("a", "A"), ...pair("α", "Α"), ...pair("а", "А")],
  [H]: [...pair("h", "H"), ...pair("h", "H"), ...pair("р", "Р")],
  [SHIFT]: [keysymOf("shift"), 0, keysymOf("shift"), 0],
  [NUM_LOCK]: [0xff7f, 0, 0xff7f, 0],
  [KP_HOME]: [0xff95, keysymOf("num7"), 0xff95, keysymOf("num7")],
};

function state({ group = 0, capsLock = false, numLock = false } = {}): KeyboardState {
  const locked = (capsLock ? 1 << 1 : 0) | (numLock ? 1 << 4 : 0);
  return {
    first: 8,
    rows: Array.from({ length: 248 }, (_, at) => rows[at + 8] ?? []),
    modifiers: [[SHIFT], [], [], [], [NUM_LOCK], [], [], []],
    mask: (group << 13) | locked,
  };
}

const stroke = (character: string, options?: Parameters<typeof state>[0]) =>
  strokeOf(state(options), sym(character));

test("a character is struck where the layout has it, with Shift where that has it", () => {
  expect(stroke("a")).toEqual({ keycode: A, shift: false });
  expect(stroke("A")).toEqual({ keycode: A, shift: true });
  expect(stroke("!")).toEqual({ keycode: DIGIT, shift: true });
  expect(stroke("é")).toBeUndefined();
});

test("Caps Lock turns Shift around for letters and for nothing else", () => {
  expect(stroke("a", { capsLock: true })).toEqual({ keycode: A, shift: true });
  expect(stroke("A", { capsLock: true })).toEqual({ keycode: A, shift: false });
  expect(stroke("!", { capsLock: true })).toEqual({ keycode: DIGIT, shift: true });
});

test("a digit of the keypad is struck under Num Lock only", () => {
  const num7 = keysymOf("num7");
  expect(strokeOf(state({ numLock: true }), num7)).toEqual({ keycode: KP_HOME, shift: false });
  expect(strokeOf(state(), num7)).toBeUndefined();
});

describe("with several layouts", () => {
  test("the second is used while it is in force", () => {
    expect(stroke("α", { group: 1 })).toEqual({ keycode: A, shift: false });
    expect(stroke("a", { group: 1 })).toBeUndefined();
    expect(stroke("α")).toBeUndefined();
  });

  test("in a third, only keys that are the same in all of them are trusted", () => {
    expect(stroke("1", { group: 2 })).toEqual({ keycode: DIGIT, shift: false });
    expect(stroke("h", { group: 2 })).toBeUndefined();
    expect(stroke("а", { group: 2 })).toBeUndefined();
  });
});
