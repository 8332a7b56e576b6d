/** What counts as an element that can be used, can be seen, or has gone. */
import { expect, test } from "bun:test";
import { callOperation } from "../../../../src/core/call";
import { localCaller } from "../../../../src/core/caller";
import type { Desktop } from "../../../../src/host/desktop/desktop";
import { setChecked } from "../../../../src/host/desktop/elements/act";
import { assertElement } from "../../../../src/host/desktop/elements/action-operations";
import type { Element, Findings } from "../../../../src/host/desktop/elements/calls";
import {
  type Elements,
  waitForOne,
  waitForUsable,
  waitForVisible,
  waitUntilGone,
} from "../../../../src/host/desktop/elements/elements";

const CELL: Element = {
  ...{ role: "cell", native_role: "table cell", name: "Beta", app_name: "Orders", window_title: "Orders" },
  ...{ process_id: 1, bounds: [10, 20, 80, 25], center: [50, 32], native_id: "" },
  ...{ enabled: true, visible: true, showing: true, checked: false, focused: false },
  ...{ selected: false, expanded: false, secret: false },
};
const { signal } = new AbortController();

/** Programs of which each look finds that; the last of them again and again. */
function finding(...looks: ReadonlyArray<Partial<Findings>>): Elements {
  let nth = 0;
  const find = async () => {
    const found = looks[Math.min(nth++, looks.length - 1)];
    return { elements: [], more: false, deaf: [], ...found };
  };
  return { find } as Pick<Elements, "find"> as Elements;
}

/** A program that shows one cell, at each look another one at the place that `at` says. */
const showing = (at: (look: number) => number) => {
  let look = 0;
  const find = async () => {
    look++;
    const cell: Element = { ...CELL, bounds: [at(look), 20, 80, 25], native_id: `:1.5/${look}` };
    return { elements: [cell], more: false, deaf: [] };
  };
  return { find } as Pick<Elements, "find"> as Elements;
};

test("a cell of Qt 5, which has another id at each look, is still where it is", async () => {
  const cell = await waitForUsable(
    showing(() => 10),
    { role: "cell" },
    { timeout: 2, signal },
  );
  expect(cell.bounds).toEqual([10, 20, 80, 25]);
});

test("what moves is not used", async () => {
  const used = waitForUsable(
    showing((look) => look),
    { role: "cell" },
    { timeout: 0.4, signal },
  );
  await expect(used).rejects.toThrow("cell moves after 0.4 s");
});

const HIDDEN: Element = { ...CELL, role: "dialog", name: "Saving", visible: false, showing: false };
const SAVING = { role: "dialog", name: "Saving" };
const soon = { timeout: 0.3, signal };

test("a dialog that its program keeps and does not show has not come yet, and one that it hides has gone", async () => {
  const kept = finding({ elements: [HIDDEN] });
  await expect(waitForVisible(kept, SAVING, soon)).rejects.toThrow(
    'dialog "Saving" is not visible after 0.3 s',
  );
  const comes = finding({ elements: [HIDDEN] }, { elements: [{ ...HIDDEN, visible: true }] });
  expect(await waitForVisible(comes, SAVING, soon)).toMatchObject({ visible: true });
  expect(await waitUntilGone(kept, SAVING, soon)).toBeNull();
  await expect(waitUntilGone(kept, SAVING, soon, { hidden: true })).rejects.toThrow(
    'dialog "Saving" is still there after 0.3 s',
  );
});

test("what a program showed that answers no more has not gone", async () => {
  const busy = finding({ elements: [CELL] }, { deaf: ["Orders"] });
  await expect(waitUntilGone(busy, { role: "cell" }, soon)).rejects.toThrow(
    'cell may be still there after 0.3 s: "Orders" did not answer',
  );
  const another = finding({ elements: [CELL] }, { deaf: ["Other"] });
  expect(await waitUntilGone(another, { role: "cell" }, soon)).toBeNull();
});

test("what no program has shown may be in one that does not answer, but for one that has another name", async () => {
  const busy = finding({ deaf: ["Other"] });
  await expect(waitUntilGone(busy, { role: "cell" }, soon)).rejects.toThrow(
    'cell may be still there after 0.3 s: "Other" did not answer',
  );
  const named = { role: "cell", app: "Orders" };
  expect(await waitUntilGone(busy, named, soon)).toBeNull();
  await expect(waitUntilGone(finding({ deaf: ["process 7"] }), named, soon)).rejects.toThrow(
    'cell app "Orders" may be still there after 0.3 s: "process 7" did not answer',
  );
});

test("the number that tells several apart is the one that a locator takes", async () => {
  const unplaced: Element = { ...CELL, bounds: null, center: null, native_id: ":1.5/0" };
  const two = finding({
    elements: [unplaced, { ...CELL, native_id: ":1.5/1" }, { ...CELL, native_id: ":1.5/2" }],
  });
  await expect(waitForOne(two, { role: "cell" }, soon)).rejects.toThrow(
    /^cell names 2 elements: nth 2 is cell "Beta" .*; nth 3 is cell "Beta"/,
  );
});

test("a failure to assert says the time that was given", async () => {
  const desktop = {
    elements: finding({}),
    turnsOf: () => desktop,
    heldWindows: new Map(),
  } as unknown as Desktop;
  const caller = localCaller({ audit: async () => null }, "api");
  const asserted = callOperation(
    { desktop: async () => desktop },
    assertElement,
    { role: "cell", timeout: 0.3 },
    caller,
  );
  await expect(asserted).rejects.toThrow(/^there is no cell after 0\.3 s$/);
});

test("what is hidden has gone, however much of it there is", async () => {
  const hidden = { elements: [{ ...CELL, visible: false, showing: false }], more: true };
  expect(await waitUntilGone(finding(hidden), { role: "cell" }, soon)).toBeNull();
});

test("what is no box is neither checked nor pressed", async () => {
  const pressed: string[] = [];
  const elements = {
    press: async (id: string) => void pressed.push(id),
    look: async () => ({ ...CELL, checked: true }),
    isCheckable: async (id: string) => id === ":1.5/8",
  } as Partial<Elements> as Elements;
  const button: Element = { ...CELL, role: "button", native_role: "push button", name: "Delete all" };
  for (const on of [true, false])
    await expect(setChecked(elements, button, on, signal)).rejects.toThrow(
      'button "Delete all" cannot be checked',
    );
  expect(pressed).toEqual([]);
  await setChecked(elements, { ...button, native_role: "toggle button", native_id: ":1.5/7" }, true, signal);
  // Qt 5 calls a button that stays down a push button.
  await setChecked(elements, { ...button, native_id: ":1.5/8" }, true, signal);
  expect(pressed).toEqual([":1.5/7", ":1.5/8"]);
});
