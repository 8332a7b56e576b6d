/**
 * What lies in a buffer of PipeWire: a picture, and the place of the pointer beside it. It is memory that others write: every size is checked
 * against what was mapped before anything is copied.
 */
import { type Pointer, ptr, read } from "bun:ffi";
import { openLibc } from "../../../lib/libc";
import type { Point } from "../geometry";
import type { OutputPicture } from "../wayland/frames";
import { META_CURSOR, type PictureFormat, VIDEO_FORMAT } from "./pods";

/** `SPA_CHUNK_FLAG_CORRUPTED`: no new picture, only what goes beside it. */
const CORRUPTED = 1;
/** How many kinds of things lie beside a picture, at most. */
const MAX_METAS = 16;

/** The pictures of one stream: the newest is copied. */
export interface Pictures {
  /** The form of those that come from now on; undefined where it is not known. */
  agree(format: PictureFormat | undefined): void;
  /** Copies what a buffer (`struct pw_buffer`) holds. @returns whether it held another picture. */
  take(buffer: Pointer): boolean;
  /** Undefined before the first. It stays as it is until the next {@link take}. */
  newest(): OutputPicture | undefined;
  /** Where the pointer is on it, in its pixels; undefined where it is not, or that is not known. */
  cursor(): Point | undefined;
}

export function createPictures(): Pictures {
  const { memcpy } = openLibc({ memcpy: { args: ["ptr", "ptr", "u64"], returns: "ptr" } });
  let format: PictureFormat | undefined;
  let pixels = new Int32Array();
  let picture: OutputPicture | undefined;
  let cursor: Point | undefined;
  return {
    agree(agreed) {
      format = agreed;
    },
    take(buffer) {
      const block = blockOf(buffer);
      const place = cursorIn(block);
      if (place !== undefined) cursor = place ?? undefined;
      if (!format || block.bytes === 0 || block.flags & CORRUPTED) return false;
      const { width, height } = format;
      const stride = block.stride / 4;
      if (!Number.isInteger(stride) || stride < width || block.stride * height > block.bytes) return false;
      if (pixels.length !== stride * height) pixels = new Int32Array(stride * height);
      memcpy(ptr(pixels), block.data, pixels.byteLength);
      const isRedFirst = format.format === VIDEO_FORMAT.rgbx || format.format === VIDEO_FORMAT.rgba;
      picture = { width, height, stride, pixels, isRedFirst, isUpsideDown: false, damage: [] };
      return true;
    },
    newest: () => picture,
    cursor: () => cursor,
  };
}

const pointerAt = (at: Pointer, offset: number) => read.ptr(at, offset) as Pointer;

/** What a buffer holds: its first block of memory, and where what goes beside it lies. */
interface Block {
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
  const none = { data: metas, bytes: 0, stride: 0, flags: 0, metas, metaCount };
  if (dataCount === 0) return none;
  const maxSize = read.u32(datas, 20);
  const [data, chunk] = [read.ptr(datas, 24), read.ptr(datas, 32)];
  if (!data || !chunk) return none;
  const at = chunk as Pointer;
  const [offset, size, stride, flags] = [read.u32(at, 0), read.u32(at, 4), read.i32(at, 8), read.i32(at, 12)];
  const from = maxSize === 0 ? 0 : offset % maxSize;
  return {
    data: (data + from) as Pointer,
    bytes: Math.min(size, maxSize - from),
    ...{ stride, flags, metas, metaCount },
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
