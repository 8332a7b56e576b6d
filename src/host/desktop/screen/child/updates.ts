/**
 * The updates of one viewer: what it has not been sent of the screen, and sending that as soon as the viewer is ready for it.
 *
 * The promise: one update is made at a time, and none while the viewer is behind with those before.
 */
import { messageOf } from "../../../../lib/errors";
import { cursorRect, NO_CURSOR } from "./cursor";
import { type EncodedRect, type Form, wrap } from "./encoder";
import { isWithin } from "./frame";
import type { Gauge } from "./gauge";
import { around, findTile, type Parts, WHOLE } from "./parts";
import type { Looker, Screen } from "./screen";
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
} from "./server-messages";
import { type TakenPicture, VideoFollower } from "./video-follower";
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
interface UpdatesParts {
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
export class Updates implements Looker {
  #isRunning = false;
  /** What the viewer has not been sent of each tile, and which it has with losses. */
  #dirty: Parts = new Uint32Array(0);
  #lossy = new Uint8Array(0);
  #nextTile = 0;
  #isFirstZrle = true;
  /** Whether the viewer has asked for an update; with continuous updates, it need not. */
  #isAsked = false;
  #isContinuous = false;
  #isSending = false;
  #hasNewCursor = true;
  /** Whether the viewer has a shape of the pointer, which it shows itself. */
  #hasCursor = false;
  #hasNewName = false;
  /** The answers to the viewer's wishes about the size, and news of it; each is an update of its own. */
  readonly #sizes: Buffer[] = [];
  #refineTimer: Timer | undefined;
  readonly #video: VideoFollower;

  constructor(private readonly parts: UpdatesParts) {
    this.#video = new VideoFollower(parts.screen, parts.wishes, () => this.push());
  }

  /** The viewer has the size of the screen as it is now, and nothing of the picture. */
  begin(): void {
    this.#resetFrame();
    this.#isRunning = true;
    this.parts.screen.add(this);
  }

