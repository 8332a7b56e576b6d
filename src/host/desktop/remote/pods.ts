/**
 * Values of PipeWire's parameters (SPA POD: spa/pod/pod.h), as far as pictures of a screen need them.
 */
import type { Size } from "../geometry";

/** `spa/utils/type.h` */
const TYPE = { id: 3, int: 4, rectangle: 10, fraction: 11, object: 15, choice: 19 } as const;
const OBJECT = { format: 0x4_0003, buffers: 0x4_0004, meta: 0x4_0005 } as const;
const [RANGE, ENUM, FLAGS] = [1, 3, 4];
/** `spa/param/param.h` */
const [PARAM_ENUM_FORMAT, PARAM_BUFFERS, PARAM_META] = [3, 5, 6];
/** `spa/param/format.h`, `spa/param/buffers.h` */
const KEY = { mediaType: 1, mediaSubtype: 2, format: 0x2_0001, size: 0x2_0003, framerate: 0x2_0004 } as const;
const BUFFERS = { dataType: 6 } as const;
const META = { type: 1, size: 2 } as const;
const [VIDEO, RAW] = [2, 1];
/** `spa/param/video/raw.h`: without and with transparency, blue first and red first. */
export const VIDEO_FORMAT = { rgbx: 7, bgrx: 8, rgba: 11, bgra: 12 } as const;
const FORMATS: ReadonlySet<number> = new Set(Object.values(VIDEO_FORMAT));
/** `spa/buffer/buffer.h`: memory behind a descriptor, which says how large it is. */
export const MEMORY_FD = 2;
/** `spa/buffer/meta.h` */
export const META_CURSOR = 5;
/** `struct spa_meta_cursor` without the picture of the pointer, and with one of 1,024 by 1,024 pixels: the other side says how large it is. */
const [CURSOR_SIZE, MAX_CURSOR_SIZE] = [28, 64 + 4 * 1_024 * 1_024];
/** As many pixels as Wayland's pictures may have a side. */
const MAX_SIDE = 16_384;
/** Pictures a second, at most. */
const MAX_RATE = 60;

interface Pod {
  readonly type: number;
  readonly body: Buffer;
}

function words(...values: readonly number[]): Buffer {
  const bytes = Buffer.alloc(4 * values.length);
  for (const [nth, value] of values.entries()) bytes.writeUInt32LE(value >>> 0, 4 * nth);
  return bytes;
}

const padded = (bytes: Buffer) => Buffer.concat([bytes, Buffer.alloc((8 - (bytes.length % 8)) % 8)]);
const encode = ({ type, body }: Pod) => Buffer.concat([words(body.length, type), padded(body)]);
const id = (value: number): Pod => ({ type: TYPE.id, body: words(value) });
/** One of several values of two words or one; the first is the one that is liked best. */
const choice = (kind: number, type: number, ...values: ReadonlyArray<readonly number[]>): Pod => ({
  type: TYPE.choice,
  body: Buffer.concat([words(kind, 0, 4 * (values[0]?.length ?? 0), type), words(...values.flat())]),
});

function object(type: number, param: number, properties: ReadonlyArray<readonly [key: number, Pod]>): Buffer {
  const each = properties.map(([key, value]) => Buffer.concat([words(key, 0), encode(value)]));
  return encode({ type: TYPE.object, body: Buffer.concat([words(type, param), ...each]) });
}

/** The pictures that are taken: 32 bits a pixel, of any size, in memory. */
export const wantedFormat = (): Buffer => {
  const { bgrx, bgra, rgbx, rgba } = VIDEO_FORMAT;
  return object(OBJECT.format, PARAM_ENUM_FORMAT, [
    [KEY.mediaType, id(VIDEO)],
    [KEY.mediaSubtype, id(RAW)],
    [KEY.format, choice(ENUM, TYPE.id, [bgrx], [bgrx], [bgra], [rgbx], [rgba])],
    [KEY.size, choice(RANGE, TYPE.rectangle, [1_280, 800], [1, 1], [MAX_SIDE, MAX_SIDE])],
    [KEY.framerate, choice(RANGE, TYPE.fraction, [MAX_RATE, 1], [0, 1], [1_000, 1])],
  ]);
};

/** What is asked of the buffers: memory behind a descriptor, and the place of the pointer beside each. */
export const wantedBuffers = (): readonly Buffer[] => [
  object(OBJECT.buffers, PARAM_BUFFERS, [[BUFFERS.dataType, choice(FLAGS, TYPE.int, [1 << MEMORY_FD])]]),
  object(OBJECT.meta, PARAM_META, [
    [META.type, id(META_CURSOR)],
    [META.size, choice(RANGE, TYPE.int, [CURSOR_SIZE], [CURSOR_SIZE], [MAX_CURSOR_SIZE])],
  ]),
];

/** The size and the format of pictures. */
export interface PictureFormat extends Size {
  readonly format: number;
}

/** What was agreed on, from the format that the other side sets; undefined for what is none of {@link wantedFormat}. */
export function agreedFormat(pod: Buffer): PictureFormat | undefined {
  if (pod.length < 16 || pod.readUInt32LE(4) !== TYPE.object) return undefined;
  const found = new Map<number, Buffer>();
  for (let at = 16; at + 16 <= pod.length; ) {
    const size = pod.readUInt32LE(at + 8);
    const type = pod.readUInt32LE(at + 12);
    const body = pod.subarray(at + 16, at + 16 + size);
    found.set(pod.readUInt32LE(at), type === TYPE.choice ? body.subarray(16) : body);
    at += 16 + size + ((8 - (size % 8)) % 8);
  }
  const [format, size] = [found.get(KEY.format), found.get(KEY.size)];
  if (!format || format.length < 4 || !size || size.length < 8) return undefined;
  const [width, height] = [size.readUInt32LE(0), size.readUInt32LE(4)];
  const isUsual = width > 0 && height > 0 && width <= MAX_SIDE && height <= MAX_SIDE;
  const kind = format.readUInt32LE(0);
  return isUsual && FORMATS.has(kind) ? { format: kind, width, height } : undefined;
}
