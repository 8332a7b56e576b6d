/**
 * The commands of WebDriver about one element (W3C WebDriver, section 12).
 */
import * as v from "valibot";
import { requesterOf } from "../../../core/caller";
import { field, secret } from "../../../core/fields";
import { DEFAULT_PACE_S } from "../../../core/run";
import { sleep } from "../../../lib/deadline";
import { cancelled } from "../../../lib/errors";
import { failing, named } from "../../../wire/webdriver/errors";
import type { Element } from "../elements/calls";
import { untilUsable, whyUnusable } from "../elements/elements";
import { clickOn, focusOn, type Hands, shown } from "../elements/real";
import { typeInto } from "../elements/typing";
import { withInput } from "../operations/input-operation";
import { elementAnswer } from "./answers";
import { ACTING, type Call, type Command, command, LOOKING, PARAMETERS } from "./command";
import { findAll, findFirst, STRATEGIES } from "./find";
import { keyOf, piecesOf } from "./keys";
import { pngOf } from "./pictures";
import { attributesOf } from "./query";

const QUERY = {
  using: field(v.picklist(STRATEGIES), "How the element is named"),
  value: field(v.pipe(v.string(), v.nonEmpty(), v.maxLength(10_000)), "Its name in that way"),
};
const ELEMENT = { element: field(v.pipe(v.string(), v.maxLength(100)), "Its reference") };
const TEXT = v.pipe(v.string(), v.maxLength(100_000));

/** How long an element may take to be usable, in seconds, where the session has no implicit wait. */
const USABLE_S = 5;
const POLL_MS = 20;

/** The element of a reference as it is now. @throws `stale element reference`. */
export async function elementIn({ look: { desktop, session } }: Call, reference: string): Promise<Element> {
  const id = session.elementOf(reference);
  const element = await named("not_found", "stale element reference", desktop.elements.look(id));
  return element.name === "" ? { ...element, name: await labelOf(desktop, element) } : element;
}

/** The name that the label beside an element gives it: that is not asked for where only the element is looked at. */
async function labelOf(
  { elements }: Call["look"]["desktop"],
  { center, native_id }: Element,
): Promise<string> {
  if (!center) return "";
  const there = await elements.at(Math.round(center[0]), Math.round(center[1]));
  return there.find((one) => one.native_id === native_id)?.name ?? "";
}

/** The same, once it is enabled, visible and still. @throws `element not interactable`; `stale element reference`. */
async function usable(call: Call, reference: string): Promise<Element> {
  const { caller, session } = call.look;
  let last: Element | undefined;
  return untilUsable(
    { timeout: Math.max(USABLE_S, session.timeouts.implicit / 1_000), signal: caller.signal },
    async () => {
      last = await elementIn(call, reference);
      return last;
    },
    async () =>
      failing(
        "element not interactable",
        last ? `the ${last.role} ${whyUnusable(last)}` : "there was no time to look",
      ),
  );
}

/** Pointer and keyboard for a call, in its turn. */
export function byHand<T>(call: Call, name: string, work: (hands: Hands) => Promise<T>): Promise<T> {
  const { desktop, caller } = call.look;
  const waiting = { timeout: USABLE_S, signal: caller.signal };
  const hands = { desktop, requester: requesterOf(caller), waiting, run: caller.run };
  return withInput(desktop, caller, name, () => work(hands));
}

const isReal = ({ look: { session } }: Call) => session.capabilities["svc:input"] === "real";

/** Presses an element as its program offers it; clicks on it where the program offers nothing, or the session wants that. */
async function click(call: Call, element: Element): Promise<void> {
  const { elements } = call.look.desktop;
  if (!isReal(call)) {
    const isPressed = await elements.press(element.native_id).then(
      () => true,
      () => false,
    );
    if (isPressed) return;
  }
  await byHand(call, "webdriver.click", (hands) => clickOn(hands, element));
}

