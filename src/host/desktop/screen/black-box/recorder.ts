/**
 * The recorder of the black box, in the desktop's child process: a viewer that keeps what changes on the screen.
 *
 * Promise: it looks at most twice a second and takes at most some hundredths of a processor; nothing happens while nothing changes, but for a
 * sign of life three times a minute. What it has taken is on disk within five seconds.
 */
import { steadyClock } from "../../../../lib/clock";
import { resolvesWithin } from "../../../../lib/deadline";
import { messageOf } from "../../../../lib/errors";
import type { Rect } from "../../geometry";
import { around, type Parts, WHOLE } from "../child/parts";
import type { Looker, Screen } from "../child/screen";
import type { BoxOptions, BoxState } from "./calls";
import { areasEntry, type BoxedWindow } from "./entries";
import type { Notice } from "./notice";
import { addParts, areasOf, blacken, createCopier, groupsOf, type TiledFrame } from "./pixels";
import type { TextReader } from "./texts";
import type { Veil, Veils } from "./veil";
import { type BoxWriter, createWriter, HOLD_MS } from "./writer";

/** What it needs of the screen that viewers share. */
export type BoxedScreen = Pick<Screen, "add" | "remove" | "refresh"> & {
  /** The pixels of now. Another one when the size has changed. */
  readonly frame: TiledFrame;
};

/** The time between two looks: where they are quick, and where all of the screen changes, in milliseconds. */
const [LEAST_MS, MOST_MS] = [500, 1_000];
/** After a look, it rests as many times as long as that took. */
const REST = 40;
/** How long it records before it tells so, in milliseconds. */
const SETTLED_MS = 3_000;
/** How long the end waits for its notice, in milliseconds. */
const TOLD_MS = 500;
/** The time between two signs of life, in milliseconds. */
const ALIVE_MS = 20_000;

/** What the recorder works with. */
export interface RecorderParts {
  readonly screen: BoxedScreen;
  readonly veils: Veils;
  readonly texts: TextReader;
  /** Tells whoever sits at the screen. */
  readonly notice: Notice;
  readonly options: BoxOptions;
}

