/**
 * The operations that use elements beside a press: items, menus, tables, scrolling, states, and the pointer and keyboard.
 */
import * as v from "valibot";
import { field, judged, secret, whole } from "../../../core/fields";
import { operation } from "../../../core/operation";
import { sleep } from "../../../lib/deadline";
import { badInput, cancelled, rejected } from "../../../lib/errors";
import { jsonLine } from "../../../lib/sanitize";
import { BUTTON, BUTTONS, inputOperation, type Uses } from "../operations/input-operation";
import { ELEMENT, type Element, USED } from "./calls";
import { type Elements, waitForOne, waitForUsable } from "./elements";
import {
  ACTS,
  HANDS,
  LOCATOR,
  locatorOf,
  one,
  oneReal,
  patience,
  REAL,
  SEES,
  TEXT,
  unnamed,
  usesInput,
  waitingOf,
} from "./fields";
import { byHand, inWayOf } from "./in-way";
import { isState, printLocator, STATES } from "./locator";
import { chooseMenu, menuPath } from "./menus";
import { mendOf } from "./missing";
import { chooseMenu as chooseMenuReal, clickOn, desktopOf, inTurnOf, select as selectReal } from "./real";
import { typeInto } from "./typing";
import { FOUND, findInWays, noWay, WAYS } from "./ways";

const COMBO = { element: 'combobox "Shipping"', item: "Courier" };
const TABLE = { element: 'table window "Orders"' };

export const select = operation({
  ...HANDS,
  name: "elements.select",
  summary:
    "Select a row, tab or item, or the item of that name in a list, table or combo box; returns the element",
  command: "AC_select_element",
  example: COMBO,
  input: oneReal({ item: field(v.optional(TEXT), "The item in it; default: the element itself") }),
  output: USED,
  usesInput,
  mismatch: unnamed,
  run: (service: Uses, { timeout, item, input: how, ...input }, caller) =>
    byHand(service, how, caller, timeout, "elements.select", async (hands) => {
      const { elements } = hands.desktop;
      const { found, by } = await inWayOf(how, hands, {
        find: (waiting) => waitForUsable(elements, locatorOf(input), waiting),
        byProgram: ({ native_id }) => elements.select(native_id, item),
        byReal: (element, waiting) => selectReal({ ...hands, waiting }, element, item),
      });
      return { ...found, by };
    }),
});

export const expand = operation({
  ...ACTS,
  name: "elements.expand",
  summary: "Open an element that can be opened, or close it; returns it",
  command: "AC_expand_element",
  example: { element: 'treeitem "Orders"' },
  input: one({ on: field(v.optional(v.boolean(), true), "Open it; false closes it") }),
  output: ELEMENT,
  mismatch: unnamed,
  async run(service: Uses, { timeout, on, ...input }, caller) {
    const { elements } = await desktopOf(service, caller);
    const element = await waitForUsable(elements, locatorOf(input), waitingOf(caller, timeout));
    await elements.expand(element.native_id, on);
    return { ...element, expanded: on };
  },
});

export const scrollTo = operation({
  ...ACTS,
  name: "elements.scroll_to",
  summary: "Scroll until an element is on the screen; returns it as it is then",
  command: "AC_scroll_to_element",
  example: { element: 'button "Save 250"' },
  input: one({}),
  output: ELEMENT,
  mismatch: unnamed,
  async run(service: Uses, { timeout, ...input }, caller) {
    const { elements } = await desktopOf(service, caller);
    const locator = locatorOf(input);
    const element = await waitForOne(elements, locator, waitingOf(caller, timeout));
    await elements.scrollTo(element.native_id);
    return waitForOne(elements, locator, waitingOf(caller, timeout));
  },
});

export const menu = operation({
  ...HANDS,
  name: "elements.choose_menu",
  summary: "Choose an item of a menu by its path; returns the item",
  command: "AC_choose_menu",
  example: { path: "File > Save As...", window: "Order" },
  input: v.strictObject({
    path: field(TEXT, "The names of menus and the item, with > between them; … and ... are the same"),
    window: LOCATOR.window,
    app: LOCATOR.app,
    ...patience(5),
    ...REAL,
  }),
  output: USED,
  usesInput,
  mismatch: ({ path }) =>
    menuPath(path)
      ? undefined
      : { field: "path", message: "expected names of menus and an item, such as File > Save" },
  async run(service: Uses, { path, timeout, input: how, ...scope }, caller) {
    const names = menuPath(path);
    if (!names) throw badInput("path: expected names of menus and an item, such as File > Save");
    return byHand(service, how, caller, timeout, "elements.choose_menu", async (hands) => {
      const { done, by } = await inWayOf(how, hands, {
        // Each menu on the way is found by itself.
        find: async (waiting) => waiting,
        byProgram: (waiting) => chooseMenu(hands.desktop.elements, names, scope, waiting),
        byReal: (_, waiting) => chooseMenuReal({ ...hands, waiting }, names, scope),
      });
      return { ...done, by };
    });
  },
});

export const table = operation({
  ...SEES,
  name: "elements.read_table",
  summary: "Read the rows of a table, each by the names of its columns",
  command: "AC_read_table",
  example: TABLE,
  input: one({
    first_row: field(v.optional(whole(1, 10_000_000), 1), "The first row, from 1"),
    max_rows: field(v.optional(whole(1, 1_000), 100), "How many rows at most"),
  }),
  output: v.object({
    columns: v.array(v.string()),
    rows: secret(v.array(v.record(v.string(), v.string()))),
    total: v.number(),
  }),
  mismatch: unnamed,
  async run(service: Uses, { timeout, first_row, max_rows, ...input }, caller) {
    const { elements } = await desktopOf(service, caller);
    const element = await waitForOne(elements, locatorOf(input), waitingOf(caller, timeout));
    return elements.table(element.native_id, first_row, max_rows);
  },
});

