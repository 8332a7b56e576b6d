/** Clicks on what the window of another program covers. */
import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { callOperation } from "../../../../src/core/call";
import { localCaller } from "../../../../src/core/caller";
import type { Operation } from "../../../../src/core/operation";
import type { RunContext } from "../../../../src/core/run";
import type { DesktopWindow } from "../../../../src/host/desktop/backend";
import { click } from "../../../../src/host/desktop/elements/action-operations";
import { pointAt } from "../../../../src/host/desktop/elements/cover";
import { waitForUsable } from "../../../../src/host/desktop/elements/elements";
import { parseLocator, printLocator } from "../../../../src/host/desktop/elements/locator";
import { operations, wait } from "../../../../src/host/desktop/elements/operations";
import { desktopOf } from "../../../../src/host/desktop/elements/real";
import { holdFocus } from "../../../../src/host/desktop/focus-hold";
import { locateAndClick } from "../../../../src/host/desktop/images/operations";
import { clickMouse } from "../../../../src/host/desktop/operations/pointer";
import { testWith } from "../../../support";
import { forever } from "../support";
import { PROGRAMS, startSession } from "./support";

setDefaultTimeout(60_000);

const AT = { x: 0, y: 0, width: 100, height: 100, desktop: 0, state: "normal", process: null } as const;

/** Windows from the bottom up, all at one place. @param stays the one that no other comes in front of. */
function desktopWith(windows: ReadonlyArray<Pick<DesktopWindow, "title" | "pid">>, stays?: string) {
  let order: DesktopWindow[] = windows.map((one, nth) => ({ ...AT, hwnd: nth + 1, focused: false, ...one }));
  const logged: string[] = [];
  const run = { log: (text: string) => logged.push(text) > 0 } as unknown as RunContext;
  const front = () => order.findLast(({ title }) => title === stays) ?? order.at(-1);
  return {
    ...{ logged, front, run },
    desktop: {
      move: async (at: { x?: number | undefined; y?: number | undefined }) => ({ x: 0, y: 0, ...at }),
      pointed: async () => front(),
      windows: async () => order,
      focus: async (hwnd: number) => {
        order = order.toSorted((a, b) => Number(a.hwnd === hwnd) - Number(b.hwnd === hwnd));
      },
    } as Parameters<typeof pointAt>[0],
  };
}

describe("the place of an element", () => {
  const order = { process_id: 1, window_title: "Order 12" };
  const place = { x: 10, y: 10 };

  test("that another program's window covers is uncovered, and the run says so", async () => {
    const at = desktopWith([
      { title: "Order 12", pid: 1 },
      { title: "Update", pid: 2 },
    ]);
    await pointAt(at.desktop, order, place, forever, at.run);
    expect(at.front()?.title).toBe("Order 12");
    expect(at.logged).toEqual(['"Update" covered the place; "Order 12" is in front of it now']);
  });

  test("is left as it is where a window of its own program is in front, or one of which nobody knows whose it is", async () => {
    for (const pid of [1, null]) {
      const at = desktopWith([
        { title: "Order 12", pid: 1 },
        { title: "Save as", pid },
      ]);
      await pointAt(at.desktop, order, place, forever, at.run);
      expect([at.front()?.title, at.logged]).toEqual(["Save as", []]);
    }
  });

  test("is that of the window which has its title, where its program has several there", async () => {
    const at = desktopWith([
      { title: "Order  12", pid: 1 },
      { title: "Order 13", pid: 1 },
      { title: "Update", pid: 2 },
    ]);
    await pointAt(at.desktop, order, place, forever, at.run);
    expect(at.front()?.title).toBe("Order  12");
  });

  test("that stays covered is not clicked", async () => {
    const at = desktopWith(
      [
        { title: "Order 12", pid: 1 },
        { title: "Panel", pid: 2 },
      ],
      "Panel",
    );
    await expect(pointAt(at.desktop, order, place, forever, at.run)).rejects.toThrow(
      'the window "Panel" covers it, and stays in front of its own',
    );
  });
});

