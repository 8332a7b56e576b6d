/**
 * What is done with elements by pointer and keyboard, as a person does it: what a program offers itself is not used.
 *
 * What was to change is looked at afterwards, as with the interface of the program.
 */
import { type Caller, requesterOf } from "../../../core/caller";
import type { RunContext } from "../../../core/run";
import { sleep } from "../../../lib/deadline";
import { badInput, cancelled, notFound, rejected, unavailable } from "../../../lib/errors";
import { nearest } from "../../../lib/nearest";
import { jsonLine } from "../../../lib/sanitize";
import type { Requester } from "../../../lib/slots";
import type { Button } from "../backend";
import type { Desktop } from "../desktop";
import { giveFocusBack, isHolding } from "../focus-hold";
import type { Uses } from "../operations/input-operation";
import type { Branch, Element } from "./calls";
import { pointAt } from "./cover";
import { type Elements, secondsOf, sharing, until, type WaitLimit } from "./elements";
import type { Locator } from "./locator";
import { spellings } from "./menus";
import { isNamed } from "./names";

/** Who uses pointer and keyboard, and how long it waits. */
export interface Hands {
  readonly desktop: Desktop;
  readonly requester: Requester;
  readonly waiting: WaitLimit;
  /** The run that is told of a window which was raised. */
  readonly run?: RunContext | undefined;
}

/** Who asks, and the run that it asks in. */
type Asker = Pick<Caller, "grant" | "signal"> & { readonly run?: RunContext | undefined };

/**
 * The desktop, or the one on demand of that name, whose elements are asked in the turn of the caller. The window that a script holds has
 * the focus again, and is in front.
 */
export async function desktopOf(service: Uses, caller: Asker, name?: string): Promise<Desktop> {
  const desktop = await service.desktop(name);
  // A run holds a window of its own desktop.
  if (name !== undefined) return desktop.turnsOf(requesterOf(caller));
  await giveFocusBack(desktop, requesterOf(caller), caller.run, "element");
  return inTurnOf(desktop, caller);
}

/** The desktop whose elements are asked in the turn of the caller. The window that a script holds has the focus where that is looked for. */
export function inTurnOf(desktop: Desktop, caller: Asker): Desktop {
  const own = desktop.turnsOf(requesterOf(caller));
  if (!isHolding(own, caller.run)) return own;
  return holding(own, () => giveFocusBack(own, requesterOf(caller), caller.run, "element"));
}

/** The same desktop: each look for what has the focus gives it back first, as another program may take it while somebody waits. */
function holding(desktop: Desktop, giveBack: () => Promise<void>): Desktop {
  const find: Elements["find"] = async (locator, most) => {
    if (locator.focused === true) await giveBack();
    return desktop.elements.find(locator, most);
  };
  const elements = withOwn(desktop.elements, { find });
  const held: Desktop = withOwn(desktop, { elements, turnsOf: () => held });
  return held;
}

const withOwn = <T extends object>(whole: T, own: Partial<T>): T =>
  new Proxy(whole, { get: (_, name) => Reflect.get(Object.hasOwn(own, name) ? own : whole, name) });

/** How long a program may take to show what it did, in milliseconds. */
const CHANGE_MS = 2_000;
const POLL_MS = 50;
/** How many elements of a list are compared with the item that is wanted. */
const MAX_ITEMS = 2_000;
/** How many elements in one are asked whether they have the focus. */
const MAX_INSIDE = 100;
/** How many that say that they have it are compared with the one that is to have it. */
const MAX_FOCUSED = 50;

/** Where the middle of an element is. @throws `unavailable` where its program does not say. */
export function placeOf({ center }: Element): { readonly x: number; readonly y: number } {
  if (!center) throw unavailable("its program does not say where it is");
  return { x: center[0], y: center[1] };
}

/** An element once it is on the screen: it is scrolled into view where it is not. @throws `unavailable`. */
export async function shown<T extends Element>(elements: Elements, element: T): Promise<T> {
  if (element.showing || element.native_id === "") return element;
  await elements.scrollTo(element.native_id);
  const { bounds, center } = await elements.look(element.native_id);
  return { ...element, bounds, center, showing: true };
}

/**
 * Clicks on the middle of an element, which is scrolled into view where it is not, and uncovered where the window of another program covers
 * it.
 *
 * @throws `unavailable`.
 */
