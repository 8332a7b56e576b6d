/**
 * Keycodes that type nothing, lent to keysyms that are not on the layout.
 *
 * Whoever has the focus looks a keysym up when it comes to read the event, so a lent keycode keeps its keysym for a
 * while after the last stroke. Every change is told to every program on the display, and a window manager may take 50 ms
 * to digest one: as many keycodes as possible are changed at once.
 */
import type { PointerReply, Reply } from "x11";
import { unavailable } from "../../lib/errors";
import type { XConnection } from "./connection";
import { type KeyboardState, strokeOf } from "./layout";

/** How long a lent keycode keeps its keysym after it was last struck, in milliseconds. */
const SETTLE_MS = 400;
/** The lowest keysym that is a Unicode character beyond Latin-1 (X Window System Protocol, appendix A). */
const FIRST_UNICODE_KEYSYM = 0x0100_0100;
/** Columns of a row that are given the lent keysym: both groups and both shift states type the same. */
const COLUMNS = 4;

type Rows = readonly (readonly number[])[];

interface Reading {
  /** The layout without what is lent. */
  readonly state: KeyboardState;
  readonly mapping: Rows;
  /** Keycodes that type nothing and modify nothing. */
  readonly free: readonly number[];
}

export class Lending {
  /** Lent keycodes by the keysym they have now, the longest lent first. */
  private readonly lent = new Map<number, number>();
  private lastStroke = 0;

  constructor(private readonly connection: XConnection) {}

  keycodeOf(keysym: number): number | undefined {
    return this.lent.get(keysym);
  }

  /** To be called after strokes: nothing is taken from their reader too early. */
  struck(): void {
    this.lastStroke = performance.now();
  }

  /** The layout as it is now, without what is lent. */
  async layout(): Promise<KeyboardState> {
    return (await this.read()).state;
  }

  /**
   * Makes the first `count` of `keysyms` typable at the same time.
   *
   * @param busy keycodes that are down.
   * @throws an `unavailable` failure when not even the first can be.
   */
  async lend(
    keysyms: readonly number[],
    busy: ReadonlySet<number>,
  ): Promise<{ state: KeyboardState; count: number }> {
    const { state, mapping, free } = await this.read();
    const available = [...this.lent].filter(([, keycode]) => !busy.has(keycode));
    const room = free.length + available.length;
    const wanted = new Set<number>();
    let count = 0;
    for (const keysym of keysyms) {
      const isBusy = busy.has(this.lent.get(keysym) ?? 0);
      const missing = strokeOf(state, keysym) === undefined && !wanted.has(keysym) && !isBusy;
      if (missing && wanted.size === room) break;
      if (missing) wanted.add(keysym);
      count++;
    }
    if (count === 0 && keysyms.length > 0) {
      throw unavailable("the keyboard layout has no free keycode for a character that is not on it");
    }
    const idle = available.filter(([keysym]) => !wanted.has(keysym));
    await this.lendTo(
      [...wanted].filter((keysym) => !this.lent.has(keysym)),
      { free, idle, mapping, state },
    );
    return { state, count };
  }

  /** Takes everything back, once its readers have had time. */
  async takeBack(): Promise<void> {
    if (this.lent.size === 0) return;
    await this.readersCaughtUp();
    const { state, mapping } = await this.read();
    await this.assign(new Map([...this.lent.values()].map((keycode) => [keycode, 0])), state, mapping);
    this.lent.clear();
  }

  private async lendTo(
    keysyms: readonly number[],
    { free, idle, mapping, state }: Reading & { readonly idle: readonly (readonly [number, number])[] },
  ): Promise<void> {
    if (keysyms.length === 0) return;
    if (keysyms.length > free.length) await this.readersCaughtUp();
    const places = [...free.map((keycode) => [undefined, keycode] as const), ...idle];
    const changes = new Map<number, number>();
    keysyms.forEach((keysym, nth) => {
      const [old, keycode = 0] = places[nth] ?? [];
      if (old !== undefined) this.lent.delete(old);
      changes.set(keycode, keysym);
      this.lent.set(keysym, keycode);
    });
    await this.assign(changes, state, mapping);
  }

