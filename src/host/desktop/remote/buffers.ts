/**
 * What lies in a buffer of PipeWire: a picture, and the place of the pointer beside it. It is memory that others write, and may give back: every
 * size is checked against that of the memory, which must be sealed, before anything is copied.
 */
import { type Pointer, ptr, read } from "bun:ffi";
import { fstatSync } from "node:fs";
import { openLibc } from "../../../lib/libc";
import type { Point } from "../geometry";
import type { OutputPicture } from "../wayland/picture-buffer";
import { MEMORY_FD, META_CURSOR, type PictureFormat, VIDEO_FORMAT } from "./pods";

/** `SPA_CHUNK_FLAG_CORRUPTED`: no new picture, only what goes beside it. */
const CORRUPTED = 1;
/** How many kinds of things lie beside a picture, at most. */
const MAX_METAS = 16;
/** How many buffers are taken at a time: as many as a stream of PipeWire has. */
const MAX_BUFFERS = 64;
/** `linux/fcntl.h`: what a memory file is sealed against; that it is made smaller, which ends whoever reads what was there (mmap(2), SIGBUS). */
const [F_GET_SEALS, F_SEAL_SHRINK] = [1_034, 2];
const PIXEL_BYTES = 4;

/** The buffers that have arrived. */
export interface BufferQueue {
  /** The oldest (`struct pw_buffer`); null where there is none. */
  next(): Pointer | null;
  /** Gives one back, to be filled again. */
  giveBack(buffer: Pointer): void;
}

/** The pictures of one stream: the newest is copied. */
export interface Pictures {
  /** The form of those that come from now on; undefined where it is not known. */
  agree(format: PictureFormat | undefined): void;
  /**
   * Takes each place of the pointer, and the newest picture, from all buffers of a queue.
   *
   * @returns what has come: `place` where there were buffers, but no other picture.
   */
  take(queue: BufferQueue): "nothing" | "place" | "picture";
  /** Undefined before the first. It stays as it is until the next {@link take}. */
  newest(): OutputPicture | undefined;
  /** Where the pointer is on it, in its pixels; undefined where it is not, or that is not known. */
  cursor(): Point | undefined;
  /** Why the last picture that came was not taken, of all that come; undefined where it was, and before the first. */
  refusal(): string | undefined;
}

export function createPictures(): Pictures {
  const { memcpy, fcntl } = openLibc({
    memcpy: { args: ["ptr", "ptr", "u64"], returns: "ptr" },
    fcntl: { args: ["i32", "i32", "i64"], returns: "i32" },
  });
  let format: PictureFormat | undefined;
  let pixels = new Int32Array();
  let picture: OutputPicture | undefined;
  let cursor: Point | undefined;
  let refusal: string | undefined;
  /** Whether a memory file stays as large as it is: who reads what is not there any more is ended by SIGBUS. */
  const isSealed = (descriptor: number) => {
    const seals = fcntl(descriptor, F_GET_SEALS, 0);
    return seals >= 0 && (seals & F_SEAL_SHRINK) !== 0;
  };
  /** @returns why what it holds is no picture of the form that was agreed on; undefined where it is, and was copied. */
  const copy = (buffer: Pointer): string | undefined => {
    // Read once: others may write it meanwhile.
    const block = blockOf(buffer);
    if (!format) return "they have a form that svc did not ask for";
    if (block.type !== MEMORY_FD) return "they lie in no shared memory";
    const { width, height } = format;
    const [row, { stride }] = [PIXEL_BYTES * width, block];
    if (stride < row || stride * height > block.bytes) return "they are smaller than they should be";
    if (!isSealed(block.descriptor))
      return "their memory may be taken away while it is read (it is not sealed)";
    if (fstatSync(block.descriptor).size < block.at + stride * height)
      return "they lie beyond the end of their memory";
    if (pixels.length !== width * height) pixels = new Int32Array(width * height);
    const from = Number(block.data);
    if (stride === row) memcpy(ptr(pixels), from as Pointer, row * height);
    else for (let y = 0; y < height; y++) memcpy(ptr(pixels, row * y), (from + stride * y) as Pointer, row);
    const isRedFirst = format.format === VIDEO_FORMAT.rgbx || format.format === VIDEO_FORMAT.rgba;
    picture = { width, height, stride: width, pixels, isRedFirst, isUpsideDown: false, damage: [] };
    return undefined;
  };
  return {
    agree(agreed) {
      format = agreed;
    },
    take({ next, giveBack }) {
      let isAny = false;
      /** The newest that holds a picture: nobody sees those before it. */
      let held: Pointer | undefined;
      for (let left = MAX_BUFFERS; left > 0; left--) {
        const buffer = next();
        if (!buffer) break;
        isAny = true;
        const block = blockOf(buffer);
        const place = cursorIn(block);
        if (place !== undefined) cursor = place ?? undefined;
        const isPicture = block.bytes > 0 && !(block.flags & CORRUPTED);
        const done = isPicture ? held : buffer;
        if (isPicture) held = buffer;
        if (done) giveBack(done);
      }
      if (held === undefined) return isAny ? "place" : "nothing";
      refusal = copy(held);
      giveBack(held);
      return refusal === undefined ? "picture" : "place";
    },
    newest: () => picture,
    cursor: () => cursor,
    refusal: () => refusal,
  };
}