/** A session in which a list is covered by a question of another program. */
async function startCovered() {
  const session = await startSession();
  const { desktop, elements } = session;
  const patient = { timeout: 20, signal: new AbortController().signal };
  const use = (line: string) => waitForUsable(elements, parseLocator(line), patient);
  const list = session.start("zenity", "--list", "--title=Fruit", "--column=Name", "Pear", "Plum");
  const place = (await use('cell "Plum" window "Fruit"')).center ?? [0, 0];
  session.start("zenity", "--question", "--title=Notice", "--text=News");
  await use('button "Yes" window "Notice"');
  const windows = (await desktop.windows(forever)) ?? [];
  const hwnd = windows.find(({ title }) => title === "Notice")?.hwnd ?? 0;
  await desktop.place(hwnd, { x: place[0] - 60, y: place[1] - 60 }, forever);
  const act = (operation: Operation, input: Readonly<Record<string, unknown>>) =>
    callOperation(
      { desktop: async () => desktop },
      operation,
      input,
      localCaller({ audit: async () => null }, "api"),
    );
  return { ...session, place, list, hwnd, windows, act, use };
}

describe("on a display", () => {
  testWith(...PROGRAMS)("the window that a click goes to is known, its frame included", async () => {
    await using at = await startCovered();
    const [x, y] = at.place;
    await at.desktop.move({ x, y }, forever);
    expect(await at.desktop.pointed(forever)).toMatchObject({ hwnd: at.hwnd, title: "Notice" });
    // Its title bar is drawn by the window manager.
    await at.desktop.move({ x: x - 30, y: y - 55 }, forever);
    expect(await at.desktop.pointed(forever)).toMatchObject({ hwnd: at.hwnd });
    await at.desktop.move({ x: 1_279, y: 799 }, forever);
    expect(await at.desktop.pointed(forever)).toBeUndefined();
  });

  for (const { name, operation, input } of [
    { name: "AC_click_element", operation: click, input: { element: 'cell "Plum" window "Fruit"' } },
    {
      name: "AC_a11y_click",
      operation: operations.find(({ command }) => command === "AC_a11y_click"),
      input: { role: "cell", name: "Plum", window_title: "Fruit" },
    },
    {
      name: "AC_locate_and_click",
      operation: locateAndClick,
      input: { element: 'cell "Plum" window "Fruit"', timeout: 5 },
    },
    {
      name: "AC_click_mouse beside an element",
      operation: clickMouse,
      input: { x: 40, y: 5, relative_to: null },
    },
  ]) {
    testWith(...PROGRAMS)(`${name} reaches what a window covers`, async () => {
      await using at = await startCovered();
      if (!operation) throw new Error(`there is no ${name}`);
      const found = await at.use('cell "Plum" window "Fruit"');
      await at.act(operation, "relative_to" in input ? { ...input, relative_to: found } : input);
      await at.elements.press((await at.use('button "OK" window "Fruit"')).native_id);
      expect(await at.list.stdout.text()).toBe("Plum\n");
    });
  }

  testWith(...PROGRAMS)(
    "a run that holds a window finds what has the focus in it, whoever takes it",
    async () => {
      await using at = await startSession();
      const { desktop, elements } = at;
      const patient = { timeout: 20, signal: new AbortController().signal };
      const focusedField = parseLocator('textbox focused window "Order"');
      at.start("zenity", "--entry", "--title=Order", "--text=Customer");
      await waitForUsable(elements, focusedField, patient);
      const atEnd: Array<() => Promise<void>> = [];
      const run = {
        id: crypto.randomUUID(),
        atEnd: (work: () => Promise<void>) => void atEnd.push(work),
        log: () => true,
      } as unknown as RunContext;
      const { hwnd } = (await desktop.windows(forever))?.find(({ title }) => title === "Order") ?? {};
      await holdFocus(desktop, hwnd, forever, run);
      const caller = { ...localCaller({ audit: async () => null }, "api"), run };
      const held = await desktopOf({ desktop: async () => desktop }, caller);
      // Somebody waits already when it comes.
      at.start("zenity", "--question", "--title=Notice", "--text=News");
      await waitForUsable(elements, parseLocator('button focused window "Notice"'), patient);
      expect(await waitForUsable(held.elements, focusedField, patient)).toMatchObject({ focused: true });
      // The same for who only looks: the other window has the focus again.
      const notice = (await desktop.windows(forever))?.find(({ title }) => title === "Notice");
      await desktop.focus(notice?.hwnd ?? 0, forever);
      await waitForUsable(elements, parseLocator('button focused window "Notice"'), patient);
      const awaited = { element: printLocator(focusedField), timeout: 5 };
      expect(await callOperation({ desktop: async () => desktop }, wait, awaited, caller)).toMatchObject({
        focused: true,
      });
      await Promise.all(atEnd.map((work) => work()));
    },
  );
});
