/** Who gets a place, and when. */
import { expect, test } from "bun:test";
import { createUploadPlaces } from "../../../../src/desk/plans/upgrade/upload-places";

const SIGNAL = new AbortController().signal;

test("places go to those who wait, in the order in which they came", async () => {
  const placeOf = createUploadPlaces(1);
  const [a, b, c] = [placeOf(""), placeOf(""), placeOf("")];
  const order: string[] = [];
  expect(await a.take(SIGNAL)).toBe(true);
  const waiting = [b.take(SIGNAL).then(() => order.push("b")), c.take(SIGNAL).then(() => order.push("c"))];
  // Who has it keeps it, and who gives it up twice gives one.
  expect(await a.take(SIGNAL)).toBe(false);
  a.leave();
  a.leave();
  await waiting[0];
  expect([order, a.heldMs()]).toEqual([["b"], 0]);
  b.leave();
  await Promise.all(waiting);
  expect(order).toEqual(["b", "c"]);
});

test("a host at another server gets the next place before those at a server that has them all", async () => {
  const placeOf = createUploadPlaces(2);
  const silent = Array.from({ length: 4 }, () => placeOf("nats:eu"));
  const order: string[] = [];
  const taken = silent.map((place, nth) => place.take(SIGNAL).then(() => order.push(`eu ${nth}`)));
  await Promise.all(taken.slice(0, 2));
  const other = placeOf("nats:us")
    .take(SIGNAL)
    .then(() => order.push("us"));
  silent[0]?.leave();
  await other;
  silent[1]?.leave();
  await taken[2];
  expect(order).toEqual(["eu 0", "eu 1", "us", "eu 2"]);
});

test("the time in all places counts together", async () => {
  const place = createUploadPlaces(1)("");
  await place.take(SIGNAL);
  await Bun.sleep(1);
  place.leave();
  const first = place.totalMs();
  await place.take(SIGNAL);
  await Bun.sleep(1);
  expect([first > 0, place.totalMs() > first, place.heldMs() < place.totalMs()]).toEqual([true, true, true]);
});

test("who does not wait any longer leaves the queue, and has no place", async () => {
  const placeOf = createUploadPlaces(1);
  const [a, b, c] = [placeOf(""), placeOf(""), placeOf("")];
  await a.take(SIGNAL);
  const gone = new AbortController();
  const left = b.take(gone.signal);
  const waiting = c.take(SIGNAL);
  gone.abort();
  expect([await left, b.heldMs()]).toEqual([true, 0]);
  a.leave();
  expect(await waiting).toBe(true);
});