export async function clickOn(
  { desktop, requester, run }: Hands,
  element: Element,
  { button = "left" as Button, clicks = 1 } = {},
): Promise<void> {
  const place = placeOf(await shown(desktop.elements, element));
  await pointAt(desktop, element, place, requester, run);
  for (let nth = 0; nth < clicks; nth++) await desktop.click(place, button, "tap", requester);
}

/**
 * Gives an element the keys, by a click where it is on the screen: a program behind another gets none, and some say that they gave the
 * focus when they did not.
 */
export async function focusOn(hands: Hands, element: Element): Promise<void> {
  if (element.center && element.showing) await clickOn(hands, element);
  else await hands.desktop.elements.focus(element.native_id);
}

/**
 * Waits until an element has the focus, or what it is in, or something in it. Where its program does not say that anything has it, nobody can
 * know: programs behind others have a focus of their own.
 *
 * @param options.mustSay whether all but its own word is a failure.
 * @throws `unavailable` where something else of its program has it.
 */
export async function becomesFocused(
  elements: Elements,
  element: Element,
  signal: AbortSignal,
  { mustSay = false } = {},
): Promise<void> {
  const { native_id, role, name, process_id } = element;
  const isDone = async () => {
    if ((await elements.look(native_id)).focused) return true;
    const { windows } = await elements.tree({ id: native_id }, MAX_INSIDE);
    return windows.some(holdsFocus);
  };
  if (await comes(() => isDone().catch(() => false), signal)) return;
  const { elements: found } = await elements.find({ focused: true }, MAX_FOCUSED);
  const all = found.filter((one) => one.process_id === process_id);
  const [other] = all;
  // A list has the focus for its rows, and a document for its paragraphs.
  if (!mustSay && all.some((one) => isAround(one, element))) return;
  const words = other
    ? `${other.role} ${jsonLine(other.name)} has it`
    : "its program does not say that it has it";
  if (other || mustSay) throw unavailable(`${role} ${jsonLine(name)} was to get the focus, and ${words}`);
}

const holdsFocus = ({ element, children }: Branch): boolean => element.focused || children.some(holdsFocus);

/** Whether an element is where another one is; also where that is at no place. */
function isAround({ bounds }: Element, { center }: Element): boolean {
  if (!bounds || !center) return true;
  const [[x, y, width, height], [column, row]] = [bounds, center];
  return column >= x && row >= y && column < x + width && row < y + height;
}

/** What is pressed for something else, as AT-SPI names it: it is checked only where its program says that it can be. */
const NO_BOXES: ReadonlySet<string> = new Set([
  ...["push button", "link", "menu", "text", "entry", "password text", "combo box", "spin button", "slider"],
  ...["page tab", "label", "static", "frame", "dialog", "alert", "window"],
]);

/** @throws `rejected` for what can be neither checked nor unchecked: nothing is pressed then. */
export async function mustBeBox(
  elements: Elements,
  { native_id, native_role, role, name }: Element,
): Promise<void> {
  if (NO_BOXES.has(native_role) && !(await elements.isCheckable(native_id)))
    throw rejected(`${role} ${jsonLine(name)} cannot be checked`);
}

/** Clicks on a box that is not as it is to be. @throws `rejected` where it is no box, or that did not change it. */
export async function check(hands: Hands, element: Element, on: boolean): Promise<void> {
  const { elements } = hands.desktop;
  await mustBeBox(elements, element);
  // Its program may have changed it meanwhile: a click would change it back.
  if ((await elements.look(element.native_id)).checked === on) return;
  await clickOn(hands, element);
  await becomesChecked(elements, element, on, "clicked", hands.waiting.signal);
}

/** Waits until a box is as it is to be. @param how what was done to it. @throws `rejected` where it is not soon. */
export async function becomesChecked(
  elements: Elements,
  { native_id, role, name }: Element,
  on: boolean,
  how: string,
  signal: AbortSignal,
): Promise<void> {
  const isDone = async () => (await elements.look(native_id)).checked === on;
  if (await comes(isDone, signal)) return;
  throw rejected(`${role} ${jsonLine(name)} was ${how}, and is not ${on ? "" : "un"}checked`);
}

