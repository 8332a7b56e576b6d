import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { inLanes } from "../../src/lib/pool";
import { nextTurn } from "../support";

const FOREVER = Number.POSITIVE_INFINITY;

describe("work in lanes", () => {
  test("gives its results in the order of the items, whatever order they come in", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.nat(3), { maxLength: 30 }),
        fc.integer({ min: 1, max: 9 }),
        async (steps, lanes) => {
          const results = await inLanes(steps, { lanes, patienceMs: FOREVER }, async (count) => {
            for (let step = 0; step < count; step++) await Promise.resolve();
            return count;
          });
          expect(results).toEqual(steps);
        },
      ),
    );
  });

  test("has no more at work than there are lanes, when patience has no end", async () => {
    let atWork = 0;
    let most = 0;
    await inLanes(Array.from({ length: 40 }), { lanes: 4, patienceMs: FOREVER }, async () => {
      most = Math.max(most, ++atWork);
      await nextTurn();
      atWork--;
    });
    expect(most).toBe(4);
  });

  test("lets the next start while slow ones are waited for", async () => {
    const slow = Promise.withResolvers<void>();
    let quick = 0;
    const items = ["slow", "slow", "quick", "quick", "quick"];
    const done = inLanes(items, { lanes: 1, patienceMs: 5 }, async (item) => {
      if (item === "slow") return slow.promise;
      // The slow ones end once all of the quick ones are done: they would otherwise wait for each other.
      if (++quick === 3) slow.resolve();
    });
    await done;
    expect(quick).toBe(3);
  });

  test("fails as a whole when the work throws, which is a bug", async () => {
    const work = async () => {
      throw new Error("a bug");
    };
    await expect(inLanes([1], { lanes: 1, patienceMs: FOREVER }, work)).rejects.toThrow("a bug");
  });
});
