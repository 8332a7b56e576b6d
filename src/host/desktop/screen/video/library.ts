/**
 * The libraries of the host that encode H.264: what svc knows of each, and which one is used.
 */
import type { Size } from "../../geometry";
import type { Planes } from "./i420";

/** A stream that pictures of one size are encoded into, each after the one before. */
export interface VideoStream {
  /**
   * Encodes a picture: one access unit (ITU-T H.264, annex B), with its parameter sets where it needs none before it, and one slice.
   *
   * @param isKey whether it must not need any before it; the first never does.
   * @returns the bytes; they are good until the next call.
   * @throws an Error when the library fails.
   */
  encode(planes: Planes, isKey: boolean): Uint8Array;
  close(): void;
}

/** A library that encodes. */
export interface VideoLibrary {
  /** With its version: `OpenH264 2.3.1`. */
  readonly name: string;
  /** @returns null where the library refuses the size. @throws an Error when it fails. */
  open(size: Size): VideoStream | null;
}

/** Pictures a second that the libraries plan for. */
export const PLANNED_FPS = 30;
/** The most that a video may take, in kilobits a second. */
export const MOST_KBPS = 20_000;

/**
 * The primaries of BT.709, the transfer of sRGB, the matrix of BT.601 with luma from 16 to 235 (ITU-T H.264, tables E-3 to E-5): what
 * {@link Planes} hold. Without them, a viewer guesses by the size of the picture.
 */
export const COLOURS = { primaries: 1, transfer: 13, matrix: 6 } as const;

/**
 * The first library that the host has in a build whose layout is known.
 *
 * @returns null for none.
 */
export async function findLibrary(): Promise<VideoLibrary | null> {
  const [{ openX264 }, { openOpenH264 }] = await Promise.all([import("./x264"), import("./openh264")]);
  return openX264() ?? openOpenH264();
}
