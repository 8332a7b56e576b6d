/** What comes in one turn of the event loop is done together. */
import { expect, test } from "bun:test";
import { createBatch } from "../../src/lib/batch";
import { nextTurn } from "../support";

test("what comes in one turn is handed over at its end, in its order", async () => {
  const batches: number[][] = [];
  const add = createBatch<number>((batch) => batches.push([...batch]));
  add(1);
  await Promise.resolve();
  add(2);
  expect(batches).toEqual([]);
  await nextTurn();
  add(3);
  await nextTurn();
  expect(batches).toEqual([[1, 2], [3]]);
});

test("what is more than fits into one batch has the turns after it", async () => {
  const batches: number[][] = [];
  const add = createBatch<number>((batch) => batches.push([...batch]), 2);
  for (const one of [1, 2, 3, 4, 5]) add(one);
  await nextTurn();
  expect(batches).toEqual([[1, 2]]);
  while (batches.length < 3) await nextTurn();
  expect(batches).toEqual([[1, 2], [3, 4], [5]]);
});
