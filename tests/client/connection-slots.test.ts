import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import {
  countSlots,
  createConnectionSlots as createSlots,
  takeSlot,
} from "../../src/client/connection-slots";
import { Requester } from "../../src/lib/slots";
import { nextTurn } from "../support";

const caller = () => new AbortController();

/** Asks for `count` slots for one caller; `held` has those that it got, as functions that give them back. */
function wanting(
  slots: ReturnType<typeof createSlots>,
  count: number,
  { signal } = caller(),
  token: string | null = null,
) {
  const held: Array<() => void> = [];
  const asked = Array.from({ length: count }, () =>
    slots.take(new Requester(token, signal)).then((giveBack) => held.push(giveBack)),
  );
  const settled = Promise.allSettled(asked);
  return { held, settled };
}

describe("slots", () => {
  test("are never more than there are, and all who wait get one in the end", async () => {
    const wants = fc.array(fc.integer({ min: 1, max: 12 }), { minLength: 1, maxLength: 6 });
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 1, max: 10 }), wants, async (most, counts) => {
        const slots = createSlots(most);
        let used = 0;
        const work = async (signal: AbortSignal) => {
          const giveBack = await slots.take(new Requester(null, signal));
          expect(++used).toBeLessThanOrEqual(most);
          await nextTurn();
          used--;
          giveBack();
        };
        const callers = counts.map((count) => ({ count, signal: caller().signal }));
        await Promise.all(
          callers.flatMap(({ count, signal }) => Array.from({ length: count }, () => work(signal))),
        );
      }),
      { numRuns: 50 },
    );
  });

  test("are left for others by a caller that wants all of them", async () => {
    const slots = createSlots(64);
    const greedy = wanting(slots, 100);
    await nextTurn();
    expect(greedy.held.length).toBe(56);
    const modest = wanting(slots, 3);
    await nextTurn();
    expect(modest.held.length).toBe(3);
  });

  test("count together when they are for one named token", async () => {
    const slots = createSlots(64);
    const polls = Array.from({ length: 10 }, () => wanting(slots, 60, caller(), "anna"));
    await nextTurn();
    expect(polls.flatMap(({ held }) => held).length).toBe(56);
    const [owner, other] = [wanting(slots, 5), wanting(slots, 3, caller(), "bert")];
    await nextTurn();
    expect([owner.held.length, other.held.length]).toEqual([5, 3]);
  });

  test("go to the caller that has the fewest when one becomes free", async () => {
    const slots = createSlots(4);
    const [many, other] = [wanting(slots, 8), wanting(slots, 1)];
    const third = wanting(slots, 1);
    await nextTurn();
    const before = many.held.length;
    for (const giveBack of many.held.slice(0, 2)) giveBack();
    await nextTurn();
    expect([other.held.length, third.held.length]).toEqual([1, 1]);
    expect(many.held.length).toBe(before);
  });

  test("are not waited for by a caller that has gone", async () => {
    const slots = createSlots(1);
    const first = wanting(slots, 1);
    const gone = caller();
    const abandoned = wanting(slots, 5, gone);
    const last = wanting(slots, 1);
    await nextTurn();
    gone.abort();
    const reasons = (await abandoned.settled).map((one) => one.status === "rejected" && one.reason.fault);
    expect(reasons).toEqual(Array(5).fill("cancelled"));
    first.held[0]?.();
    await nextTurn();
    expect(last.held.length).toBe(1);
  });

  test("at one NATS server are no fewer where those at another are all taken", async () => {
    const { signal } = caller();
    const gone = new AbortController();
    const held: Array<() => void> = [];
    const take = (url: string, by: AbortSignal) => takeSlot(url, by, "anna").then((one) => held.push(one));
    const silent = Array.from({ length: countSlots() }, () => take("nats:eu/U", gone.signal));
    await nextTurn();
    const before = held.length;
    expect(before).toBeLessThan(countSlots());
    const [first, other] = [take("nats:U", signal), take("nats:us/U", signal)];
    await nextTurn();
    expect(held.length).toBe(before + 2);
    gone.abort();
    await Promise.allSettled([...silent, first, other]);
    for (const giveBack of held) giveBack();
  });

  test("are given back once, however often the caller does", async () => {
    const slots = createSlots(1);
    const giveBack = await slots.take(new Requester(null));
    giveBack();
    giveBack();
    const two = wanting(slots, 2);
    await nextTurn();
    expect(two.held.length).toBe(1);
  });
});
