/** Waiting until the screen is still, on pictures that change as the test says. */
import { expect, test } from "bun:test";
import { callOperation } from "../../../src/core/call";
import { localCaller } from "../../../src/core/caller";
import type { Desktop } from "../../../src/host/desktop/desktop";
import { createStillness } from "../../../src/host/desktop/images/still";
import { waitStill } from "../../../src/host/desktop/operations/pixels";

const SIDE = 100;

/** Waits on a screen of 100 x 100 pixels, on which `paint` says how many are lit at each look, from 1 on. */
async function waiting(paint: (look: number) => number, given: object = {}) {
  let looks = 0;
  const stillness = createStillness(async () => {
    looks++;
    const pixels = new Uint8Array(SIDE * SIDE * 4);
    for (let pixel = 0; pixel < paint(looks); pixel++) pixels[pixel * 4 + 1] = 60;
    return { width: SIDE, height: SIDE, pixels, redAt: 0 };
  });
  const service = { audit: async () => null, desktop: async () => stillness as unknown as Desktop };
  const input = { still: 0.05, poll: 0.01, timeout: 30, ...given };
  await callOperation(service, waitStill, input, localCaller(service, "cli"));
  return looks;
}

/** A screen that is never still. */
const restless = (look: number) => (look % 2) * 1_000;

test("a caret that blinks is no change, unless no pixel may change", async () => {
  const caret = (look: number) => (look % 2) * 150;
  expect(await waiting(caret)).toBeGreaterThan(1);
  await expect(waiting(caret, { max_changed: 0, timeout: 0.3 })).rejects.toThrow(
    "the screen was not still for 0.05 s within 0.3 s: 150 pixels changed, expected at most 0",
  );
});

test("a change that is small each time adds up", async () => {
  let lit = 0;
  const { changedPixels } = createStillness(async () => {
    const pixels = new Uint8Array(1_000 * 4).fill(255, 0, lit * 4);
    return { width: 1_000, height: 1, pixels, redAt: 0 };
  });
  const counts: unknown[] = [];
  for (lit = 0; lit <= 500; lit += 100) {
    counts.push(await changedPixels("one", { region: undefined, tolerance: 0, max_changed: 200 }));
  }
  expect(counts).toEqual([null, 100, 200, 300, 100, 200]);
});

test("pixels that differ no more than the tolerance count as the same", async () => {
  expect(await waiting(restless, { tolerance: 60 })).toBeGreaterThan(1);
  await expect(waiting(restless, { tolerance: 59, timeout: 0.3 })).rejects.toThrow("was not still");
});

test("no more than 16 pictures are kept, and none of a wait that is over", async () => {
  const picture = { width: 1, height: 1, pixels: new Uint8Array(4), redAt: 0 } as const;
  const { changedPixels, endWait } = createStillness(async () => picture);
  const look = (wait: number) =>
    changedPixels(`${wait}`, { region: undefined, tolerance: 0, max_changed: 0 });
  for (let wait = 0; wait < 16; wait++) expect(await look(wait)).toBeNull();
  await expect(look(16)).rejects.toThrow("there are already 16 waits for a still screen");
  await endWait("3");
  expect(await look(16)).toBeNull();
  expect(await look(0)).toBe(0);
});
