/**
 * What the process that encodes videos does, as the desktop's child calls it. Pixels and pictures do not pass through the calls: they lie in
 * memory that both have.
 */
import * as v from "valibot";
import { NOTHING, type Protocol } from "../../../../lib/child";

/** The largest picture of a stream, in bytes. */
export const MOST_BYTES = 4 * 1_024 * 1_024;

/** How a picture is encoded: as the first of a stream of its own, without those before it, or after them. */
export const PICTURE_KINDS = ["first", "key", "next"] as const;

export type PictureKind = (typeof PICTURE_KINDS)[number];

/**
 * Why a picture is not encoded though nothing has failed: the library does not take its size; it would have more than {@link MOST_BYTES}.
 * The next one must be a first.
 */
export const REFUSALS = ["its size", "its bytes"] as const;

/** What the process is asked to encode. */
export interface WantedPicture {
  /** Both are even; those of the first picture hold until the next first. */
  readonly width: number;
  readonly height: number;
  readonly kind: PictureKind;
}

/** The calls of the process that encodes videos. */
export interface VideoCalls {
  /** @returns the library that it encodes with, and its version; null where the host has none that is known. */
  find(): Promise<string | null>;
  /**
   * Maps the memory: pixels first (blue, green, red and an unused byte), {@link MOST_BYTES} for a picture at its end.
   *
   * @param path of a file.
   */
  share(path: string): Promise<void>;
  /** Encodes the pixels at the start of the memory. @returns how many bytes of the picture are at its end; or why it is refused. */
  encode(wanted: WantedPicture): Promise<number | (typeof REFUSALS)[number]>;
}

/** The form of what the process answers: native code in it may have been taken over. */
export const VIDEO_PROTOCOL: Protocol<VideoCalls> = {
  answers: {
    find: v.nullable(v.pipe(v.string(), v.maxLength(100))),
    share: NOTHING,
    encode: v.union([
      v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(MOST_BYTES)),
      v.picklist(REFUSALS),
    ]),
  },
  events: {},
};
