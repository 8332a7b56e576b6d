/** What a viewer is sent of a change: no more than what changed, and all of it. */
import { expect, test } from "bun:test";
import fc from "fast-check";
import type { Rect } from "../../../../src/host/desktop/geometry";
import { createEncoder, type Form } from "../../../../src/host/desktop/screen/child/encoder";
import { createFrame } from "../../../../src/host/desktop/screen/child/frame";
import { around, type Parts } from "../../../../src/host/desktop/screen/child/parts";

const SIZE = { width: 200, height: 150 };
const ALL: Rect = { x: 0, y: 0, ...SIZE };
const TIGHT: Form = { coding: "tight", quality: 75, hasPointer: false };

/** Puts a pixel anew at each place of `area`. */
function draw(pixels: Int32Array, area: Rect, colourAt: (x: number, y: number) => number): void {
  for (let y = area.y; y < area.y + area.height; y++) {
    for (let x = area.x; x < area.x + area.width; x++) pixels[y * SIZE.width + x] = colourAt(x, y);
  }
}

const areas = fc
  .tuple(
    fc.nat(SIZE.width - 1),
    fc.nat(SIZE.height - 1),
    fc.integer({ min: 1, max: SIZE.width }),
    fc.integer({ min: 1, max: SIZE.height }),
  )
  .map(([x, y, width, height]) => ({
    ...{ x, y },
    width: Math.min(width, SIZE.width - x),
    height: Math.min(height, SIZE.height - y),
  }));

test("a viewer that is sent a part now and then has all pixels in the end", () => {
  const looks = fc.array(fc.record({ changes: fc.array(areas, { maxLength: 4 }), isSent: fc.boolean() }), {
    minLength: 1,
    maxLength: 8,
  });
  fc.assert(
    fc.property(looks, fc.integer({ min: 500, max: 40_000 }), (steps, budget) => {
      const frame = createFrame(SIZE.width, SIZE.height);
      const encoder = createEncoder(frame);
      const now = new Int32Array(SIZE.width * SIZE.height);
      const shown = new Int32Array(now.length);
      const lacks: Parts = new Uint32Array(frame.columns * frame.rows);
      const send = (most: number) => {
        for (const { rect } of encoder.encode(lacks, { ...TIGHT, quality: null }, most)) {
          draw(shown, rect, (x, y) => frame.pixels[y * SIZE.width + x] ?? 0);
        }
      };
      let colour = 0;
      for (const { changes, isSent } of steps) {
        for (const area of changes) draw(now, area, () => ++colour);
        for (const tile of frame.update(now, changes)) {
          lacks[tile] = around(lacks[tile] ?? 0, frame.changedParts[tile] ?? 0);
        }
        expect(frame.pixels).toEqual(now);
        if (isSent) send(budget);
      }
      send(Number.POSITIVE_INFINITY);
      expect(shown).toEqual(now);
    }),
    { numRuns: 200 },
  );
});

test("a film is sent without what is around it", () => {
  fc.assert(
    fc.property(areas, (film) => {
      fc.pre(film.width >= 30 && film.height >= 30);
      const frame = createFrame(SIZE.width, SIZE.height);
      const now = new Int32Array(SIZE.width * SIZE.height).fill(0x33_6699);
      frame.update(now, [ALL]);
      // Each pixel has a colour of its own: it is a picture, however little of it is in a tile.
      draw(now, film, (x, y) => Math.imul(x * 7_919 + y * 104_729, 0x9e37_79b1) >>> 8);
      const lacks: Parts = new Uint32Array(frame.columns * frame.rows);
      for (const tile of frame.update(now, [film])) lacks[tile] = frame.changedParts[tile] ?? 0;
      const encoded = createEncoder(frame).encode(lacks, TIGHT, Number.POSITIVE_INFINITY);
      const sent = encoded.reduce((sum, { rect }) => sum + rect.width * rect.height, 0);
      expect(sent).toBe(film.width * film.height);
    }),
  );
});

test("what changes while the screen is looked at is sent when it is reported", () => {
  const frame = createFrame(SIZE.width, SIZE.height);
  const now = new Int32Array(SIZE.width * SIZE.height);
  frame.update(now, [ALL]);
  const [left, between, right] = [0, 70, 140].map((x) => ({ x, y: 10, width: 20, height: 20 }));
  for (const area of [left, between, right]) if (area) draw(now, area, () => 0x12_3456);
  if (!left || !between || !right) throw new Error("expected three areas");
  expect(frame.update(now, [left, right])).toEqual([0, 2]);
  expect(frame.update(now, [between])).toEqual([1]);
  // Also beside a change of the same tile.
  draw(now, { x: 0, y: 40, width: 5, height: 5 }, () => 1);
  draw(now, { x: 30, y: 40, width: 5, height: 5 }, () => 1);
  expect(frame.update(now, [{ x: 0, y: 40, width: 5, height: 5 }])).toEqual([0]);
  expect(frame.update(now, [{ x: 30, y: 40, width: 5, height: 5 }])).toEqual([0]);
});
