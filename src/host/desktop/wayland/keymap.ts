/**
 * A keymap of svc's own, as xkbcommon reads it: the keys of a US keyboard at their usual codes, and free codes that get any character.
 *
 * A compositor sends it to the program that has the focus before the keys that are struck after it, so changing it costs no wait.
 */

/** The code of the kernel is this much less than that of X (`xkb_keycodes`). */
const X_OFFSET = 8;
const LAST_CODE = 255 - X_OFFSET;

/** Characters at codes of `linux/input-event-codes.h` that follow each other, without and with Shift. */
const ROWS: ReadonlyArray<readonly [first: number, plain: string, shifted: string]> = [
  [2, "1234567890-=", "!@#$%^&*()_+"],
  [16, "qwertyuiop[]", "QWERTYUIOP{}"],
  [30, "asdfghjkl;'`", 'ASDFGHJKL:"~'],
  [43, "\\zxcvbnm,./", "|ZXCVBNM<>?"],
  [57, " ", " "],
];

/** Keysyms (X11/keysymdef.h) at codes that follow each other. */
const NAMED: ReadonlyArray<readonly [first: number, keysyms: readonly number[]]> = [
  [1, [0xff1b]],
  [14, [0xff08, 0xff09]],
  [28, [0xff0d, 0xffe3]],
  [42, [0xffe1]],
  [54, [0xffe2, 0xffaa, 0xffe9]],
  [58, [0xffe5, ...from(0xffbe, 10), 0xff7f, 0xff14]],
  [
    71,
    [0xffb7, 0xffb8, 0xffb9, 0xffad, 0xffb4, 0xffb5, 0xffb6, 0xffab, 0xffb1, 0xffb2, 0xffb3, 0xffb0, 0xffae],
  ],
  [87, [0xffc8, 0xffc9]],
  [97, [0xffe4, 0xffaf, 0xff61, 0xfe03]],
  [102, [0xff50, 0xff52, 0xff55, 0xff51, 0xff53, 0xff57, 0xff54, 0xff56, 0xff63, 0xffff]],
  [113, [0x1008_ff12, 0x1008_ff11, 0x1008_ff13]],
  [119, [0xff13]],
  [125, [0xffeb, 0xffec, 0xff67]],
  [183, from(0xffca, 12)],
];

/** The first of the codes that characters are lent; those of the table are left out. */
const FIRST_LENT = 128;

/** The modifiers of X by their bits (X11/X.h), and the keysyms of their keys. */
const MODIFIERS: ReadonlyArray<readonly [name: string, bit: number, keysyms: readonly number[]]> = [
  ["Shift", 1, [0xffe1, 0xffe2]],
  ["Lock", 2, [0xffe5]],
  ["Control", 4, [0xffe3, 0xffe4]],
  ["Mod1", 8, [0xffe9]],
  ["Mod2", 16, [0xff7f]],
  ["Mod4", 64, [0xffeb, 0xffec]],
  ["Mod5", 128, [0xfe03]],
];

/** The bit of Shift. */
export const SHIFT = 1;

/** Which key types a keysym, and whether with Shift. */
export interface Place {
  readonly code: number;
  readonly shift: boolean;
}

function from(first: number, count: number): number[] {
  return Array.from({ length: count }, (_, nth) => first + nth);
}

/** The bit of the modifier that a key is; 0 for other keys. */
export const modifierOf = (keysym: number): number =>
  MODIFIERS.find(([, , keysyms]) => keysyms.includes(keysym))?.[1] ?? 0;

/** Whether the modifier stays on when its key goes up: Caps Lock, Num Lock. */
export const isLock = (keysym: number): boolean => keysym === 0xffe5 || keysym === 0xff7f;

/** The keymap, and what is on it. */
export class Keymap {
  readonly #fixed = new Map<number, Place>();
  /** The keysym that each code was lent, the longest unused first; and the other way round. */
  readonly #lent = new Map<number, number>();
  readonly #lentTo = new Map<number, number>();
  readonly #codes: readonly number[];

