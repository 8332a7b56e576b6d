/** JSON of long lists is what `JSON.stringify` makes of them, and others have their turns meanwhile. */
import { expect, test } from "bun:test";
import fc from "fast-check";
import { hasLongList, jsonInSlices, jsonPieces } from "../../src/lib/json-slices";

test("it is what JSON.stringify writes", async () => {
  const item = fc.oneof(
    fc.jsonValue({ maxDepth: 2 }),
    fc.constant(undefined),
    fc.date({ noInvalidDate: true }),
  );
  const long = fc
    .tuple(item, item, item)
    .map((some) => Array.from({ length: 1_100 }, (_, nth) => some[nth % 3]));
  const value = fc.oneof(long, fc.dictionary(fc.string(), fc.oneof(long, item)));
  const same = fc.asyncProperty(value, async (one) => {
    expect(await jsonInSlices(one)).toBe(JSON.stringify(one));
  });
  await fc.assert(same, { numRuns: 50 });
});

test("only a long list is written so, and what has one", () => {
  const long = Array.from({ length: 1_001 }, () => 1);
  expect([long, { rows: long }].map(hasLongList)).toEqual([true, true]);
  expect([long.slice(1), { rows: [1], more: { long } }, null, "a", new Date()].map(hasLongList)).toEqual(
    Array(5).fill(false),
  );
});

test("others have their turns", async () => {
  let turns = 0;
  const timer = setInterval(() => turns++, 1);
  await jsonInSlices({ rows: Array.from({ length: 100_000 }, () => ({ text: "x".repeat(200) })) });
  clearInterval(timer);
  expect(turns).toBeGreaterThan(2);
});

test("pieces of an object are what JSON.stringify writes", () => {
  const same = fc.property(fc.jsonValue({ maxDepth: 3 }), (one) => {
    const value = { one, none: undefined };
    expect([...jsonPieces(value)].join("")).toBe(JSON.stringify(value));
  });
  fc.assert(same, { numRuns: 50 });
});

test("a long text is written in pieces, wherever they are cut", () => {
  // Its second half is in the next piece.
  const text = `${"x".repeat(2 ** 20 - 1)}\u{1f600}"\n${"y".repeat(2 ** 20)}`;
  const pieces = [...jsonPieces({ text, more: 1 })];
  expect(Math.max(...pieces.map(({ length }) => length))).toBeLessThan(2 ** 20 + 100);
  expect(JSON.parse(pieces.join(""))).toEqual({ text, more: 1 });
});
