/** What is done by UI Automation, without Windows: which answers of a program leave an element to another way, and which are final. */
import { expect, test } from "bun:test";
import type { Ref } from "../../../../src/host/desktop/elements/ref";
import { accessiblesOf } from "../../../../src/host/desktop/elements/uia/accessible";
import { deedsOf } from "../../../../src/host/desktop/elements/uia/actions";
import type {
  Automation,
  PatternName,
  ReadElement,
} from "../../../../src/host/desktop/elements/uia/automation";
import { ComFailure, type Face, RESULT } from "../../../../src/host/desktop/elements/uia/com";
import type { Desk } from "../../../../src/host/desktop/elements/uia/desk";
import type { Facts } from "../../../../src/host/desktop/elements/uia/facts";
import { PROPERTY } from "../../../../src/host/desktop/elements/uia/ids";
import type { Store } from "../../../../src/host/desktop/elements/uia/store";
import { faceOf, factsWith } from "./uia-support";

const [BUTTON, COMBO_BOX, EDIT, LIST_ITEM, LIST, SLIDER] = [50_000, 50_003, 50_004, 50_007, 50_008, 50_015];
const FAILED = 0x8000_4005;

const ELEMENT: Ref = { bus: "uia.pid7", path: "/5/42_5_1" };
/** What is in it. */
const ITEM: Ref = { bus: "uia.pid7", path: "/5/42_5_2" };

const answers = (result: number) => () => {
  throw new ComFailure(result, "method 3");
};
const answering = (result: number): Face => faceOf({ call: answers(result) });

interface Shown {
  readonly facts?: Facts;
  readonly face?: Face;
  /** What its program has for it. */
  readonly patterns?: { readonly [N in PatternName]?: Face };
  /** An item in it, for which its program has nothing. */
  readonly item?: Facts;
  readonly isThere?: boolean;
  /** Takes a text. */
  readonly take?: (text: string) => void;
}

/** What can be done in a program that shows one element. */
function deedsOn({
  facts = factsWith([PROPERTY.controlType, BUTTON]),
  face = faceOf(),
  patterns = {},
  item,
  isThere = true,
  take = () => {},
}: Shown) {
  const reads = new Map<string, ReadElement>();
  if (isThere) reads.set(ELEMENT.path, { face, facts });
  if (item) reads.set(ITEM.path, { face: faceOf(), facts: item });
  const parts = {
    automation: {
      pattern: (of: Face, name: PatternName) => (of === face ? patterns[name] : undefined),
      setValue: (_: Face, text: string) => take(text),
    } as unknown as Automation,
    store: { now: ({ path }: Ref) => reads.get(path) } as unknown as Store,
    desk: { windows: () => [{ hwnd: 5, pid: 7 }], active: () => 5, hangs: () => false } as unknown as Desk,
  };
  const { ask } = accessiblesOf(parts);
  return deedsOf({ ...parts, ask, look: { below: async () => (item ? [ITEM] : []) } });
}

test.each<[string, Shown["patterns"], boolean]>([
  ["has nothing that is pressed", {}, true],
  ["is of a program without the method", { invoke: answering(RESULT.notImplemented) }, true],
  ["failed", { invoke: answering(FAILED) }, false],
  ["is not enabled", { toggle: answering(RESULT.elementNotEnabled) }, false],
  ["is of a program with more rights", { invoke: answering(RESULT.accessDenied) }, false],
  ["is of a program that does not answer", { invoke: answering(RESULT.timeout) }, false],
])("whether what %s may be pressed in another way", async (_, patterns = {}, isUntouched) => {
  await expect(deedsOn({ patterns }).press(ELEMENT)).rejects.toMatchObject({
    ...{ isUntouched, hasDoneNothing: isUntouched },
  });
});

test("the next pattern is used where the program has no method for the first", async () => {
  let toggles = 0;
  const toggle = faceOf({ call: () => void ++toggles });
  await deedsOn({ patterns: { invoke: answering(RESULT.notSupported), toggle } }).press(ELEMENT);
  expect(toggles).toBe(1);
});

test("what has gone is no element for which its program has nothing", async () => {
  const deeds = deedsOn({ isThere: false });
  const all: ReadonlyArray<() => Promise<unknown>> = [
    () => deeds.press(ELEMENT),
    () => deeds.focus(ELEMENT),
    () => deeds.setText(ELEMENT, "ACME"),
    () => deeds.select(ELEMENT, undefined),
    () => deeds.read(ELEMENT),
  ];
  for (const deed of all)
    await expect(deed()).rejects.toMatchObject({ code: "not_found", isUntouched: false });
});

