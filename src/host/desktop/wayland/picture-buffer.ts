/**
 * Memory that a Wayland compositor writes pictures into, which this process has mapped.
 */
import { closeSync } from "node:fs";
import { unavailable } from "../../../lib/errors";
import type { Rect, Region, Size } from "../geometry";
import { createMemory } from "../shared-memory";
import type { WaylandObject } from "./objects";
import type { Output } from "./outputs";

/** `wl_shm.format`: blue first (argb8888, xrgb8888), and red first (xbgr8888, abgr8888). */
const BLUE_FIRST = [0, 1];
const RED_FIRST = [0x3432_4258, 0x3432_4241];
/** The largest picture, in bytes: 16,384 by 16,384 pixels. */
const MAX_BYTES = 2 ** 30;
const PIXEL_BYTES = 4;

/** A picture as the output has it. */
export interface OutputPicture extends Size {
  /** A pixel each, whose lowest byte is blue, or red. */
  readonly pixels: Int32Array;
  /** How many pixels a row has in memory. */
  readonly stride: number;
  readonly isRedFirst: boolean;
  readonly isUpsideDown: boolean;
  /** How it is turned (`wl_output.transform`), where the compositor says so; as its output otherwise. */
  readonly transform?: number;
  /** What has changed since the one before, where that was asked. */
  readonly damage: readonly Rect[];
}

/** Takes pictures of one output at a time, always into the same memory. */
export interface FrameTaker {
  /**
   * The next picture. It stays as it is until the next call.
   *
   * @param region of the output, from its corner; all of it when left out.
   * @param whenDamaged whether to wait until something has changed since the last one that was taken so.
   */
  take(output: Output, region: Region | undefined, whenDamaged: boolean): Promise<OutputPicture>;
  close(): void;
}

/** The form of a picture in memory. */
export interface Form extends Size {
  readonly format: number;
  /** In bytes. */
  readonly stride: number;
}

/** Whether svc reads pictures of this `wl_shm.format`. */
export const isReadable = (format: number): boolean =>
  BLUE_FIRST.includes(format) || RED_FIRST.includes(format);

/** The memory of one picture. */
export interface PictureBuffer {
  readonly object: WaylandObject<"wl_buffer">;
  /** The picture that the compositor has written there. */
  picture(how: Pick<OutputPicture, "isUpsideDown" | "transform" | "damage">): OutputPicture;
}

/** The memory of one taker: another one where pictures get another form. */
export interface BufferKeeper {
  /** @throws `unavailable` for a form that no picture has. */
  of(form: Form): PictureBuffer;
  close(): void;
}

export function createBufferKeeper(shm: WaylandObject<"wl_shm">): BufferKeeper {
  let kept: { readonly form: Form; readonly buffer: PictureBuffer } | undefined;
  const close = () => {
    kept?.buffer.object.ask("destroy");
    kept = undefined;
  };
  return {
    of(form) {
      if (kept && JSON.stringify(kept.form) === JSON.stringify(form)) return kept.buffer;
      close();
      kept = { form, buffer: createBuffer(shm, form) };
      return kept.buffer;
    },
    close,
  };
}

function createBuffer(shm: WaylandObject<"wl_shm">, form: Form): PictureBuffer {
  const { width, height, stride, format } = form;
  if (
    width < 1 ||
    height < 1 ||
    stride < PIXEL_BYTES * width ||
    stride % PIXEL_BYTES !== 0 ||
    stride * height > MAX_BYTES
  )
    throw unavailable(
      `the Wayland compositor offers a picture of ${width}x${height} in rows of ${stride} bytes`,
    );
  const memory = createMemory(stride * height);
  if (!memory) throw unavailable("there is no memory for a picture of the screen");
  const pool = shm.make("create_pool", memory.fd, stride * height);
  closeSync(memory.fd);
  const object = pool.make("create_buffer", 0, width, height, stride, format);
  pool.ask("destroy");
  const { buffer, byteOffset } = memory.bytes;
  const pixels = new Int32Array(buffer, byteOffset, (stride * height) / PIXEL_BYTES);
  const isRedFirst = RED_FIRST.includes(format);
  return {
    object,
    picture: (how) => ({ width, height, pixels, stride: stride / PIXEL_BYTES, isRedFirst, ...how }),
  };
}
