/** What counts as an element that can be used. */
import { expect, test } from "bun:test";
import type { Element } from "../../../../src/host/desktop/elements/calls";
import { type Elements, waitForUsable } from "../../../../src/host/desktop/elements/elements";

const CELL: Element = {
  ...{ role: "cell", native_role: "table cell", name: "Beta", app_name: "Orders", window_title: "Orders" },
  ...{ process_id: 1, bounds: [10, 20, 80, 25], center: [50, 32], native_id: "" },
  ...{ enabled: true, visible: true, showing: true, checked: false, focused: false },
  ...{ selected: false, expanded: false, secret: false },
};
const { signal } = new AbortController();

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
