/**
 * The recorder of the screen, in the desktop's child process: a viewer that writes what it sees to a film.
 *
 * Promise: it costs half a processor at most, and nothing while nothing changes.
 */
import { messageOf } from "../../../../lib/errors";
import type { Size } from "../../geometry";
import type { Frame } from "../child/frame";
import type { Looker, Screen } from "../child/screen";
import type { RecordingOptions, RecordingResult } from "./calls";
import { createFilm, type Film } from "./film";
import { keyFrameOf } from "./webm";

/** What it needs of the screen that viewers share. */
export type FilmedScreen = Pick<Screen, "add" | "remove" | "look"> & {
  /** The pixels of now. Another one when the size has changed. */
  readonly frame: Pick<Frame, "width" | "height" | "bytes">;
};

/** Makes the picture of a film. */
export type FilmEncoder = (frame: FilmedScreen["frame"]) => Promise<Uint8Array>;

/** Readable text at a third of the size of the best. */
const QUALITY = 60;

/**
 * Records until `stop` aborts, or a limit is reached.
 *
 * @param stop with an error of its own as its reason, the recording has failed.
 * @throws what the system says of the file.
 */
export async function recordFilm(
  screen: FilmedScreen,
  { file, fps, ...limits }: RecordingOptions,
  stop: AbortSignal,
): Promise<RecordingResult> {
  const { width, height } = screen.frame;
  const film = createFilm(file, { width, height }, limits);
  const started = performance.now();
  const elapsed = () => performance.now() - started;
  const { promise: over, resolve: end } = Promise.withResolvers<Pick<RecordingResult, "ended" | "error">>();
  const encode = createFilmEncoder({ width, height });
  let isStale = true;
  let encoding: Promise<void> | undefined;
  /** When the next picture may be taken, in milliseconds from the start. */
  let next = 0;

  const take = async () => {
    const ms = Math.round(elapsed());
    isStale = false;
    const picture = await encode(screen.frame);
    const took = elapsed() - ms;
    next = ms + Math.max(1_000 / fps, 2 * took);
    if (!film.add(ms, picture)) end({ ended: "size", error: null });
  };
  const isReady = () => !encoding && elapsed() >= next && film.hasRoom(elapsed());
  const push = () => {
    if (!isStale || !isReady()) return;
    encoding = take()
      .catch((error) => end({ ended: "failed", error: messageOf(error) }))
      .finally(() => {
        encoding = undefined;
      });
  };
  const looker: Looker = {
    isReady,
    push,
    changed() {
      isStale = true;
    },
    replaced() {
      isStale = true;
      push();
    },
    cursorChanged() {},
    clipboardChanged() {},
    drawsPointer: () => false,
  };
  screen.add(looker);
  push();
  const looking = setInterval(() => {
    screen.look();
    push();
  }, 1_000 / fps);
  const limit = setTimeout(() => end({ ended: "time", error: null }), limits.maxMs);
  const stopped = () => {
    const hasFailed = stop.reason instanceof Error && stop.reason.name !== "AbortError";
    end(hasFailed ? { ended: "failed", error: messageOf(stop.reason) } : { ended: "stopped", error: null });
  };
  stop.addEventListener("abort", stopped);
  if (stop.aborted) stopped();
  const why = await over;
  const ms = Math.round(Math.min(elapsed(), limits.maxMs));
  stop.removeEventListener("abort", stopped);
  clearTimeout(limit);
  clearInterval(looking);
  screen.remove(looker);
  await encoding;
  const failure = completed(film, ms);
  const { pictures, bytes } = film;
  const seconds = film.ms / 1_000;
  const isOver = why.ended === "failed" || failure === null;
  return { ...(isOver ? why : { ended: "failed", error: failure }), seconds, pictures, bytes, width, height };
}

/** @returns why it could not be: what was written before can be played all the same. */
function completed(film: Film, ms: number): string | null {
  try {
    try {
      film.last(ms);
    } finally {
      film.close();
    }
    return null;
  } catch (error) {
    return messageOf(error);
  }
}

const BITMAP_HEADER = 54;

/** Makes pictures of a film of frames of any size: its own does not change. @returns what makes a key frame of VP8 of a frame. */
export function createFilmEncoder({ width, height }: Size): FilmEncoder {
  let bitmap: Buffer | undefined;
  return async (frame: FilmedScreen["frame"]): Promise<Uint8Array> => {
    if (bitmap?.length !== BITMAP_HEADER + frame.bytes.length) bitmap = emptyBitmap(frame);
    bitmap.set(frame.bytes, BITMAP_HEADER);
    const image = new Bun.Image(bitmap);
    const isSame = frame.width === width && frame.height === height;
    const fitted = isSame ? image : image.resize(width, height, { fit: "fill" });
    return keyFrameOf(await fitted.webp({ quality: QUALITY }).bytes());
  };
}

/** A bitmap (BITMAPINFOHEADER), the form without compression that `Bun.Image` reads; its rows go from the top down. */
function emptyBitmap({ width, height, bytes }: FilmedScreen["frame"]): Buffer {
  const bitmap = Buffer.alloc(BITMAP_HEADER + bytes.length);
  bitmap.write("BM");
  bitmap.writeUInt32LE(bitmap.length, 2);
  bitmap.writeUInt32LE(BITMAP_HEADER, 10);
  bitmap.writeUInt32LE(40, 14);
  bitmap.writeInt32LE(width, 18);
  bitmap.writeInt32LE(-height, 22);
  bitmap.writeUInt16LE(1, 26);
  bitmap.writeUInt16LE(32, 28);
  return bitmap;
}
