/** Coordinates that count from a window, or from what was found. */
import { describe, expect, test } from "bun:test";
import { callOperation } from "../../../src/core/call";
import { localCaller } from "../../../src/core/caller";
import type { Operation } from "../../../src/core/operation";
import type { Desktop } from "../../../src/host/desktop/desktop";
import { getPixel, waitStill } from "../../../src/host/desktop/operations/pixels";
import { clickMouse, dragMouse, releaseMouse } from "../../../src/host/desktop/operations/pointer";
import { locateText } from "../../../src/host/desktop/operations/text";
import { remote } from "../../../src/lib/child";
import { testWith } from "../../support";
import { desktopOn, forever, openListener, startDisplay } from "./support";

const ROW = { hwnd: 7, title: "Order 12", pid: 1, process: "p", desktop: 0, state: null, focused: true };

/** A desktop with one window, whose calls are listed. */
function setUp(place = { x: 100, y: 50, width: 400, height: 300 }) {
  const calls: unknown[] = [];
  const answers: Record<string, unknown> = {
    windows: [{ ...ROW, ...place }],
    monitors: [{ x1: 0, y1: 0, x2: 1_280, y2: 800 }],
    click: { x: 1, y: 1 },
    move: { x: 1, y: 1 },
    pixel: [1, 2, 3],
    changedPixels: null,
  };
  const desktop = remote<Desktop>(
    async (method, args) => {
      if (method !== "windows" && method !== "monitors") calls.push([method, ...args.slice(0, 2)]);
      return answers[method];
    },
    {
      inputLock: { take: async () => ({ end: async () => {} }) },
      readLines: async (region: unknown) => {
        calls.push(["readLines", region]);
        return [];
      },
    } as never,
  );
  const service = { audit: async () => null, desktop: async () => desktop };
  const run = async (operation: unknown, input: object): Promise<unknown> =>
    callOperation(service, operation as Operation, input, localCaller(service, "cli"));
  return { calls, run };
}

describe("places count from", () => {
  const found = {
    text: "OK",
    x: 610,
    y: 420,
    width: 20,
    height: 10,
    confidence: 96,
    center_x: 620,
    center_y: 425,
  };

  test("the corner of a window, by its title or hwnd, or of what was found", async () => {
    const { calls, run } = setUp();
    for (const relative_to of ["order", 7, found]) await run(clickMouse, { x: 30, y: -5, relative_to });
    await run(getPixel, { x: 1, y: 2, relative_to: "Order" });
    expect(calls).toEqual([
      ["click", { x: 130, y: 45 }, "left"],
      ["click", { x: 130, y: 45 }, "left"],
      ["click", { x: 640, y: 415 }, "left"],
      ["pixel", { x: 101, y: 52 }, expect.anything()],
    ]);
  });

  test("without coordinates, its middle is clicked, or all of it is looked at that is on the screen", async () => {
    const { calls, run } = setUp({ x: -100, y: 700, width: 400, height: 300 });
    await run(clickMouse, { relative_to: found });
    await run(locateText, { text: "x", relative_to: "Order" }).catch(() => {});
    await run(locateText, { text: "x", relative_to: found, region: [-10, 0, 50, 20] }).catch(() => {});
    await run(waitStill, { timeout: 0, relative_to: 7 }).catch(() => {});
    expect(calls).toEqual([
      ["click", { x: 620, y: 425 }, "left"],
      ["readLines", { x1: 0, y1: 700, x2: 300, y2: 800 }],
      ["readLines", { x1: 600, y1: 420, x2: 660, y2: 440 }],
      expect.arrayContaining([
        "changedPixels",
        expect.any(String),
        { region: { x1: 0, y1: 700, x2: 300, y2: 800 }, tolerance: 0, max_changed: 200 },
      ]),
      expect.arrayContaining(["endWait"]),
    ]);
  });

  test("the corner of an element, whose window is in front then, but where a button goes up", async () => {
    const { calls, run } = setUp();
    const element = { role: "cell", bounds: [200, 80, 40, 20], process_id: 1, window_title: "Order 12" };
    await run(clickMouse, { x: -20, y: 8, relative_to: element });
    await run(clickMouse, { relative_to: { ...element, process_id: null } });
    await run(releaseMouse, { relative_to: element });
    const [first, middle] = [
      { x: 180, y: 88 },
      { x: 220, y: 90 },
    ];
    expect(calls).toEqual([
      ["move", first, expect.anything()],
      ["pointed", expect.anything()],
      ["click", first, "left"],
      ["move", middle, expect.anything()],
      ["click", middle, "left"],
      ["click", middle, "left"],
    ]);
  });

  test("what is there: anything else is refused before anything is done", async () => {
    const { calls, run } = setUp();
    expect(run(clickMouse, { x: 1, y: 1, relative_to: "Invoice" })).rejects.toThrow(
      'there is no window with "Invoice" in its title',
    );
    expect(run(clickMouse, { x: 1, relative_to: "Order" })).rejects.toThrow("expected both x and y with it");
    const point = { x: 5, y: 5 };
    expect(run(locateText, { text: "x", relative_to: point })).rejects.toThrow("expected a region with it");
    expect(run(clickMouse, { relative_to: { x: 5 } })).rejects.toThrow(
      "relative_to: expected part of the title of a window, its hwnd, an object with x and y, or an element with its bounds",
    );
    const placeless = { bounds: null, process_id: 1, window_title: "Order" };
    expect(run(clickMouse, { relative_to: placeless })).rejects.toThrow("or an element with its bounds");
    await run(dragMouse, { from: [0, 0], to: [5, 5], relative_to: "None" }).catch(() => {});
    expect(calls).toEqual([]);
  });
});

testWith(
  "Xvfb",
  "openbox",
  "xev",
)("a click goes to the same place of a window wherever that is", async () => {
  await using display = await startDisplay();
  await using listener = openListener(display.env, "the target");
  await using host = desktopOn(display.env);
  const { desktop } = host;
  const service = { audit: async () => null, desktop: async () => desktop };
  const run = (input: object) =>
    callOperation(service, clickMouse as unknown as Operation, input, localCaller(service, "cli"));
  const [window] = await waitForWindow(desktop);
  for (const place of [
    { x: 60, y: 80 },
    { x: 700, y: 300 },
  ]) {
    await desktop.place(window, place, forever);
    const [x, y] = (await run({ x: 100, y: 100, relative_to: "the target" })) as [number, number];
    expect({ x, y }).toEqual({ x: place.x + 100, y: place.y + 100 });
  }
  expect(await listener.strokes(4)).toEqual(["+button 1", "-button 1", "+button 1", "-button 1"]);
});

/** The hwnd of the window once it is there. */
async function waitForWindow(desktop: Desktop): Promise<[number]> {
  for (;;) {
    const found = (await desktop.windows(forever))?.find(({ title }) => title === "the target");
    if (found) return [found.hwnd];
  }
}
