/**
 * A film that is written while it happens: a file that can be played at any time, also after this process has crashed.
 *
 * Its size is bounded. Where pictures come faster than the size allows for the time that is left, some are left out.
 */
import { closeSync, openSync, writeSync } from "node:fs";
import { PRIVATE_FILE } from "../../../../lib/files";
import type { Size } from "../../geometry";
import type { RecordingOptions } from "./calls";
import { CUE_BYTES, clusterOf, cuesOf, openingOf } from "./webm";

/** This share of the size may be used at once: the rest is given out as time goes by. */
const AT_ONCE = 0.1;
/** The index has at most one place in so many milliseconds. */
const CUE_MS = 1_000;

/** A film that is being written. */
export interface Film {
  /** How many pictures it has, how large it is, and until when its last picture is shown, in milliseconds. */
  readonly pictures: number;
  readonly bytes: number;
  readonly ms: number;
  /** Whether a picture at this time fits what the size allows until then. */
  hasRoom(ms: number): boolean;
  /**
   * @param ms when it is shown, after the one before.
   * @returns false when it does not fit the file any more. @throws what the system says.
   */
  add(ms: number, picture: Uint8Array): boolean;
  /** The last picture is shown until this time at least. @throws what the system says. */
  last(ms: number): void;
  /** Completes the file: the index makes it quick to wind. @throws what the system says. */
  close(): void;
}

/** @param path the file; one that is there is replaced. @throws what the system says. */
export function createFilm(
  path: string,
  size: Size,
  { maxMs, maxBytes }: Pick<RecordingOptions, "maxMs" | "maxBytes">,
): Film {
  const file = openSync(path, "w", PRIVATE_FILE);
  const opening = openingOf(size, "svc");
  const places: Array<{ ms: number; at: number }> = [];
  let end = 0;
  let pictures = 0;
  let lastMs = 0;
  const write = (bytes: Uint8Array, at: number) => {
    for (let done = 0; done < bytes.length; ) {
      done += writeSync(file, bytes, done, bytes.length - done, at + done);
    }
  };
  const append = (bytes: Uint8Array) => {
    write(bytes, end);
    end += bytes.length;
  };
  try {
    append(opening.bytes);
  } catch (error) {
    closeSync(file);
    throw error;
  }
  const indexBytes = (cues: number) => (cues + 2) * CUE_BYTES;
  const pictureBytes = maxBytes - indexBytes(maxMs / CUE_MS);

  return {
    hasRoom: (ms) => end < pictureBytes * (AT_ONCE + (1 - AT_ONCE) * Math.min(1, ms / maxMs)),
    add(ms, picture) {
      const cluster = clusterOf(ms, picture);
      if (end + cluster.length + indexBytes(places.length + 1) > maxBytes) return false;
      const at = end - opening.segmentAt;
      append(cluster);
      if (ms - (places.at(-1)?.ms ?? -CUE_MS) >= CUE_MS) places.push({ ms, at });
      this.last(ms);
      pictures++;
      return true;
    },
    last(ms) {
      lastMs = Math.max(lastMs, ms);
      const { at, bytes } = opening.lasts(lastMs);
      write(bytes, at);
    },
    close() {
      try {
        const { at, bytes } = opening.indexed(end - opening.segmentAt);
        append(cuesOf(places));
        write(bytes, at);
      } finally {
        closeSync(file);
      }
    },
    get pictures() {
      return pictures;
    },
    get bytes() {
      return end;
    },
    get ms() {
      return lastMs;
    },
  };
}
