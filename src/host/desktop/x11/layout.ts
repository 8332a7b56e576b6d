/**
 * Where a keysym lies on a keyboard layout (X Window System Protocol, section 5, Keyboards): pure functions.
 */

/** The layout and what is locked now. */
export interface KeyboardState {
  /** The lowest keycode; `rows[0]` is its row. */
  readonly first: number;
  /** Keysyms of each keycode: two of the first group, without and with Shift, two of the second, … */
  readonly rows: readonly (readonly number[])[];
  /** Keycodes of the eight modifiers, Shift first. */
  readonly modifiers: readonly (readonly number[])[];
  /** The modifier state, as QueryPointer gives it; bits 13 and 14 are the group (XKB protocol, section 2.2). */
  readonly mask: number;
}

const LOCK_MASK = 1 << 1;
const NUM_LOCK_KEYSYM = 0xff7f;

/** The keycode that has `keysym` in the group in force, and whether Shift's column has it. */
export function findKeycode(
  { first, rows, mask }: KeyboardState,
  keysym: number,
): { keycode: number; shifted: boolean } | undefined {
  const group = (mask >> 13) & 3;
  for (const shifted of [false, true]) {
    const index = rows.findIndex((row) => keysymIn(row, group, shifted) === keysym);
    if (index >= 0) return { keycode: first + index, shifted };
  }
  return undefined;
}

/**
 * What a key types in `group`. A row without a second group has its first there (X Window System Protocol, section 5).
 * The place of the third and fourth depends on how many levels the others have, so those are known only of a row that
 * has the same in all groups.
 */
function keysymIn(row: readonly number[], group: number, shifted: boolean): number | undefined {
  const [plain = 0, capital = 0, second = 0, secondCapital = 0] = row;
  const alike = row.every((keysym, column) => keysym === 0 || keysym === row[column % 2]);
  if (group === 0 || alike) return shifted ? capital : plain;
  if (group > 1) return undefined;
  if (second === 0 && secondCapital === 0) return shifted ? capital : plain;
  return shifted ? secondCapital : second;
}

export const isCapsLocked = ({ mask }: KeyboardState) => (mask & LOCK_MASK) !== 0;

/**
 * The keycode to strike for `keysym`, and whether Shift must be down, given what is locked. Undefined when the keysym is
 * not on the layout, or is on the keypad and needs Num Lock changed: Shift does not do that on every layout.
 */
export function strokeOf(
  state: KeyboardState,
  keysym: number,
): { keycode: number; shift: boolean } | undefined {
  const found = findKeycode(state, keysym);
  if (!found) return undefined;
  const { keycode, shifted } = found;
  if (isKeypad(keysym)) return shifted === isNumLocked(state) ? { keycode, shift: false } : undefined;
  const capital = isLetter(rowOf(state, keycode)) && isCapsLocked(state);
  return { keycode, shift: shifted !== capital };
}

/** Caps Lock acts on the keys of letters: those whose two keysyms are one letter in both cases. */
function isLetter([plain = 0, shifted = 0]: readonly number[]): boolean {
  const [lower, upper] = [characterOf(plain), characterOf(shifted)];
  return lower !== upper && lower.toUpperCase() === upper;
}

/** The character of a keysym (X Window System Protocol, appendix A); empty for a key with a name. */
export function characterOf(keysym: number): string {
  if (keysym >= 0x0100_0000 && keysym <= 0x0110_ffff) return String.fromCodePoint(keysym - 0x0100_0000);
  return keysym < 0x100 ? String.fromCodePoint(keysym) : "";
}

/** Whether it is of the keypad: XK_KP_Space to XK_KP_9 (X11/keysymdef.h). */
export const isKeypad = (keysym: number): boolean => keysym >= 0xff80 && keysym <= 0xffb9;

function isNumLocked(state: KeyboardState): boolean {
  const index = state.modifiers.findIndex((keycodes) =>
    keycodes.some((keycode) => rowOf(state, keycode).includes(NUM_LOCK_KEYSYM)),
  );
  return index >= 0 && (state.mask & (1 << index)) !== 0;
}

const rowOf = ({ first, rows }: KeyboardState, keycode: number) => rows[keycode - first] ?? [];
