/**
 * Pictures of one output (wlr-screencopy): the compositor writes them into memory that this process has mapped.
 */
import { closeSync } from "node:fs";
import { unavailable } from "../../../lib/errors";
import type { Region, Size } from "../geometry";
import type { Rect } from "../screen/child/frame";
import { createMemory } from "../shared-memory";
import type { WaylandConnection } from "./connection";
import type { WaylandObject } from "./objects";
import type { Output } from "./outputs";

const MANAGER = "zwlr_screencopy_manager_v1";
/** `zwlr_screencopy_frame_v1.flags.y_invert`: the first row is the lowest. */
const UPSIDE_DOWN = 1;
/** `wl_shm.format`: blue first (argb8888, xrgb8888), and red first (xbgr8888, abgr8888). */
const BLUE_FIRST = [0, 1];
const RED_FIRST = [0x3432_4258, 0x3432_4241];
/** The first version in which a frame says when it has named all kinds of buffers. */
const NAMES_ALL = 3;

/** A picture as the output has it. */
export interface OutputPicture extends Size {
  /** A pixel each, whose lowest byte is blue, or red. */
  readonly pixels: Int32Array;
  /** How many pixels a row has in memory. */
  readonly stride: number;
  readonly isRedFirst: boolean;
  readonly isUpsideDown: boolean;
  /** What has changed since the one before, where that was asked. */
  readonly damage: readonly Rect[];
}

interface Form extends Size {
  readonly format: number;
  /** In bytes. */
  readonly stride: number;
}

interface PictureBuffer {
  readonly form: Form;
  readonly object: WaylandObject<"wl_buffer">;
  readonly pixels: Int32Array;
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

/** @returns a function that makes takers. @throws `unavailable` where the compositor gives no pictures. */
export function openFrames(connection: WaylandConnection): () => FrameTaker {
  const manager = connection.bind(MANAGER);
  const shm = connection.bind("wl_shm");
  if (!manager || !shm) throw connection.lacks(MANAGER, "a picture of the screen cannot be taken");
  return () => {
    let buffer: PictureBuffer | undefined;
    const bufferFor = (form: Form) => {
      if (buffer && JSON.stringify(buffer.form) === JSON.stringify(form)) return buffer;
      buffer?.object.ask("destroy");
      buffer = createBuffer(shm, form);
      return buffer;
    };
    return {
      take: (output, region, whenDamaged) =>
        takeFrame(connection, manager, { output, region, whenDamaged, bufferFor }),
      close() {
        buffer?.object.ask("destroy");
        buffer = undefined;
      },
    };
  };
}

/** The largest picture, in bytes: 16,384 by 16,384 pixels. */
const MAX_BYTES = 2 ** 30;

function createBuffer(shm: WaylandObject<"wl_shm">, form: Form): PictureBuffer {
  const { width, height, stride, format } = form;
  if (stride < 4 * width || stride * height > MAX_BYTES)
    throw unavailable(
      `the Wayland compositor offers a picture of ${width}x${height} in rows of ${stride} bytes`,
    );
  const memory = createMemory(stride * height);
  if (!memory) throw unavailable("there is no room in /dev/shm for a picture of the screen");
  const pool = shm.make("create_pool", memory.fd, stride * height);
  closeSync(memory.fd);
  const object = pool.make("create_buffer", 0, width, height, stride, format);
  pool.ask("destroy");
  const { buffer, byteOffset } = memory.bytes;
  return { form, object, pixels: new Int32Array(buffer, byteOffset, (stride * height) / 4) };
}

interface Order {
  readonly output: Output;
  readonly region: Region | undefined;
  readonly whenDamaged: boolean;
  bufferFor(form: Form): PictureBuffer;
}

function takeFrame(
  connection: WaylandConnection,
  manager: WaylandObject<typeof MANAGER>,
  { output, region, whenDamaged, bufferFor }: Order,
): Promise<OutputPicture> {
  const { id } = output.object;
  const frame = region
    ? manager.make(
        "capture_output_region",
        ...([0, id, region.x1, region.y1, region.x2 - region.x1, region.y2 - region.y1] as const),
      )
    : manager.make("capture_output", 0, id);
  let form: Form | undefined;
  let buffer: PictureBuffer | undefined;
  let isUpsideDown = false;
  const damage: Rect[] = [];
  const begin = (resolve: (picture: OutputPicture) => void, reject: (error: Error) => void) => {
    const copy = () => {
      try {
        if (!form) throw unavailable("the Wayland compositor offers no memory for pictures of the screen");
        buffer = bufferFor(form);
        frame.ask(whenDamaged ? "copy_with_damage" : "copy", buffer.object.id);
      } catch (error) {
        reject(error instanceof Error ? error : new Error(String(error)));
      }
    };
    frame.on({
      buffer(format, width, height, stride) {
        if (!BLUE_FIRST.includes(format) && !RED_FIRST.includes(format)) return;
        form = { format, width, height, stride };
        if (frame.version < NAMES_ALL) copy();
      },
      buffer_done: copy,
      flags(bits) {
        isUpsideDown = (bits & UPSIDE_DOWN) !== 0;
      },
      damage(x, y, width, height) {
        damage.push({ x, y, width, height });
      },
      ready() {
        if (!buffer) return;
        const { width, height, stride, format } = buffer.form;
        const isRedFirst = RED_FIRST.includes(format);
        const { pixels } = buffer;
        resolve({ width, height, pixels, stride: stride / 4, isRedFirst, isUpsideDown, damage });
      },
      failed: () =>
        reject(
          unavailable(`the Wayland compositor ${connection.compositor} gave no picture of ${output.name}`),
        ),
    });
  };
  // Nothing may change for hours.
  return connection
    .wait("a picture of the screen", begin, whenDamaged ? null : undefined)
    .finally(() => frame.ask("destroy"));
}
