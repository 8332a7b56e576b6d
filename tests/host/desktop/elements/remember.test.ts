/** What is known of the field into which an agent types. */
import { expect, test } from "bun:test";
import type { Desktop } from "../../../../src/host/desktop/desktop";
import type { Locator } from "../../../../src/host/desktop/elements/locator";
import { targetOf } from "../../../../src/host/desktop/elements/remember";
import { forever } from "../support";

const FOCUSED = { focused: true, secret: false, name: "Customer" };

/** A desktop where elements of these kinds have the focus. */
function focusOn(...kinds: ReadonlyArray<{ role: string; native_role: string }>): Desktop {
  const find = async ({ role }: Locator) => ({
    elements: kinds
      .filter((one) => role === undefined || one.role === role)
      .map((one) => ({ ...FOCUSED, ...one })),
  });
  return { elements: { find } } as unknown as Desktop;
}

test.each([
  [
    "a field that has the focus is not",
    [{ role: "textbox", native_role: "text" }],
    { label: "Customer", secret: false },
  ],
  ["a cell is not", [{ role: "cell", native_role: "table cell" }], { label: "", secret: false }],
  [
    "a terminal may ask for a password",
    [{ role: "document", native_role: "terminal" }],
    { label: "", secret: true },
  ],
  ["of a program without elements nothing is known", [], { label: "", secret: true }],
])("what is typed is secret where that cannot be known: %s", async (_, kinds, target) => {
  expect(await targetOf(focusOn(...kinds), "write", {}, forever)).toEqual(target);
});
