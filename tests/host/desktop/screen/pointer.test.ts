/** The pointer in the picture: what is encoded for whom, and when the host is asked where it is. */
import { expect, test } from "bun:test";
import type { Cursor } from "../../../../src/host/desktop/screen/child/cursor";
import { createEncoder, type EncodedRect } from "../../../../src/host/desktop/screen/child/encoder";
import { createFrame } from "../../../../src/host/desktop/screen/child/frame";
import { WHOLE } from "../../../../src/host/desktop/screen/child/parts";
import { createPointer } from "../../../../src/host/desktop/screen/child/pointer";
import { type Looker, openScreen } from "../../../../src/host/desktop/screen/child/screen";
import { until } from "../../../support";

const SIZE = { width: 256, height: 128 };
const WHITE: Cursor = {
  ...{ width: 10, height: 10, hotX: 5, hotY: 5 },
  pixels: new Uint32Array(100).fill(0xffff_ffff),
};

test("it is in the pixels only while they are read", () => {
  const frame = createFrame(SIZE.width, SIZE.height);
  const before = frame.pixels.slice();
  const pointer = createPointer(frame);
  for (const place of [
    { x: 70, y: 70 },
    { x: -1, y: 127 },
    { x: 255, y: 0 },
    { x: 900, y: -900 },
  ]) {
    pointer.move(WHITE, place);
    const white = pointer.within(() => frame.pixels.filter((pixel) => pixel === 0xff_ffff).length);
    const [columns, rows] = [place.x, place.y].map((at, nth) => {
      const most = nth === 0 ? SIZE.width : SIZE.height;
      return Math.max(0, Math.min(most, at + 5) - Math.max(0, at - 5));
    }) as [number, number];
    expect(white).toBe(columns * rows);
    expect(frame.pixels).toEqual(before);
  }
});

test("tiles without it are encoded once for all viewers, and those with it once for all that have it drawn", () => {
  const frame = createFrame(SIZE.width, SIZE.height);
  frame.update(new Int32Array(frame.pixels.length).fill(0x12_3456), [{ x: 0, y: 0, ...SIZE }]);
  const encoder = createEncoder(frame);
  expect(encoder.pointer.move(WHITE, { x: 70, y: 20 })).toEqual([1]);
  // A corner of it is in each of four tiles, besides the one that it leaves.
  expect(encoder.pointer.move(WHITE, { x: 192, y: 64 })).toEqual([1, 2, 3, 6, 7]);
  const encode = (hasPointer: boolean) =>
    encoder.encode(new Uint32Array(8).fill(WHOLE), { coding: "tight", quality: null, hasPointer }, 1e6);
  const bytesOf = (encoded: readonly EncodedRect[], tiles: readonly number[]) =>
    encoded.find((one) => one.tiles.join() === tiles.join())?.bytes as Buffer;
  const [first, second] = [encode(true), encode(true)];
  expect(first.map(({ tiles }) => tiles)).toEqual([
    [0, 1, 4, 5],
    [2, 3, 6, 7],
  ]);
  for (const [nth, { bytes }] of first.entries()) expect(second[nth]?.bytes).toBe(bytes);
  const whole = encode(false);
  expect(whole.map(({ tiles }) => tiles)).toEqual([[0, 1, 2, 3, 4, 5, 6, 7]]);
  const moved = encoder.pointer.move(WHITE, { x: 190, y: 64 });
  expect(moved).toEqual([2, 3, 6, 7]);
  const third = encode(true);
  expect(bytesOf(third, [0, 1, 4, 5])).toBe(bytesOf(first, [0, 1, 4, 5]));
  expect(bytesOf(third, [2, 3, 6, 7])).not.toEqual(bytesOf(first, [2, 3, 6, 7]));
  expect(encode(false)[0]?.bytes).toBe(whole[0]?.bytes as Buffer);
});

test("the host is asked where it is only while a viewer that has it drawn is ready for more", async () => {
  let asked = 0;
  const screen = await openScreen(
    async () => ({
      ...SIZE,
      pixels: new Int32Array(SIZE.width * SIZE.height),
      ...{ scale: 1, corner: { x: 0, y: 0 } },
      grab: async () => [],
      pointer: async () => ({ x: ++asked, y: 1 }),
      close() {},
    }),
    () => {},
  );
  const looker = (isReady: boolean, drawsPointer: boolean) => {
    const one = { isReady, drawsPointer };
    screen.add({
      isReady: () => one.isReady,
      drawsPointer: () => one.drawsPointer,
      ...{ changed() {}, push() {}, cursorChanged() {}, clipboardChanged() {}, replaced() {} },
    } satisfies Looker);
    return one;
  };
  looker(true, false);
  const slow = looker(false, true);
  screen.look();
  await Bun.sleep(100);
  expect(asked).toBe(0);
  slow.isReady = true;
  screen.look();
  await until("it to be asked", () => asked > 2 || undefined);
  slow.isReady = false;
  const before = asked;
  await Bun.sleep(200);
  expect(asked).toBe(before);
  screen.close();
});
