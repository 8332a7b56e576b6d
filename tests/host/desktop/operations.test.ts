/** Operations of pointer and keyboard that are called by themselves, such as `svc desktop hotkey`. */
import { expect, test } from "bun:test";
import { join } from "node:path";
import { callOperation } from "../../../src/core/call";
import { localCaller } from "../../../src/core/caller";
import { parseInput } from "../../../src/core/input";
import type { Desktop } from "../../../src/host/desktop/desktop";
import { createInputLock } from "../../../src/host/desktop/input-lock";
import { hotkey } from "../../../src/host/desktop/operations/keyboard";
import { screenshot } from "../../../src/host/desktop/operations/screenshot";
import { remote } from "../../../src/lib/child";
import { unavailable } from "../../../src/lib/errors";
import { temporaryFolder } from "../../support";
import { forever } from "./support";

/** Calls the hotkey `ctrl`, `s` on a desktop whose keyboard does `strike`. */
function setUp(
  strike: (method: string, args: readonly unknown[]) => Promise<void>,
  pointerRests = async (_seconds: number) => {},
) {
  const folder = temporaryFolder();
  let released = 0;
  const inputLock = createInputLock(join(folder.path, "input.lock"), async () => void released++);
  const desktop = remote<Desktop>(strike, { inputLock, pointerRests });
  const service = { audit: async () => null, desktop: async () => desktop };
  return {
    inputLock,
    released: () => released,
    async press(key_code_list = ["ctrl", "s"]) {
      await callOperation(service, hotkey, { key_code_list }, localCaller(service, "cli"));
    },
    [Symbol.dispose]: folder[Symbol.dispose],
  };
}

test("it waits for the run that holds the input devices", async () => {
  let struck = false;
  using host = setUp(async () => {
    struck = true;
  });
  const hold = await host.inputLock.take(forever);
  const pressing = host.press();
  await new Promise((resolve) => setImmediate(resolve));
  expect(struck).toBe(false);
  await hold.end("finished");
  await pressing;
  expect([struck, host.inputLock.taken(), host.released()]).toEqual([true, false, 0]);
});

test("capitals do not matter in the name of a key, but in a character", async () => {
  const struck: unknown[] = [];
  using host = setUp(async (_method, args) => void struck.push(args[0]));
  await host.press(["Ctrl", "ENTER", "S", "ß", "😀"]);
  expect(struck).toEqual([["ctrl", "enter", "S", "ß", "😀"]]);
  struck.length = 0;
  await host.press(["Ctrl+S"]);
  expect(struck).toEqual([["ctrl", "s"]]);
  await expect(host.press(["Entr"])).rejects.toThrow(
    'expected one character, or the name of a key such as enter, esc, left or f5 but found "Entr" (did you mean enter?)',
  );
  await expect(host.press(["ctlr"])).rejects.toThrow('but found "ctlr" (did you mean ctrl?)');
  await expect(host.press(["Ctlr+S"])).rejects.toThrow('but found "Ctlr+S" (did you mean ctrl+s?)');
  await expect(host.press(["ctrl+"])).rejects.toThrow(/but found "ctrl\+"$/);
});

test("keys wait until the pointer has rested", async () => {
  const order: unknown[] = [];
  using host = setUp(
    async (method) => void order.push(method),
    async (seconds) => void order.push(seconds),
  );
  await host.press();
  expect(order).toEqual([0.1, "strike"]);
});

test("when it fails, what is pressed is released, and the next may go on", async () => {
  using host = setUp(() => Promise.reject(unavailable("no display")));
  await expect(host.press()).rejects.toThrow("no display");
  expect([host.inputLock.taken(), host.released()]).toEqual([false, 1]);
});

test("a region without an area is refused with what was given and what was expected", () => {
  expect(() => parseInput(screenshot.input, { screen_region: [5, 5, 2, 2] })).toThrow(
    "screen_region: expected [x1, y1, x2, y2] with x2 above x1 and y2 above y1 but found [5,5,2,2]",
  );
});
