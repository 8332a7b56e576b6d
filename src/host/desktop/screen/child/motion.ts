/**
 * Which part of the screen is a video: where more than a third of it changes, look after look, and it is pictures that change.
 */

import type { Rect } from "../../geometry";
import { kindOf, PICTURE } from "./colours";
import { type Frame, isWithin } from "./frame";
import { TILE } from "./parts";

/** A part of the screen that is a video: whole tiles. */
export interface VideoArea {
  readonly rect: Rect;
  /** The numbers of its tiles. */
  readonly tiles: ReadonlySet<number>;
}

/** A video begins when in each of so many looks more than this share of the tiles changed. */
const [BEGIN_LOOKS, BEGIN_SHARE] = [4, 1 / 3];
/** It ends when in each of so many looks less than this share did. */
const [END_LOOKS, END_SHARE] = [8, 1 / 6];
/** It ends, too, when nothing changed for so long, in milliseconds. */
const CALM_MS = 700;
/** After so many looks, its part of the screen is looked for again. */
const AGAIN_LOOKS = 16;
/** Of the eight looks that are remembered of each tile, one bit each, the last four. */
const LAST_LOOKS = 0xf;
/** How many tiles are looked at to say whether it is pictures that change. */
const SAMPLES = 48;
/** The smallest video, in pixels along each side. */
const LEAST_SIZE = 32;

/** How many bits are set in a number below 256. */
const bitsIn = (value: number): number => {
  let count = 0;
  for (let rest = value; rest > 0; rest &= rest - 1) count += 1;
  return count;
};

/** What moves in one frame. */
export class Motion {
  readonly #hits: Uint8Array;
  #area: VideoArea | undefined;
  /** The one that there was last: a video that goes on after a moment has the same. */
  #former: VideoArea | undefined;
  #lastAt = Number.NEGATIVE_INFINITY;
  /** How many looks in a row had much, and little, that changed. */
  #much = 0;
  #little = 0;
  #looks = 0;

  constructor(private readonly frame: Frame) {
    this.#hits = new Uint8Array(frame.columns * frame.rows);
  }

  /** Takes the tiles that a look found changed, if any. @param now by performance.now(). */
  observe(tiles: readonly number[], now: number): void {
    if (tiles.length === 0) return;
    if (now - this.#lastAt > CALM_MS) this.#forget();
    this.#lastAt = now;
    this.#looks += 1;
    const hits = this.#hits;
    for (let tile = 0; tile < hits.length; tile++) hits[tile] = (hits[tile] ?? 0) << 1;
    for (const tile of tiles) hits[tile] = (hits[tile] ?? 0) | 1;
    const share = tiles.length / hits.length;
    this.#much = share > BEGIN_SHARE ? this.#much + 1 : 0;
    this.#little = share < END_SHARE ? this.#little + 1 : 0;
    if (!this.#area) this.#begin(tiles);
    else if (this.#little >= END_LOOKS) this.#forget();
    else if (this.#looks % AGAIN_LOOKS === 0) this.#lookAgain(this.#area, tiles);
  }

  /** The part that is a video now; undefined for none. It is the same object for as long as it is the same part. */
  area(now: number): VideoArea | undefined {
    return now - this.#lastAt > CALM_MS ? undefined : this.#area;
  }

  #forget(): void {
    this.#hits.fill(0);
    this.#much = this.#little = this.#looks = 0;
    this.#area = undefined;
  }

  #begin(tiles: readonly number[]): void {
    if (this.#much < BEGIN_LOOKS || !this.#arePictures(tiles)) return;
    // A tile of a video may stay as it is for a moment.
    this.#area = this.#around((hits) => bitsIn(hits & LAST_LOOKS) >= BEGIN_LOOKS / 2);
    this.#looks = 0;
  }

  /** A video that has grown has a larger part; one that has become much smaller, a smaller one. */
  #lookAgain(area: VideoArea, tiles: readonly number[]): void {
    if (!this.#arePictures(tiles)) {
      this.#forget();
      return;
    }
    const found = this.#around((hits) => bitsIn(hits) >= BEGIN_LOOKS);
    if (!found) return;
    const hasGrown = !isWithin(found.rect, area.rect);
    if (hasGrown || found.tiles.size * 2 < area.tiles.size) this.#area = found;
  }

  /** Whether most of what changes is a picture; text that scrolls is none. */
  #arePictures(tiles: readonly number[]): boolean {
    const step = Math.max(1, Math.floor(tiles.length / SAMPLES));
    const looked = tiles.filter((_, nth) => nth % step === 0);
    const pictures = looked.filter((tile) => kindOf(this.frame, this.frame.placeOf(tile)) === PICTURE);
    return pictures.length * 2 > looked.length;
  }

  /** The smallest part of the screen with all tiles that count in it. */
  #around(counts: (hits: number) => boolean): VideoArea | undefined {
    const { columns, rows, width, height } = this.frame;
    let [left, top, right, bottom] = [columns, rows, -1, -1];
    this.#hits.forEach((hits, tile) => {
      if (!counts(hits)) return;
      const [column, row] = [tile % columns, Math.floor(tile / columns)];
      [left, right] = [Math.min(left, column), Math.max(right, column)];
      [top, bottom] = [Math.min(top, row), Math.max(bottom, row)];
    });
    if (right < 0) return undefined;
    const [x, y] = [left * TILE, top * TILE];
    const rect = {
      x,
      y,
      width: Math.min(width, (right + 1) * TILE) - x,
      height: Math.min(height, (bottom + 1) * TILE) - y,
    };
    if (Math.min(rect.width, rect.height) < LEAST_SIZE) return undefined;
    const former = this.#former;
    if (former && isWithin(former.rect, rect) && isWithin(rect, former.rect)) return former;
    const tiles = new Set<number>();
    for (let row = top; row <= bottom; row++)
      for (let column = left; column <= right; column++) tiles.add(row * columns + column);
    this.#former = { rect, tiles };
    return this.#former;
  }
}