  end(): void {
    this.#isRunning = false;
    clearTimeout(this.#refineTimer);
    this.#video.end();
    this.parts.screen.remove(this);
  }

  isReady(): boolean {
    if (!this.#isRunning || this.#isSending || !this.parts.hasRoom()) return false;
    if (!this.#isContinuous) return this.#isAsked;
    const { gauge } = this.parts;
    return !this.#knows(PSEUDO.fence) || gauge.outstanding() < gauge.window();
  }

  changed(tiles: readonly number[], parts?: Parts): void {
    for (const tile of tiles) this.#dirty[tile] = around(this.#dirty[tile] ?? 0, parts?.[tile] ?? WHOLE);
  }

  push(): void {
    void this.#push();
  }

  cursorChanged(): void {
    this.#hasNewCursor = true;
    this.push();
  }

  drawsPointer(): boolean {
    return this.parts.wishes.form.hasPointer;
  }

  clipboardChanged(): void {
    this.parts.clipboardChanged();
  }

  replaced() {
    if (!this.#isRunning) return;
    this.#resetFrame();
    // An update that is being made goes nowhere, with what was to go along with it.
    this.#hasNewCursor = this.#hasCursor = this.#hasNewName = true;
    const { screen, fail } = this.parts;
    if (this.#knows(PSEUDO.extendedDesktopSize)) {
      this.#sizes.push(extendedSizeRect(screen.frame, BY_SERVER, DONE));
    } else if (this.#knows(PSEUDO.desktopSize)) this.#sizes.push(sizeRect(screen.frame));
    else return fail("the screen has another size, and this viewer cannot change its own");
    this.push();
  }

  /** Sends what is new, if the viewer is ready, and looks at the screen again. */
  go(): void {
    this.push();
    this.parts.screen.look();
  }

  /** The viewer wants an update. @param incremental false for one of the whole screen. */
  ask(incremental: boolean): void {
    this.#isAsked = true;
    if (incremental) return;
    this.#dirty.fill(WHOLE);
    if (this.#knows(PSEUDO.extendedDesktopSize) && this.#sizes.length === 0) {
      this.#sizes.push(extendedSizeRect(this.parts.screen.frame, BY_SERVER, DONE));
    }
  }

  /** Whether updates come without being asked for. */
  setContinuous(on: boolean): void {
    this.#isContinuous = on;
  }

  /** The viewer wants another size, which it does not get. */
  refuseSize(): void {
    if (this.#sizes.length >= MAX_SIZES) return;
    this.#sizes.push(extendedSizeRect(this.parts.screen.frame, BY_VIEWER, PROHIBITED));
  }

  /** All is sent again. */
  resend(): void {
    this.#dirty.fill(WHOLE);
    this.#hasNewCursor = true;
  }

  /** The shape of the pointer is sent again. */
  resendCursor(): void {
    this.#hasNewCursor = true;
  }

  /** The pointer is in the picture from now on, or no longer. */
  pointerChanged(): void {
    this.changed(this.parts.screen.encoder.pointer.tiles());
    this.#hasNewCursor = true;
  }

  /** The title is another. */
  renamed(): void {
    this.#hasNewName = true;
    this.push();
  }

  #resetFrame(): void {
    const { columns, rows } = this.parts.screen.frame;
    this.#dirty = new Uint32Array(columns * rows).fill(WHOLE);
    this.#lossy = new Uint8Array(columns * rows);
    this.#nextTile = 0;
    this.#video.reset(columns * rows);
  }

  #knows(encoding: number): boolean {
    return this.parts.wishes.known.has(encoding);
  }

  /** Sends what is new, if the viewer is ready. Never throws. */
  async #push(): Promise<void> {
    if (!this.isReady()) return;
    const { screen, wishes, fail } = this.parts;
    this.#isSending = true;
    try {
      const size = this.#sizes.shift();
      if (size) this.#sendUpdate([size]);
      else {
        const { form } = wishes;
        const video = this.#video.take(this.#dirty, this.#lossy);
        const budget = form.coding === "tight" && form.quality !== null ? BUDGET : BUDGET_SMALL;
        const encoded = screen.encoder.encode(this.#dirty, form, budget, this.#nextTile);
        await this.#sendTiles(encoded, form, this.#extras(), video);
      }
    } catch (error) {
      fail(messageOf(error));
    } finally {
      this.#isSending = false;
    }
    if (this.#sizes.length > 0 || findTile(this.#dirty) >= 0) this.push();
    screen.look();
  }

  /** What goes along with pixels. */
  #extras(): Buffer[] {
    const { known, format, form, name } = this.parts.wishes;
    const extras: Buffer[] = [];
    // Who has the pointer in the picture must not show another.
    const shape = form.hasPointer ? NO_CURSOR : this.parts.screen.cursor;
    if (shape && (form.hasPointer ? this.#hasCursor : this.#hasNewCursor)) {
      const cursor = cursorRect(shape, known, format);
      if (cursor) extras.push(cursor);
      this.#hasCursor = shape !== NO_CURSOR;
      this.#hasNewCursor = false;
    }
    if (this.#hasNewName && this.#knows(PSEUDO.desktopName)) extras.push(nameRect(name));
    this.#hasNewName = false;
    return extras;
  }

  /**
   * Sends what is ready first to who controls: a letter that was typed does not wait for a video on the same screen. What lies beside a
   * picture of a video waits for that of nobody: it comes from another process, which may hang for seconds.
   *
   * @param form in which it was encoded: the viewer may want another one meanwhile.
   * @param video a picture that comes before what lies on it.
   */
  async #sendTiles(
    encoded: readonly EncodedRect[],
    form: Form,
    first: readonly Buffer[],
    video?: TakenPicture,
  ): Promise<void> {
    const { screen, gauge, wishes } = this.parts;
    const { encoder } = screen;
    const { ready, beside, over } = this.#sorted(encoded, form, video);
    const now = [...first, ...ready];
    const isOver = () => !this.#isRunning || encoder !== screen.encoder;
    const sendFirst = () => {
      if (now.length > 0 && this.#isContinuous) this.#sendUpdate(now.splice(0));
    };
    if (wishes.hasControl && (beside.length > 0 || video)) sendFirst();
    for (const one of beside) now.push(this.#wrapped(one, form, await one.bytes));
    if (isOver()) return;
    if (video) sendFirst();
    const sent = await video?.rect.catch(() => undefined);
    if (sent) now.push(sent);
    for (const one of over) now.push(this.#wrapped(one, form, await one.bytes));
    if (isOver()) return;
    // There is no video any more: what it would have brought is sent in another way.
    if (video && !sent) this.changed([...video.area.tiles]);
    if (encoded.length === 0 && !sent) {
      if (now.length > 0) this.#sendUpdate(now);
      return;
    }
    gauge.frame();
    this.#sendUpdate(now, this.#knows(PSEUDO.fence) ? gauge.fence() : undefined);
    if (sent || encoded.some((one) => one.isLossy)) this.#refineLater(REST_MS);
  }

  /** What is ready now, what lies beside the video, and what over it. The viewer has all of it from now on. */
  #sorted(encoded: readonly EncodedRect[], form: Form, video?: TakenPicture) {
    const [ready, beside, over]: [Buffer[], EncodedRect[], EncodedRect[]] = [[], [], []];
    for (const one of encoded) {
      if (one.tiles.some((tile) => video?.area.tiles.has(tile))) over.push(one);
      else if (one.bytes instanceof Buffer) ready.push(this.#wrapped(one, form, one.bytes));
      else beside.push(one);
      for (const tile of one.tiles) {
        if (one.isLossy) this.#lossy[tile] = 1;
        else if (isWithin(this.parts.screen.frame.placeOf(tile), one.rect)) this.#lossy[tile] = 0;
      }
      this.#nextTile = (one.tiles[0] ?? 0) + 1;
    }
    return { ready, beside, over };
  }

  #wrapped({ rect }: EncodedRect, form: Form, bytes: Buffer): Buffer {
    const whole = wrap(form, rect, bytes, this.#isFirstZrle);
    if (form.coding === "zrle") this.#isFirstZrle = false;
    return whole;
  }

  /** @param after goes along: each write wakes the server and the viewer. */
  #sendUpdate(rects: readonly Buffer[], after?: Buffer): void {
    this.#isAsked = false;
    this.parts.send(Buffer.concat([updateHeader(rects.length), ...rects, ...(after ? [after] : [])]));
  }

  #refineLater(ms: number): void {
    this.#refineTimer ??= setTimeout(() => {
      this.#refineTimer = undefined;
      this.#refine().catch((error) => this.parts.fail(messageOf(error)));
    }, ms);
  }

  /** Sends again, without loss, what has rested. */
  async #refine(): Promise<void> {
    if (!this.#isRunning || !this.#lossy.includes(1)) return;
    const { screen, wishes } = this.parts;
    const { frame, encoder } = screen;
    const rested = new Uint32Array(this.#lossy.length);
    const before = performance.now() - REST_MS;
    for (let tile = this.#lossy.indexOf(1); tile >= 0; tile = this.#lossy.indexOf(1, tile + 1)) {
      if (!this.#dirty[tile] && (frame.changedAt[tile] ?? 0) <= before) rested[tile] = WHOLE;
    }
    // The next picture of the video would bring the losses again.
    for (const tile of this.#video.followed()) rested[tile] = 0;
    if (findTile(rested) < 0 || !this.isReady()) return this.#refineLater(REST_MS);
    this.#isSending = true;
    try {
      const form: Form = wishes.form.coding === "tight" ? { ...wishes.form, quality: null } : wishes.form;
      await this.#sendTiles(encoder.encode(rested, form, REFINED_PIXELS), form, []);
    } finally {
      this.#isSending = false;
    }
    this.push();
    if (this.#lossy.includes(1)) this.#refineLater(NEXT_PART_MS);
  }
}
