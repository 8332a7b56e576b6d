/**
 * The process that encodes videos, from the side of the desktop's child, which shares memory with it.
 */
import { closeSync } from "node:fs";
import { type Child, type Remote, startChild } from "../../../../lib/child";
import { bareEnvironment } from "../../../../lib/confine";
import { silentLog } from "../../../../lib/log";
import { selfCommand } from "../../../../lib/self-command";
import type { Rect, Size } from "../../geometry";
import { createMemory } from "../../shared-memory";
import { MOST_BYTES, type PictureKind, VIDEO_PROTOCOL, type VideoCalls } from "./calls";
import { RefusedPicture } from "./refused";

/** How long the process may take to start, and for a picture, in milliseconds: it is killed then. */
const [START_MS, PICTURE_MS] = [10_000, 3_000];
/** The same where it is asked for a name only: that is a part of a call of the desktop's child, which is killed after 10 s. */
const NAME_MS = 3_000;

/** Pixels that are sent: all of a screen. */
export interface VideoedPixels extends Size {
  /** Blue, green, red and an unused byte, from the lowest. */
  readonly pixels: Int32Array;
}

/** What encodes videos. */
export interface VideoEncoder {
  /** The library, and its version. */
  readonly name: string;
  /**
   * Encodes a part of the screen, one at a time. Where its width or height is odd, the picture is one larger, and its last column or row
   * twice there.
   *
   * @returns an access unit of H.264 (annex B). The pixels are read before this returns.
   * @throws a {@link RefusedPicture}; anything else says why it is of no use any more.
   */
  encode(screen: VideoedPixels, place: Rect, kind: PictureKind): Promise<Buffer>;
  /** Ends it. */
  leave(): void;
}

const even = (size: number) => size + (size & 1);

const start = (command: readonly string[]) =>
  startChild<VideoCalls>({
    command,
    what: "the video encoder",
    // How it ended is what the call that it happened to throws.
    log: silentLog,
    // Its code is that of libraries of the host.
    env: bareEnvironment(),
    protocol: VIDEO_PROTOCOL,
  });

/**
 * Starts the process.
 *
 * @param screen how large the pictures are at most.
 * @param command its command line (default: svc's own).
 * @returns null where the host has no library for it.
 * @throws why it does not start: no memory to share with it, too.
 */
export async function openVideoEncoder(
  screen: Size,
  command: readonly string[] = selfCommand(["video-child"]),
): Promise<VideoEncoder | null> {
  if (process.platform !== "linux") return null;
  const child = start(command);
  try {
    const calls = child.calls(START_MS);
    const name = await calls.find();
    if (name === null) {
      void child.leave();
      return null;
    }
    return encoderIn(child, name, await share(calls, screen));
  } catch (error) {
    void child.kill();
    throw error;
  }
}

/** Memory that both processes have, for pictures of a screen. @throws where there is none. */
async function share(calls: Remote<VideoCalls>, screen: Size): Promise<Uint8Array<ArrayBuffer>> {
  const memory = createMemory(even(screen.width) * even(screen.height) * 4 + MOST_BYTES);
  if (!memory) throw new Error("there is no memory to share with the video encoder");
  try {
    // It has no name in the file system any more.
    await calls.share(`/proc/${process.pid}/fd/${memory.fd}`);
    return memory.bytes;
  } finally {
    closeSync(memory.fd);
  }
}

/** The library that the process would encode with; null for none. @throws why it does not start. */
export async function nameOfEncoder(command = selfCommand(["video-child"])): Promise<string | null> {
  if (process.platform !== "linux") return null;
  await using child = start(command);
  return await child.calls(NAME_MS).find();
}

function encoderIn(child: Child<VideoCalls>, name: string, memory: Uint8Array<ArrayBuffer>): VideoEncoder {
  const calls = child.calls(PICTURE_MS);
  const pixels = new Int32Array(memory.buffer, memory.byteOffset, (memory.length - MOST_BYTES) / 4);
  const picture = memory.subarray(memory.length - MOST_BYTES);
  return {
    name,
    async encode(screen, place, kind) {
      const [width, height] = [even(place.width), even(place.height)];
      copyPart(pixels, screen, place);
      const length = await calls.encode({ width, height, kind });
      if (typeof length === "string")
        throw new RefusedPicture(`a picture of ${width}x${height} is refused for ${length}`);
      return Buffer.from(picture.subarray(0, length));
    },
    leave: () => void child.leave(),
  };
}

/** Copies a part of the screen to the start of `to`, in rows and columns of an even number. */
function copyPart(to: Int32Array, screen: VideoedPixels, { x, y, width, height }: Rect): void {
  const across = even(width);
  const end = across * height;
  if (across === width && width === screen.width) {
    to.set(screen.pixels.subarray(y * width, (y + height) * width));
  } else {
    for (let row = y, out = 0; out < end; row++, out += across) {
      const from = row * screen.width + x;
      to.set(screen.pixels.subarray(from, from + width), out);
      if (across > width) to[out + width] = to[out + width - 1] ?? 0;
    }
  }
  if (height & 1) to.copyWithin(end, end - across, end);
}
