/**
 * The screen that all viewers share: it is looked at only while one of them is ready for more, and something has changed.
 */

import type { Cursor } from "./cursor";
import { createEncoder } from "./encoder";
import { createFrame } from "./frame";
import type { Parts } from "./parts";
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

export type Screen = Awaited<ReturnType<typeof openScreen>>;

/** The shortest time between two looks, in milliseconds. */
const MIN_INTERVAL_MS = 1_000 / 60;
/** The time between two looks at the pointer, in milliseconds: while it moves, while only the screen does, and while nothing does. */
const [POINTER_MS, STILL_POINTER_MS, RESTING_POINTER_MS] = [1_000 / 30, 100, 250];
/** That while, in milliseconds. */
const RESTED_MS = 1_000;
/** How long to wait until a screen that has gone is looked for again, in milliseconds. */
const AGAIN_MS = 500;

/**
 * @param watch starts to watch the screen.
 * @param lost called when the screen has gone and could not be found again.
 */
export async function openScreen(
  watch: (events: WatchEvents) => Promise<Watch>,
  lost: (reason: string) => void,
) {
  const lookers = new Set<Looker>();
  let cursor: Cursor | undefined;
  let isDamaged = false;
  let isGrabbing = false;
  let lastGrab = 0;
  let timer: Timer | undefined;
  let lastFollowed = 0;
  let lastMoved = 0;
  let following: Timer | undefined;
  let isClosed = false;
  let current = await start();

  return {
    get frame() {
      return current.frame;
    },
    get encoder() {
      return current.encoder;
    },
    get cursor() {
      return cursor;
    },
    /** Where a pixel of the frame is for the pointer. */
    pointAt(x: number, y: number) {
      const { corner, scale, width, height } = current.watch;
      const at = (pixel: number, size: number) => Math.round(Math.min(pixel, size - 1) / scale);
      return { x: corner.x + at(x, width), y: corner.y + at(y, height) };
    },
    add(looker: Looker) {
      lookers.add(looker);
    },
    remove(looker: Looker) {
      lookers.delete(looker);
    },
    /** Looks at what has changed, when it is time to. */
    look() {
      look();
      follow();
    },
    /** Resolves when the frame shows the screen of now, whoever is ready for it. */
    async refresh() {
      while (isGrabbing) await Bun.sleep(5);
      if (isDamaged) await grab();
    },
    close() {
      isClosed = true;
      clearTimeout(timer);
      clearTimeout(following);
      current.watch.close();
    },
  };

  async function start() {
    let isOver = false;
    const events: WatchEvents = {
      damaged() {
        isDamaged = true;
        look();
      },
      cursor(shape) {
        cursor = shape;
        for (const looker of lookers) looker.cursorChanged();
      },
      clipboard() {
        for (const looker of lookers) looker.clipboardChanged();
      },
      over(reason) {
        if (isOver || isClosed) return;
        isOver = true;
        void replace(reason);
      },
    };
    const opened = await watch(events);
    const frame = createFrame(opened.width, opened.height);
    const made = { watch: opened, frame, encoder: createEncoder(frame) };
    await opened.grab(true);
    frame.update(opened.pixels, [{ x: 0, y: 0, width: opened.width, height: opened.height }]);
    return made;
  }

  /** Watches the screen that there is now. */
  async function replace(reason: string) {
    const before = current;
    clearTimeout(timer);
    timer = undefined;
    try {
      const next = await start().catch(async () => {
        await Bun.sleep(AGAIN_MS);
        return start();
      });
      if (isClosed) return next.watch.close();
      current = next;
      for (const looker of lookers) looker.replaced();
      look();
    } catch {
      lost(reason);
    } finally {
      before.watch.close();
    }
  }

  /** Looks at the screen when it is time to, if it has changed and somebody wants to see it. */
  function look() {
    if (!isDamaged || isGrabbing || timer || isClosed) return;
    if (![...lookers].some((looker) => looker.isReady())) return;
    const wait = lastGrab + MIN_INTERVAL_MS - performance.now();
    if (wait <= 1) return void grab();
    timer = setTimeout(() => {
      timer = undefined;
      look();
    }, wait);
  }

  /** Looks where the pointer is, and again, as long as somebody who has it drawn is ready for more. */
  function follow() {
    const isWanted = () => [...lookers].some((looker) => looker.drawsPointer() && looker.isReady());
    if (following || isClosed || !isWanted()) return;
    const now = performance.now();
    const hasRested = (since: number) => since + RESTED_MS < now;
    const slow = hasRested(lastGrab) ? RESTING_POINTER_MS : STILL_POINTER_MS;
    const wait = Math.max(0, lastFollowed + (hasRested(lastMoved) ? slow : POINTER_MS) - now);
    following = setTimeout(async () => {
      if (!isWanted()) {
        following = undefined;
        return;
      }
      lastFollowed = performance.now();
      const { watch: watched, encoder } = current;
      const at = await watched.pointer().catch(() => undefined);
      following = undefined;
      const tiles = at && watched === current.watch ? encoder.pointer.move(cursor, at) : [];
      if (tiles.length > 0) {
        lastMoved = lastFollowed;
        for (const looker of lookers) {
          if (!looker.drawsPointer()) continue;
          looker.changed(tiles);
          looker.push();
        }
      }
      follow();
    }, wait);
  }

  async function grab() {
    const { watch: watched, frame } = current;
    isGrabbing = true;
    isDamaged = false;
    lastGrab = performance.now();
    try {
      const areas = await watched.grab(false);
      if (watched !== current.watch) return;
      const tiles = frame.update(watched.pixels, areas);
      if (tiles.length > 0) for (const looker of lookers) looker.changed(tiles, frame.changedParts);
    } catch {
      // The watch says itself when it is over.
    } finally {
      isGrabbing = false;
    }
    for (const looker of lookers) looker.push();
    look();
  }
}
