/**
 * The keyboard of an X server, through the XTEST extension: keys by name, and any Unicode text.
 *
 * XTEST strikes keycodes, not characters. A keysym on the present layout is struck at its keycode; any other is mapped to
 * a free keycode first (`keycode-remap.ts`).
 */
import { unavailable } from "../../../lib/errors";
import { createQueue } from "../../../lib/queue";
import type { Backend } from "../backend";
import { keysymOf, keysymOfCharacter } from "../keys";
import type { KeyStroke } from "../screen/child/watch";
import type { XConnection } from "./connection";
import { KeycodeRemap } from "./keycode-remap";
import { findKeycode, isCapsLocked, type KeyboardState, strokeOf } from "./layout";
import { createViewerKeys } from "./viewer-keys";

const SHIFT_KEYSYM = 0xffe1;
const CAPS_LOCK_KEYSYM = 0xffe5;

/** The keyboard. Its calls are made one at a time: between two requests the layout is neither the old one nor the new one. */
interface Keyboard extends Pick<Backend, "strike" | "type"> {
  /** Strikes the keys of a viewer. */
  keys(strokes: readonly KeyStroke[]): Promise<void>;
  /** Puts the layout back as it was; keys at keycodes that were mapped are released first. */
  restore(): Promise<void>;
}

export function createKeyboard(connection: XConnection): Keyboard {
  const { test, screen } = connection;
  const remap = new KeycodeRemap(connection);
  /** What was pressed and not released: names of keys, and the keycodes that went down for them. */
  const down = new Map<string, readonly number[]>();

  const busy = () => new Set([...[...down.values()].flat(), ...viewerKeys.down()]);
  const fake = (type: number, keycode: number) => test.FakeInput(type, keycode, 0, screen.root, 0, 0);
  const press = (keycodes: readonly number[]) => {
    for (const keycode of keycodes) fake(test.KeyPress, keycode);
  };
  const release = (keycodes: readonly number[]) => {
    for (const keycode of keycodes.toReversed()) fake(test.KeyRelease, keycode);
  };
  const tap = (keycodes: readonly number[]) => {
    press(keycodes);
    release(keycodes);
  };
  const releaseKey = (name: string, keycodes: readonly number[]) => {
    release(keycodes);
    down.delete(name);
  };
  const settled = async () => {
    await connection.settled();
    remap.used();
  };

  const keycodesFor = (keysym: number, state: KeyboardState) => {
    const mapped = remap.keycodeOf(keysym);
    if (mapped !== undefined) return [mapped];
    const found = strokeOf(state, keysym);
    if (!found) throw unavailable("the keyboard layout changed while it was being used");
    const shift = found.shift ? findKeycode(state, SHIFT_KEYSYM)?.keycode : undefined;
    return shift === undefined ? [found.keycode] : [shift, found.keycode];
  };

  const typeUnlocked = async (keysyms: readonly number[]) => {
    for (let at = 0; at < keysyms.length; ) {
      const { state, count } = await remap.map(keysyms.slice(at), busy());
      for (const keysym of keysyms.slice(at, at + count)) tap(keycodesFor(keysym, state));
      await settled();
      at += count;
    }
  };

  const viewerKeys = createViewerKeys({
    remap,
    busy: () => [...down.values()].flat(),
    press,
    release,
    settled,
  });
  const inTurn = createQueue();

  const keyboard: Pick<Backend, "strike" | "type"> = {
    async strike(names, stroke) {
      const keysyms = names.map(keysymOf);
      const { state, count } = await remap.map(keysyms, busy());
      if (count < keysyms.length) {
        throw unavailable("the keyboard layout has too few free keycodes for these keys");
      }
      const keys = names.map((name) => ({
        name,
        keycodes: down.get(name) ?? keycodesFor(keysymOf(name), state),
      }));
      if (stroke !== "release") {
        for (const { name, keycodes } of keys) {
          press(keycodes);
          down.set(name, keycodes);
        }
      }
      if (stroke !== "press") for (const { name, keycodes } of keys.toReversed()) releaseKey(name, keycodes);
      await settled();
    },
    async type(text) {
      // Caps Lock makes capitals of mapped letters too, and Shift does not undo that.
      const state = await remap.layout();
      const capsLock = isCapsLocked(state) ? findKeycode(state, CAPS_LOCK_KEYSYM) : undefined;
      if (capsLock) tap([capsLock.keycode]);
      try {
        await typeUnlocked(Array.from(text, keysymOfCharacter));
      } finally {
        if (capsLock) tap([capsLock.keycode]);
        await settled();
      }
    },
  };
  return {
    strike: (names, stroke) => inTurn(() => keyboard.strike(names, stroke)),
    type: (text) => inTurn(() => keyboard.type(text)),
    keys: (strokes) => inTurn(() => viewerKeys.strike(strokes)),
    restore: () =>
      inTurn(async () => {
        for (const [name, keycodes] of down) {
          if (remap.keycodeOf(keysymOf(name)) !== undefined) releaseKey(name, keycodes);
        }
        await remap.restore();
      }),
  };
}
