/** A frame as a viewer decodes it, in each form and of any size. */
import { expect, setDefaultTimeout, test } from "bun:test";
import { createServer } from "node:net";
import { join } from "node:path";
import fc from "fast-check";
import type { Rect } from "../../../../src/host/desktop/geometry";
import { createEncoder, type Form, wrap } from "../../../../src/host/desktop/screen/child/encoder";
import { createFrame } from "../../../../src/host/desktop/screen/child/frame";
import { findTile, WHOLE } from "../../../../src/host/desktop/screen/child/parts";
import {
  GREETING,
  serverInit,
  updateHeader,
} from "../../../../src/host/desktop/screen/child/server-messages";
import { temporaryFolder, until } from "../../../support";
import { view } from "./viewer";

setDefaultTimeout(180_000);

const frameOf = (width: number, height: number, colourAt: (x: number, y: number) => number) => {
  const frame = createFrame(width, height);
  const pixels = Int32Array.from({ length: width * height }, (_, at) =>
    colourAt(at % width, Math.floor(at / width)),
  );
  frame.update(pixels, [{ x: 0, y: 0, width, height }]);
  return frame;
};

/** What a viewer shows that is sent `updates`, each the rectangles of one. */
async function shown(size: { width: number; height: number }, updates: ReadonlyArray<readonly Buffer[]>) {
  using folder = temporaryFolder();
  const path = join(folder.path, "rfb");
  const server = createServer((socket) => {
    socket.on("error", () => {});
    socket.write(Buffer.concat([GREETING, Buffer.of(1, 1), Buffer.alloc(4), serverInit(size, "test")]));
    for (const rects of updates) socket.write(Buffer.concat([updateHeader(rects.length), ...rects]));
  });
  await new Promise<void>((resolve) => server.listen(path, () => resolve()));
  using viewer = await view({ path, key: "" });
  viewer.start();
  await until("the updates", () => {
    if (viewer.failure) throw viewer.failure;
    return viewer.updates === updates.length;
  });
  server.close();
  return viewer.pixels;
}

const rgbOf = (pixels: Int32Array) =>
  Uint8Array.from([...pixels].flatMap((pixel) => [(pixel >> 16) & 255, (pixel >> 8) & 255, pixel & 255]));

const FORMS: readonly Form[] = [
  { coding: "tight", quality: null, hasPointer: false },
  { coding: "zrle", hasPointer: false },
  {
    coding: "raw",
    hasPointer: false,
    format: { bits: 32, depth: 24, bigEndian: false, max: [255, 255, 255], shift: [16, 8, 0] },
  },
];

test.each(FORMS)(
  "all pixels arrive in $coding, whatever the size and the number of colours",
  async (form) => {
    const sizes = fc.tuple(fc.integer({ min: 1, max: 200 }), fc.integer({ min: 1, max: 150 }));
    const colours = fc.constantFrom(1, 2, 3, 4, 5, 16, 17, 97, 256, 257, 5_000);
    await fc.assert(
      fc.asyncProperty(
        sizes,
        colours,
        fc.integer({ min: 1, max: 40 }),
        fc.nat(),
        async ([width, height], count, run, seed) => {
          const frame = frameOf(width, height, (x, y) => {
            const nth = (Math.floor(x / run) * 31 + y * 17 + seed) % count;
            return Math.imul(nth + 1, 0x9e3779b1) >>> 3;
          });
          const wanted = new Uint32Array(frame.columns * frame.rows).fill(WHOLE);
          const updates: Buffer[][] = [];
          // In several updates, and not from the first tile on.
          for (let first = wanted.length >> 1; findTile(wanted) >= 0; first = 0) {
            const rects: Buffer[] = [];
            for (const { rect, bytes } of createEncoder(frame).encode(wanted, form, 10_000, first)) {
              rects.push(wrap(form, rect, await bytes, updates.length === 0 && rects.length === 0));
            }
            updates.push(rects);
          }
          expect(Buffer.compare(await shown(frame, updates), rgbOf(frame.pixels))).toBe(0);
        },
      ),
      { numRuns: 30 },
    );
  },
);

