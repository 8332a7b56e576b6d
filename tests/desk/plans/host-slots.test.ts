/** A host that takes long gives its slot to another, but not at once where it is the desk that has too much to do. */
import { expect, test } from "bun:test";
import { createHostSlots } from "../../../src/desk/plans/host-slots";
import { until } from "../../support";

/** Slots that are all taken. @param stepMs how far the clock goes on each time that somebody looks at it. */
function takenSlots(stepMs: number) {
  let freed = 0;
  let looks = 0;
  const slots = createHostSlots(
    () => freed++,
    () => stepMs * looks++,
  );
  const frees: Array<() => void> = [];
  while (slots.isFree()) frees.push(slots.take());
  return { slots, frees, freed: () => freed, looks: () => looks };
}

test("a host that takes long goes on without its slot, which another has then", async () => {
  const { slots, frees, freed, looks } = takenSlots(0);
  await until("all are given up", () => freed() === frees.length);
  expect(looks()).toBe(2 * frees.length);
  // Those that took long are counted for themselves, until they are over.
  for (let times = 0; times < 2; times++) {
    const more: Array<() => void> = [];
    while (slots.isFree()) more.push(slots.take());
    expect(more).toHaveLength(frees.length);
    for (const free of more) free();
    expect(slots.isFree()).toBe(true);
  }
  for (const free of frees) free();
});

test("a host keeps its slot for longer while this process is late with everything, and not for ever", async () => {
  const { slots, frees, freed, looks } = takenSlots(10_000);
  await until("all are given up", () => freed() === frees.length);
  expect(looks()).toBeGreaterThan(4 * frees.length);
  expect(slots.isFree()).toBe(true);
  for (const free of frees) free();
});
