/** Whoever waits for a step of a plan goes on once it is on disk, and does not hold up everybody else. */
import { expect, test } from "bun:test";
import type { Step } from "../../../src/desk/plans/ledger/rows";
import { createWriter } from "../../../src/desk/plans/writer";
import { silentLog } from "../../../src/lib/log";
import { nextTurn } from "../../support";

const MANY = 5_000;

const stepOf = (n: number): Step => ({ plan: 1, n, attempt: 0, step: "run" });

/** A writer whose ledger takes each step with an even number, and what has gone on so far, in that order. */
function testWriter() {
  const gone: number[] = [];
  const noted: number[] = [];
  const committed = new Set<number>();
  const commit = (steps: readonly Step[]) =>
    steps.map(({ n }) => {
      committed.add(n);
      return n % 2 === 0;
    });
  const writer = createWriter({ commit }, silentLog, () => {});
  const write = async (n: number) => {
    const made = await writer.write(stepOf(n), () => void noted.push(n));
    expect([made, committed.has(n)]).toEqual([n % 2 === 0, true]);
    gone.push(n);
  };
  return { gone, noted, write };
}

test("those who wait for a step go on some at a time, in the order of the steps", async () => {
  const { gone, write } = testWriter();
  for (let n = 0; n < MANY; n++) void write(n);
  let most = 0;
  for (let before = 0; gone.length < 2 * MANY; before = gone.length) {
    await nextTurn();
    most = Math.max(most, gone.length - before);
    // Others come while the first ones still go on.
    if (before === 0 && gone.length > 0) for (let n = MANY; n < 2 * MANY; n++) void write(n);
  }
  expect(gone).toEqual(Array.from({ length: 2 * MANY }, (_, n) => n));
  expect(most).toBeLessThan(MANY / 4);
});

test("note is taken of each step that was made, in the turn of the commit, before anybody goes on", async () => {
  const { gone, noted, write } = testWriter();
  const first = write(0).then(() => [...noted]);
  for (let n = 1; n < MANY; n++) void write(n);
  const made = Array.from({ length: MANY / 2 }, (_, n) => 2 * n);
  expect(await first).toEqual(made);
  while (gone.length < MANY) await nextTurn();
  expect(noted).toEqual(made);
});

test("nothing of those who have gone on is kept while others still wait", async () => {
  const writer = createWriter({ commit: (steps) => steps.map(() => true) }, silentLog, () => {});
  let goneOn = 0;
  const begin = () => {
    const promise = writer.write(stepOf(0), () => {});
    void promise.then(() => goneOn++);
    return new WeakRef(promise);
  };
  const refs = Array.from({ length: MANY }, begin);
  while (goneOn < MANY / 2) await nextTurn();
  Bun.gc(true);
  // What a turn has looked at stays until it is over.
  await nextTurn();
  Bun.gc(true);
  const kept = refs.slice(0, MANY / 4).filter((ref) => ref.deref() !== undefined).length;
  expect([goneOn < MANY, kept < MANY / 40]).toEqual([true, true]);
});

test("the writer is behind while many wait for their steps, on disk or not", async () => {
  const writer = createWriter({ commit: (steps) => steps.map(() => true) }, silentLog, () => {});
  let goneOn = 0;
  for (let n = 0; n < MANY; n++) void writer.write(stepOf(n), () => {}).then(() => goneOn++);
  expect(writer.isBehind).toBe(true);
  while (goneOn === 0) await nextTurn();
  expect(writer.isBehind).toBe(true);
  while (goneOn < MANY) await nextTurn();
  expect(writer.isBehind).toBe(false);
});
