/**
 * The keyboard of a Wayland compositor, through a virtual one (virtual-keyboard) with a keymap of its own: keys by name, and any
 * Unicode text.
 */
import { closeSync } from "node:fs";
import { unavailable } from "../../../lib/errors";
import { once } from "../../../lib/once";
import type { Backend } from "../backend";
import { keysymOf, keysymOfCharacter } from "../keys";
import { isCharacter, isKeysym } from "../keysyms";
import type { KeyStroke } from "../screen/child/watch";
import { createMemory } from "../shared-memory";
import type { WaylandConnection } from "./connection";
import { isLock, Keymap, modifierOf, SHIFT } from "./keymap";
import type { WaylandObject } from "./objects";
import { eventTime, type Seat } from "./seat";

const MANAGER = "zwp_virtual_keyboard_manager_v1";
/** `wl_keyboard.keymap_format.xkb_v1` */
const XKB = 1;
/** Control, Alt and Super: with them, a letter is a command, whatever Shift says. */
const COMMANDS = 4 | 8 | 64;
const key = (on: Device, code: number, isDown: boolean) => on.ask("key", eventTime(), code, isDown ? 1 : 0);

type Device = WaylandObject<"zwp_virtual_keyboard_v1">;

/** A keyboard of a backend. */
export type Keyboard = Pick<Backend, "strike" | "type" | "keys"> & {
  /** Releases all keys that are down. */
  lift(): Promise<void>;
};

export function createKeyboard(connection: WaylandConnection, seat: () => Promise<Seat>): Keyboard {
  const keymap = new Keymap();
  const device = once(async () => {
    const manager = connection.bind(MANAGER);
    if (!manager) throw connection.lacks(MANAGER, "keys cannot be struck");
    const opened = await seat();
    return opened.adding("keyboard", () => {
      const made = manager.make("create_virtual_keyboard", opened.object.id);
      sendKeymap(made, keymap);
      return made;
    });
  });
  /** The code that is down for each keysym. */
  const held = new Map<number, number>();
  let locked = 0;
  let said = 0;

  const modifiers = () =>
    [...held.keys()].reduce((bits, keysym) => bits | (isLock(keysym) ? 0 : modifierOf(keysym)), 0);
  /** Tells programs which modifiers are on: they do not follow the keys of a virtual keyboard. */
  const say = (on: Device, bits: number, lock = locked) => {
    if (said === (bits | (lock << 8))) return;
    said = bits | (lock << 8);
    on.ask("modifiers", bits, 0, lock, 0);
  };
  const prepare = async (keysyms: readonly number[]) => {
    const on = await device();
    const { count, isNew } = keymap.add(keysyms, new Set(held.values()));
    if (isNew) sendKeymap(on, keymap);
    return { on, count };
  };
  const press = (on: Device, keysym: number) => {
    const code = keymap.placeOf(keysym)?.code;
    if (code === undefined || held.has(keysym)) return;
    held.set(keysym, code);
    if (isLock(keysym)) locked ^= modifierOf(keysym);
    key(on, code, true);
    say(on, modifiers());
  };
  const release = (on: Device, keysym: number) => {
    const code = held.get(keysym);
    if (code === undefined) return;
    held.delete(keysym);
    if (![...held.values()].includes(code)) key(on, code, false);
    say(on, modifiers());
  };
  /** The keys that have to be down for `keysym`, it last. */
  const chord = (keysym: number) => (keymap.placeOf(keysym)?.shift ? [SHIFT_KEYSYM, keysym] : [keysym]);

  const viewerKey = (on: Device, { keysym, down }: KeyStroke) => {
    if (!down) return release(on, keysym);
    const place = keymap.placeOf(keysym);
    if (!place || !isCharacter(keysym) || modifiers() & COMMANDS) return press(on, keysym);
    // What a person reads on their own key is typed, whatever Shift says of the one here.
    say(on, place.shift ? modifiers() | SHIFT : modifiers() & ~SHIFT, 0);
    key(on, place.code, true);
    key(on, place.code, false);
    say(on, modifiers());
  };

  return {
    async strike(names, stroke) {
      const keysyms = names.map(keysymOf);
      const { on, count } = await prepare(keysyms);
      if (count < keysyms.length) throw unavailable("these are more keys at once than a keyboard has");
      const all = keysyms.flatMap(chord);
      if (stroke !== "release") for (const keysym of all) press(on, keysym);
      if (stroke !== "press") for (const keysym of all.toReversed()) release(on, keysym);
      await connection.roundTrip();
    },
    async type(text) {
      const keysyms = Array.from(text, keysymOfCharacter);
      for (let at = 0; at < keysyms.length; ) {
        const { on, count } = await prepare(keysyms.slice(at));
        if (count === 0) throw unavailable("too many keys are down");
        for (const keysym of keysyms.slice(at, at + count)) {
          const place = keymap.placeOf(keysym);
          if (!place) continue;
          // Caps Lock would make other letters.
          say(on, place.shift ? modifiers() | SHIFT : modifiers(), 0);
          key(on, place.code, true);
          key(on, place.code, false);
        }
        say(on, modifiers());
        await connection.roundTrip();
        at += count;
      }
    },
    async keys(strokes) {
      const known = strokes.filter(({ keysym }) => isKeysym(keysym));
      for (let at = 0; at < known.length; ) {
        const { on, count } = await prepare(known.slice(at).map(({ keysym }) => keysym));
        for (const stroke of known.slice(at, at + Math.max(1, count))) viewerKey(on, stroke);
        await connection.roundTrip();
        at += Math.max(1, count);
      }
    },
    async lift() {
      if (held.size === 0) return;
      const on = await device();
      for (const keysym of [...held.keys()].toReversed()) release(on, keysym);
      await connection.roundTrip();
    },
  };
}

const SHIFT_KEYSYM = 0xffe1;

function sendKeymap(on: Device, keymap: Keymap): void {
  const text = Buffer.from(`${keymap.text()}\0`);
  const memory = createMemory(text.length);
  if (!memory) throw unavailable("there is no memory for a keymap");
  memory.bytes.set(text);
  on.ask("keymap", XKB, memory.fd, text.length);
  closeSync(memory.fd);
}
