/**
 * The video on a screen, as a stream of H.264 that all viewers share who take one: each picture is encoded once.
 *
 * A picture is of use to who has the one before it, or needs none before it. Who has missed one waits for the next that needs none: at most
 * one in a second is made for that. What waits for a slow viewer is so never more than one picture.
 */

import type { Rect } from "../../geometry";
import type { VideoEncoder } from "../video/encoder";
import { RefusedPicture } from "../video/refused";
import { type Frame, isWithin } from "./frame";
import { Motion, type VideoArea } from "./motion";
import { rectHeader } from "./server-messages";

/** Open H.264 Encoding (rfbproto). */
export const H264 = 50;
/** All that a viewer has of other streams is of no use any more (rfbproto, Open H.264: resetAllContexts). */
const RESET_ALL = 2;
/** How often a picture is made that needs none before it, for who has missed one, in milliseconds. */
const KEY_MS = 1_000;
/** How long the encoder is kept without a video, in milliseconds. */
const IDLE_MS = 10_000;
/** How long a part of the screen is no video whose picture the encoder has refused, in milliseconds. */
const REFUSED_MS = 60_000;

/** Where videos are encoded. */
export interface VideoSource {
  /** Whether it may be opened now: not for a while after it has failed. */
  isReady(): boolean;
  /** @returns null for nowhere. @throws why it does not start. */
  open(size: { readonly width: number; readonly height: number }): Promise<VideoEncoder | null>;
  /** Called when it has failed, once: it is opened again when {@link isReady} says so. */
  failed(reason: string): void;
}

/** A picture of the video. */
export interface VideoPicture {
  readonly area: VideoArea;
  /** The number of the last change of the frame that is in it. */
  readonly change: number;
  readonly isKey: boolean;
  /** @throws why there is no video any more. */
  readonly bytes: Promise<Buffer>;
}

/** What one viewer has of it. */
export interface VideoSeat {
  /** The last picture that it was given. */
  picture: VideoPicture | undefined;
}

/** What a viewer is given: a picture, and whether it continues what it has; or the advice to wait for one. */
export type VideoTurn = { readonly picture: VideoPicture; readonly isFirst: boolean } | "later";

/** The rectangle of a picture. @param isFirst whether it continues nothing that the viewer has. @throws as its bytes. */
export async function videoRect({ area, bytes }: VideoPicture, isFirst: boolean): Promise<Buffer> {
  const data = await bytes;
  const head = Buffer.alloc(8);
  head.writeUInt32BE(data.length, 0);
  head.writeUInt32BE(isFirst ? RESET_ALL : 0, 4);
  return Buffer.concat([rectHeader(area.rect, H264), head, data]);
}

/** The video of one frame. */
export interface Video {
  /** Takes the tiles that a look found changed. */
  observe(tiles: readonly number[]): void;
  /** The part of the screen that is a video now, whether it is encoded or not; but none that was refused. */
  area(): VideoArea | undefined;
  /**
   * The next picture for a viewer, which begins to be made here if it must.
   *
   * @returns undefined while there is no video, or nothing to encode it with; and once for who has no picture of it and is to wait for one,
   *   so that it has its part of the screen meanwhile, as it is now.
   */
  take(seat: VideoSeat): VideoTurn | undefined;
  /** The viewer has gone, or takes no video any more. */
  leave(seat: VideoSeat): void;
  close(): void;
}

/** @param source where it is encoded (default: nowhere, so that there is never a video). */
export function createVideo(frame: Frame, source?: VideoSource): Video {
  return source ? new EncodedVideo(frame, source) : NO_VIDEO;
}

const NO_VIDEO: Video = {
  observe() {},
  area: () => undefined,
  take: () => undefined,
  leave() {},
  close() {},
};

class EncodedVideo implements Video {
  readonly #motion: Motion;
  /** Those that have a picture of the stream of now. */
  readonly #seats = new Set<VideoSeat>();
  /** Those that have none, and wait for one. */
  readonly #waiting = new Set<VideoSeat>();
  /** `none` on this host, or closed. */
  #encoder: VideoEncoder | "opening" | "none" | undefined;
  /** The last picture, while the stream goes on, and the one before it. */
  #newest: VideoPicture | undefined;
  #previous: VideoPicture | undefined;
  #isBusy = false;
  /** Whether somebody waits for a picture that needs none before it; when the last such was made. */
  #isKeyWanted = false;
  #lastKey = Number.NEGATIVE_INFINITY;
  #idle: Timer | undefined;
  #isClosed = false;
  /** The part of the screen that was refused last, and until when it is no video. */
  #refused: { readonly rect: Rect; readonly until: number } | undefined;

