/**
 * The screen that all viewers share: it is looked at only while one of them is ready for more, and something has changed.
 */
import type { Place } from "../../backend";
import type { Point, Rect } from "../../geometry";
import type { Cursor } from "./cursor";
import { createEncoder, type Encoder } from "./encoder";
import { createFrame, type Frame } from "./frame";
import type { Parts } from "./parts";
import { createVideo, type Video, type VideoSource } from "./video";
import type { Watch, WatchEvents } from "./watch";

/** What the screen needs of a viewer. */
export interface Looker {
  /** Whether it can be sent something now. */
  isReady(): boolean;
  /** These tiles changed. @param parts of each tile, where (default: anywhere). */
  changed(tiles: readonly number[], parts?: Parts): void;
  /** Sends what has changed, if it can. */
  push(): void;
  cursorChanged(): void;
  /** Whether the pointer is drawn into its picture. */
  drawsPointer(): boolean;
  clipboardChanged(): void;
  /** The screen is another one: of another size. */
  replaced(): void;
}

/** A screen that is watched. */
export interface Screen {
  /** As they are now: others once the size has changed. */
  readonly frame: Frame;
  readonly encoder: Encoder;
  readonly video: Video;
  readonly cursor: Cursor | undefined;
  /** Where a pixel of the frame is for the pointer. */
  pointAt(x: number, y: number): Point;
  /** The pixels of the frame at a place in the coordinates of the pointer, those beside it included; it may reach beyond the frame. */
  areaOf(place: Place): Rect;
  add(looker: Looker): void;
  remove(looker: Looker): void;
  /** Looks at what has changed, when it is time to. */
  look(): void;
  /** Resolves when the frame shows the screen of now, whoever is ready for it. */
  refresh(): Promise<void>;
  close(): void;
}

/** The shortest time between two looks, in milliseconds. */
const MIN_INTERVAL_MS = 1_000 / 60;
/** The time between two looks at the pointer, in milliseconds: while it moves, while only the screen does, and while nothing does. */
const [POINTER_MS, STILL_POINTER_MS, RESTING_POINTER_MS] = [1_000 / 30, 100, 250];
/** That while, in milliseconds. */
const RESTED_MS = 1_000;
/** How long to wait until a screen that has gone is looked for again, in milliseconds. */
const AGAIN_MS = 500;

/** Starts to watch the screen. */
type StartWatch = (events: WatchEvents) => Promise<Watch>;

/** A screen of one size, and what is encoded of it. */
interface ScreenView {
  readonly watch: Watch;
  readonly frame: Frame;
  readonly encoder: Encoder;
  readonly video: Video;
}

/** What the parts of a screen share. */
interface ScreenState {
  readonly lookers: Set<Looker>;
  /** The view of now. It must not be called before the first one is there: nobody looks until then. */
  readonly view: () => ScreenView;
  cursor: Cursor | undefined;
  isClosed: boolean;
}

/**
 * @param watch starts to watch the screen.
 * @param lost called when the screen has gone and could not be found again.
 * @param videos where videos are encoded (default: nowhere).
 */
export async function openScreen(
  watch: StartWatch,
  lost: (reason: string) => void,
  videos?: VideoSource,
): Promise<Screen> {
  const state: ScreenState = { lookers: new Set(), view: () => view, cursor: undefined, isClosed: false };
  const { lookers } = state;
  const grabs = new Grabs(state);
  const follower = new PointerFollower(state, grabs);

  /** Whether the first view is there; why it ended before it was. */
  let isUp = false;
  let early: string | undefined;
  const start = () => {
    let isOver = false;
    const events: WatchEvents = {
      damaged: () => grabs.damaged(),
      cursor(shape) {
        state.cursor = shape;
        for (const looker of lookers) looker.cursorChanged();
      },
      clipboard() {
        for (const looker of lookers) looker.clipboardChanged();
      },
      over(reason) {
        if (isOver || state.isClosed) return;
        isOver = true;
        if (isUp) void replace(reason);
        else early = reason;
      },
    };
    return openView(watch, events, videos);
  };
  /** Watches the screen that there is now. */
  const replace = async (reason: string) => {
    const before = view;
    grabs.cancel();
    try {
      const next = await start().catch(async () => {
        await Bun.sleep(AGAIN_MS);
        return start();
      });
      if (state.isClosed) return closeView(next);
      view = next;
      for (const looker of lookers) looker.replaced();
      grabs.look();
    } catch {
      lost(reason);
    } finally {
      closeView(before);
    }
  };
  let view: ScreenView = await start();
  isUp = true;
  if (early !== undefined) void replace(early);

  return {
    get frame() {
      return view.frame;
    },
    get encoder() {
      return view.encoder;
    },
    get video() {
      return view.video;
    },
    get cursor() {
      return state.cursor;
    },
    pointAt: (x, y) => pointOn(view.watch, x, y),
    areaOf: (place) => areaOn(view.watch, place),
    add: (looker) => void lookers.add(looker),
    remove: (looker) => void lookers.delete(looker),
    look() {
      grabs.look();
      follower.follow();
    },
    refresh: () => grabs.refresh(),
    close() {
      state.isClosed = true;
      grabs.cancel();
      follower.cancel();
      closeView(view);
    },
  };
}

