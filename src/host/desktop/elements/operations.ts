/**
 * The operations of what programs show: finding it by name, using it, waiting for it.
 */
import * as v from "valibot";
import type { Caller } from "../../../core/caller";
import { AT_DESKTOP } from "../../../core/desktop-request";
import { field, flag, judged, secret, whole } from "../../../core/fields";
import { operation } from "../../../core/operation";
import { busy, failureOf } from "../../../lib/errors";
import { COLUMN, inputOperation, ROW, type Uses } from "../operations/input-operation";
import { giveFocus, setChecked } from "./act";
import { ACTED, BRANCH, type Branch, ELEMENT, type Element, USED } from "./calls";
import { pointAt } from "./cover";
import { waitForOne, waitForUsable, waitUntilGone } from "./elements";
import {
  ACTS,
  HANDS,
  locatorOf,
  one,
  oneReal,
  ROLE,
  SEES,
  TEXT,
  unnamed,
  usesInput,
  waitingOf,
} from "./fields";
import { byHand, inWayOf } from "./in-way";
import { type Locator, printLocator } from "./locator";
import { check as checkReal, clickOn, desktopOf, inTurnOf, placeOf } from "./real";
import { typeInto } from "./typing";
import { locatedAt } from "./unique";
import { FOUND, findInWays, hasOtherWays, noWay, oneInWays, WAYS } from "./ways";

export { assertElement, cell, expand, menu, scrollTo, select, table } from "./action-operations";
export { outlineOf } from "./outline";
export type { Element };

const MOST = 5_000;

/** The parameters that AutoControl has. */
const SCOPE = {
  app_name: field(v.optional(TEXT), "The name of its program"),
  window_title: field(v.optional(TEXT), "Part of the title of its window, in any case"),
};
const SOUGHT = {
  name: field(v.optional(TEXT), "Its name, or that of the label beside it"),
  role: ROLE,
  ...SCOPE,
  contains: flag("Take a part of the name, in any case"),
};
const most = (count: number) => field(v.optional(whole(1, MOST), count), "How many at most");

type ElementSearch = v.InferOutput<v.StrictObjectSchema<typeof SOUGHT, undefined>>;

const soughtOf = ({ name, role, app_name: app, window_title: window, contains }: ElementSearch): Locator => ({
  name,
  role,
  app,
  window,
  exact: !contains,
});

/** Those that match, the exact name first. */
async function matching(service: Uses, caller: Caller, sought: ElementSearch): Promise<Element[]> {
  const { elements } = await (await desktopOf(service, caller)).elements.find(soughtOf(sought), MOST);
  const isExact = ({ name }: Element) => name.toLowerCase() === sought.name?.trim().toLowerCase();
  return [...elements.filter(isExact), ...elements.filter((one) => !isExact(one))];
}

export const find = operation({
  ...SEES,
  name: "elements.a11y_find",
  summary: "Find the first element that matches; returns null where there is none",
  command: "AC_a11y_find",
  example: { name: "Save", role: "button" },
  input: v.strictObject(SOUGHT),
  output: v.nullable(ELEMENT),
  run: async (service: Uses, sought, caller) => (await matching(service, caller, sought))[0] ?? null,
});

export const findAll = operation({
  ...SEES,
  name: "elements.a11y_find_all",
  summary: "Find every element that matches, the exact name first",
  command: "AC_a11y_find_all",
  example: { role: "button", window_title: "Order" },
  input: v.strictObject({ ...SOUGHT, max_results: most(50) }),
  output: v.array(ELEMENT),
  run: async (service: Uses, { max_results, ...sought }, caller) =>
    (await matching(service, caller, sought)).slice(0, max_results),
});

export const list = operation({
  ...SEES,
  name: "elements.a11y_list",
  summary: "List the elements of programs",
  command: "AC_a11y_list",
  example: { app_name: "zenity" },
  input: v.strictObject({ ...SCOPE, max_results: most(200) }),
  output: v.array(ELEMENT),
  async run(service: Uses, { app_name: app, window_title: window, max_results }, caller) {
    const { windows } = await (await desktopOf(service, caller)).elements.tree({ app, window }, max_results);
    const flat = ({ element, children }: Branch): Element[] => [element, ...children.flatMap(flat)];
    return windows.flatMap(flat);
  },
});

export const dump = operation({
  ...SEES,
  name: "elements.a11y_dump",
  subcommand: "tree",
  summary: "Show what programs show, as a tree of elements",
  command: "AC_a11y_dump",
  example: { app_name: "zenity" },
  input: v.strictObject({ ...SCOPE, max_results: most(500), desktop: AT_DESKTOP }),
  output: v.object({ windows: v.array(BRANCH), more: v.boolean(), deaf: v.array(v.string()) }),
  run: async (service: Uses, { app_name: app, window_title: window, max_results, desktop }, caller) =>
    (await desktopOf(service, caller, desktop)).elements.tree({ app, window }, max_results),
});

