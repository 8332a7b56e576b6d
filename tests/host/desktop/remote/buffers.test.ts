/** What is taken from buffers of PipeWire, whose memory and sizes are whatever others like. On Linux. */

import { type Pointer, ptr } from "bun:ffi";
import { afterEach, expect, test as runnerTest } from "bun:test";
import { closeSync, ftruncateSync, writeSync } from "node:fs";
import { createPictures } from "../../../../src/host/desktop/remote/buffers";
import { MEMORY_FD, VIDEO_FORMAT } from "../../../../src/host/desktop/remote/pods";
import { openLibc } from "../../../../src/lib/libc";

const test = runnerTest.skipIf(process.platform !== "linux");
/** `linux/memfd.h`, `linux/fcntl.h`. */
const [MFD_ALLOW_SEALING, F_ADD_SEALS, F_SEAL_SHRINK] = [2, 1_033, 2];
/** `sys/mman.h` */
const [PROT_READ, MAP_SHARED] = [1, 1];
const PAGE = 4_096;
/** What comes of a buffer whose picture is not taken. */
const refused = (refusal: string) => ({
  come: "place" as const,
  picture: undefined,
  refusal: expect.stringContaining(refusal),
});

const opened: number[] = [];
afterEach(() => {
  for (const descriptor of opened.splice(0)) closeSync(descriptor);
});

interface Memory {
  readonly descriptor: number;
  readonly data: number;
}

/** @param mapped how much of it is mapped, in bytes; `size` is how much there is. */
function memoryOf(
  pixels: readonly number[],
  {
    size = PAGE,
    mapped = PAGE,
    isSealed = true,
  }: { size?: number; mapped?: number; isSealed?: boolean } = {},
): Memory {
  const { memfd_create, fcntl, mmap } = openLibc({
    memfd_create: { args: ["ptr", "u32"], returns: "i32" },
    fcntl: { args: ["i32", "i32", "i64"], returns: "i32" },
    mmap: { args: ["ptr", "u64", "i32", "i32", "i32", "i64"], returns: "ptr" },
  });
  const descriptor = memfd_create(ptr(Buffer.from("test\0")), MFD_ALLOW_SEALING);
  opened.push(descriptor);
  ftruncateSync(descriptor, size);
  writeSync(descriptor, Buffer.from(new Int32Array(pixels).buffer), 0, Math.min(4 * pixels.length, size), 0);
  if (isSealed) fcntl(descriptor, F_ADD_SEALS, F_SEAL_SHRINK);
  return { descriptor, data: Number(mmap(null, mapped, PROT_READ, MAP_SHARED, descriptor, 0)) };
}

interface Chunk {
  readonly memory: Memory;
  /** In bytes. */
  readonly stride: number;
  readonly size: number;
  readonly maxSize?: number;
  readonly type?: number;
}

/** `struct pw_buffer` with one block and no metas. @returns with what it points to, which must live as long. */
function bufferOf({ memory, stride, size, maxSize = PAGE, type = MEMORY_FD }: Chunk) {
  const chunk = Buffer.alloc(16);
  chunk.writeUInt32LE(size, 4);
  chunk.writeInt32LE(stride, 8);
  const datas = Buffer.alloc(40);
  datas.writeUInt32LE(type, 0);
  datas.writeBigInt64LE(BigInt(memory.descriptor), 8);
  datas.writeUInt32LE(maxSize, 20);
  datas.writeBigUInt64LE(BigInt(memory.data), 24);
  datas.writeBigUInt64LE(BigInt(ptr(chunk)), 32);
  const spa = Buffer.alloc(24);
  spa.writeUInt32LE(1, 4);
  spa.writeBigUInt64LE(BigInt(ptr(datas)), 16);
  const buffer = Buffer.alloc(8);
  buffer.writeBigUInt64LE(BigInt(ptr(spa)), 0);
  return { at: ptr(buffer), parts: [chunk, datas, spa, buffer] };
}

/** Has pictures of 2 by 2 pixels taken from buffers that wait. */
function taken(...chunks: readonly Chunk[]) {
  const buffers = chunks.map(bufferOf);
  const waiting: Pointer[] = buffers.map(({ at }) => at);
  const back: Pointer[] = [];
  const pictures = createPictures();
  pictures.agree({ format: VIDEO_FORMAT.bgrx, width: 2, height: 2 });
  const come = pictures.take({
    next: () => waiting.shift() ?? null,
    giveBack: (buffer) => void back.push(buffer),
  });
  expect(back.toSorted()).toEqual(buffers.map(({ at }) => at).toSorted());
  return { come, picture: pictures.newest(), refusal: pictures.refusal() };
}

test("the rows of a picture are copied, and not what lies between them", () => {
  const memory = memoryOf([1, 2, 90, 3, 4, 91]);
  const { come, picture, refusal } = taken({ memory, stride: 12, size: 24 });
  expect([come, refusal]).toEqual(["picture", undefined]);
  expect(picture).toMatchObject({ width: 2, height: 2, stride: 2 });
  expect([...(picture?.pixels ?? [])]).toEqual([1, 2, 3, 4]);
  expect([...(taken({ memory, stride: 8, size: 16 }).picture?.pixels ?? [])]).toEqual([1, 2, 90, 3]);
});

test("rows that lie far apart take no more memory than their pixels", () => {
  const apart = 64 * 1_024 * 1_024;
  const memory = memoryOf([1, 2], { size: 2 * apart, mapped: 2 * apart });
  const { picture } = taken({ memory, stride: apart, size: 2 * apart, maxSize: 2 * apart });
  expect([...(picture?.pixels ?? [])]).toEqual([1, 2, 0, 0]);
});

test("a picture that lies beyond the end of its memory is none, and nothing is read there", () => {
  const beyond = { memory: memoryOf([1], { size: PAGE, mapped: 4 * PAGE }), maxSize: 4 * PAGE };
  expect(taken({ ...beyond, stride: 2 * PAGE, size: 4 * PAGE })).toEqual(refused("beyond the end"));
});

test("memory that its owner may make smaller, and any that is behind no descriptor, is not read", () => {
  const unsealed = memoryOf([1, 2, 3, 4], { isSealed: false });
  expect(taken({ memory: unsealed, stride: 8, size: 16 })).toEqual(refused("it is not sealed"));
  const pointer = { memory: memoryOf([1, 2, 3, 4]), type: 1 };
  expect(taken({ ...pointer, stride: 8, size: 16 })).toEqual(refused("no shared memory"));
});

test("rows that are shorter than the picture, or too few of them, are no picture", () => {
  const memory = memoryOf([1, 2, 3, 4]);
  for (const wrong of [
    { stride: 4, size: 16 },
    { stride: -8, size: 16 },
    { stride: 8, size: 12 },
    { stride: 8, size: 16, maxSize: 12 },
  ])
    expect(taken({ memory, ...wrong })).toEqual(refused("smaller than they should be"));
  expect(taken().come).toBe("nothing");
});

test("of several pictures that wait, the newest is taken, and all buffers are given back", () => {
  const of = (first: number) => ({ memory: memoryOf([first, 0, 0, 0]), stride: 8, size: 16 });
  const nothing = { ...of(4), size: 0 };
  const { come, picture } = taken(of(1), of(2), of(3), nothing);
  expect(come).toBe("picture");
  expect(picture?.pixels[0]).toBe(3);
});