test("a rectangle is encoded once for all viewers, and again when it has changed", () => {
  const frame = frameOf(256, 128, (x, y) => (x * y) & 0xff);
  const encoder = createEncoder(frame);
  const encode = () =>
    encoder
      .encode(new Uint32Array(8).fill(WHOLE), { coding: "zrle", hasPointer: false }, 1e6)
      .map(({ bytes }) => bytes);
  const first = encode();
  expect(encode().every((bytes, nth) => bytes === first[nth])).toBe(true);
  const changed = frame.pixels.slice();
  changed[0] = 0x12_3456;
  expect(frame.update(changed, [{ x: 0, y: 0, width: 256, height: 128 }])).toEqual([0]);
  expect(encode()[0]).not.toBe(first[0]);
});

test("a film has nearly its own colours, whatever its size", async () => {
  for (const [width, height] of [
    [64, 64],
    [333, 129],
    [1_283, 300],
  ] as const) {
    // Noise in the lowest bits: so many colours that it is a picture, each close to those beside it.
    const frame = frameOf(width, height, (x, y) => {
      const noise = Math.imul(x * 7_919 + y * 104_729, 0x9e37_79b1) >>> 28;
      return ((200 - (y >> 1)) << 16) | ((60 + noise) << 8) | (40 + (x >> 3));
    });
    const wanted = new Uint32Array(frame.columns * frame.rows).fill(WHOLE);
    const encoded = createEncoder(frame).encode(
      wanted,
      { coding: "tight", quality: 90, hasPointer: false },
      1e9,
    );
    expect(encoded[0]?.isLossy).toBe(true);
    const pixels = await shown(frame, [await Promise.all(encoded.map(({ bytes }) => bytes))]);
    const wrong = rgbOf(frame.pixels).filter((value, at) => Math.abs(value - (pixels[at] ?? 0)) > 20);
    expect(wrong.length).toBe(0);
  }
});

test("text is never a JPEG, smoothed as its edges may be; a film is, and so is a tile with a part of it", async () => {
  const noise = (x: number, y: number) => Math.imul(x * 7_919 + y * 104_729, 0x9e3779b1) >>> 8;
  // Strokes with edges in three colours' shades, as a screen's text has them.
  const text = (x: number, y: number) =>
    (x + 3 * y) % 9 < 3 ? 0xff_ffff - (noise(x, y) & 0x3f) * 0x04_0201 : 0xff_ffff;
  const jpegs = async (colourAt: (x: number, y: number) => number) => {
    const encoded = createEncoder(frameOf(128, 64, colourAt)).encode(
      new Uint32Array(2).fill(WHOLE),
      { coding: "tight", quality: 75, hasPointer: false },
      1e6,
    );
    await Promise.all(encoded.map(({ bytes }) => bytes));
    return encoded.filter(({ isLossy }) => isLossy).map(({ rect }): Rect => rect);
  };
  expect(await jpegs(text)).toEqual([]);
  expect(await jpegs(noise)).toEqual([{ x: 0, y: 0, width: 128, height: 64 }]);
  const partly = (x: number, y: number) => (x < 84 ? 0xff_ffff : noise(x, y));
  expect(await jpegs(partly)).toEqual([{ x: 64, y: 0, width: 64, height: 64 }]);
  const withIcon = (x: number, y: number) => (x < 32 && y < 8 ? noise(x, y) : text(x, y));
  expect(await jpegs(withIcon)).toEqual([]);
  const belowFilm = (x: number, y: number) => (y < 4 ? noise(x, y) : text(x, y));
  expect(await jpegs(belowFilm)).toEqual([]);
  expect(await jpegs((x, y) => belowFilm(x, 63 - y))).toEqual([]);
});
