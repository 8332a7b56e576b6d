import { expect, test } from "bun:test";
import { mostVisible } from "../../../../src/host/desktop/elements/names";

test("what is hidden or on no screen is no rival of what can be seen", () => {
  const shown = { bounds: [1, 2, 3, 4], visible: true };
  const nowhere = { bounds: null, visible: true };
  const hidden = { bounds: [1, 2, 3, 4], visible: false };
  const of = (...all: ReadonlyArray<typeof shown | typeof nowhere>) =>
    mostVisible(all, ({ visible }) => visible);
  expect(of(hidden, nowhere, shown)).toEqual([shown]);
  expect(of(hidden, nowhere)).toEqual([nowhere]);
  expect(of(hidden, hidden)).toEqual([hidden, hidden]);
});
