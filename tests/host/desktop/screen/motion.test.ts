/** Which part of the screen is a video. */
import { expect, test } from "bun:test";
import { createFrame } from "../../../../src/host/desktop/screen/child/frame";
import { Motion } from "../../../../src/host/desktop/screen/child/motion";
import { picture } from "./moving";

/** Ten columns and ten rows of tiles, the last of them smaller. */
const SIZE = { width: 630, height: 610 };
const COLUMNS = 10;
const LOOK_MS = 33;

/** The numbers of the tiles in columns and rows from `left` and `top` until before `right` and `bottom`. */
function tilesIn(left: number, top: number, right: number, bottom: number): number[] {
  const tiles: number[] = [];
  for (let row = top; row < bottom; row++)
    for (let column = left; column < right; column++) tiles.push(row * COLUMNS + column);
  return tiles;
}

function start(pixels = picture(SIZE, 0)) {
  const frame = createFrame(SIZE.width, SIZE.height);
  frame.update(pixels, [{ x: 0, y: 0, ...SIZE }]);
  const motion = new Motion(frame);
  let now = 1_000;
  return {
    look(tiles: readonly number[], times = 1, ms = LOOK_MS) {
      for (let nth = 0; nth < times; nth++) {
        now += ms;
        motion.observe(tiles, now);
      }
    },
    area: (later = 0) => motion.area(now + later),
  };
}

const VIDEO = tilesIn(1, 2, 8, 9);

test("it begins with the fourth look in which more than a third changed, and is the rectangle around what did", () => {
  const { look, area } = start();
  look(VIDEO, 3);
  expect(area()).toBeUndefined();
  look(VIDEO);
  expect(area()?.rect).toEqual({ x: 64, y: 128, width: 448, height: 448 });
  expect([...(area()?.tiles ?? [])]).toEqual(VIDEO);
});

test("at the edges of the screen it ends with the screen", () => {
  const { look, area } = start();
  look(tilesIn(0, 0, 10, 10), 4);
  expect(area()?.rect).toEqual({ x: 0, y: 0, ...SIZE });
});

test("a third of the screen or less is none, nor is more in three looks of four", () => {
  const { look, area } = start();
  look(tilesIn(0, 0, 10, 3), 40);
  expect(area()).toBeUndefined();
  for (let nth = 0; nth < 10; nth++) {
    look(VIDEO, 3);
    look([1]);
  }
  expect(area()).toBeUndefined();
});

test("text that scrolls is none", () => {
  const text = Int32Array.from({ length: SIZE.width * SIZE.height }, (_, at) => (at % 9 < 3 ? 0 : 0xff_ffff));
  const { look, area } = start(text);
  look(VIDEO, 40);
  expect(area()).toBeUndefined();
});

test("it goes on while a little less moves, and ends after eight looks in which little does", () => {
  const { look, area } = start();
  look(VIDEO, 4);
  look(tilesIn(2, 2, 6, 7), 8);
  expect(area()).toBeDefined();
  look([11, 12], 7);
  expect(area()).toBeDefined();
  look([11, 12]);
  expect(area()).toBeUndefined();
});

test("it ends when nothing has changed for a while, and is the same again after it", () => {
  const { look, area } = start();
  look(VIDEO, 4);
  const before = area();
  expect(area(600)).toBe(before);
  expect(area(800)).toBeUndefined();
  look(VIDEO, 1, 800);
  expect(area()).toBeUndefined();
  look(VIDEO, 3);
  expect(before).toBeDefined();
  expect(area()).toBe(before);
});

test("it grows with what moves beside it, and not with what does so once", () => {
  const { look, area } = start();
  look(VIDEO, 4);
  look([0]);
  look(VIDEO, 40);
  expect([...(area()?.tiles ?? [])]).toEqual(VIDEO);
  look(tilesIn(0, 0, 8, 9), 40);
  expect([...(area()?.tiles ?? [])]).toEqual(tilesIn(0, 0, 8, 9));
});
