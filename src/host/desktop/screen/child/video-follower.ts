/**
 * What one viewer gets of the video on the screen: its next picture in place of the tiles that are in it.
 *
 * The promise: every change that it takes out of what is to be sent comes, with a picture, or is given back.
 */

import type { VideoArea } from "./motion";
import { around, type Parts, WHOLE } from "./parts";
import type { Screen } from "./screen";
import { H264, type VideoSeat, videoRect } from "./video";
import type { Wishes } from "./wishes";

/** How long a viewer waits for a picture that it can begin with until that is asked for again, in milliseconds. */
const AGAIN_MS = 50;

/** A picture that a viewer is to get. */
export interface TakenPicture {
  readonly area: VideoArea;
  /** As a rectangle. @throws why there is no video any more. */
  readonly rect: Promise<Buffer>;
}

/** The video, as one viewer follows it. */
export class VideoFollower {
  readonly #seat: VideoSeat = { picture: undefined };
  /** What a picture to come brings. */
  #held: Parts = new Uint32Array(0);
  #hasHeld = false;
  #timer: Timer | undefined;

  /**
   * @param wishes as they are now.
   * @param push sends what is new, if the viewer is ready.
   */
  constructor(
    private readonly screen: Pick<Screen, "video" | "frame" | "encoder">,
    private readonly wishes: Readonly<Wishes>,
    private readonly push: () => void,
  ) {}

  /** The screen is another one, of so many tiles. */
  reset(tiles: number): void {
    this.#held = new Uint32Array(tiles);
    this.#hasHeld = false;
    this.#seat.picture = undefined;
  }

  end(): void {
    clearTimeout(this.#timer);
    this.screen.video.leave(this.#seat);
  }

  /** The tiles that the next picture of the video brings; none where this viewer follows none. */
  followed(): Iterable<number> {
    return (this.#seat.picture && this.screen.video.area()?.tiles) ?? [];
  }

  /**
   * Takes the video out of what is to be sent, for a viewer that knows H.264 and takes losses.
   *
   * @param dirty what the viewer has not been sent of each tile.
   * @param lossy which tiles it has with losses.
   * @returns the next picture; undefined where there is none for this update.
   */
  take(dirty: Parts, lossy: Uint8Array): TakenPicture | undefined {
    this.#giveBack(dirty);
    const { video, frame, encoder } = this.screen;
    const { form, known } = this.wishes;
    if (form.coding !== "tight" || form.quality === null || !known.has(H264)) {
      video.leave(this.#seat);
      return undefined;
    }
    const area = video.area();
    const changeOf = (tile: number) => frame.generations[tile] ?? 0;
    const before = this.#seat.picture?.change ?? 0;
    // Where only the pointer has moved there is nothing new of the video.
    const hasNews = area?.tiles.values().some((tile) => dirty[tile] !== 0 && changeOf(tile) > before);
    const turn = hasNews ? video.take(this.#seat) : undefined;
    if (!area || !turn) return undefined;
    const until = turn === "later" ? 0 : turn.picture.change;
    for (const tile of area.tiles) {
      if (changeOf(tile) > until) this.#hold(tile, dirty[tile] ?? 0);
      dirty[tile] = 0;
    }
    if (this.#hasHeld) this.#askAgain();
    if (turn === "later") return undefined;
    for (const tile of area.tiles) lossy[tile] = 1;
    // The video is without the pointer, which is drawn over it for those who have it in the picture.
    if (form.hasPointer)
      for (const tile of encoder.pointer.tiles()) if (area.tiles.has(tile)) dirty[tile] = WHOLE;
    const rect = videoRect(turn.picture, turn.isFirst);
    // Whoever waits for it hears of it; until then it is nobody's.
    rect.catch(() => {});
    return { area, rect };
  }

  #hold(tile: number, part: number): void {
    this.#held[tile] = part;
    this.#hasHeld = true;
  }

  #giveBack(dirty: Parts): void {
    if (!this.#hasHeld) return;
    for (const [tile, part] of this.#held.entries()) dirty[tile] = around(dirty[tile] ?? 0, part);
    this.#held.fill(0);
    this.#hasHeld = false;
  }

  /** What is held is sent then, whether there is a video or not. */
  #askAgain(): void {
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      this.push();
    }, AGAIN_MS);
  }
}
