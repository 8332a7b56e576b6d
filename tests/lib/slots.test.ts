/** Slots, and the order of those who wait for one. */
import { expect, test } from "bun:test";
import fc from "fast-check";
import { createSlots, Requester, type Slots } from "../../src/lib/slots";
import { nextTurn } from "../support";

const owner = new Requester(null);
const [anna, bert, carl] = ["anna", "bert", "carl"].map((name) => new Requester(name)) as [
  Requester,
  Requester,
  Requester,
];
const OPTIONS = { most: 1, what: "calls", mostWaiting: 16 };

/** Who is served, in this order, when each of `asking` has come one after the other, and each works for a turn of the event loop. */
async function orderOf(
  slots: Slots,
  asking: ReadonlyArray<[name: string, who: Requester, isUrgent?: boolean]>,
) {
  const order: string[] = [];
  const work = (name: string) => async () => {
    order.push(name);
    await nextTurn();
  };
  await Promise.all(asking.map(([name, who, isUrgent]) => slots.run(who, work(name), isUrgent)));
  return order.join(" ");
}

test("no more are at work than there are slots, and all who wait get one in the end", async () => {
  const who = fc.constantFrom(owner, anna, bert, carl);
  const options = fc.record({
    most: fc.integer({ min: 1, max: 5 }),
    ownersOwn: fc.integer({ min: 0, max: 2 }),
  });
  await fc.assert(
    fc.asyncProperty(options, fc.array(who, { maxLength: 40 }), async ({ most, ownersOwn }, asking) => {
      const slots = createSlots({ most, ownersOwn, what: "calls", mostWaiting: 100 });
      let [all, ofTokens] = [0, 0];
      const work = async (isToken: boolean) => {
        expect(++all).toBeLessThanOrEqual(most + ownersOwn);
        if (isToken) expect(++ofTokens).toBeLessThanOrEqual(most);
        await nextTurn();
        if (isToken) ofTokens--;
        all--;
      };
      await Promise.all(asking.map((one) => slots.run(one, () => work(one.user !== null))));
      expect([all, slots.isFree()]).toEqual([0, true]);
    }),
    { numRuns: 100 },
  );
});

test("who waits alone is served in the order of asking", async () => {
  for (const who of [owner, anna]) {
    expect(
      await orderOf(createSlots(OPTIONS), [
        ["1", who],
        ["2", who],
        ["3", who],
      ]),
    ).toBe("1 2 3");
  }
});

test("what is urgent is next, then the owner, then one token after the other", async () => {
  const order = await orderOf(createSlots(OPTIONS), [
    ["anna-1", anna],
    ["anna-2", anna],
    ["anna-3", anna],
    ["anna-4", anna],
    ["bert-1", bert],
    ["bert-2", bert],
    ["carl", carl],
    ["owner", owner],
    ["urgent", anna, true],
  ]);
  expect(order).toBe("anna-1 urgent owner bert-1 carl anna-2 bert-2 anna-3 anna-4");
});

test("a token that asks again each time it was served gets no more turns than one that asks for all at once", async () => {
  const slots = createSlots(OPTIONS);
  const order: string[] = [];
  const work = (name: string) => async () => {
    order.push(name);
    await nextTurn();
  };
  const flood = Array.from({ length: 4 }, () => slots.run(anna, work("anna")));
  const steady = async () => {
    for (let nth = 0; nth < 4; nth++) await slots.run(bert, work("bert"));
  };
  await Promise.all([...flood, steady()]);
  const turnsOfAnna = order.flatMap((name, at) => (name === "anna" ? [at] : []));
  expect(turnsOfAnna).toEqual([0, 2, 4, 6]);
});

test("who comes when a slot is given back does not go before those who wait", async () => {
  const slots = createSlots(OPTIONS);
  const order: string[] = [];
  const first = await slots.take(anna);
  const waiting = slots.run(bert, async () => void order.push("bert"));
  first();
  const late = slots.run(anna, async () => void order.push("anna"));
  await Promise.all([waiting, late]);
  expect(order).toEqual(["bert", "anna"]);
});

test("a slot of the owner's own is no token's", async () => {
  const slots = createSlots({ ...OPTIONS, ownersOwn: 1 });
  const giveBack = await slots.take(anna);
  const ofOwner = await slots.take(owner);
  let isServed = false;
  const waiting = slots.run(bert, async () => {
    isServed = true;
  });
  ofOwner();
  await nextTurn();
  expect(isServed).toBe(false);
  giveBack();
  await waiting;
});

test("a token may have half of the queue, the next one half of the rest, and the owner as much as all of them", async () => {
  const slots = createSlots(OPTIONS);
  const giveBack = await slots.take(carl);
  const gone = new AbortController();
  const counts = await Promise.all(
    ["anna", "bert", null].map(async (name) => {
      const asked = Array.from({ length: 20 }, () => slots.take(new Requester(name, gone.signal)));
      const refused = asked.map((one) => one.catch((error) => error.code));
      const codes = await Promise.all(refused.map((one) => Promise.race([one, nextTurn()])));
      return codes.filter((code) => code === "unavailable").length;
    }),
  );
  expect(counts).toEqual([12, 16, 4]);
  await expect(slots.take(new Requester("anna"))).rejects.toThrow(
    "the token anna has 8 calls that wait already, and leaves the rest to others",
  );
  await expect(slots.take(new Requester(null))).rejects.toMatchObject({
    message: "there are 16 calls that wait already, which is the limit",
    hasDoneNothing: true,
  });
  gone.abort();
  giveBack();
  await nextTurn();
  expect(slots.isFree()).toBe(true);
});

test("who has gone leaves the queue at once, with the error of the queue, and never gets a slot", async () => {
  const slots = createSlots({ ...OPTIONS, left: () => new Error("it has gone") });
  const giveBack = await slots.take(bert);
  const gone = new AbortController();
  const asked = Array.from({ length: 8 }, () => slots.take(new Requester("anna", gone.signal)));
  gone.abort();
  const settled = await Promise.allSettled(asked);
  expect(settled.map((one) => one.status === "rejected" && one.reason.message)).toEqual(
    Array(8).fill("it has gone"),
  );
  await expect(slots.take(new Requester("anna", gone.signal))).rejects.toThrow("it has gone");
  giveBack();
  await nextTurn();
  expect(slots.isFree()).toBe(true);
});

test("a slot is given back once, however often that is called", async () => {
  const slots = createSlots(OPTIONS);
  const giveBack = await slots.take(anna);
  giveBack();
  giveBack();
  await slots.take(bert);
  expect(slots.isFree()).toBe(false);
});
