/** Finding a picture in a larger one. */
import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Picture } from "../../../src/host/desktop/backend";
import { decodePng } from "../../../src/host/desktop/images/decode";
import { searchRedrawn } from "../../../src/host/desktop/images/redrawn";
import { resize } from "../../../src/host/desktop/images/resize";
import { isPlain, search } from "../../../src/host/desktop/images/search";
import { cut } from "../../../src/host/desktop/record/scenes";
import { blank, fill, makeScene, put } from "./scenes";

const look = (screen: Picture, image: Picture, options = {}) =>
  search(screen, image, {
    threshold: 0.9,
    all: false,
    near: false,
    end: Number.POSITIVE_INFINITY,
    ...options,
  });

/** A picture in which no two pixels are alike, nearly. */
function noise(width: number, height: number, seed = 1): Picture {
  const picture = blank(width, height);
  for (let at = 0; at < picture.pixels.length; at++)
    picture.pixels[at] = Math.imul(at + seed * 7_919, 2_654_435_761) >>> 24;
  return picture;
}

test("of 500 noisy scenes with flat areas and near copies, 99 of 100 images are found, and nothing else", () => {
  const missed: number[] = [];
  const wrong: string[] = [];
  let present = 0;
  for (let seed = 0; seed < 500; seed++) {
    const { screen, image, place } = makeScene(seed);
    const { matches } = look(screen, image, { all: true });
    if (place) present++;
    if (place && !matches.some(({ x, y }) => x === place.x && y === place.y)) missed.push(seed);
    for (const { x, y, score } of matches) {
      if (x !== place?.x || y !== place.y) wrong.push(`scene ${seed}: ${x}, ${y}, ${score.toFixed(3)}`);
    }
  }
  expect([wrong, present]).toEqual([[], 400]);
  expect(missed.length).toBeLessThanOrEqual(present / 100);
}, 120_000);

test("what is wrong when the scenes have no noise: nothing, and each image has the score 1", () => {
  for (let seed = 0; seed < 50; seed++) {
    const { screen, image, place } = makeScene(seed, { noise: 0 });
    const { matches } = look(screen, image, { all: true });
    expect([seed, matches.map(({ x, y, score }) => ({ x, y, score }))]).toEqual([
      seed,
      place ? [{ ...place, score: 1 }] : [],
    ]);
  }
}, 60_000);

test("a copy is found where the search finds it, whatever the unused bytes are", () => {
  for (let seed = 0; seed < 50; seed++) {
    const { screen, image } = makeScene(seed, { noise: 0 });
    const [searched] = look(screen, image, { all: true }).matches;
    const other = { ...screen, pixels: screen.pixels.map((byte, at) => (at % 4 === 3 ? at % 251 : byte)) };
    expect([seed, look(other, image).matches]).toEqual([seed, searched ? [searched] : []]);
  }
}, 60_000);

test("of copies, the uppermost is found, and one that begins in a row and goes on in the next is none", () => {
  const [screen, image] = [blank(100, 60), noise(20, 20)];
  put(screen, image, 70, 30);
  put(screen, image, 5, 31);
  const whole = image.pixels.length / 20;
  for (let row = 0; row < 20; row++) {
    const pixels = image.pixels.subarray(row * whole, (row + 1) * whole);
    screen.pixels.set(pixels, (row * 100 + 90) * 4);
  }
  expect(look(screen, image).matches).toEqual([{ x: 70, y: 30, width: 20, height: 20, score: 1 }]);
});

test("all matches come with the best first, and of those that overlap the best", () => {
  const [screen, image] = [blank(200, 100), noise(24, 24)];
  put(screen, image, 10, 10);
  put(screen, image, 34, 10);
  put(screen, image, 120, 60);
  // One pixel of the first is another one.
  fill(screen, 12, 12, 1, 1, [0, 0, 0]);
  const { matches } = look(screen, image, { all: true });
  expect(matches.map(({ x, y }) => [x, y])).toEqual([
    [34, 10],
    [120, 60],
    [10, 10],
  ]);
  expect(matches.map(({ score }) => score === 1)).toEqual([true, true, false]);
});

test("without a match, the nearest place comes with its score: here a paler copy", () => {
  const [screen, image, pale] = [blank(300, 200), noise(40, 30), noise(40, 30)];
  for (let at = 0; at < pale.pixels.length; at++)
    pale.pixels[at] = 128 + ((pale.pixels[at] ?? 0) - 128) * 0.4;
  put(screen, pale, 201, 77);
  const { matches, nearest } = look(screen, image, { near: true });
  expect([matches, nearest?.x, nearest?.y]).toEqual([[], 201, 77]);
  expect(nearest?.score).toBeGreaterThan(0.6);
  expect(nearest?.score).toBeLessThan(0.9);
  expect(look(blank(300, 200), image, { near: true }).nearest).toMatchObject({ width: 40, height: 30 });
  expect(look(blank(39, 200), image, { near: true })).toEqual({ matches: [], nearest: null });
});

