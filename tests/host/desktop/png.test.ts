import { expect, test } from "bun:test";
import fc from "fast-check";
import { decode } from "fast-png";
import type { Picture } from "../../../src/host/desktop/backend";
import { encodePng } from "../../../src/host/desktop/png";

/** Encoded, and decoded by another program: the pixels come back. */
function expectBack(picture: Picture): void {
  const { width, height, pixels, redAt } = picture;
  const decoded = decode(encodePng(picture), { checkCrc: true });
  expect(decoded).toMatchObject({ width, height, channels: 3, depth: 8 });
  const expected = Array.from({ length: width * height }, (_, at) => {
    const [first = 0, green = 0, third = 0] = pixels.subarray(at * 4);
    return redAt === 0 ? [first, green, third] : [third, green, first];
  });
  expect([...decoded.data]).toEqual(expected.flat());
}

test("any picture comes back from another program's decoder pixel by pixel, whichever colour is first", () => {
  const picture = fc
    .record({ width: fc.integer({ min: 1, max: 40 }), height: fc.integer({ min: 1, max: 40 }) })
    .chain(({ width, height }) =>
      fc.record({
        width: fc.constant(width),
        height: fc.constant(height),
        pixels: fc.uint8Array({ minLength: width * height * 4, maxLength: width * height * 4 }),
        redAt: fc.constantFrom<0 | 2>(0, 2),
      }),
    );
  fc.assert(fc.property(picture, expectBack));
});

test("a picture comes back whose rows are much like those above them, wherever it is in memory", () => {
  const [width, height] = [150, 6];
  /** The first pixel of a stretch of another colour, and how long it is. */
  const stretch = fc.record({
    at: fc.nat(width * height - 1),
    count: fc.nat(70),
    colour: fc.nat(0xff_ff_ff),
  });
  const picture = fc.record({ stretches: fc.array(stretch, { maxLength: 4 }), offset: fc.nat(3) });
  fc.assert(
    fc.property(picture, ({ stretches, offset }) => {
      const pixels = new Uint8Array(width * height * 4 + offset).subarray(offset);
      for (const { at, count, colour } of stretches)
        for (let pixel = at; pixel < Math.min(at + count, width * height); pixel++)
          pixels.set([colour & 255, (colour >> 8) & 255, colour >> 16], pixel * 4);
      expectBack({ width, height, pixels, redAt: 2 });
    }),
  );
});
