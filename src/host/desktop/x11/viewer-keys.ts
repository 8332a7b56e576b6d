/**
 * The keys of a viewer of the live screen on an X keyboard: keysyms first, so that what a person reads on their own key is
 * typed, whatever layout either side has.
 */
import { isCharacter, isKeysym } from "../keysyms";
import type { KeyStroke } from "../screen/child/watch";
import type { KeycodeRemap } from "./keycode-remap";
import { characterOf, findKeycode, type KeyboardState, strokeOf } from "./layout";

/** Keysyms (X11/keysymdef.h). */
const SHIFTS = new Set([0xffe1, 0xffe2]);
/** Control, Meta, Alt, Super and Hyper of both sides: with them, a letter is a command. */
const COMMANDS = new Set([0xffe3, 0xffe4, 0xffe7, 0xffe8, 0xffe9, 0xffea, 0xffeb, 0xffec, 0xffed, 0xffee]);
/** ISO_Level3_Shift and Mode_switch: what they select on the viewer's keyboard, the keysym says already. */
const LEVELS = new Set([0xfe03, 0xff7e]);
const isModifier = (keysym: number) =>
  (keysym >= 0xffe1 && keysym <= 0xffee) || (keysym >= 0xfe01 && keysym <= 0xfe13) || keysym === 0xff7e;
/** After these, keys mean something else: Caps Lock, Shift Lock, Num Lock, Scroll Lock, and groups. */
const isLock = (keysym: number) =>
  [0xffe5, 0xffe6, 0xff7f, 0xff14].includes(keysym) || (keysym >= 0xfe01 && keysym <= 0xfe13);
const isLetter = (keysym: number) => /^\p{L}$/u.test(characterOf(keysym));

/** Latin-1 has keysyms of its own, and those only (X Window System Protocol, appendix A). */
function standardOf(keysym: number): number {
  const code = keysym - 0x0100_0000;
  return code >= 0x20 && code < 0x100 ? code : keysym;
}

/** What strikes keycodes. */
interface Keys {
  readonly remap: KeycodeRemap;
  /** Keycodes that are down for others. */
  readonly busy: () => Iterable<number>;
  readonly press: (keycodes: readonly number[]) => void;
  readonly release: (keycodes: readonly number[]) => void;
  readonly settled: () => Promise<void>;
}

export function createViewerKeys({ remap, busy, press, release, settled }: Keys) {
  /** The keycode that went down for each keysym that viewers hold. */
  const held = new Map<number, number>();
  const heldOf = (keysyms: ReadonlySet<number>) =>
    [...held].flatMap(([keysym, keycode]) => (keysyms.has(keysym) ? [keycode] : []));

  const lift = (keysym: number) => {
    const keycode = held.get(keysym);
    if (keycode === undefined) return;
    held.delete(keysym);
    if (![...held.values()].includes(keycode)) release([keycode]);
  };
  const hold = (keysym: number, keycode: number) => {
    // The same key with and without Shift: it cannot go down twice.
    for (const [other, its] of held) if (its === keycode) lift(other);
    press([keycode]);
    held.set(keysym, keycode);
  };

  const strike = (keysym: number, state: KeyboardState) => {
    if (isModifier(keysym)) {
      const found = findKeycode(state, keysym);
      if (found) hold(keysym, found.keycode);
      return;
    }
    const found = strokeOf(state, keysym);
    const mapped = remap.keycodeOf(keysym);
    if (!found && mapped !== undefined) {
      // A keycode that is lent for one character may be another's the next time.
      if (!isCharacter(keysym)) return hold(keysym, mapped);
      press([mapped]);
      release([mapped]);
      return;
    }
    if (!found) return;
    if (!isCharacter(keysym)) return hold(keysym, found.keycode);
    const shifts = heldOf(SHIFTS);
    const isCommand = heldOf(COMMANDS).length > 0 && isLetter(keysym);
    const isWrong = found.shift !== shifts.length > 0 && !isCommand;
    const up = [...heldOf(LEVELS), ...(isWrong && !found.shift ? shifts : [])];
    const shift = isWrong && found.shift ? findKeycode(state, 0xffe1)?.keycode : undefined;
    const down = shift === undefined ? [] : [shift];
    release(up);
    press(down);
    hold(keysym, found.keycode);
    release(down);
    press(up);
  };

  return {
    down: () => held.values(),
    async strike(strokes: readonly KeyStroke[]) {
      const all = strokes
        .map(({ keysym, down }) => ({ keysym: standardOf(keysym), down }))
        .filter(({ keysym }) => isKeysym(keysym));
      for (let at = 0; at < all.length; ) at += await some(all.slice(at));
    },
  };

  /** The first of `strokes`, as many as go with the layout as it is. @returns how many. */
  async function some(strokes: readonly KeyStroke[]): Promise<number> {
    const presses = strokes.filter(({ down }) => down);
    let state: KeyboardState | undefined;
    let possible = 0;
    if (presses.length > 0) {
      const wanted = presses.map(({ keysym }) => keysym).filter((keysym) => !isModifier(keysym));
      // Where no keycode is free, what is on the layout can be struck, and all can be released.
      const mapped = await remap
        .map(wanted, new Set([...busy(), ...held.values()]))
        .catch(async () => ({ state: await remap.layout(), count: wanted.length }));
      state = mapped.state;
      possible = mapped.count;
    }
    let done = 0;
    for (const { keysym, down } of strokes) {
      if (down && !isModifier(keysym) && possible-- <= 0) break;
      if (!down) lift(keysym);
      else if (state) strike(keysym, state);
      done++;
      if (isLock(keysym)) break;
    }
    await settled().catch(() => {});
    return done;
  }
}