  constructor() {
    for (const [first, keysyms] of NAMED)
      for (const [nth, keysym] of keysyms.entries())
        this.#fixed.set(keysym, { code: first + nth, shift: false });
    for (const [first, plain, shifted] of ROWS) {
      for (const [nth, character] of [...plain].entries()) {
        // Space is the same with Shift.
        this.#fixed.set(shifted.charCodeAt(nth), { code: first + nth, shift: true });
        this.#fixed.set(character.charCodeAt(0), { code: first + nth, shift: false });
      }
    }
    const used = new Set([...this.#fixed.values()].map(({ code }) => code));
    this.#codes = from(FIRST_LENT, LAST_CODE - FIRST_LENT + 1).filter((code) => !used.has(code));
  }

  /** Undefined for a keysym that is not on it. */
  placeOf(keysym: number): Place | undefined {
    const fixed = this.#fixed.get(keysym);
    if (fixed) return fixed;
    const code = this.#lentTo.get(keysym);
    return code === undefined ? undefined : { code, shift: false };
  }

  /**
   * Puts as many of the keysyms on it as there is room for.
   *
   * @param busy codes that stay as they are. @returns how many, from the first, and whether it is another keymap now.
   */
  add(
    keysyms: readonly number[],
    busy: ReadonlySet<number>,
  ): { readonly count: number; readonly isNew: boolean } {
    const kept = new Set(busy);
    let isNew = false;
    for (const [count, keysym] of keysyms.entries()) {
      const place = this.placeOf(keysym);
      const code = place?.code ?? this.#freeCode(kept);
      if (code === undefined) return { count, isNew };
      kept.add(code);
      if (this.#fixed.has(keysym)) continue;
      isNew ||= !place;
      const before = this.#lent.get(code);
      if (before !== undefined) this.#lentTo.delete(before);
      this.#lent.delete(code);
      this.#lent.set(code, keysym);
      this.#lentTo.set(keysym, code);
    }
    return { count: keysyms.length, isNew };
  }

  #freeCode(kept: ReadonlySet<number>): number | undefined {
    const unused = this.#codes.find((code) => !this.#lent.has(code) && !kept.has(code));
    return unused ?? this.#lent.keys().find((code) => !kept.has(code));
  }

  /** The text that xkbcommon compiles (XKB_KEYMAP_FORMAT_TEXT_V1). */
  text(): string {
    const levels = new Map<number, number[]>();
    for (const [keysym, { code, shift }] of this.#fixed) {
      const its = levels.get(code) ?? [];
      its[shift ? 1 : 0] = keysym;
      levels.set(code, its);
    }
    for (const [code, keysym] of this.#lent) levels.set(code, [keysym]);
    const nameOf = (code: number) => `<K${code + X_OFFSET}>`;
    const codes = [...levels.keys()].map((code) => `${nameOf(code)} = ${code + X_OFFSET};`);
    const keys = [...levels].map(
      ([code, its]) =>
        `key ${nameOf(code)} { [ ${its.map((keysym) => `0x${keysym.toString(16)}`).join(", ")} ] };`,
    );
    const modifiers = MODIFIERS.map(([name, , keysyms]) => {
      const names = keysyms
        .flatMap((keysym) => this.#fixed.get(keysym) ?? [])
        .map(({ code }) => nameOf(code));
      return `modifier_map ${name} { ${names.join(", ")} };`;
    });
    return `xkb_keymap {
xkb_keycodes "svc" { minimum = ${X_OFFSET}; maximum = 255; ${codes.join(" ")} };
xkb_types "svc" { include "complete" };
xkb_compatibility "svc" { include "complete" };
xkb_symbols "svc" { ${keys.join("\n")} ${modifiers.join(" ")} };
};
`;
  }
}
