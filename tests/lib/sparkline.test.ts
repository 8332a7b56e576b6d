import { expect, test } from "bun:test";
import fc from "fast-check";
import { sparkline } from "../../src/lib/sparkline";

test("the smallest value has the lowest bar, the largest the highest, and none has a space", () => {
  expect(sparkline([0, null, 3.5, 7])).toBe("▁ ▅█");
});

test("values that are all the same are low; no values are nothing", () => {
  expect([sparkline([5, 5]), sparkline([]), sparkline([null])]).toEqual(["▁▁", "", " "]);
});

test("whatever the values, each has one character", () => {
  const values = fc.array(fc.option(fc.double({ min: 0, max: 1e9, noNaN: true })));
  fc.assert(
    fc.property(values, (all) => {
      expect([...sparkline(all)]).toHaveLength(all.length);
      expect(sparkline(all)).toMatch(/^[▁▂▃▄▅▆▇█ ]*$/);
    }),
  );
});
