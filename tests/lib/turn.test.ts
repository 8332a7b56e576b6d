import { expect, test } from "bun:test";
import { inSlices } from "../../src/lib/turn";

/** Keeps the processor busy. */
function work(ms: number): void {
  for (const until = performance.now() + ms; performance.now() < until; );
}

test("long work takes one slice of each turn, however many pieces of it there are, and each goes on", async () => {
  let turns = 0;
  let isOver = false;
  const count = () => {
    turns++;
    if (!isOver) setImmediate(count);
  };
  setImmediate(count);
  const inTurn = new Map<number, number>();
  const done: number[] = [];
  await Promise.all(
    Array.from({ length: 20 }, async (_, nth) => {
      let left = 6;
      await inSlices(() => {
        work(2);
        inTurn.set(turns, (inTurn.get(turns) ?? 0) + 1);
        return --left === 0;
      });
      done.push(nth);
    }),
  );
  isOver = true;
  // A slice of 5 ms has three pieces of 2 ms; the turns are counted in between.
  expect(Math.max(...inTurn.values())).toBeLessThanOrEqual(8);
  expect(done.toSorted((a, b) => a - b)).toEqual(Array.from({ length: 20 }, (_, nth) => nth));
});

test("what ends work is what its piece throws", async () => {
  const thrown = inSlices(() => {
    throw new Error("broken");
  });
  await expect(thrown).rejects.toThrow("broken");
  let pieces = 0;
  await inSlices(() => ++pieces === 3);
  expect(pieces).toBe(3);
});
