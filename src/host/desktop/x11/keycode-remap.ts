/**
 * Free keycodes, mapped for a while to keysyms that are not on the layout.
 *
 * The program that has the focus looks a keysym up when it comes to read the event, so a keycode keeps its keysym for a
 * while after the last stroke. The server announces every change to every program on the display, and a window manager
 * may take 50 ms to process one: as many keycodes as possible are changed at once.
 */
import { unavailable } from "../../../lib/errors";
import type { XConnection } from "./connection";
import { type KeyboardState, strokeOf } from "./layout";

/** How long a keycode keeps its keysym after it was last struck, in milliseconds. */
const SETTLE_MS = 400;
/** The lowest keysym that is a Unicode character beyond Latin-1 (X Window System Protocol, appendix A). */
const FIRST_UNICODE_KEYSYM = 0x0100_0100;
/** Columns of a row that get the keysym: both groups and both shift states type the same. */
const COLUMNS = 4;

type Rows = readonly (readonly number[])[];

export class KeycodeRemap {
  /** Keycodes by the keysym they are mapped to, the longest mapped first. */
  private readonly mapped = new Map<number, number>();
  private lastUse = 0;
  /** The layout and its modifiers as the server has them; undefined once it has said that they are others. */
  private keys: Promise<[mapping: Rows, modifiers: Rows]> | undefined;

  constructor(private readonly connection: XConnection) {
    connection.client.on("event", ({ name }) => {
      if (name === "MappingNotify") this.keys = undefined;
    });
  }

  keycodeOf(keysym: number): number | undefined {
    return this.mapped.get(keysym);
  }

  /** To be called after strokes: from now on their readers get {@link SETTLE_MS}. */
  used(): void {
    this.lastUse = performance.now();
  }

  /** The layout as it is now, without what is mapped here. */
  async layout(): Promise<KeyboardState> {
    return (await this.read()).state;
  }

  /**
   * Makes the first `count` of `keysyms` typable at the same time.
   *
   * @param busy keycodes that are down.
   * @throws an `unavailable` failure when not even the first can be.
   */
  async map(keysyms: readonly number[], busy: ReadonlySet<number>) {
    const { state, mapping, free } = await this.read();
    const available = [...this.mapped].filter(([, keycode]) => !busy.has(keycode));
    const room = free.length + available.length;
    const wanted = new Set<number>();
    let count = 0;
    for (const keysym of keysyms) {
      const isBusy = busy.has(this.mapped.get(keysym) ?? 0);
      const missing = strokeOf(state, keysym) === undefined && !wanted.has(keysym) && !isBusy;
      if (missing && wanted.size === room) break;
      if (missing) wanted.add(keysym);
      count++;
    }
    if (count === 0 && keysyms.length > 0) {
      throw unavailable("the keyboard layout has no free keycode for a character that is not on it");
    }
    const added = [...wanted].filter((keysym) => !this.mapped.has(keysym));
    if (added.length === 0) return { state, count };
    if (added.length > free.length) await this.readersCaughtUp();
    const idle = available.filter(([keysym]) => !wanted.has(keysym));
    const places = [...free.map((keycode) => [undefined, keycode] as const), ...idle];
    const changes = new Map<number, number>();
    added.forEach((keysym, nth) => {
      const [old, keycode = 0] = places[nth] ?? [];
      if (old !== undefined) this.mapped.delete(old);
      changes.set(keycode, keysym);
      this.mapped.set(keysym, keycode);
    });
    await this.assign(changes, state, mapping);
    return { state, count };
  }

  /** Unmaps all keycodes, once the readers have had their time. */
  async restore(): Promise<void> {
    if (this.mapped.size === 0) return;
    await this.readersCaughtUp();
    const { state, mapping } = await this.read();
    await this.assign(new Map([...this.mapped.values()].map((keycode) => [keycode, 0])), state, mapping);
    this.mapped.clear();
  }

  /** Gives keycodes new keysyms. One request writes a run of rows, as long as those between can be rewritten unchanged. */
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
    await Bun.sleep(Math.max(0, this.lastUse + SETTLE_MS - performance.now()));
  }

  /** The layout without the keycodes that are mapped here, all rows as they are, and keycodes without any use. */
  private async read() {
    const { display, screen, need } = this.connection;
    const first = display.min_keycode;
    this.readKeys().catch(() => {});
    // With this answer, the server has reported all changes of the layout before it.
    const { keyMask } = await need.QueryPointer(screen.root);
    const [mapping, modifiers] = await this.readKeys();
    this.compare(mapping, first);
    const mapped = new Set(this.mapped.values());
    const used = new Set([...modifiers.flat(), ...mapped]);
    const free = mapping.flatMap((row, index) =>
      row.every((keysym) => keysym === 0) && !used.has(first + index) ? [first + index] : [],
    );
    const rows = mapping.map((row, index) => (mapped.has(first + index) ? [] : row));
    const state: KeyboardState = { first, rows, modifiers, mask: keyMask };
    return { state, mapping, free };
  }

  private readKeys(): Promise<[mapping: Rows, modifiers: Rows]> {
    if (this.keys) return this.keys;
    const { display, need } = this.connection;
    const { min_keycode: first, max_keycode: last } = display;
    const keys: Promise<[Rows, Rows]> = Promise.all([
      need.GetKeyboardMapping(first, last - first + 1),
      need.GetModifierMapping(),
    ]);
    keys.catch(() => {
      if (this.keys === keys) this.keys = undefined;
    });
    this.keys = keys;
    return keys;
  }

  /** Forgets keycodes that another program has mapped again, and adopts those that a killed child has left. */
  private compare(mapping: Rows, first: number): void {
    for (const [keysym, keycode] of this.mapped) {
      if (mapping[keycode - first]?.[0] !== keysym) this.mapped.delete(keysym);
    }
    mapping.forEach((row, index) => {
      const [keysym = 0] = row;
      if (!looksMapped(row) || this.mapped.has(keysym)) return;
      this.mapped.set(keysym, first + index);
      this.used();
    });
  }
}

/** Whether a row looks like one that svc mapped. No layout has such: one character in both cases and both groups. */
function looksMapped([keysym = 0, ...others]: readonly number[]): boolean {
  return keysym >= FIRST_UNICODE_KEYSYM && others.slice(0, COLUMNS - 1).every((other) => other === keysym);
}

/** Whether a row can be written again without loss: one keysym and no levels, or one that svc mapped. */
function isPlain(row: readonly number[]): boolean {
  const [keysym = 0, shifted = 0, second = 0, ...others] = row;
  const single = shifted === 0 && (second === keysym || second === 0) && others.every((other) => other === 0);
  return single || looksMapped(row);
}

/** The first and last of each run of `keycodes`; those between two of a run all satisfy `mayRewrite`. */
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