/** Types into an element, at the end of what it holds. */
async function sendKeys(call: Call, element: Element, text: string): Promise<void> {
  const { desktop } = call.look;
  await byHand(call, "webdriver.send_keys", async (hands) => {
    const { requester } = hands;
    await focusOn(hands, await shown(desktop.elements, element));
    await desktop.pointerRests(DEFAULT_PACE_S, requester);
    if (element.role === "textbox") await desktop.strike(["ctrl", "end"], "tap", requester);
    const before = await textOf(call, element);
    for (const piece of piecesOf(text)) {
      if ("hold" in piece) await desktop.strike([piece.hold], "press", requester);
      else if ("release" in piece) await desktop.strike([piece.release], "release", requester);
      else if ("tap" in piece) await desktop.strike([keyOf(piece.tap)], "tap", requester);
      else await desktop.type(piece.text, requester);
    }
    if (text !== "" && element.role === "textbox" && !element.secret) await arrives(call, element, before);
  });
}

/** How long a program may take to show what was typed, and how long it has to stay so, in milliseconds. */
const ARRIVING_MS = 1_000;
const STAYS_MS = 60;

/** Waits until a field shows something else than before, and goes on showing it: clients read it back at once. */
async function arrives(call: Call, element: Element, before: string): Promise<void> {
  const end = performance.now() + ARRIVING_MS;
  let [last, since] = [before, performance.now()];
  while (performance.now() < end) {
    const now = await textOf(call, element);
    if (now !== last) [last, since] = [now, performance.now()];
    if (last !== before && performance.now() - since >= STAYS_MS) return;
    await sleep(POLL_MS, call.look.caller.signal, () =>
      cancelled("cancelled while a field shows what was typed"),
    );
  }
}

const BOOLEAN = /^(?:enabled|visible|showing|checked|focused|selected|expanded|secret|displayed)$/;

/** An attribute as WebDriver has it: `"true"` or null for a state. */
export async function attributeOf(call: Call, reference: string, name: string): Promise<string | null> {
  const element = await elementIn(call, reference);
  if (name === "value" || name === "text") return textOf(call, element);
  const value = attributesOf(element)[name === "displayed" ? "showing" : name.replaceAll("-", "_")];
  if (value === undefined) return null;
  return BOOLEAN.test(name) ? (value === "true" ? value : null) : value;
}

/** What an element holds, else its name; nothing of a field that is secret. */
async function textOf({ look: { desktop } }: Call, element: Element): Promise<string> {
  if (element.secret) return "";
  const { text, number } = await desktop.elements
    .read(element.native_id)
    .catch(() => ({ text: null, number: null }));
  return text ?? (number === null ? element.name : `${number}`);
}

export async function isDisplayed(call: Call, reference: string): Promise<boolean> {
  return (await elementIn(call, reference)).showing;
}

const found = ({ look: { session } }: Call, { native_id }: Element) =>
  elementAnswer(session.referenceOf(native_id));

const at = (path: string) => `/session/{session}/element/{element}${path}`;

const looking = (
  verb: string,
  path: string,
  summary: string,
  see: (call: Call, element: Element) => unknown,
): Command =>
  command("GET", at(path), {
    ...LOOKING,
    name: `webdriver.${verb}`,
    summary,
    input: v.strictObject(ELEMENT),
    run: async (call: Call, { element }) => see(call, await elementIn(call, element)),
  });

/** Something done with an element. */
const acting = (
  verb: string,
  path: string,
  summary: string,
  act: (call: Call, element: Element) => Promise<void>,
) =>
  command("POST", at(path), {
    ...ACTING,
    name: `webdriver.${verb}`,
    summary,
    input: v.strictObject(ELEMENT),
    async run(call: Call, { element }) {
      await act(call, await usable(call, element));
      return null;
    },
  });

