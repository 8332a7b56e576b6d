/**
 * The updates of one viewer: what it has not been sent of the screen, and sending that as soon as the viewer is ready for it.
 *
 * The promise: one update is made at a time, and none while the viewer is behind with those before.
 */
import { messageOf } from "../../../lib/errors";
import { cursorRect, NO_CURSOR } from "./cursor";
import { type Encoded, type Form, wrap } from "./encoder";
import { isWithin } from "./frame";
import type { Gauge } from "./gauge";
import {
  BY_SERVER,
  BY_VIEWER,
  DONE,
  extendedSizeRect,
  nameRect,
  PROHIBITED,
  PSEUDO,
  sizeRect,
  updateHeader,
} from "./outgoing";
import { around, findTile, type Parts, WHOLE } from "./parts";
import type { Looker, Screen } from "./screen";
import type { Wishes } from "./wishes";

/** How many answers about the size may wait. */
const MAX_SIZES = 8;
/** About how many pixels go into one update: as JPEGs all of a large screen, otherwise so many that they stay small. */
const [BUDGET_SMALL, BUDGET] = [512 * 1_024, 4 * 1_024 * 1_024];
/** How long a picture rests before it is sent again without loss; and how long until the next part of it, in milliseconds. */
const [REST_MS, NEXT_PART_MS] = [500, 40];
/** How many pixels are sent again at once. */
const REFINED_PIXELS = 96 * 1_024;

/** What updates need of the session. */
export interface UpdatesParts {
  readonly screen: Screen;
  readonly gauge: Gauge;
  /** As they are now. */
  readonly wishes: Readonly<Wishes>;
  send(bytes: Uint8Array): void;
  /** Whether what was sent before has left. */
  hasRoom(): boolean;
  clipboardChanged(): void;
  /** Ends the session. */
  fail(reason: string): void;
}

