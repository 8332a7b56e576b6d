/** Snapshots of real programs: short, with references that last, and changes since. */
import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { callOperation } from "../../../../src/core/call";
import { localCaller } from "../../../../src/core/caller";
import type { Desktop } from "../../../../src/host/desktop/desktop";
import { act } from "../../../../src/host/desktop/elements/act";
import type { Element } from "../../../../src/host/desktop/elements/calls";
import { type Elements, waitForUsable } from "../../../../src/host/desktop/elements/elements";
import { type Locator, parseLocator, printLocator } from "../../../../src/host/desktop/elements/locator";
import { actOn } from "../../../../src/host/desktop/elements/snapshot-operations";
import { createSnapshots } from "../../../../src/host/desktop/elements/snapshots";
import { locatedAt } from "../../../../src/host/desktop/elements/unique";
import { testWith } from "../../../support";
import { PROGRAMS, startSession } from "./support";

setDefaultTimeout(60_000);
const testElements = testWith(...PROGRAMS);
const { signal } = new AbortController();
const patient = { timeout: 20, signal };
const wish = { share: null, scope: {}, most: 4_096 };
const SECRET = "hunter4711";
const never = () => Promise.reject(new Error("nothing is read"));

const FORM = [
  "--forms",
  "--title=Order 12",
  "--text=New order",
  "--add-entry=Customer",
  "--add-password=PIN",
];
const there = (session: Awaited<ReturnType<typeof startSession>>, line: string) =>
  waitForUsable(session.elements, parseLocator(line), patient);
const refIn = (lines: readonly string[], words: string) => {
  const line = lines.find((one) => one.includes(words));
  return /\[(e\d+)\]$/.exec(line ?? "")?.[1] ?? `no ${words} in ${lines.join("\n")}`;
};

test("an answer is as long as it may be, however many programs do not answer", () => {
  const snapshots = createSnapshots({ tree: never, contents: never });
  const deaf = Array.from({ length: 40 }, (_, nth) => `process ${nth}`);
  const { lines: _, ...answer } = snapshots.answer(
    { entries: [], deaf, more: false },
    { ...wish, most: 512 },
  );
  expect(answer.deaf.at(-1)).toBe("…");
  expect(answer.deaf[0]).toBe("process 0");
  expect(Buffer.byteLength(JSON.stringify(answer))).toBeLessThanOrEqual(250);
});

test("the change after many steps has room beside what was done", async () => {
  const button = (nth: number): Element => ({
    ...{
      role: "button",
      native_role: "push button",
      name: `Order ${nth} of a long name, as programs have them`,
    },
    ...{ app_name: "x", window_title: "W", process_id: 1, bounds: [0, nth, 9, 9], center: [4, nth] },
    ...{ enabled: true, visible: true, showing: true, checked: false, focused: false },
    ...{ selected: false, expanded: false, secret: false, native_id: `:1.1/${nth}` },
  });
  let looks = 0;
  const buttons = Array.from({ length: 50 }, (_, nth) => button(nth));
  const window = { ...button(0), role: "window", name: "W", native_id: ":1.1/w" };
  const elements = {
    find: async ({ name }: Locator) => ({
      ...{ elements: buttons.filter((one) => one.name === name), more: false, deaf: [] },
    }),
    press: async () => {},
    // All is new afterwards.
    tree: async () => {
      const shown = looks++ === 0 ? [] : buttons;
      const children = shown.map((element) => ({ element, children: [] }));
      return { windows: [{ element: window, children }], more: false, deaf: [] };
    },
    contents: async () => [],
  } as Partial<Elements> as Elements;
  const desktop = {
    ...{ elements, snapshots: createSnapshots(elements), turnsOf: () => desktop, heldWindows: new Map() },
  } as unknown as Desktop;
  const steps = buttons.map(({ name }) => ({ do: "press", element: `button ${JSON.stringify(name)}` }));
  const caller = localCaller({ audit: async () => null }, "api");
  const answer = await callOperation({ desktop: async () => desktop }, actOn, { steps }, caller);
  expect(answer.lines.length).toBeGreaterThan(5);
  expect(answer.left_out.act).toBeGreaterThan(0);
  expect(Buffer.byteLength(JSON.stringify(answer))).toBeLessThanOrEqual(4_096);
});

describe("a snapshot", () => {
  testElements("names fields by their labels, and a form is filled in by its references", async () => {
    await using session = await startSession();
    const { elements, desktop } = session;
    const { snapshots } = desktop;
    const zenity = session.start("zenity", ...FORM);
    await there(session, 'button "OK"');
    const first = snapshots.answer(await snapshots.look({}), wish);
    expect(first.since).toBeNull();
    expect(first.lines[0]).toMatch(/^(dialog|window) "Order 12" app "zenity" \[e\d+\]$/);
    expect(Buffer.byteLength(JSON.stringify(first))).toBeLessThan(1_000);
    const [customer, pin] = [refIn(first.lines, 'textbox "Customer"'), refIn(first.lines, 'textbox "PIN"')];
    const done = await act(
      elements,
      snapshots,
      [
        { do: "set_text", element: customer, text: "ACME" },
        { do: "set_text", element: pin, text: SECRET },
      ],
      patient,
    );
    expect(done).toEqual(['set_text textbox "Customer"', 'set_text textbox "PIN"']);
    const now = await snapshots.lookAtRest({}, signal);
    const change = snapshots.answer(now, { ...wish, since: first.snapshot });
    expect(change.since).toBe(first.snapshot);
    expect(change.lines.join("\n")).toMatch(
      new RegExp(`textbox "Customer"( focused)? = "ACME" \\[${customer}\\]$`, "m"),
    );
    expect(change.lines.every((line) => line.startsWith("~ "))).toBe(true);
    expect(JSON.stringify([first, change, done])).not.toContain(SECRET);
    await act(elements, snapshots, [{ do: "press", element: refIn(first.lines, 'button "OK"') }], patient);
    expect(await zenity.stdout.text()).toBe(`ACME|${SECRET}\n`);
    const end = snapshots.answer(await snapshots.lookAtRest({}, signal), { ...wish, since: change.snapshot });
    expect(end.lines).toEqual([first.lines[0]?.replace(/^/, "- ") ?? ""]);
    expect(act(elements, snapshots, [{ do: "press", element: customer }], patient)).rejects.toThrow(
      `step 1 of 1: ${customer} names no element: it has gone; take a new snapshot (nothing is done)`,
    );
  });

  testElements("a place is told by a locator that names what is there alone", async () => {
    await using session = await startSession();
    const { elements } = session;
    session.start("zenity", ...FORM);
    for (const line of ['button "OK"', 'textbox "Customer"', 'textbox "PIN"']) {
      const { center } = await there(session, line);
      const found = await locatedAt(elements, center?.[0] ?? 0, center?.[1] ?? 0);
      expect(found && [printLocator(found.locator), found.unique]).toEqual([line, true]);
    }
    expect(await locatedAt(elements, 1, 1)).toBeUndefined();
  });
});
