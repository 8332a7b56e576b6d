/** What programs that refuse, or say that they did what they did not, leave to pointer and keyboard; and what of a field may be read. */
import { expect, test } from "bun:test";
import type { Accessibles } from "../../../../src/host/desktop/elements/accessible";
import type { Bus, Ref } from "../../../../src/host/desktop/elements/bus";
import { type Reach, select } from "../../../../src/host/desktop/elements/child-actions";
import { readText } from "../../../../src/host/desktop/elements/texts";

const ITEM: Ref = { bus: ":1.5", path: "/item" };
const MENU_ITEM = 35;

/** A menu item that is never selected, whose program answers this to a press. */
const reach = (did: boolean) =>
  ({
    bus: { call: async () => [[["click"]]], change: async () => [did] } as unknown as Bus,
    ask: {
      role: async () => MENU_ITEM,
      states: async () => () => false,
      ...{ name: async () => "", parent: async () => undefined, children: async () => [] },
    } as unknown as Accessibles,
    look: { below: async () => [] },
  }) as Reach;

test("what was pressed and is not selected is not left to another way", async () => {
  await expect(select(reach(true), ITEM, undefined)).rejects.toMatchObject({
    code: "rejected",
    hasDoneNothing: false,
  });
});

test("what was not pressed may be clicked", async () => {
  await expect(select(reach(false), ITEM, undefined)).rejects.toMatchObject({ hasDoneNothing: true });
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
