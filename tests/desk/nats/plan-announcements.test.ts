/** What a desk hears of the plans of other desks. */
import { expect, jest, test } from "bun:test";
import { join } from "node:path";
import {
  announcement,
  createHearing,
  type HeardPlans,
  startAnnouncing,
} from "../../../src/desk/nats/plan-announcements";
import { openSigningKey } from "../../../src/lib/signing-key";
import { newNKey } from "../../../src/wire/nats/nkeys";
import { temporaryFolder } from "../../support";

function desks() {
  using folder = temporaryFolder();
  const key = openSigningKey(join(folder.path, "key"));
  const other = openSigningKey(join(folder.path, "other"));
  const heard: HeardPlans[] = [];
  let time = Date.now();
  const own = { id: newNKey("U").id, name: "own", key };
  const first = { id: newNKey("U").id, name: "first", key };
  const parts = { ...own, own: async () => [], heard: (one: HeardPlans) => void heard.push(one) };
  return {
    ...{ own, first, key, other, heard },
    hearing: createHearing(parts, () => time),
    now: () => time,
    pass(ms: number) {
      time += ms;
    },
  };
}

const plans = [{ id: "a" }];

test("a desk hears what another one with its key for jobs says, and not itself", () => {
  const { hearing, heard, own, first, now } = desks();
  hearing.take(own.id, announcement(own, plans, now()));
  hearing.take(first.id, announcement(first, plans, now()));
  expect(heard).toEqual([{ desk: first.id, name: "first", plans }]);
});

test("nothing is heard twice, nor what is old, of another desk's subject, or signed by another key", () => {
  const { hearing, heard, own, first, other, now, pass } = desks();
  const said = announcement(first, plans, now());
  hearing.take(newNKey("U").id, said);
  hearing.take(first.id, announcement({ ...first, key: other }, plans, now()));
  hearing.take(first.id, announcement(first, plans, now() - 301_000));
  expect(heard).toEqual([]);
  hearing.take(first.id, said);
  hearing.take(first.id, said);
  pass(20_000);
  hearing.take(first.id, said);
  expect(heard).toHaveLength(1);
  hearing.take(first.id, announcement(first, [], now()));
  expect(heard.at(-1)?.plans).toEqual([]);
  expect(own.id).not.toBe(first.id);
});

test("what is no announcement, or too long, changes nothing; many plans are cut to those that fit", () => {
  const { hearing, heard, first, now } = desks();
  for (const text of ["", "{", "{}", "[]", "x".repeat(200_000)]) hearing.take(first.id, Buffer.from(text));
  expect(heard).toEqual([]);
  const many = Array.from({ length: 300 }, (_, nth) => ({ id: `${nth}`, on: '"'.repeat(500) }));
  hearing.take(first.id, announcement(first, many, now()));
  expect(heard[0]?.plans.length).toBeGreaterThan(20);
  expect(heard[0]?.plans[0]).toEqual(many[0]);
});

test("no more than 32 desks are heard", () => {
  const { hearing, heard, first, now } = desks();
  for (let nth = 0; nth < 40; nth++) {
    const one = { ...first, id: newNKey("U").id };
    hearing.take(one.id, announcement(one, plans, now()));
  }
  expect(heard).toHaveLength(32);
});

test("a desk announces at once, each 20 seconds, and a second after a change however many there are", async () => {
  jest.useFakeTimers();
  try {
    const { own } = desks();
    let said = 0;
    const parts = { ...own, own: async () => plans, heard() {} };
    const announcing = startAnnouncing(
      parts,
      () => void said++,
      () => 1,
    );
    const pass = async (ms: number) => {
      jest.advanceTimersByTime(ms);
      for (let turn = 0; turn < 5; turn++) await Promise.resolve();
    };
    await pass(0);
    expect(said).toBe(1);
    await pass(20_000);
    expect(said).toBe(2);
    for (let nth = 0; nth < 10; nth++) announcing.soon();
    await pass(1_000);
    expect(said).toBe(3);
    await pass(19_000);
    expect(said).toBe(3);
    announcing.stop();
    await pass(60_000);
    expect(said).toBe(3);
  } finally {
    jest.useRealTimers();
  }
});
