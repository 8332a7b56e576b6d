/**
 * What a platform does for viewers: it watches the screen, and takes their keys and pointer.
 */
import type { Point, Rect } from "../../geometry";
import type { Cursor } from "./cursor";

/** A key of a viewer's keyboard, by its X11 keysym. */
export interface KeyStroke {
  readonly keysym: number;
  readonly down: boolean;
}

/** What is reported of a screen that is watched. */
export interface WatchEvents {
  /** Something may have changed: {@link Watch.grab} says what. Not called again until then. */
  damaged(): void;
  /** Another shape of the pointer. */
  cursor(cursor: Cursor): void;
  /** The text of the clipboard may be another one. */
  clipboard(): void;
  /** The screen has another size, or has gone: this watch is over. */
  over(reason: string): void;
}

/** A screen that is watched. */
export interface Watch {
  readonly width: number;
  readonly height: number;
  /** Of the last {@link grab}: blue, green, red and an unused byte, from the lowest. It is written to by nothing else. */
  readonly pixels: Int32Array;
  /** The size of a pixel in the pointer's units, and where the first one is. */
  readonly scale: number;
  readonly corner: Point;
  /**
   * Brings `pixels` up to date. One at a time.
   *
   * @param all whether everything is wanted, changed or not.
   * @returns what may have changed.
   */
  grab(all: boolean): Promise<readonly Rect[]>;
  /** Where the pointer is, in pixels of the screen. */
  pointer(): Promise<Point>;
  close(): void;
}