const click = inputOperation("a11y_click", {
  summary: "Click with the pointer on the first element that matches; returns whether there is one",
  example: { name: "Save", role: "button" },
  input: v.strictObject(SOUGHT),
  output: v.boolean(),
  async perform(desktop, sought, requester, { run }) {
    const { elements } = await desktop.turnsOf(requester).elements.find(soughtOf(sought), MOST);
    const element = elements.find(({ showing }) => showing) ?? elements[0];
    if (!element) return false;
    const place = placeOf(element);
    await pointAt(desktop, element, place, requester, run);
    await desktop.click(place, "left", "tap", requester);
    return true;
  },
});

const EXAMPLE = { element: 'button "Save" window "Order"' };

export const press = operation({
  ...HANDS,
  name: "elements.press",
  summary:
    "Press an element as its program offers it, or with the pointer where it offers nothing; returns it",
  command: "AC_press_element",
  example: EXAMPLE,
  input: oneReal(WAYS),
  output: v.object({ ...FOUND.entries, ...ACTED }),
  usesInput,
  mismatch: (input) => noWay(input) ?? onlyByProgram(input),
  run: (service: Uses, { timeout, input: how, ...input }, caller) =>
    byHand(service, how, caller, timeout, "elements.press", async (hands) => {
      const { desktop } = hands;
      const { found, by } = await inWayOf(how, hands, {
        find: (waiting) => findInWays(desktop, input, waiting, caller, "usable"),
        onlyReal: ({ found_by }) => (found_by === "element" ? undefined : `it was found by its ${found_by}`),
        byProgram: ({ native_id }) => desktop.elements.press(native_id),
        byReal: (element, waiting) => clickOn({ ...hands, waiting }, element),
      });
      return { ...found, by };
    }),
});

/** What is wrong where no pointer may click on what is found by its text or picture. */
const onlyByProgram = (input: Readonly<Record<string, unknown>>) =>
  input.input === "program" && hasOtherWays(input)
    ? { field: "input", message: "expected either or real, as what is found by text or image is clicked" }
    : undefined;

export const focus = operation({
  ...ACTS,
  name: "elements.focus",
  summary: "Give an element the focus; returns it",
  command: "AC_focus_element",
  example: { element: 'textbox "Customer"' },
  input: one({}),
  output: ELEMENT,
  mismatch: unnamed,
  async run(service: Uses, { timeout, ...input }, caller) {
    const { elements } = await desktopOf(service, caller);
    const element = await waitForUsable(elements, locatorOf(input), waitingOf(caller, timeout));
    await giveFocus(elements, element, caller.signal);
    return element;
  },
});

export const setText = operation({
  ...HANDS,
  name: "elements.set_text",
  summary: "Put a text, or the number of a slider, in place of what a field holds; returns the field",
  command: "AC_set_element_text",
  example: { element: 'textbox "Customer"', text: "ACME" },
  input: oneReal({ text: field(judged(v.pipe(v.string(), v.maxLength(100_000))), "What it is to hold") }),
  output: USED,
  usesInput,
  mismatch: unnamed,
  run: (service: Uses, { timeout, text, input: how, ...input }, caller) =>
    byHand(service, how, caller, timeout, "elements.set_text", async (hands) => {
      const { elements } = hands.desktop;
      const { found, by } = await inWayOf(how, hands, {
        find: (waiting) => waitForUsable(elements, locatorOf(input), waiting),
        byProgram: ({ native_id }) =>
          elements.setText(native_id, text).catch((error) => {
            throw how === "either" && KEYS.test(text) ? untyped(error) : error;
          }),
        byReal: (element, waiting) =>
          typeInto({ ...hands, waiting }, element, text, { isFallback: how === "either" }),
      });
      return { ...found, by };
    }),
});

/** Line feeds, tabs and the like are keys: one sends a form, another goes to the next field. */
const KEYS = /\p{Cc}/u;

/** The failure of a program whose field may be typed into, for a text with {@link KEYS}. */
function untyped(error: unknown): unknown {
  const failure = failureOf(error);
  if (!failure?.isUntouched) return error;
  return busy(
    `${failure.message}; it has line feeds, tabs or other control characters, whose keys are pressed with "input": "real" alone`,
  );
}

