import { expect, test } from "bun:test";
import fc from "fast-check";
import { createRing } from "../../src/lib/ring";

test("a ring holds the newest items, oldest first, whatever is pushed", () => {
  fc.assert(
    fc.property(fc.array(fc.integer()), fc.integer({ min: 1, max: 9 }), (items, capacity) => {
      const ring = createRing<number>(capacity);
      for (const item of items) ring.push(item);
      expect(ring.items()).toEqual(items.slice(-capacity));
      expect(ring.size).toBe(Math.min(items.length, capacity));
    }),
  );
});

test("a cleared ring is empty and can be filled again", () => {
  const ring = createRing<number>(2);
  for (const item of [1, 2, 3]) ring.push(item);
  ring.clear();
  ring.push(4);
  expect(ring.items()).toEqual([4]);
});
