import { expect, test } from "bun:test";
import type { Backend, Frame } from "../../../src/host/desktop/backend";
import { type Region, sizeOf } from "../../../src/host/desktop/geometry";
import { takeScreenshot } from "../../../src/host/desktop/screenshot";

const LEFT = { x1: -800, y1: 100, x2: 0, y2: 700 };
const MAIN = { x1: 0, y1: 0, x2: 1_280, y2: 800 };

/** The part of a desktop of two monitors that `frame` asks for. */
async function captured(frame: Frame): Promise<Region | undefined> {
  let found: Region | undefined;
  const backend: Pick<Backend, "desktop" | "monitors" | "capture"> = {
    desktop: async () => ({ x1: -800, y1: 0, x2: 1_280, y2: 800 }),
    monitors: async () => [MAIN, LEFT],
    async capture(region) {
      found = region;
      const { width, height } = sizeOf(region);
      return { width, height, redAt: 0, pixels: new Uint8Array(width * height * 4) };
    },
  };
  await takeScreenshot(backend, frame, null);
  return found;
}

test("without a frame it is all monitors together, with a monitor that one", async () => {
  expect(await captured({})).toEqual({ x1: -800, y1: 0, x2: 1_280, y2: 800 });
  expect(await captured({ monitor: 0 })).toEqual(MAIN);
  expect(await captured({ monitor: 1 })).toEqual(LEFT);
  await expect(captured({ monitor: 2 })).rejects.toThrow("monitor: expected 0 to 1 but found 2");
});

test("a region is measured from the main monitor's corner, or from that of the monitor named", async () => {
  const region = { x1: -10, y1: 0, x2: 20, y2: 30 };
  expect(await captured({ region })).toEqual(region);
  expect(await captured({ monitor: 1, region: { x1: 0, y1: 5, x2: 20, y2: 30 } })).toEqual({
    x1: -800,
    y1: 105,
    x2: -780,
    y2: 130,
  });
  await expect(captured({ monitor: 1, region: { x1: 0, y1: 0, x2: 801, y2: 1 } })).rejects.toThrow(
    "screen_region: expected a part of [0, 0, 800, 600] but found [0, 0, 801, 1]",
  );
});