  /** Gives keycodes new keysyms, in as few requests as there are runs of rows that may be written again as they are. */
  private async assign(
    changes: ReadonlyMap<number, number>,
    { first, modifiers }: KeyboardState,
    mapping: Rows,
  ): Promise<void> {
    const fixed = new Set(modifiers.flat());
    const rowAt = (keycode: number) => mapping[keycode - first] ?? [];
    const mayRewrite = (keycode: number) =>
      changes.has(keycode) || (!fixed.has(keycode) && isPlain(rowAt(keycode)));
    for (const [from, to] of runsOf([...changes.keys()], mayRewrite)) {
      const keycodes = Array.from({ length: to - from + 1 }, (_, nth) => from + nth);
      const keysyms = keycodes.flatMap((keycode) => {
        const keysym = changes.get(keycode);
        return Array.from({ length: COLUMNS }, (_, column) => keysym ?? rowAt(keycode)[column] ?? 0);
      });
      this.connection.client.ChangeKeyboardMapping(from, COLUMNS, keysyms);
    }
    await this.connection.settled();
  }

  private async readersCaughtUp(): Promise<void> {
    await Bun.sleep(Math.max(0, this.lastStroke + SETTLE_MS - performance.now()));
  }

  private async read(): Promise<Reading> {
    const { client, display, screen, need } = this.connection;
    const first = display.min_keycode;
    const [mapping, modifiers, { keyMask }] = await Promise.all([
      need((reply: Reply<number[][]>) =>
        client.GetKeyboardMapping(first, display.max_keycode - first + 1, reply),
      ),
      need((reply: Reply<number[][]>) => client.GetModifierMapping(reply)),
      need((reply: Reply<PointerReply>) => client.QueryPointer(screen.root, reply)),
    ]);
    this.compareLent(mapping, first);
    const lent = new Set(this.lent.values());
    const used = new Set([...modifiers.flat(), ...lent]);
    const free = mapping.flatMap((row, index) =>
      row.every((keysym) => keysym === 0) && !used.has(first + index) ? [first + index] : [],
    );
    const rows = mapping.map((row, index) => (lent.has(first + index) ? [] : row));
    return { state: { first, rows, modifiers, mask: keyMask }, mapping, free };
  }

  /** Forgets what somebody else has mapped anew, and takes over what a child that was killed has left. */
  private compareLent(mapping: Rows, first: number): void {
    for (const [keysym, keycode] of this.lent) {
      if (mapping[keycode - first]?.[0] !== keysym) this.lent.delete(keysym);
    }
    mapping.forEach((row, index) => {
      const [keysym = 0] = row;
      if (!looksLent(row) || this.lent.has(keysym)) return;
      this.lent.set(keysym, first + index);
      this.struck();
    });
  }
}

/** As a lent row looks. No layout has such: a character in both cases and both groups. */
function looksLent([keysym = 0, ...others]: readonly number[]): boolean {
  return keysym >= FIRST_UNICODE_KEYSYM && others.slice(0, COLUMNS - 1).every((other) => other === keysym);
}

/** Whether a row can be written again without losing anything: one keysym and no levels, or a lent one. */
function isPlain(row: readonly number[]): boolean {
  const [keysym = 0, shifted = 0, second = 0, ...others] = row;
  const single = shifted === 0 && (second === keysym || second === 0) && others.every((other) => other === 0);
  return single || looksLent(row);
}

/** The first and last of each run of `keycodes` between which there are only such that satisfy `mayRewrite`. */
function runsOf(
  keycodes: readonly number[],
  mayRewrite: (keycode: number) => boolean,
): Array<[number, number]> {
  const runs: Array<[number, number]> = [];
  for (const keycode of keycodes.toSorted((a, b) => a - b)) {
    const last = runs.at(-1);
    const between = last ? Array.from({ length: keycode - last[1] - 1 }, (_, nth) => last[1] + 1 + nth) : [];
    if (last && between.every(mayRewrite)) last[1] = keycode;
    else runs.push([keycode, keycode]);
  }
  return runs;
}