function closeView({ watch, video }: ScreenView): void {
  video.close();
  watch.close();
}

async function openView(start: StartWatch, events: WatchEvents, videos?: VideoSource): Promise<ScreenView> {
  const watch = await start(events);
  const { width, height } = watch;
  let video: Video | undefined;
  try {
    const frame = createFrame(width, height);
    video = createVideo(frame, videos);
    const view = { watch, frame, encoder: createEncoder(frame), video };
    await watch.grab(true);
    frame.update(watch.pixels, [{ x: 0, y: 0, width, height }]);
    return view;
  } catch (error) {
    // Nobody else has it.
    video?.close();
    watch.close();
    throw error;
  }
}

function pointOn({ corner, scale, width, height }: Watch, x: number, y: number): Point {
  const at = (pixel: number, size: number) => Math.round(Math.min(pixel, size - 1) / scale);
  return { x: corner.x + at(x, width), y: corner.y + at(y, height) };
}

function areaOn({ corner, scale }: Watch, { x, y, width, height }: Place): Rect {
  const [left, top] = [Math.floor((x - corner.x) * scale), Math.floor((y - corner.y) * scale)];
  const [right, bottom] = [(x + width - corner.x) * scale, (y + height - corner.y) * scale];
  return { x: left, y: top, width: Math.ceil(right) - left, height: Math.ceil(bottom) - top };
}

/** Looks at what has changed on the screen, one look at a time. */
class Grabs {
  #isDamaged = false;
  #isGrabbing = false;
  #lastAt = 0;
  #timer: Timer | undefined;

  constructor(private readonly state: ScreenState) {}

  /** When it looked last, by performance.now(). */
  get lastAt(): number {
    return this.#lastAt;
  }

  damaged(): void {
    this.#isDamaged = true;
    this.look();
  }

  /** Looks at the screen when it is time to, if it has changed and somebody wants to see it. */
  look(): void {
    const { lookers, isClosed } = this.state;
    if (!this.#isDamaged || this.#isGrabbing || this.#timer || isClosed) return;
    if (![...lookers].some((looker) => looker.isReady())) return;
    const wait = this.#lastAt + MIN_INTERVAL_MS - performance.now();
    if (wait <= 1) return void this.#grab();
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      this.look();
    }, wait);
  }

  /** Resolves when the frame shows the screen of now. */
  async refresh(): Promise<void> {
    while (this.#isGrabbing) await Bun.sleep(5);
    if (this.#isDamaged) await this.#grab();
  }

  /** Leaves out a look that was to come. */
  cancel(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  async #grab(): Promise<void> {
    const { lookers, view } = this.state;
    const { watch, frame, video } = view();
    this.#isGrabbing = true;
    this.#isDamaged = false;
    this.#lastAt = performance.now();
    try {
      const areas = await watch.grab(false);
      if (watch !== view().watch) return;
      const tiles = frame.update(watch.pixels, areas);
      video.observe(tiles);
      if (tiles.length > 0) for (const looker of lookers) looker.changed(tiles, frame.changedParts);
    } catch {
      // The watch says itself when it is over.
    } finally {
      this.#isGrabbing = false;
    }
    for (const looker of lookers) looker.push();
    this.look();
  }
}

/** Looks where the pointer is, and again, as long as somebody who has it drawn is ready for more. */
class PointerFollower {
  #lastAt = 0;
  #lastMoved = 0;
  #timer: Timer | undefined;

  constructor(
    private readonly state: ScreenState,
    private readonly grabs: Grabs,
  ) {}

  follow(): void {
    if (this.#timer || this.state.isClosed || !this.#isWanted()) return;
    const now = performance.now();
    const hasRested = (since: number) => since + RESTED_MS < now;
    const slow = hasRested(this.grabs.lastAt) ? RESTING_POINTER_MS : STILL_POINTER_MS;
    const wait = Math.max(0, this.#lastAt + (hasRested(this.#lastMoved) ? slow : POINTER_MS) - now);
    this.#timer = setTimeout(() => this.#look(), wait);
  }

  cancel(): void {
    clearTimeout(this.#timer);
  }

  #isWanted(): boolean {
    return [...this.state.lookers].some((looker) => looker.drawsPointer() && looker.isReady());
  }

  async #look(): Promise<void> {
    if (!this.#isWanted()) {
      this.#timer = undefined;
      return;
    }
    this.#lastAt = performance.now();
    const { lookers, view } = this.state;
    const { watch, encoder } = view();
    const at = await watch.pointer().catch(() => undefined);
    this.#timer = undefined;
    const tiles = at && watch === view().watch ? encoder.pointer.move(this.state.cursor, at) : [];
    if (tiles.length > 0) {
      this.#lastMoved = this.#lastAt;
      for (const looker of lookers) {
        if (!looker.drawsPointer()) continue;
        looker.changed(tiles);
        looker.push();
      }
    }
    this.follow();
  }
}
