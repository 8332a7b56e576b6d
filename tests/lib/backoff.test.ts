/** Pauses before the next attempt. */
import { expect, test } from "bun:test";
import fc from "fast-check";
import { doubled, jitter, NO_EARLIER, pauseBefore } from "../../src/lib/backoff";

test("a pause doubles up to the longest, however often the attempt has failed", () => {
  const limits = { firstMs: 250, longestMs: 8_000 };
  expect([0, 1, 4, 5, 6, 100_000].map((failures) => doubled(limits, failures))).toEqual([
    250, 500, 4_000, 8_000, 8_000, 8_000,
  ]);
});

test("a random time lies within its spread", () => {
  const part = fc.double({ min: 0, max: 1, noNaN: true });
  fc.assert(
    fc.property(part, (random) => {
      for (const [spread, least, most] of [
        [undefined, 750, 1_250],
        [NO_EARLIER, 1_000, 1_250],
      ] as const) {
        const ms = jitter(1_000, spread, () => random);
        expect(ms).toBeGreaterThanOrEqual(least);
        expect(ms).toBeLessThanOrEqual(most);
      }
      expect(pauseBefore({ firstMs: 10, longestMs: 15 }, 3, () => random)).toBeCloseTo(15 * random, 6);
    }),
  );
});
