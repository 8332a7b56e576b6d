/** Looking for one text in another. */
import { expect, test } from "bun:test";
import fc from "fast-check";
import { indexIn, lastIndexIn, splitAt } from "../../src/lib/find-text";
import { usedMs } from "../support";

/** Few letters, so that texts are in each other, and so long that those of JavaScript do not look for them. */
const letters = (most: number) => fc.string({ unit: fc.constantFrom("a", "b"), maxLength: most });
const part = fc
  .tuple(letters(6).filter(Boolean), fc.integer({ min: 1, max: 12 }), letters(3))
  .map(([base, times, end]) => base.repeat(times) + end);
const pair = fc
  .tuple(part, fc.array(fc.oneof(letters(8), fc.constant("x")), { maxLength: 8 }))
  .chain(([sought, rest]) =>
    fc.tuple(fc.constant(sought), fc.shuffledSubarray([...rest, sought, sought, sought.slice(1)])),
  )
  .map(([sought, pieces]) => ({ sought, text: pieces.join("") }));

test("finds what JavaScript finds, from any place", () => {
  fc.assert(
    fc.property(pair, fc.integer({ min: 0, max: 200 }), ({ sought, text }, from) => {
      expect(indexIn(text, sought, from)).toBe(text.indexOf(sought, from));
      expect(indexIn(text, sought)).toBe(text.indexOf(sought));
      expect(lastIndexIn(text, sought, from)).toBe(text.lastIndexOf(sought, from));
      expect(lastIndexIn(text, sought)).toBe(text.lastIndexOf(sought));
      expect(splitAt(text, sought)).toEqual(text.split(sought));
    }),
    { numRuns: 2_000 },
  );
});

/** What JavaScript takes minutes for. */
const MIDDLE = "b".repeat(200_000);
const SOUGHT = `${MIDDLE}ac${MIDDLE}`;
const TEXT = "b".repeat(2_000_000);

test.each([
  ["indexIn", indexIn],
  ["lastIndexIn", lastIndexIn],
  ["splitAt", splitAt],
])("%s takes a time in proportion to the texts, whatever they are", (_name, search) => {
  const before = usedMs();
  search(TEXT, SOUGHT);
  expect(usedMs() - before).toBeLessThan(1_000);
});