const pointerAt = (at: Pointer, offset: number) => read.ptr(at, offset) as Pointer;

/** What a buffer holds: its first block of memory, and where what goes beside it lies. */
interface Block {
  readonly type: number;
  /** The memory file that it lies in, and where in that it begins. */
  readonly descriptor: number;
  readonly at: number;
  readonly data: Pointer;
  /** How many bytes of the picture there are; 0 for none. */
  readonly bytes: number;
  readonly stride: number;
  readonly flags: number;
  readonly metas: Pointer;
  readonly metaCount: number;
}

/** `struct pw_buffer`, `struct spa_buffer`, `struct spa_data` and `struct spa_chunk`. */
function blockOf(buffer: Pointer): Block {
  const spa = pointerAt(buffer, 0);
  const [metaCount, dataCount] = [read.u32(spa, 0), read.u32(spa, 4)];
  const [metas, datas] = [pointerAt(spa, 8), pointerAt(spa, 16)];
  const beside = { metas, metaCount };
  const none = { type: 0, descriptor: -1, at: 0, data: metas, bytes: 0, stride: 0, flags: 0, ...beside };
  if (dataCount === 0) return none;
  const [type, descriptor] = [read.u32(datas, 0), Number(read.i64(datas, 8))];
  const [mapOffset, maxSize] = [read.u32(datas, 16), read.u32(datas, 20)];
  const [data, chunk] = [read.ptr(datas, 24), read.ptr(datas, 32)];
  if (!data || !chunk) return none;
  const at = chunk as Pointer;
  const [offset, size, stride, flags] = [read.u32(at, 0), read.u32(at, 4), read.i32(at, 8), read.i32(at, 12)];
  const from = maxSize === 0 ? 0 : offset % maxSize;
  return {
    type,
    descriptor,
    at: mapOffset + from,
    data: (data + from) as Pointer,
    bytes: Math.min(size, maxSize - from),
    stride,
    flags,
    ...beside,
  };
}

/** `struct spa_meta_cursor`; null where the pointer is not in sight, undefined where nothing is said of it. */
function cursorIn({ metas, metaCount }: Block): Point | null | undefined {
  for (let nth = 0; nth < Math.min(metaCount, MAX_METAS); nth++) {
    const [type, size, data] = [
      read.u32(metas, 16 * nth),
      read.u32(metas, 16 * nth + 4),
      read.ptr(metas, 16 * nth + 8),
    ];
    if (type !== META_CURSOR || size < 16 || !data) continue;
    const at = data as Pointer;
    return read.u32(at, 0) === 0 ? null : { x: read.i32(at, 8), y: read.i32(at, 12) };
  }
  return undefined;
}