/** A recorder that has begun. */
export class BoxRecorder {
  /** Resolves when it has ended as it was asked to. @throws why it has ended. */
  readonly over: Promise<void>;
  readonly #end: PromiseWithResolvers<void> = Promise.withResolvers();
  readonly #writer: BoxWriter;
  readonly #copy = createCopier();
  /** The frame that `#parts` are of, and what of it is to be taken. */
  #frame: TiledFrame | undefined;
  #parts = new Uint32Array();
  #black: Veil["areas"] = [];
  /** Whether what is black will be less soon, though nothing changes. */
  #isLingering = false;
  /** Until when titles are asked for though nothing changes, by performance.now(): a page may get its title a moment later. */
  #titlesUntil = 0;
  /** How often what was recorded was taken back. */
  #takenBack = 0;
  #windows = "";
  #dark: string | null = null;
  #taking: Promise<void> | undefined;
  /** When the next look may be, by performance.now(). */
  #next = 0;
  #timer: Timer | undefined;
  #isEnded = false;
  /** The time in milliseconds since 1970, as it was when the segment began. */
  #clock = steadyClock();
  /** One that fails again and again at its beginning tells nobody each time. */
  readonly #told = setTimeout(() => void this.parts.notice.begin(), SETTLED_MS);
  readonly #alive = setInterval(() => void this.#live(), ALIVE_MS);
  readonly #looker: Looker = {
    isReady: () => this.#isReady(),
    changed: (tiles, parts) => this.#mark(tiles, parts),
    push: () => this.#push(),
    replaced: () => {
      this.#frame = undefined;
      this.#push();
    },
    cursorChanged() {},
    clipboardChanged() {},
    drawsPointer: () => false,
  };

  constructor(private readonly parts: RecorderParts) {
    const failed = (error: unknown) => this.end(new Error(messageOf(error)));
    this.#writer = createWriter(parts.options, () => this.#now(), failed);
    this.over = this.#record();
    parts.screen.add(this.#looker);
    this.#push();
  }

  /** Writes what may be written now. */
  state(): BoxState {
    try {
      // Who looks now sees what stands until now.
      if (!this.#isEnded) this.#writer.addText({ at: this.#now(), gap: false });
      this.#writer.write();
    } catch (error) {
      // What comes after a part of a record is read by nobody.
      this.end(new Error(messageOf(error)));
    }
    const { texts, notice } = this.parts;
    return { dark: this.#dark, no_texts: texts.problem, not_told: notice.problem };
  }

  /** @param failure why it ends, where that is a failure. */
  end(failure?: Error): void {
    if (this.#isEnded) return;
    this.#isEnded = true;
    if (failure) this.#end.reject(failure);
    else this.#end.resolve();
  }

  async #record(): Promise<void> {
    const { screen, veils, texts, notice } = this.parts;
    try {
      await this.#end.promise;
    } finally {
      clearInterval(this.#alive);
      clearTimeout(this.#told);
      clearTimeout(this.#timer);
      screen.remove(this.#looker);
      await this.#taking;
      veils.close();
      texts.close();
      this.#writer.close(this.#now());
      await resolvesWithin(TOLD_MS, notice.end());
    }
  }

  #now(): number {
    return Math.round(this.#clock());
  }

  #isReady(): boolean {
    return !this.#taking && !this.#isEnded && performance.now() >= this.#next;
  }

  #mark(tiles: readonly number[], parts: Parts | undefined): void {
    for (const tile of tiles) this.#parts[tile] = around(this.#parts[tile] ?? 0, parts?.[tile] ?? WHOLE);
  }

  /** Looks again when it is time to. */
  #lookLater(): void {
    if (this.#isEnded) return;
    clearTimeout(this.#timer);
    const look = async () => {
      // What is taken without a change must not be of before.
      await this.parts.screen.refresh();
      this.#push();
    };
    // A timer may be early by a part of a millisecond.
    this.#timer = setTimeout(() => void look(), Math.max(0, Math.ceil(this.#next - performance.now())) + 1);
  }

  #push(): void {
    if (!this.#isReady()) return;
    const { frame } = this.parts.screen;
    const isOther = this.#frame !== frame;
    if (isOther || this.#writer.isDue(this.#now())) this.#begin(frame);
    else if (!this.#isWaiting() && !this.#parts.some((part) => part !== 0)) return;
    const began = performance.now();
    this.#takeNow(frame, () => {
      const now = performance.now();
      this.#next = now + Math.min(MOST_MS, Math.max(LEAST_MS, REST * (now - began)));
    });
  }

  /** @param taken is called at the end, before it is said when it looks again. */
  #takeNow(frame: TiledFrame, taken = () => {}): void {
    this.#taking = this.#take(frame)
      .catch((error) => this.end(error instanceof Error ? error : new Error(messageOf(error))))
      .finally(() => {
        this.#taking = undefined;
        taken();
        this.#lookLater();
      });
  }

  /** Whether something may be other soon, though nothing changes. */
  #isWaiting(): boolean {
    return this.#isLingering || performance.now() < this.#titlesUntil;
  }

  /** A segment begins with all of the screen. */
  #begin(frame: TiledFrame): void {
    this.#clock = steadyClock();
    this.#frame = frame;
    this.#parts = new Uint32Array(frame.columns * frame.rows).fill(WHOLE);
    this.#windows = "";
    // A segment is read without the others.
    this.parts.texts.forget();
    this.#writer.begin(this.#now(), frame);
  }

  /** Takes what has changed. What changes meanwhile is taken the next time. */
  async #take(frame: TiledFrame): Promise<void> {
    const at = this.#now();
    const areas = areasOf(frame, this.#parts);
    this.#parts.fill(0);
    // At once: what is looked at after the veil may show a window that it does not know.
    const pixels = this.#copy(frame, areas);
    const before = this.#black;
    const veil = await this.parts.veils.look();
    this.#dark = veil.dark;
    this.#black = veil.areas;
    this.#isLingering = veil.isLingering;
    if (areas.length > 0 && this.parts.options.exclude.length > 0)
      this.#titlesUntil = performance.now() + HOLD_MS + MOST_MS;
    blacken(pixels, areas, veil.areas);
    blacken(pixels, areas, before === "all" ? [] : before);
    if (veil.isNew) {
      this.#takenBack++;
      this.#remark(frame, this.#writer.takeBack());
      this.#remark(frame, areas);
      this.#windows = "";
      this.parts.texts.forget();
    } else if (veil.hasMoved) this.#remark(frame, areas);
    else this.#add(at, areas, pixels);
    if (!isSame(before, veil.areas)) {
      this.#remark(frame, before);
      this.#remark(frame, veil.areas);
    }
    this.#note(veil.windows);
    if (areas.length > 0) void this.#read(veil.windows);
  }

  #add(at: number, areas: readonly Rect[], pixels: Int32Array<ArrayBuffer>): void {
    let from = 0;
    for (const group of groupsOf(areas)) {
      const size = group.reduce((sum, { width, height }) => sum + width * height, 0);
      const bytes = new Uint8Array(pixels.buffer, pixels.byteOffset + 4 * from, 4 * size);
      this.#writer.addTiles(at, areasEntry(at, group, bytes), group);
      from += size;
    }
  }

  /** These areas are taken the next time. */
  #remark(frame: TiledFrame, areas: Veil["areas"]): void {
    if (frame !== this.#frame) return;
    if (areas === "all") this.#parts.fill(WHOLE);
    else addParts(this.#parts, frame.touchedBy(areas));
  }

  /** Keeps the windows, where they are others than before. */
  #note(windows: readonly BoxedWindow[]): void {
    const text = JSON.stringify(windows);
    if (text === this.#windows) return;
    this.#windows = text;
    this.#writer.addText({ at: this.#now(), windows });
  }

  async #read(windows: readonly BoxedWindow[]): Promise<void> {
    const focused = windows.find((one) => one.focused);
    const nth = this.#takenBack;
    for (const { window, program, texts } of await this.parts.texts.read(focused)) {
      // Read while the window became one that is left out.
      if (this.#isEnded || nth !== this.#takenBack) return;
      this.#writer.addText({ at: this.#now(), window, program, texts });
    }
  }

  /** A sign of life; and titles may change, and a window may leave its place, where no pixel does. */
  async #live(): Promise<void> {
    const { screen } = this.parts;
    this.#writer.addText({ at: this.#now(), gap: false });
    await screen.refresh();
    if (this.#taking || this.#isEnded) return;
    if (this.#frame !== screen.frame || this.#writer.isDue(this.#now())) return this.#push();
    this.#takeNow(screen.frame);
  }
}

const isSame = (one: Veil["areas"], other: Veil["areas"]) =>
  one === other || JSON.stringify(one) === JSON.stringify(other);
