/**
 * What the keyboard layout of a session can type: the compositor looks a keysym up there, and leaves out what it does not find.
 *
 * It hands its keymap to every client that asks for a keyboard; the host's xkbcommon, which Mutter and KWin themselves are made of, reads it.
 */
import { dlopen, ptr, read } from "bun:ffi";
import { closeSync, readSync } from "node:fs";
import { messageOf, unavailable } from "../../../lib/errors";
import type { WaylandConnection } from "../wayland/connection";
import type { Seat } from "../wayland/seat";

const LIBRARY = "libxkbcommon.so.0";
/** `XKB_KEYMAP_FORMAT_TEXT_V1` */
const TEXT_V1 = 1;
/** The largest keymap, in bytes: the usual ones have some 60,000. */
const MAX_KEYMAP = 4 * 1_048_576;
/** Levels that Mutter and KWin press modifiers for: none, Shift, and the third-level one. */
const REACHED_LEVELS = 3;
/** How many keysyms a key may have on one level. */
const MAX_SYMS = 16;

const open = () =>
  dlopen(LIBRARY, {
    xkb_context_new: { args: ["i32"], returns: "ptr" },
    xkb_context_unref: { args: ["ptr"], returns: "void" },
    xkb_keymap_new_from_string: { args: ["ptr", "ptr", "i32", "i32"], returns: "ptr" },
    xkb_keymap_unref: { args: ["ptr"], returns: "void" },
    xkb_keymap_min_keycode: { args: ["ptr"], returns: "u32" },
    xkb_keymap_max_keycode: { args: ["ptr"], returns: "u32" },
    xkb_keymap_num_layouts: { args: ["ptr"], returns: "u32" },
    xkb_keymap_num_levels_for_key: { args: ["ptr", "u32", "u32"], returns: "u32" },
    xkb_keymap_key_get_syms_by_level: { args: ["ptr", "u32", "u32", "u32", "ptr"], returns: "i32" },
    xkb_keysym_to_utf32: { args: ["u32"], returns: "u32" },
  }).symbols;

/** What can be typed. */
export interface Layout {
  readonly keysyms: ReadonlySet<number>;
  /** The keysym that types a character, by its code. */
  readonly characters: ReadonlyMap<number, number>;
}

/** In which of several groups the compositor looks a keysym up: Mutter in the one that is on; the portal of KDE in the first, whichever is on. */
export type LookedUp = "in use" | "first";

/** The layout of the session now. */
export interface KeyboardLayout {
  /** @throws `unavailable` where the compositor does not tell it. */
  now(): Promise<Layout>;
}

/** @param seat has a keyboard already. */
export function followLayout(connection: WaylandConnection, seat: Seat, lookedUp: LookedUp): KeyboardLayout {
  let text: string | undefined;
  let layout: Layout | undefined;
  let problem = "it sent no keymap";
  seat.object.make("get_keyboard").on({
    keymap(_format, descriptor, size) {
      layout = undefined;
      try {
        text = textOf(descriptor, size);
      } catch (error) {
        problem = messageOf(error);
      } finally {
        closeSync(descriptor);
      }
    },
  });
  return {
    async now() {
      await connection.roundTrip();
      if (text === undefined)
        throw unavailable(`the keyboard layout of the session is not known: ${problem}`);
      layout ??= readLayout(text, lookedUp);
      return layout;
    },
  };
}

/** The keymap is a text that ends with a null. */
function textOf(descriptor: number, size: number): string {
  if (size > MAX_KEYMAP) throw new RangeError(`the keymap has ${size} bytes`);
  const bytes = Buffer.alloc(size);
  let at = 0;
  for (let got = -1; at < size && got !== 0; at += got) got = readSync(descriptor, bytes, at, size - at, at);
  return bytes.toString("utf8", 0, at).replace(/\0.*$/s, "");
}

/**
 * What a keymap types whichever of its groups is on: which one is, a compositor tells the program that has the focus alone.
 *
 * @throws `unavailable` where the host has no xkbcommon, or it does not understand the text.
 */
export function readLayout(text: string, lookedUp: LookedUp): Layout {
  const xkb = openLibrary();
  const context = xkb.xkb_context_new(0);
  const bytes = Buffer.from(`${text}\0`);
  const keymap = context && xkb.xkb_keymap_new_from_string(context, ptr(bytes), TEXT_V1, 0);
  if (!keymap) throw unavailable(`${LIBRARY} does not understand the keymap of the session`);
  try {
    const groups = Array.from({ length: xkb.xkb_keymap_num_layouts(keymap) }, (_, group) =>
      reachedIn(xkb, keymap, group),
    );
    const [first = new Map<number, string>(), ...others] = groups;
    const isIn = (other: ReadonlyMap<number, string>, keysym: number, place: string) =>
      lookedUp === "in use" ? other.has(keysym) : other.get(keysym) === place;
    const typed = [...first].filter(([keysym, place]) => others.every((other) => isIn(other, keysym, place)));
    const keysyms = new Set(typed.map(([keysym]) => keysym));
    const characters = new Map<number, number>();
    for (const keysym of keysyms) {
      const code = xkb.xkb_keysym_to_utf32(keysym);
      // Of the digits on a keyboard and those on its pad, those on the keyboard count.
      if (code >= 0x20 && (keysym < 0xff00 || keysym > 0xffff) && !characters.has(code))
        characters.set(code, keysym);
    }
    return { keysyms, characters };
  } finally {
    xkb.xkb_keymap_unref(keymap);
    xkb.xkb_context_unref(context);
  }
}

function openLibrary(): ReturnType<typeof open> {
  try {
    return open();
  } catch {
    throw unavailable(`keys need ${LIBRARY} (Debian: libxkbcommon0)`);
  }
}

/** The keysyms that are found in a group at a level that modifiers are pressed for, each with its key and level: the first key that has it is taken. */
function reachedIn(
  xkb: ReturnType<typeof open>,
  keymap: NonNullable<ReturnType<ReturnType<typeof open>["xkb_keymap_new_from_string"]>>,
  group: number,
): ReadonlyMap<number, string> {
  const first = new Map<number, { readonly key: number; readonly level: number }>();
  const place = new BigUint64Array(1);
  const last = xkb.xkb_keymap_max_keycode(keymap);
  for (let key = xkb.xkb_keymap_min_keycode(keymap); key <= last; key++) {
    const levels = xkb.xkb_keymap_num_levels_for_key(keymap, key, group);
    for (let level = 0; level < levels; level++) {
      const count = xkb.xkb_keymap_key_get_syms_by_level(keymap, key, group, level, ptr(place));
      for (let nth = 0; nth < Math.min(count, MAX_SYMS); nth++) {
        const keysym = read.u32(Number(place[0]) as Parameters<typeof read.u32>[0], 4 * nth);
        if (!first.has(keysym)) first.set(keysym, { key, level });
      }
    }
  }
  const reached = [...first].filter(([, { level }]) => level < REACHED_LEVELS);
  return new Map(reached.map(([keysym, { key, level }]) => [keysym, `${key} ${level}`]));
}
