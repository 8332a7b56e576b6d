/** How much of what is limited one of many may have. */
import { expect, test } from "bun:test";
import fc from "fast-check";
import { type Quota, shortage } from "../../src/lib/quota";

const SLOTS: Quota = { what: "slots", most: 16, times: 1 };

/** What `user` has when it takes as many as it can, after `others`. */
function taken(quota: Quota, others: Array<string | null>, user: string | null): number {
  const users = [...others];
  while (shortage(quota, users, user) === undefined) users.push(user);
  return users.length - others.length;
}

test("one alone gets its share, the next one as large a share of the rest", () => {
  expect(taken(SLOTS, [], "anna")).toBe(8);
  expect(taken(SLOTS, Array(8).fill("anna"), "bert")).toBe(4);
  expect(taken({ ...SLOTS, times: 3 }, [], "anna")).toBe(12);
});

test("the owner of the host gets all that is left", () => {
  expect(taken(SLOTS, Array(8).fill("anna"), null)).toBe(8);
});

test("whoever has none gets one while there is one, and never are there more", () => {
  const users = fc.array(fc.constantFrom("anna", "bert", "carl", null), { maxLength: 40 });
  fc.assert(
    fc.property(users, fc.integer({ min: 1, max: 7 }), (asking, times) => {
      const quota = { ...SLOTS, times };
      const held: Array<string | null> = [];
      for (const user of asking) if (shortage(quota, held, user) === undefined) held.push(user);
      expect(held.length).toBeLessThanOrEqual(quota.most);
      expect(shortage(quota, held, "new") === undefined).toBe(held.length < quota.most);
    }),
  );
});

test("the words say whose share it is", () => {
  const eight: Array<string | null> = Array(8).fill("anna");
  expect(shortage(SLOTS, eight, "anna")).toBe(
    "the token anna has 8 slots already, and leaves the rest to others",
  );
  expect(shortage(SLOTS, [...eight, ...eight], null)).toBe("there are 16 slots already, which is the limit");
});