test("an image at twice its size is found when it is enlarged", () => {
  const { screen, image } = makeScene(8, { noise: 0 });
  const large = resize(screen, 2);
  expect(look(large, image).matches).toEqual([]);
  expect(look(large, resize(image, 2)).matches).toHaveLength(1);
  const [match] = look(resize(screen, 0.5), resize(image, 0.5), { threshold: 0.6 }).matches;
  expect(match).toBeDefined();
});

describe("what was drawn anew at twice the size", () => {
  const read = (name: string) => decodePng(readFileSync(join(import.meta.dir, `${name}.png`)), 1e6, "image");
  const [once, twice] = [read("drawn-once"), read("drawn-twice")];
  const all = { threshold: 0.8, all: true, near: true, end: Number.POSITIVE_INFINITY };
  const find = (x1: number, y1: number, x2: number, y2: number, options = {}) =>
    searchRedrawn(twice, resize(cut(once, { x1, y1, x2, y2 }), 2), { ...all, ...options });

  // What TM_CCOEFF_NORMED of OpenCV 4.6 finds, of these pictures and with INTER_LINEAR.
  test.each([
    ["a headline", [5, 6, 85, 26], [19, 29], 0.913],
    ["a label", [10, 41, 90, 67], [29, 99], 0.891],
    ["a list", [80, 117, 247, 151], [169, 252], 0.969],
    ["a button", [168, 160, 254, 194], [345, 338], 0.832],
  ] as const)("is found as OpenCV finds it: %s", (_what, [x1, y1, x2, y2], [x, y], score) => {
    const [best] = find(x1, y1, x2, y2).matches;
    expect(best).toMatchObject({ x, y, width: 2 * (x2 - x1), height: 2 * (y2 - y1) });
    expect(best?.score).toBeCloseTo(score, 2);
  });

  test("is not found by comparing pixels, and names the nearest place below the threshold", () => {
    const label = resize(cut(once, { x1: 10, y1: 41, x2: 90, y2: 67 }), 2);
    expect(look(twice, label, { threshold: 0.5 }).matches).toEqual([]);
    const { matches, nearest } = find(168, 160, 254, 194, { threshold: 0.9 });
    expect([matches, nearest?.score.toFixed(2)]).toEqual([[], "0.83"]);
  });

  test("is not found where it is not, and a picture that is too large is not looked for", () => {
    expect(find(10, 41, 90, 67, { threshold: 0.95 }).matches).toEqual([]);
    const small = cut(twice, { x1: 0, y1: 0, x2: 60, y2: 40 });
    expect(searchRedrawn(small, resize(once, 2), all)).toEqual({ matches: [], nearest: null });
  });
});

test("the order of the colours in memory does not matter, the colours do", () => {
  const { screen, image, place } = makeScene(4);
  const swapped = { ...image, pixels: image.pixels.slice() };
  for (let at = 0; at < swapped.pixels.length; at += 4) {
    swapped.pixels.set([image.pixels[at + 2] ?? 0, image.pixels[at + 1] ?? 0, image.pixels[at] ?? 0], at);
  }
  expect(look(screen, { ...swapped, redAt: 2 }).matches).toMatchObject([place ?? {}]);
  const [red, blue] = [blank(60, 60), blank(20, 20)];
  fill(red, 20, 20, 20, 20, [255, 0, 0]);
  fill(blue, 5, 5, 10, 10, [0, 0, 255]);
  expect(look(red, blue).matches).toEqual([]);
});

test("a picture of one colour is plain, one with a letter in it is not", () => {
  const picture = blank(64, 40);
  expect(isPlain(picture)).toBe(true);
  fill(picture, 30, 20, 2, 7, [0, 0, 0]);
  expect(isPlain(picture)).toBe(false);
});

test("what is everywhere is refused, and so is what takes too long", () => {
  const stripes = blank(800, 600);
  for (let x = 0; x < 800; x += 2) fill(stripes, x, 0, 1, 600, [0, 0, 0]);
  const image = { ...blank(8, 8) };
  for (let x = 0; x < 8; x += 2) fill(image, x, 0, 1, 8, [0, 0, 0]);
  expect(() => look(stripes, image, { all: true })).toThrow(
    "image: it is in too many places; expected a picture that is easier",
  );
  expect(() => look(stripes, image, { all: true, end: 0 })).toThrow("image: looking for it takes too long");
  expect(look(stripes, image).matches).toMatchObject([{ x: 0, y: 0, score: 1 }]);
});
