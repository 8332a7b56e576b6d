/** Bounds on JSON, before it is parsed. */
import { expect, test } from "bun:test";
import fc from "fast-check";
import { excessIn, mostValues } from "../../src/lib/json-bounds";

/** The values and names of a JSON value, and its levels, as one counts by hand. */
function countOf(value: unknown): { values: number; depth: number } {
  if (typeof value !== "object" || value === null) return { values: 1, depth: 0 };
  const inner = Object.values(value).map(countOf);
  const names = Array.isArray(value) ? 0 : inner.length;
  return {
    values: 1 + names + inner.reduce((sum, one) => sum + one.values, 0),
    depth: 1 + Math.max(0, ...inner.map(({ depth }) => depth)),
  };
}

test("what any JSON has too much of is found, whatever its texts hold", () => {
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 5 }), fc.constantFrom(0, 1), (value, indent) => {
      const text = JSON.stringify(value, null, indent);
      const { values, depth } = countOf(value);
      expect(excessIn(text, 10_000, depth)).toBeUndefined();
      if (depth > 0) expect(excessIn(text, 10_000, depth - 1)).toBe("depth");
      // An empty list counts as if it had an item.
      const empty = text.match(/\[\s*\]|\{\s*\}/g)?.length ?? 0;
      expect(excessIn(text, values + empty)).toBeUndefined();
    }),
  );
});

test("a text has as many values and names as its limit in bytes allows", () => {
  const most = mostValues(8_000);
  expect(most).toBe(1_000);
  expect(excessIn(`[${Array(most - 1).fill(1)}]`, most)).toBeUndefined();
  expect(excessIn(`[${Array(most + 1).fill(1)}]`, most)).toBe("values");
});

test("what texts hold counts as nothing", () => {
  const excess = (json: string) => excessIn(json, 3, 2);
  expect(['["[[[[,,,,,,,,,"]', '["\\\\\\",,,,,,,,,,"]', "[[1]]", '"open'].map(excess)).toEqual([
    undefined,
    undefined,
    undefined,
    undefined,
  ]);
  expect(["[[[]]]", "[1,2,3,4,5,6,7,8]"].map(excess)).toEqual(["depth", "values"]);
});
