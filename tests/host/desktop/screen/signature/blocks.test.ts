/** The blocks of a picture, and those that are left out. */
import { expect, test } from "bun:test";
import { blocksOf, leaveOut } from "../../../../../src/host/desktop/screen/signature/blocks";
import { BLOCKS, LEFT_OUT } from "../../../../../src/wire/screen/signature";

/** A screen of one colour, but for an area. */
function screenOf(
  width: number,
  height: number,
  colour: number,
  paint: (x: number, y: number) => number | null,
) {
  const pixels = new Int32Array(width * height).fill(colour);
  for (let y = 0; y < height; y++)
    for (let x = 0; x < width; x++) pixels[y * width + x] = paint(x, y) ?? colour;
  return { width, height, pixels };
}

test("have the luminance, the colour and how much there is to see, each in its plane", () => {
  const planes = blocksOf(
    screenOf(320, 160, 0xffffff, (x, y) =>
      x < 20 && y < 10 ? 0xff0000 : x >= 300 && x % 2 === 0 ? 0 : null,
    ),
  );
  expect([...planes.subarray(1, 3)]).toEqual([255, 255]);
  // Red: JFIF 1.02 has Y 76, Cb 85, Cr 255.
  expect([0, BLOCKS, 2 * BLOCKS].map((at) => planes[at])).toEqual([76, 85, 255]);
  expect([planes[3 * BLOCKS], planes[3 * BLOCKS + 15]]).toEqual([0, LEFT_OUT - 1]);
});

test("of a screen that is smaller than they are many, some have the same pixel", () => {
  const planes = blocksOf(screenOf(4, 3, 0x808080, () => null));
  expect([...planes.subarray(0, BLOCKS)]).toEqual(Array(BLOCKS).fill(128));
});

test("that an area touches are left out, and no other ones", () => {
  const screen = screenOf(320, 160, 0xffffff, () => null);
  const planes = blocksOf(screen);
  leaveOut(planes, [{ x: 19, y: 0, width: 2, height: 11 }], screen.width, screen.height);
  const out = Array.from({ length: BLOCKS }, (_, block) => block).filter(
    (block) => planes[3 * BLOCKS + block] === LEFT_OUT,
  );
  expect(out).toEqual([0, 1, 16, 17]);
  expect(planes[0]).toBe(0);
});
