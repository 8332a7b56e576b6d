/** The screen that viewers share: what is watched ends with it, however it ends. */
import { expect, test } from "bun:test";
import { openScreen } from "../../../../src/host/desktop/screen/child/screen";
import type { Watch, WatchEvents } from "../../../../src/host/desktop/screen/child/watch";
import { until } from "../../../support";

/** Watches of a screen of 4 by 2 pixels. @param grab what the one of this number does when it is looked at. */
function watches(grab: (nth: number, events: WatchEvents) => Promise<void>) {
  const begun: Array<{ isClosed: boolean }> = [];
  const start = async (events: WatchEvents): Promise<Watch> => {
    const one = { isClosed: false };
    const nth = begun.push(one);
    return {
      ...{ width: 4, height: 2, scale: 1, corner: { x: 0, y: 0 }, pixels: new Int32Array(8) },
      async grab() {
        await grab(nth, events);
        return [];
      },
      pointer: async () => ({ x: 0, y: 0 }),
      close() {
        one.isClosed = true;
      },
    };
  };
  return { begun, start };
}

test("a screen that cannot be looked at is watched no longer", async () => {
  const { begun, start } = watches(() => Promise.reject(new Error("no picture")));
  await expect(openScreen(start, () => {})).rejects.toThrow("no picture");
  expect(begun).toEqual([{ isClosed: true }]);
});

test("a screen that gets another size while it is looked at for the first time is looked at anew", async () => {
  const { begun, start } = watches(async (nth, events) => {
    if (nth === 1) events.over("the screen has another size");
  });
  const screen = await openScreen(start, () => {});
  await until("the first to be closed", () => begun[0]?.isClosed === true);
  expect(begun).toEqual([{ isClosed: true }, { isClosed: false }]);
  screen.close();
  expect(begun[1]).toEqual({ isClosed: true });
});
