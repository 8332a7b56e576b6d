/** What programs that refuse, or say that they did what they did not, leave to pointer and keyboard; and what of a field may be read. */
import { expect, test } from "bun:test";
import type { Accessibles } from "../../../../src/host/desktop/elements/accessible";
import type { Bus } from "../../../../src/host/desktop/elements/bus";
import { type Reach, select } from "../../../../src/host/desktop/elements/child-actions";
import { press } from "../../../../src/host/desktop/elements/press";
import { NoSuchThing, type Ref } from "../../../../src/host/desktop/elements/ref";
import { STATE } from "../../../../src/host/desktop/elements/said";
import { setText } from "../../../../src/host/desktop/elements/set-text";
import { readText } from "../../../../src/host/desktop/elements/texts";

const ITEM: Ref = { bus: ":1.5", path: "/item" };
const MENU_ITEM = 35;

const lacks = async () => {
  throw new NoSuchThing();
};

/** A menu item that is never selected, whose program answers this to a press; undefined for one that cannot be pressed. */
const reach = (did: boolean | undefined) =>
  ({
    bus: (did === undefined
      ? { call: lacks, change: lacks }
      : { call: async () => [[["click"]]], change: async () => [did] }) as unknown as Bus,
    ask: {
      role: async () => MENU_ITEM,
      states: async () => () => false,
      ...{ name: async () => "", parent: async () => undefined, children: async () => [] },
    } as unknown as Accessibles,
    look: { below: async () => [] },
  }) as Reach;

test("what was to be pressed and is not selected is not left to another way, whatever its program answers", async () => {
  for (const did of [true, false])
    await expect(select(reach(did), ITEM, undefined)).rejects.toMatchObject({
      code: "rejected",
      hasDoneNothing: false,
      isUntouched: false,
    });
});

test("what its program cannot select may be clicked", async () => {
  await expect(select(reach(undefined), ITEM, undefined)).rejects.toMatchObject({ isUntouched: true });
});

const BUTTON = 43;

/** Presses a button that has these actions, or none. @param answer what its program says to a press. */
function pressing(names: readonly string[], answer: Bus["change"], isThere = true) {
  const bus = {
    call: async () => [names.map((name) => [name, "", ""])],
    ...{ change: answer, isDeaf: () => false },
  } as unknown as Bus;
  const ask = {
    ...{ role: async () => (isThere ? BUTTON : 0), parent: async () => undefined, children: async () => [] },
    ...{ name: async () => "", indexInParent: async () => 0 },
  } as unknown as Accessibles;
  return press(bus, ask, ITEM);
}

test("what has no action may be clicked; what has one, and what may have been pressed, may not", async () => {
  await expect(pressing([], lacks)).rejects.toMatchObject({ isUntouched: true });
  await expect(pressing(["click"], async () => [false])).rejects.toMatchObject({ isUntouched: false });
  // It went while it was pressed.
  const broken = async () => {
    throw new NoSuchThing("org.freedesktop.DBus.Error.NoReply", false);
  };
  await expect(pressing(["click"], broken)).rejects.toMatchObject({
    code: "unavailable",
    hasDoneNothing: false,
    isUntouched: false,
  });
});

test("what has gone is no element without actions", async () => {
  for (const names of [[], ["click"]])
    await expect(pressing(names, lacks, false)).rejects.toMatchObject({
      code: "not_found",
      isUntouched: false,
    });
});

interface Shown {
  readonly role: number;
  readonly isEditable?: boolean;
  readonly program?: string;
  /** How many elements are beside it. */
  readonly beside?: number;
  /** What its program says to a text; undefined where it takes none. */
  readonly answer?: boolean;
  /** What it holds then. */
  readonly becomes?: string;
  readonly isThere?: boolean;
}

/** Puts the text ACME into an element that holds another one. */
function filling({
  role,
  isEditable = true,
  program = "form",
  beside = 5,
  answer,
  becomes = "old",
  isThere = true,
}: Shown) {
  let text = "old";
  const bus = {
    call: async () => [text],
    get: lacks,
    async change() {
      if (answer === undefined) throw new NoSuchThing();
      text = becomes;
      return [answer];
    },
  } as unknown as Bus;
  const ask = {
    role: async () => (isThere ? role : 0),
    parent: async () => (isThere ? { bus: ":1.5", path: "/table" } : undefined),
    states: async () => (state: number) => state === STATE.editable && isEditable,
    ...{ childCount: async () => beside, name: async () => program },
  } as unknown as Accessibles;
  return setText({ bus, ask }, ITEM, "ACME");
}

const SHEET = { program: "soffice", beside: 2 ** 31 - 1 };

test.each<[string, Shown, boolean]>([
  ["a field of text", { role: 79 }, true],
  ["a field that is read only", { role: 79, isEditable: false }, false],
  ["a password field", { role: 40 }, true],
  ["a combo box that has a field", { role: 11 }, true],
  ["a combo box without one", { role: 11, isEditable: false }, false],
  ["a cell of Calc", { role: 56, ...SHEET }, true],
  ["a cell of a table of Writer", { role: 56, program: "soffice" }, false],
  ["a cell of a long list", { role: 56, beside: 5_000 }, false],
  ["a document", { role: 94 }, false],
  ["a paragraph", { role: 73 }, false],
  ["a terminal", { role: 60 }, false],
  ["a button", { role: BUTTON }, false],
])("whether a text may be typed, that a program does not take, into %s", async (_, shown, isUntouched) => {
  await expect(filling(shown)).rejects.toMatchObject({ code: "unavailable", isUntouched });
});

test("a text that changed what a field holds is not typed over it", async () => {
  for (const answer of [true, false])
    await expect(filling({ role: 79, answer, becomes: "ACM" })).rejects.toMatchObject({
      ...{ code: "unavailable", hasDoneNothing: false, isUntouched: false },
      message: expect.stringContaining("it holds another one, of 3 characters in place of 4"),
    });
  for (const answer of [true, false])
    await expect(filling({ role: 79, answer })).rejects.toMatchObject({ isUntouched: true });
  expect(await filling({ role: 79, answer: true, becomes: "ACME" })).toBeUndefined();
});

test("a text goes into nothing that has gone", async () => {
  await expect(filling({ role: 79, isThere: false })).rejects.toMatchObject({
    code: "not_found",
    isUntouched: false,
  });
});

/** A field as GTK 4.8 says it: it counts bytes of what it shows, and answers how many characters begin in them. */
const field = (text: string, shown: string) =>
  ({
    async call(_: Ref, __: string, method: string, ___: string, [, end]: [number, number]) {
      if (method === "GetText") return [end < 0 ? "" : text];
      const bytes = Buffer.from(shown).subarray(0, [...text].length);
      return [{}, 0, bytes.filter((byte) => (byte & 0xc0) !== 0x80).length];
    },
    get: async () => [...text].length,
  }) as unknown as Bus;

test.each([
  ["letters", "order 12", "order 12", "order 12"],
  ["dots for letters", "order 12", "••••••••", undefined],
  ["dots for characters of three bytes", "パスワード", "•••••", undefined],
  // It answers what dots would: not to be told apart.
  ["characters of three bytes", "パスワード", "パスワード", undefined],
  ["one letter", "x", "x", undefined],
])("of a field of GTK 4.8 that shows %s", async (_, text, shown, read) => {
  expect(await readText(field(text, shown), ITEM, 100)).toBe(read as string);
});
