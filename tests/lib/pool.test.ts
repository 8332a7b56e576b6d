import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { runPool } from "../../src/lib/pool";
import { nextTurn } from "../support";

const FOREVER = Number.POSITIVE_INFINITY;

describe("a pool", () => {
  test("gives its results in the order of the items, whatever order they come in", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.nat(3), { maxLength: 30 }),
        fc.integer({ min: 1, max: 9 }),
        async (steps, slots) => {
          const results = await runPool(steps, { slots, patienceMs: FOREVER }, async (count) => {
            for (let step = 0; step < count; step++) await Promise.resolve();
            return count;
          });
          expect(results).toEqual(steps);
        },
      ),
    );
  });

  test("has no more at work than there are slots, when patience has no end", async () => {
    let atWork = 0;
    let most = 0;
    await runPool(Array.from({ length: 40 }), { slots: 4, patienceMs: FOREVER }, async () => {
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
    const done = runPool(items, { slots: 1, patienceMs: 5 }, async (item) => {
      if (item === "slow") return slow.promise;
      // The slow ones end once all of the quick ones are done: they would otherwise wait for each other.
      if (++quick === 3) slow.resolve();
    });
    await done;
    expect(quick).toBe(3);
  });

  test("gives up the slots of the dead as soon as others would have ended", async () => {
    const dead = Promise.withResolvers<void>();
    let quick = 0;
    const items = Array.from({ length: 500 }, (_, nth) => (nth % 2 === 0 ? "quick" : "dead"));
    const began = performance.now();
    let startedMs = 0;
    await runPool(items, { slots: 4, patienceMs: 1_000 }, async (item) => {
      if (item === "dead") return dead.promise;
      await nextTurn();
      if (++quick < items.length / 2) return;
      startedMs = performance.now() - began;
      dead.resolve();
    });
    // 250 of them, four at once, would keep their slots for a minute.
    expect(startedMs).toBeLessThan(10_000);
  });

  test("begins with those that are known to be slow, without a slot; results are in the order of the items", async () => {
    const slow = Promise.withResolvers<void>();
    const begun: string[] = [];
    const items = ["a", "slow 1", "b", "slow 2"];
    const isSlow = (item: string) => item.startsWith("slow");
    const results = await runPool(items, { slots: 1, patienceMs: FOREVER, isSlow }, async (item) => {
      begun.push(item);
      if (isSlow(item)) await slow.promise;
      else if (item === "b") slow.resolve();
      return item;
    });
    expect(begun).toEqual(["slow 1", "slow 2", "a", "b"]);
    expect(results).toEqual(items);
  });

  test("asks the others while thousands are waited for that are known to be slow", async () => {
    const slow = Promise.withResolvers<void>();
    const items = [
      ...Array.from({ length: 2_500 }, () => "slow"),
      ...Array.from({ length: 20 }, () => "quick"),
    ];
    let begun = 0;
    let quick = 0;
    const pool = { slots: 4, patienceMs: 1_000, isSlow: (item: string) => item === "slow" };
    const done = runPool(items, pool, async (item) => {
      if (item === "quick") return void quick++;
      begun++;
      return slow.promise;
    });
    for (let turn = 0; turn < 20; turn++) await nextTurn();
    expect(quick).toBe(20);
    // Once nobody else waits for a turn, they need to leave no room.
    expect(begun).toBe(2_000);
    slow.resolve();
    expect(await done).toHaveLength(items.length);
    expect(begun).toBe(2_500);
  });

  test("asks hosts at one server, whatever those at another hold", async () => {
    const silent = Promise.withResolvers<void>();
    // More than may be waited for without a slot.
    const items = [...Array(2_500).fill("eu"), ...Array(20).fill("us"), "eu known", "us"];
    let quick = 0;
    const pool = {
      ...{ slots: 4, patienceMs: FOREVER, isSlow: (item: string) => item.endsWith("known") },
      serverOf: (item: string) => item.slice(0, 2),
    };
    const done = runPool(items, pool, async (item) => {
      if (item === "us") quick++;
      else await silent.promise;
      return item;
    });
    for (let turn = 0; turn < 20; turn++) await nextTurn();
    expect(quick).toBe(21);
    silent.resolve();
    expect(await done).toEqual(items);
  });

  test("waits for as long as hosts usually take, where all are slow", async () => {
    let atWork = 0;
    let most = 0;
    await runPool(Array.from({ length: 24 }), { slots: 4, patienceMs: 5_000 }, async () => {
      most = Math.max(most, ++atWork);
      await Bun.sleep(25);
      atWork--;
    });
    expect(most).toBe(4);
  });

  test("fails as a whole when the work throws, which is a bug", async () => {
    const work = async () => {
      throw new Error("a bug");
    };
    await expect(runPool([1], { slots: 1, patienceMs: FOREVER }, work)).rejects.toThrow("a bug");
  });
});