/** Nothing is sent before `begin`. */
export function createUpdates({
  screen,
  gauge,
  wishes,
  send,
  hasRoom,
  clipboardChanged,
  fail,
}: UpdatesParts) {
  let isRunning = false;
  /** What the viewer has not been sent of each tile. */
  let dirty: Parts = new Uint32Array(0);
  let lossy = new Uint8Array(0);
  let nextTile = 0;
  let isFirstZrle = true;
  /** Whether the viewer has asked for an update; with `continuous`, it need not. */
  let isAsked = false;
  let continuous = false;
  let isSending = false;
  let hasNewCursor = true;
  /** Whether the viewer has a shape of the pointer, which it shows itself. */
  let hasCursor = false;
  let hasNewName = false;
  /** The answers to the viewer's wishes about the size, and news of it; each is an update of its own. */
  const sizes: Buffer[] = [];
  let refineTimer: Timer | undefined;

  const resetFrame = () => {
    const { columns, rows } = screen.frame;
    dirty = new Uint32Array(columns * rows).fill(WHOLE);
    lossy = new Uint8Array(columns * rows);
    nextTile = 0;
  };
  const knows = (encoding: number) => wishes.known.has(encoding);

  const looker: Looker = {
    isReady: () =>
      isRunning &&
      !isSending &&
      (continuous ? !knows(PSEUDO.fence) || gauge.outstanding() < gauge.window() : isAsked) &&
      hasRoom(),
    changed(tiles, parts) {
      for (const tile of tiles) dirty[tile] = around(dirty[tile] ?? 0, parts?.[tile] ?? WHOLE);
    },
    push: () => void push(),
    cursorChanged() {
      hasNewCursor = true;
      void push();
    },
    drawsPointer: () => wishes.form.hasPointer,
    clipboardChanged,
    replaced() {
      if (!isRunning) return;
      resetFrame();
      // An update that is being made goes nowhere, with what was to go along with it.
      hasNewCursor = hasCursor = hasNewName = true;
      if (knows(PSEUDO.extendedDesktopSize)) sizes.push(extendedSizeRect(screen.frame, BY_SERVER, DONE));
      else if (knows(PSEUDO.desktopSize)) sizes.push(sizeRect(screen.frame));
      else return fail("the screen has another size, and this viewer cannot change its own");
      void push();
    },
  };

  /** Sends what is new, if the viewer is ready. Never throws. */
  const push = async () => {
    if (!looker.isReady()) return;
    isSending = true;
    try {
      const size = sizes.shift();
      if (size) sendUpdate([size]);
      else {
        const { form } = wishes;
        const budget = form.coding === "tight" && form.quality !== null ? BUDGET : BUDGET_SMALL;
        await sendTiles(screen.encoder.encode(dirty, form, budget, nextTile), form, extras());
      }
    } catch (error) {
      fail(messageOf(error));
    } finally {
      isSending = false;
    }
    if (sizes.length > 0 || findTile(dirty) >= 0) void push();
    screen.look();
  };
  /** What goes along with pixels. */
  const extras = () => {
    const { known, format, form, name } = wishes;
    const found: Buffer[] = [];
    // Who has the pointer in the picture must not show another.
    const shape = form.hasPointer ? NO_CURSOR : screen.cursor;
    if (shape && (form.hasPointer ? hasCursor : hasNewCursor)) {
      const cursor = cursorRect(shape, known, format);
      if (cursor) found.push(cursor);
      hasCursor = shape !== NO_CURSOR;
      hasNewCursor = false;
    }
    if (hasNewName && knows(PSEUDO.desktopName)) found.push(nameRect(name));
    hasNewName = false;
    return found;
  };
  /**
   * Sends what is ready first to who controls: a letter that was typed does not wait for a video on the same screen.
   *
   * @param form in which it was encoded: the viewer may want another one meanwhile.
   */
  const sendTiles = async (encoded: readonly Encoded[], form: Form, first: readonly Buffer[]) => {
    const { encoder } = screen;
    const now = first.slice();
    const later: Encoded[] = [];
    for (const one of encoded) {
      if (one.bytes instanceof Buffer) now.push(wrapped(one, form, one.bytes));
      else later.push(one);
      for (const tile of one.tiles) {
        if (one.isLossy) lossy[tile] = 1;
        else if (isWithin(screen.frame.placeOf(tile), one.rect)) lossy[tile] = 0;
      }
      nextTile = (one.tiles[0] ?? 0) + 1;
    }
    if (later.length > 0 && now.length > 0 && continuous && wishes.hasControl) sendUpdate(now.splice(0));
    for (const one of later) now.push(wrapped(one, form, await one.bytes));
    if (!isRunning || encoder !== screen.encoder) return;
    if (encoded.length === 0) {
      if (now.length > 0) sendUpdate(now);
      return;
    }
    gauge.frame();
    sendUpdate(now, knows(PSEUDO.fence) ? gauge.fence() : undefined);
    if (encoded.some((one) => one.isLossy)) refineLater(REST_MS);
  };
  const wrapped = ({ rect }: Encoded, form: Form, bytes: Buffer) => {
    const whole = wrap(form, rect, bytes, isFirstZrle);
    if (form.coding === "zrle") isFirstZrle = false;
    return whole;
  };
  /** @param after goes along: each write wakes the server and the viewer. */
  const sendUpdate = (rects: readonly Buffer[], after?: Buffer) => {
    isAsked = false;
    send(Buffer.concat([updateHeader(rects.length), ...rects, ...(after ? [after] : [])]));
  };

  const refineLater = (ms: number) => {
    refineTimer ??= setTimeout(() => {
      refineTimer = undefined;
      refine().catch((error) => fail(messageOf(error)));
    }, ms);
  };
  /** Sends again, without loss, what has rested. */
  const refine = async () => {
    if (!isRunning || !lossy.includes(1)) return;
    const { frame, encoder } = screen;
    const rested = new Uint32Array(lossy.length);
    const before = performance.now() - REST_MS;
    for (let tile = lossy.indexOf(1); tile >= 0; tile = lossy.indexOf(1, tile + 1)) {
      if (!dirty[tile] && (frame.changedAt[tile] ?? 0) <= before) rested[tile] = WHOLE;
    }
    if (findTile(rested) < 0 || !looker.isReady()) return refineLater(REST_MS);
    isSending = true;
    try {
      const form: Form = wishes.form.coding === "tight" ? { ...wishes.form, quality: null } : wishes.form;
      await sendTiles(encoder.encode(rested, form, REFINED_PIXELS), form, []);
    } finally {
      isSending = false;
    }
    void push();
    if (lossy.includes(1)) refineLater(NEXT_PART_MS);
  };
  return {
    /** The viewer has the size of the screen as it is now, and nothing of the picture. */
    begin() {
      resetFrame();
      isRunning = true;
      screen.add(looker);
    },
    end() {
      isRunning = false;
      clearTimeout(refineTimer);
      screen.remove(looker);
    },
    /** Sends what is new, if the viewer is ready, and looks at the screen again. */
    go() {
      void push();
      screen.look();
    },
    push: looker.push,
    /** The viewer wants an update. @param incremental false for one of the whole screen. */
    ask(incremental: boolean) {
      isAsked = true;
      if (incremental) return;
      dirty.fill(WHOLE);
      if (knows(PSEUDO.extendedDesktopSize) && sizes.length === 0) {
        sizes.push(extendedSizeRect(screen.frame, BY_SERVER, DONE));
      }
    },
    /** Whether updates come without being asked for. */
    setContinuous(on: boolean) {
      continuous = on;
    },
    /** The viewer wants another size, which it does not get. */
    refuseSize() {
      if (sizes.length < MAX_SIZES) sizes.push(extendedSizeRect(screen.frame, BY_VIEWER, PROHIBITED));
    },
    /** All is sent again. */
    resend() {
      dirty.fill(WHOLE);
      hasNewCursor = true;
    },
    /** The shape of the pointer is sent again. */
    resendCursor() {
      hasNewCursor = true;
    },
    /** The pointer is in the picture from now on, or no longer. */
    pointerChanged() {
      looker.changed(screen.encoder.pointer.tiles());
      hasNewCursor = true;
    },
    /** The title is another. */
    renamed() {
      hasNewName = true;
      void push();
    },
  };
}