export const check = operation({
  ...HANDS,
  name: "elements.check",
  summary: "Check a box, switch or radio button, or uncheck it; returns it as it is then",
  command: "AC_check_element",
  example: { element: 'checkbox "Paid"' },
  input: oneReal({ on: field(v.optional(v.boolean(), true), "Whether it is to be checked") }),
  output: USED,
  usesInput,
  mismatch: unnamed,
  run: (service: Uses, { timeout, on, input: how, ...input }, caller) =>
    byHand(service, how, caller, timeout, "elements.check", async (hands) => {
      const { elements } = hands.desktop;
      const { found, by } = await inWayOf(how, hands, {
        find: (waiting) => waitForUsable(elements, locatorOf(input), waiting),
        byProgram: (element) => setChecked(elements, element, on, caller.signal),
        byReal: (element, waiting) => checkReal({ ...hands, waiting }, element, on),
      });
      return { ...found, checked: on, by };
    }),
});

export const read = operation({
  ...SEES,
  name: "elements.read",
  summary: "Read what an element holds: its text, or its number; nothing of a field that is secret",
  command: "AC_read_element",
  example: { element: 'textbox "Customer"' },
  input: one({}),
  output: v.object({ text: secret(v.nullable(v.string())), number: v.nullable(v.number()) }),
  mismatch: unnamed,
  async run(service: Uses, { timeout, ...input }, caller) {
    const { elements } = await desktopOf(service, caller);
    const element = await waitForOne(elements, locatorOf(input), waitingOf(caller, timeout));
    return elements.read(element.native_id);
  },
});

/** Nothing is done: windows stay as they are but for what is named by the focus. */
const lookingAt = async (service: Uses, caller: Caller) => inTurnOf(await service.desktop(), caller);

export const wait = operation({
  ...SEES,
  name: "elements.wait",
  summary: "Wait until the one element that matches can be seen; returns it",
  command: "AC_wait_element",
  example: { element: 'dialog "Saved"', timeout: 30 },
  input: oneInWays(10),
  output: FOUND,
  mismatch: noWay,
  run: async (service: Uses, { timeout, ...input }, caller) =>
    findInWays(await lookingAt(service, caller), input, waitingOf(caller, timeout), caller, "visible"),
});

export const waitGone = operation({
  ...SEES,
  name: "elements.wait_gone",
  summary: "Wait until no element matches that can be seen",
  command: "AC_wait_element_gone",
  example: { element: 'progressbar window "Copying"', timeout: 30 },
  input: one({ hidden: flag("Count what cannot be seen too") }, 10),
  output: v.null(),
  mismatch: unnamed,
  async run(service: Uses, { timeout, hidden, ...input }, caller) {
    const { elements } = await desktopOf(service, caller);
    return waitUntilGone(elements, locatorOf(input), waitingOf(caller, timeout), { hidden });
  },
});

export const locate = operation({
  ...SEES,
  name: "elements.locate",
  summary: "Find the one element that matches; fails where there is none, or several",
  command: "AC_locate_element",
  example: EXAMPLE,
  input: oneInWays(0),
  output: FOUND,
  mismatch: noWay,
  run: async (service: Uses, { timeout, ...input }, caller) =>
    findInWays(await lookingAt(service, caller), input, waitingOf(caller, timeout), caller, "there"),
});

/** Without what is not set. */
const given = <T extends object>(fields: T): T =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as T;

export const at = operation({
  ...SEES,
  name: "elements.at",
  summary:
    "Tell what is at a place of the screen, and the locator that names it; null where nothing has a name",
  command: "AC_element_at",
  leftOut: {},
  http: { method: "GET", path: "/element_at" },
  example: { x: 640, y: 400 },
  input: v.strictObject({ x: field(COLUMN, "Column"), y: field(ROW, "Row") }),
  output: v.nullable(
    v.object({
      /** In one line; `unique` is false where it names others as well. */
      locator: v.string(),
      /** The same, field by field, as scripts have it. */
      fields: v.object({
        role: v.optional(v.string()),
        name: v.optional(v.string()),
        window: v.optional(v.string()),
        within: v.optional(v.string()),
        nth: v.optional(v.number()),
      }),
      unique: v.boolean(),
      element: ELEMENT,
    }),
  ),
  async run(service: Uses, { x, y }, caller) {
    const located = await locatedAt((await desktopOf(service, caller)).elements, x, y);
    if (!located) return null;
    const { role, name, window, within, nth } = located.locator;
    const fields = { role, name, window, within: within && printLocator(within), nth };
    return { ...located, locator: printLocator(located.locator), fields: given(fields) };
  },
});

export const operations = [
  at,
  find,
  findAll,
  list,
  dump,
  click,
  locate,
  press,
  focus,
  setText,
  check,
  read,
  wait,
  waitGone,
];
