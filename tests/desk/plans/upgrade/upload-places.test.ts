/** Who gets a place, and when. */
import { expect, test } from "bun:test";
import { createPlaces } from "../../../../src/desk/plans/upgrade/upload-places";

test("places go to those who wait, in the order in which they came", async () => {
  const placeOf = createPlaces(1);
  const [a, b, c] = [placeOf(), placeOf(), placeOf()];
  const order: string[] = [];
  expect(await a.take()).toBe(true);
  const waiting = [b.take().then(() => order.push("b")), c.take().then(() => order.push("c"))];
  // Who has it keeps it, and who gives it up twice gives one.
  expect(await a.take()).toBe(false);
  a.leave();
  a.leave();
  await waiting[0];
  expect([order, a.heldMs()]).toEqual([["b"], 0]);
  b.leave();
  await Promise.all(waiting);
  expect(order).toEqual(["b", "c"]);
});

test("the time in all places counts together", async () => {
  const place = createPlaces(1)();
  await place.take();
  await Bun.sleep(1);
  place.leave();
  const first = place.totalMs();
  await place.take();
  await Bun.sleep(1);
  expect([first > 0, place.totalMs() > first, place.heldMs() < place.totalMs()]).toEqual([true, true, true]);
});