export const elementCommands: readonly Command[] = [
  command("POST", "/session/{session}/element", {
    ...LOOKING,
    name: "webdriver.find_element",
    summary: "Find the first element",
    input: v.strictObject(QUERY),
    run: async (call: Call, { using, value }) => found(call, await findFirst(call.look, using, value)),
  }),
  command("POST", "/session/{session}/elements", {
    ...LOOKING,
    name: "webdriver.find_elements",
    summary: "Find all elements",
    input: v.strictObject(QUERY),
    run: async (call: Call, { using, value }) =>
      (await findAll(call.look, using, value)).map((one) => found(call, one)),
  }),
  command("GET", "/session/{session}/element/active", {
    ...LOOKING,
    name: "webdriver.active_element",
    summary: "Find the element that has the focus",
    input: v.strictObject({}),
    async run(call: Call) {
      const { elements } = await call.look.desktop.elements.find({ focused: true }, 100);
      const element = elements.find(({ role }) => role !== "window" && role !== "dialog") ?? elements[0];
      if (!element) throw failing("no such element", "no element has the focus");
      return found(call, element);
    },
  }),
  command("POST", at("/element"), {
    ...LOOKING,
    name: "webdriver.find_in_element",
    summary: "Find the first element in another",
    input: v.strictObject({ ...ELEMENT, ...QUERY }),
    run: async (call: Call, { element, using, value }) =>
      found(call, await findFirst(call.look, using, value, call.look.session.elementOf(element))),
  }),
  command("POST", at("/elements"), {
    ...LOOKING,
    name: "webdriver.find_all_in_element",
    summary: "Find all elements in another",
    input: v.strictObject({ ...ELEMENT, ...QUERY }),
    run: async (call: Call, { element, using, value }) =>
      (await findAll(call.look, using, value, call.look.session.elementOf(element))).map((one) =>
        found(call, one),
      ),
  }),
  looking(
    "selected",
    "/selected",
    "Whether it is selected or checked",
    (_call, { selected, checked }) => selected || checked,
  ),
  looking("enabled", "/enabled", "Whether it can be used", (_call, { enabled }) => enabled),
  looking("displayed", "/displayed", "Whether it is on the screen", (_call, { showing }) => showing),
  looking("tag_name", "/name", "Its role", (_call, { role }) => role),
  looking("computed_role", "/computedrole", "Its role", (_call, { role }) => role),
  looking("computed_label", "/computedlabel", "Its name", (_call, { name }) => name),
  looking("text", "/text", "What it holds, else its name", textOf),
  looking("rect", "/rect", "Where it is", (_call, { bounds }) => {
    if (!bounds) throw failing("element not interactable", "its program does not say where it is");
    const [x, y, width, height] = bounds;
    return { x, y, width, height };
  }),
  looking("element_screenshot", "/screenshot", "A picture of it", (call, { bounds }) => {
    if (!bounds) throw failing("unable to capture screen", "its program does not say where it is");
    const [x, y, width, height] = bounds;
    return pngOf(call, { x1: x, y1: y, x2: x + width, y2: y + height });
  }),
  ...(["attribute", "property"] as const).map((what) =>
    command("GET", at(`/${what}/{name}`), {
      ...LOOKING,
      name: `webdriver.${what}`,
      summary: "One of its attributes",
      input: v.strictObject({ ...ELEMENT, name: field(PARAMETERS.name, "Which") }),
      run: async (call: Call, { element, name }) => attributeOf(call, element, name),
    }),
  ),
  acting("click", "/click", "Press it, or click on it", click),
  acting("clear", "/clear", "Empty a field", async (call, element) => {
    const { elements } = call.look.desktop;
    if (isReal(call)) await byHand(call, "webdriver.clear", (hands) => typeInto(hands, element, ""));
    else await elements.setText(element.native_id, "");
  }),
  command("POST", at("/value"), {
    ...ACTING,
    name: "webdriver.send_keys",
    summary: "Type into it",
    input: v.strictObject({
      ...ELEMENT,
      text: field(secret(TEXT), "What, with WebDriver's characters for keys"),
    }),
    async run(call: Call, { element, text }) {
      await sendKeys(call, await usable(call, element), text);
      return null;
    },
  }),
];
