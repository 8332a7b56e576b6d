/**
 * The keyboard of an X server, struck through the XTEST extension: keys by name, and any Unicode text.
 *
 * XTEST strikes keycodes, not characters. What the present layout types is struck where it lies on it; anything else is
 * lent a keycode first (`lending.ts`).
 */
import { unavailable } from "../../lib/errors";
import type { Stroke } from "../backend";
import { keysymOf, keysymOfCharacter } from "../keys";
import type { XConnection } from "./connection";
import { Lending } from "./keycode-remap";
import { findKeycode, isCapsLocked, type KeyboardState, strokeOf } from "./layout";

const SHIFT_KEYSYM = 0xffe1;
const CAPS_LOCK_KEYSYM = 0xffe5;

export class Keyboard {
  private readonly lending: Lending;
  /** What was pressed and not released: names of keys, and the keycodes that went down for them. */
  private readonly down = new Map<string, readonly number[]>();

  constructor(private readonly connection: XConnection) {
    this.lending = new Lending(connection);
  }

  /** @throws `bad_input` for a name that is no key; `unavailable` when no keycode is free for one not on the layout. */
  async strike(names: readonly string[], stroke: Stroke): Promise<void> {
    const keysyms = names.map(keysymOf);
    const { state, count } = await this.lending.lend(keysyms, this.busy());
    if (count < keysyms.length)
      throw unavailable("the keyboard layout has too few free keycodes for these keys");
    const keys = names.map((name) => ({
      name,
      keycodes: this.down.get(name) ?? this.keycodesFor(keysymOf(name), state),
    }));
    if (stroke !== "release") for (const { name, keycodes } of keys) this.press(name, keycodes);
    if (stroke !== "press") for (const { name, keycodes } of keys.toReversed()) this.release(name, keycodes);
    await this.struck();
  }

  async type(text: string): Promise<void> {
    // It makes capitals of lent letters too, and for those Shift is no remedy.
    const state = await this.lending.layout();
    const capsLock = isCapsLocked(state) ? findKeycode(state, CAPS_LOCK_KEYSYM) : undefined;
    if (capsLock) this.tap([capsLock.keycode]);
    try {
      await this.typeUnlocked(Array.from(text, keysymOfCharacter));
    } finally {
      if (capsLock) this.tap([capsLock.keycode]);
      await this.struck();
    }
  }

  /** Takes back what was lent, released first. */
  async close(): Promise<void> {
    for (const [name, keycodes] of this.down) {
      if (this.lending.keycodeOf(keysymOf(name)) !== undefined) this.release(name, keycodes);
    }
    await this.lending.takeBack();
  }

  private async typeUnlocked(keysyms: readonly number[]): Promise<void> {
    for (let at = 0; at < keysyms.length; ) {
      const { state, count } = await this.lending.lend(keysyms.slice(at), this.busy());
      for (const keysym of keysyms.slice(at, at + count)) this.tap(this.keycodesFor(keysym, state));
      await this.struck();
      at += count;
    }
  }

  private busy(): ReadonlySet<number> {
    return new Set([...this.down.values()].flat());
  }

  private keycodesFor(keysym: number, state: KeyboardState): number[] {
    const lent = this.lending.keycodeOf(keysym);
    if (lent !== undefined) return [lent];
    const found = strokeOf(state, keysym);
    const shift = found?.shift ? findKeycode(state, SHIFT_KEYSYM)?.keycode : undefined;
    if (!found) throw unavailable("the keyboard layout changed while it was being used");
    return shift === undefined ? [found.keycode] : [shift, found.keycode];
  }

  private tap(keycodes: readonly number[]): void {
    for (const keycode of keycodes) this.fake(keycode, "press");
    for (const keycode of keycodes.toReversed()) this.fake(keycode, "release");
  }

  private press(name: string, keycodes: readonly number[]): void {
    for (const keycode of keycodes) this.fake(keycode, "press");
    this.down.set(name, keycodes);
  }

  private release(name: string, keycodes: readonly number[]): void {
    for (const keycode of keycodes.toReversed()) this.fake(keycode, "release");
    this.down.delete(name);
  }

  private fake(keycode: number, stroke: "press" | "release"): void {
    const { test, screen } = this.connection;
    test.FakeInput(stroke === "press" ? test.KeyPress : test.KeyRelease, keycode, 0, screen.root, 0, 0);
  }

  private async struck(): Promise<void> {
    await this.connection.settled();
    this.lending.struck();
  }
}
