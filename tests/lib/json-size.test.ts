import { expect, test } from "bun:test";
import fc from "fast-check";
import { hasMoreValues, sizeWithin } from "../../src/lib/json-size";

const ANY = { bytes: Number.POSITIVE_INFINITY, depth: 1_000 };

test("the size of a value is about that of its JSON, and never much below", () => {
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      const written = JSON.stringify(value).length;
      expect(sizeWithin(value, ANY) ?? 0).toBeGreaterThanOrEqual(written / 8);
    }),
  );
});

test("a value is within its own size, and not within less", () => {
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      const bytes = sizeWithin(value, ANY) ?? 0;
      expect(sizeWithin(value, { ...ANY, bytes })).toBe(bytes);
      expect(sizeWithin(value, { ...ANY, bytes: bytes - 1 })).toBeUndefined();
    }),
  );
});

test("levels are counted, however many there are", () => {
  const nested = (levels: number): unknown => JSON.parse("[".repeat(levels) + "]".repeat(levels));
  expect(sizeWithin(nested(3), { ...ANY, depth: 2 })).toBeDefined();
  expect(sizeWithin(nested(3), { ...ANY, depth: 1 })).toBeUndefined();
  expect(sizeWithin(nested(20_000), ANY)).toBeUndefined();
});

test("each value of a long list is looked at once", () => {
  let reads = 0;
  const list = new Proxy(Array(100_000).fill(0), {
    get(target, key, receiver) {
      reads += 1;
      return Reflect.get(target, key, receiver);
    },
  });
  expect(sizeWithin(list, ANY)).toBe(900_008);
  expect(reads).toBeLessThan(100_100);
});

test("the values of JSON are counted, those inside others too", () => {
  const countOf = (value: unknown): number =>
    typeof value === "object" && value !== null
      ? Object.values(value).reduce<number>((sum, inner) => sum + countOf(inner), 1)
      : 1;
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      const count = countOf([value]);
      expect([hasMoreValues([value], count), hasMoreValues([value], count - 1)]).toEqual([false, true]);
    }),
  );
});
