/**
 * Where the desktop's child encodes videos, and when it tries that again after a failure.
 *
 * Promise: a failure ends videos for a while only, which grows while nothing succeeds in between. Several in a row end them for good: what
 * they cost, the end of a video and a process each time, is then spent for nothing.
 */
import type { VideoEvents } from "../calls";
import type { VideoEncoder } from "../video/encoder";
import type { VideoSource } from "./video";

/** How long nothing is encoded after one failure, after a second one in a row, and so on, in milliseconds. After one more it is over. */
const PAUSES_MS = [1, 4, 16, 16].map((minutes) => minutes * 60_000);
/** After so many pictures, a failure is the first one again. */
const GOOD_PICTURES = 100;

/** Where videos are encoded in this process. */
export interface OwnVideos extends VideoSource {
  /** Nothing encodes them from now on. */
  forbid(): void;
}

/** Starts what encodes; null where the host has no library for it. @throws why it does not start. */
type OpenEncoder = VideoSource["open"];

/** With a library of the host, in a process of its own. */
const openHere: OpenEncoder = async (size) => (await import("../video/encoder")).openVideoEncoder(size);

/**
 * @param events hears of each failure.
 * @param open starts what encodes (default: with a library of the host, in a process of its own).
 */
export function createVideos(events: VideoEvents, open = openHere): OwnVideos {
  /** For good: it failed too often, or there is nothing to encode with. */
  let isOff = false;
  let again = Number.NEGATIVE_INFINITY;
  let [failures, pictures] = [0, 0];
  return {
    isReady: () => !isOff && performance.now() >= again,
    async open(size) {
      const encoder = await open(size);
      isOff ||= encoder === null;
      return encoder && counted(encoder, () => pictures++);
    },
    failed(reason) {
      failures = pictures >= GOOD_PICTURES ? 1 : failures + 1;
      pictures = 0;
      const pause = PAUSES_MS[failures - 1];
      if (pause === undefined) isOff = true;
      else again = performance.now() + pause;
      events.videoFailed(reason, pause ?? null);
    },
    forbid() {
      isOff = true;
    },
  };
}

/** The encoder, of which each picture is counted. */
const counted = (encoder: VideoEncoder, made: () => void): VideoEncoder => ({
  name: encoder.name,
  async encode(...wanted) {
    const picture = await encoder.encode(...wanted);
    made();
    return picture;
  },
  leave: () => encoder.leave(),
});