/** Clicks on an element, or on the item of that name in it, which is opened first. @throws `not_found`; `rejected`. */
export async function select(hands: Hands, element: Element, item: string | undefined): Promise<void> {
  const { elements } = hands.desktop;
  const { native_id, role } = element;
  if (item === undefined) {
    await clickOn(hands, element);
    const isDone = async () => (await elements.look(native_id)).selected;
    if (await comes(isDone, hands.waiting.signal)) return;
    throw rejected(`${role} ${jsonLine(element.name)} was clicked, and is not selected`);
  }
  const before = await elements.tree({ id: native_id }, MAX_ITEMS);
  const all = before.windows.flatMap(({ children }) => children.flatMap(flat));
  if (!all.some((one) => isItem(one, item))) throw noItem(all, item);
  if (role === "combobox") await clickOn(hands, element);
  const found = await until(
    hands.waiting,
    async () => {
      const { windows } = await elements.tree({ id: native_id }, MAX_ITEMS);
      return windows
        .flatMap(({ children }) => children.flatMap(flat))
        .find((one) => isItem(one, item) && (role !== "combobox" || one.element.showing));
    },
    async () => notFound(`the item ${jsonLine(item)} did not come on the screen`),
  );
  await clickOn(hands, found.element);
  const isDone = async () => {
    const [now, content] = await Promise.all([elements.look(native_id), elements.read(native_id)]);
    if (isNamed(now.name, { name: item }) || isNamed(content.text ?? "", { name: item })) return true;
    return (await elements.look(found.element.native_id)).selected;
  };
  if (await comes(() => isDone().catch(() => role === "combobox"), hands.waiting.signal)) return;
  throw rejected(`${jsonLine(item)} was clicked, and is not selected`);
}

const flat = (branch: Branch): Branch[] => [branch, ...branch.children.flatMap(flat)];

/** A row has the names of what is in it. */
const wordsOf = ({ element, children }: Branch): string =>
  element.name ||
  children
    .map(({ element: { name } }) => name)
    .join(" ")
    .trim();

const ITEMS = /^(?:menuitem.*|option|listitem|row|cell|treeitem|tab|gridcell)$/;

const isItem = (branch: Branch, item: string) =>
  ITEMS.test(branch.element.role) && isNamed(wordsOf(branch), { name: item });

function noItem(all: readonly Branch[], item: string) {
  const names = all.filter(({ element }) => ITEMS.test(element.role)).map(wordsOf);
  const close = nearest(item, new Set(names.filter((name) => name !== "")));
  const near = close === undefined ? "" : `; there is ${jsonLine(close)}`;
  return notFound(`there is no item ${jsonLine(item)}${near}`);
}

/** Clicks through menus to an item. @returns it. @throws `timeout` where one does not come. */
export async function chooseMenu(
  hands: Hands,
  names: readonly string[],
  scope: Pick<Locator, "window" | "app">,
): Promise<Element> {
  const left = sharing(hands.waiting);
  let item: Element | undefined;
  for (const name of names) {
    // What opens may be a window of its own.
    const where: Pick<Locator, "window" | "app"> = item ? { app: item.app_name } : scope;
    item = await shownItem({ ...hands, waiting: left() }, name, where);
    await clickOn(hands, item);
  }
  if (!item) throw badInput("path: expected names of menus and an item, such as File > Save");
  return item;
}

/** An item of a menu that is on the screen, enabled and still. */
async function shownItem(
  { desktop: { elements }, waiting }: Hands,
  name: string,
  where: Pick<Locator, "window" | "app">,
): Promise<Element> {
  let before = "";
  return until(
    waiting,
    async () => {
      const found = await Promise.all(
        spellings(name).map((one) => elements.find({ role: "menuitem", name: one, ...where }, 10)),
      );
      const shown = found
        .flatMap((one) => one.elements)
        .filter(({ showing, enabled, center }) => showing && enabled && center);
      const [one] = shown;
      const place = `${one?.native_id} ${one?.bounds}`;
      const isStill = place === before;
      before = place;
      return isStill ? one : undefined;
    },
    async () =>
      notFound(`there is no menuitem ${jsonLine(name)} on the screen after ${secondsOf(waiting)} s`),
  );
}

/** Whether it comes true within {@link CHANGE_MS}. @throws `cancelled`. */
export async function comes(look: () => Promise<boolean>, signal: AbortSignal): Promise<boolean> {
  const end = performance.now() + CHANGE_MS;
  while (!(await look())) {
    if (performance.now() > end) return false;
    await sleep(POLL_MS, signal, () => cancelled("cancelled while a program shows what it did"));
  }
  return true;
}