test("what is given the focus has it, or something in it has", async () => {
  const list = factsWith([PROPERTY.controlType, LIST]);
  const row = factsWith([PROPERTY.controlType, LIST_ITEM], [PROPERTY.hasFocus, true]);
  await deedsOn({ facts: list, item: row }).focus(ELEMENT);
  await expect(deedsOn({}).focus(ELEMENT)).rejects.toMatchObject({ isUntouched: false });
  await expect(deedsOn({ face: answering(RESULT.notSupported) }).focus(ELEMENT)).rejects.toMatchObject({
    isUntouched: true,
  });
});

interface Filled {
  readonly type?: number;
  readonly isReadOnly?: boolean;
  readonly isSecret?: boolean;
  /** What it holds once its program has taken the text. */
  readonly becomes?: string;
  /** What its program answers, if it does not take it. */
  readonly result?: number;
}

/** Puts the text ACME into a field that holds another one. */
function filling({ type = EDIT, isReadOnly = false, isSecret = false, becomes = "old", result }: Filled) {
  let [text, reads, taken] = ["old", 0, 0];
  const read = () => {
    reads++;
    return text;
  };
  const take = () => {
    if (result !== undefined) answers(result)();
    [text, taken] = [becomes, taken + 1];
  };
  const facts = factsWith(
    [PROPERTY.controlType, type],
    [PROPERTY.isPassword, isSecret],
    [PROPERTY.hasValue, true],
    [PROPERTY.isReadOnly, isReadOnly],
  );
  const value = faceOf({ text: read, whole: () => Number(isReadOnly) });
  const filled = deedsOn({ facts, patterns: { value }, take }).setText(ELEMENT, "ACME");
  return { filled, reads: () => reads, taken: () => taken };
}

test.each<[string, Filled, boolean]>([
  ["a field that holds what it held", {}, true],
  ["a field whose program takes none", { result: RESULT.notImplemented }, true],
  ["a combo box that holds what it held", { type: COMBO_BOX }, true],
  ["a field whose program failed", { result: FAILED }, false],
  ["a field that is read only", { isReadOnly: true }, false],
  ["a list", { type: LIST, result: RESULT.notImplemented }, false],
])("whether a text may be typed into %s", async (_, field, isUntouched) => {
  await expect(filling(field).filled).rejects.toMatchObject({ code: "unavailable", isUntouched });
});

test("a text that its program cut is not typed over it, and of what it holds nothing is said", async () => {
  await expect(filling({ becomes: "ACM" }).filled).rejects.toMatchObject({
    ...{ code: "unavailable", hasDoneNothing: false, isUntouched: false },
    message: expect.stringContaining("it holds another one, of 3 characters in place of 4"),
  });
  const { filled, taken } = filling({ becomes: "ACME" });
  await filled;
  expect(taken()).toBe(1);
});

test("a secret is put into its field, and what that holds is not read", async () => {
  const { filled, reads, taken } = filling({ isSecret: true, becomes: "ACME" });
  await filled;
  expect([reads(), taken()]).toEqual([0, 1]);
});

test("a number goes into a slider, and no text does", async () => {
  let number = 30;
  const range = faceOf({
    call(_index, _kinds, to) {
      number = Number(to);
    },
    real: () => number,
  });
  const deeds = deedsOn({
    facts: factsWith([PROPERTY.controlType, SLIDER]),
    patterns: { rangeValue: range },
  });
  await deeds.setText(ELEMENT, "64.5");
  expect(number).toBe(64.5);
  await expect(deeds.setText(ELEMENT, "loud")).rejects.toMatchObject({ code: "rejected" });
});

test("what is not selected, though its program was asked to, is not left to another way", async () => {
  await expect(deedsOn({}).select(ELEMENT, undefined)).rejects.toMatchObject({
    ...{ isUntouched: true, message: "by its program it cannot be selected" },
  });
  const selectionItem = faceOf();
  await expect(deedsOn({ patterns: { selectionItem } }).select(ELEMENT, undefined)).rejects.toMatchObject({
    ...{ code: "rejected", hasDoneNothing: false, isUntouched: false },
  });
});

test("nor is the item of a list that was opened for it, and that is closed again", async () => {
  const calls: number[] = [];
  const expandCollapse = faceOf({ call: (index) => void calls.push(index) });
  const item = factsWith([PROPERTY.controlType, LIST_ITEM], [PROPERTY.name, "Courier"]);
  const facts = factsWith([PROPERTY.controlType, COMBO_BOX], [PROPERTY.name, "Shipping"]);
  const deeds = deedsOn({ facts, patterns: { expandCollapse }, item });
  await expect(deeds.select(ELEMENT, "Courier")).rejects.toMatchObject({
    ...{ isUntouched: false, message: "by its program it cannot be selected" },
  });
  expect(calls).toEqual([3, 4]);
});