  constructor(
    private readonly frame: Frame,
    private readonly source: VideoSource,
  ) {
    this.#motion = new Motion(frame);
  }

  observe(tiles: readonly number[]): void {
    this.#motion.observe(tiles, performance.now());
  }

  area(): VideoArea | undefined {
    const now = performance.now();
    const area = this.#motion.area(now);
    return area && this.#isRefused(area.rect, now) ? undefined : area;
  }

  take(seat: VideoSeat): VideoTurn | undefined {
    const area = this.area();
    const encoder = area && this.#ready();
    if (!area || !encoder) return undefined;
    if (this.#newest && this.#newest.area !== area) {
      // What is being made is waited for: the encoder makes one picture at a time.
      if (this.#isBusy) return "later";
      this.#endStream();
    }
    const newest = this.#newest;
    const had = seat.picture;
    const continues = newest !== undefined && had === newest;
    if (newest && !continues && (newest.isKey || (had && had === this.#previous)))
      return this.#give(seat, newest);
    const isDue = performance.now() - this.#lastKey >= KEY_MS;
    const isAlone = this.#seats.size === (this.#seats.has(seat) ? 1 : 0);
    // One that needs none before it is a large one for all others.
    if (this.#isBusy || !(continues || isDue || isAlone)) {
      this.#isKeyWanted ||= !continues;
      if (this.#seats.has(seat) || this.#waiting.has(seat)) return "later";
      this.#waiting.add(seat);
      return undefined;
    }
    const isKey = !continues || (this.#isKeyWanted && isDue);
    return this.#give(seat, this.#make(encoder, area, isKey));
  }

  leave(seat: VideoSeat): void {
    this.#seats.delete(seat);
    this.#waiting.delete(seat);
    seat.picture = undefined;
  }

  close(): void {
    this.#isClosed = true;
    this.#rest();
    this.#encoder = "none";
  }

  #give(seat: VideoSeat, picture: VideoPicture): VideoTurn {
    const isFirst = !this.#seats.has(seat);
    this.#seats.add(seat);
    this.#waiting.delete(seat);
    seat.picture = picture;
    return { picture, isFirst };
  }

  #make(encoder: VideoEncoder, area: VideoArea, isKey: boolean): VideoPicture {
    const kind = !this.#newest ? "first" : isKey ? "key" : "next";
    if (isKey) {
      this.#isKeyWanted = false;
      this.#lastKey = performance.now();
    }
    this.#isBusy = true;
    const bytes = encoder.encode(this.frame, area.rect, kind);
    const picture: VideoPicture = { area, change: this.frame.lastChange(), isKey, bytes };
    this.#previous = this.#newest;
    this.#newest = picture;
    bytes.then(
      () => {
        this.#isBusy = false;
      },
      (error) => (error instanceof RefusedPicture ? this.#refuse(area) : this.#fail(error)),
    );
    this.#restLater();
    return picture;
  }

  /** What is at least as large is refused, too. */
  #isRefused(rect: Rect, now: number): boolean {
    return this.#refused !== undefined && now < this.#refused.until && isWithin(this.#refused.rect, rect);
  }

  #refuse({ rect }: VideoArea): void {
    this.#isBusy = false;
    this.#endStream();
    this.#refused = { rect, until: performance.now() + REFUSED_MS };
  }

  #endStream(): void {
    this.#newest = this.#previous = undefined;
    for (const seat of this.#seats) seat.picture = undefined;
    this.#seats.clear();
    this.#waiting.clear();
  }

  /** The encoder, once it is there; it is opened when it is first needed. */
  #ready(): VideoEncoder | undefined {
    if (typeof this.#encoder === "object") return this.#encoder;
    if (this.#encoder || !this.source.isReady()) return undefined;
    this.#encoder = "opening";
    this.source.open(this.frame).then(
      (opened) => {
        if (this.#isClosed) return opened?.leave();
        this.#encoder = opened ?? "none";
        if (opened) this.#restLater();
      },
      (error) => this.#fail(error),
    );
    return undefined;
  }

  #fail(error: unknown): void {
    this.#isBusy = false;
    this.#endStream();
    const isNews = !this.#isClosed && this.#encoder !== "none" && this.#encoder !== undefined;
    this.#rest();
    if (isNews) this.source.failed(error instanceof Error ? error.message : String(error));
  }

  #restLater(): void {
    clearTimeout(this.#idle);
    this.#idle = setTimeout(() => this.#rest(), IDLE_MS);
  }

  /** Ends the encoder, until there is a video again. */
  #rest(): void {
    clearTimeout(this.#idle);
    this.#endStream();
    if (typeof this.#encoder === "object") this.#encoder.leave();
    if (this.#encoder !== "none") this.#encoder = undefined;
  }
}