export const cell = operation({
  ...SEES,
  name: "elements.read_cell",
  summary: "Read a cell of a table by its row and column",
  command: "AC_read_cell",
  example: { ...TABLE, row: 2, column: "Amount" },
  input: one({
    row: field(whole(1, 10_000_000), "Which row, from 1"),
    column: field(v.union([whole(1, 100_000), TEXT]), "Which column, from 1, or its name"),
  }),
  output: v.object({
    text: secret(v.nullable(v.string())),
    number: v.nullable(v.number()),
    element: ELEMENT,
  }),
  mismatch: unnamed,
  async run(service: Uses, { timeout, row, column, ...input }, caller) {
    const { elements } = await desktopOf(service, caller);
    const found = await waitForOne(elements, locatorOf(input), waitingOf(caller, timeout));
    const element = await elements.cell(found.native_id, row, column);
    return { ...(await elements.read(element.native_id)), element };
  },
});

const EXPECTED = v.picklist([...STATES, ...STATES.map((state) => `not ${state}` as const)]);

export const assertElement = operation({
  ...SEES,
  name: "elements.assert",
  summary: "Fail unless an element is in a state, or holds a text, within the time; returns it",
  command: "AC_assert_element",
  example: { element: 'checkbox "Paid"', is: ["checked"] },
  input: one({
    is: field(v.optional(v.array(EXPECTED), []), "The states: enabled, not enabled, checked, not checked, …"),
    holds: field(
      v.optional(judged(v.pipe(v.string(), v.maxLength(100_000)))),
      "The whole text that it has to hold; of a field that is secret nothing is compared",
    ),
  }),
  output: ELEMENT,
  mismatch: unnamed,
  async run(service: Uses, { timeout, is, holds, ...input }, caller) {
    const { elements } = await desktopOf(service, caller);
    const locator = locatorOf(input);
    const end = performance.now() + timeout * 1_000;
    for (;;) {
      const left = Math.max(0, (end - performance.now()) / 1_000);
      const waiting = { ...waitingOf(caller, left), whole: timeout };
      const element = await waitForOne(elements, locator, waiting);
      const wrong = await difference(elements, element, is, holds);
      if (wrong === undefined) return element;
      if (performance.now() >= end)
        throw rejected(`${printLocator(locator)} ${wrong}`, {
          mend: mendOf(locator, "differs", [element]),
        });
      await sleep(100, caller.signal, gone);
    }
  },
});

const gone = () => cancelled("cancelled while looking at an element");

/** What is not as expected, with both values. */
async function difference(
  elements: Elements,
  element: Element,
  is: readonly string[],
  holds: string | undefined,
) {
  for (const expected of is) {
    const state = expected.replace(/^not /, "");
    if (isState(state) && element[state] === expected.startsWith("not "))
      return `is ${element[state] ? state : `not ${state}`}, expected ${expected}`;
  }
  if (holds === undefined) return undefined;
  if (element.secret) throw rejected("the field is secret: what it holds is not compared");
  const { text, number } = await elements.read(element.native_id);
  const now = text ?? String(number ?? "");
  return now === holds
    ? undefined
    : `holds ${jsonLine(now.slice(0, 200))}, expected ${jsonLine(holds.slice(0, 200))}`;
}

export const click = inputOperation("click_element", {
  summary: "Click on an element with the pointer, as a person does; returns it",
  example: { element: 'row contains "ACME"', clicks: 2 },
  input: v.strictObject({
    ...LOCATOR,
    ...WAYS,
    mouse_keycode: field(v.optional(BUTTON, "mouse_left"), "The button"),
    clicks: field(v.optional(whole(1, 3), 1), "How often to click"),
    ...patience(5),
  }),
  output: FOUND,
  async perform(given, { timeout, mouse_keycode, clicks, ...input }, requester, caller) {
    const wrong = noWay(input);
    if (wrong) throw badInput(`${wrong.field}: ${wrong.message}`);
    const desktop = inTurnOf(given, caller);
    const hands = { desktop, requester, waiting: waitingOf(caller, timeout), run: caller.run };
    const element = await findInWays(desktop, input, hands.waiting, caller, "usable");
    await clickOn(hands, element, { button: BUTTONS[mouse_keycode], clicks });
    return element;
  },
});

export const type = inputOperation("type_in_element", {
  summary: "Focus a field and type a text in place of what it holds, as a person does; returns the field",
  example: { element: 'textbox "Customer"', text: "ACME" },
  input: v.strictObject({
    ...LOCATOR,
    text: field(judged(v.pipe(v.string(), v.maxLength(10_000))), "What to type"),
    add: field(v.optional(v.boolean(), false), "Type after the focus, and leave what it holds"),
    ...patience(5),
  }),
  output: ELEMENT,
  async perform(given, { timeout, text, add, ...input }, requester, caller) {
    const wrong = unnamed(input);
    if (wrong) throw badInput(`${wrong.field}: ${wrong.message}`);
    const desktop = inTurnOf(given, caller);
    const waiting = waitingOf(caller, timeout);
    const element = await waitForUsable(desktop.elements, locatorOf(input), waiting);
    await typeInto({ desktop, requester, waiting, run: caller.run }, element, text, { add });
    return element;
  },
});

export const operations = [select, expand, scrollTo, menu, table, cell, assertElement, click, type];
