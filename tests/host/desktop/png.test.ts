import { expect, test } from "bun:test";
import fc from "fast-check";
import { decode } from "fast-png";
import { encodePng } from "../../../src/host/desktop/png";

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
  fc.assert(
    fc.property(picture, ({ width, height, pixels, redAt }) => {
      const decoded = decode(encodePng({ width, height, pixels, redAt }), { checkCrc: true });
      expect(decoded).toMatchObject({ width, height, channels: 3, depth: 8 });
      const expected = Array.from({ length: width * height }, (_, at) => {
        const [first = 0, green = 0, third = 0] = pixels.subarray(at * 4);
        return redAt === 0 ? [first, green, third] : [third, green, first];
      });
      expect([...decoded.data]).toEqual(expected.flat());
    }),
  );
});
