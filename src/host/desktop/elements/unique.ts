/**
 * The locator of an element that is known by its place: by role and name, and by as much more as makes it the only one.
 */
import type { Element } from "./calls";
import type { Elements } from "./elements";
import { type Locator, printLocator } from "./locator";
import { GENERIC } from "./roles";

/** What can be acted on, by its role of ARIA. */
export const ACTIONABLE: ReadonlySet<string> = new Set([
  ...["button", "textbox", "checkbox", "combobox", "link", "radio", "slider", "spinbutton", "switch"],
  ...["menuitem", "menuitemcheckbox", "menuitemradio", "menu", "tab", "treeitem", "listitem", "row"],
  ...["cell", "columnheader"],
]);

/** How many elements may match role and name for one of them to be found by its number. */
const MAX_ALIKE = 50;
/** The longest name of a locator: longer ones are texts, which change. */
const MAX_SAID = 200;

/** An element with what names it. */
export interface LocatorMatch {
  readonly element: Element;
  readonly locator: Locator;
  /** Whether the locator names this element alone. */
  readonly unique: boolean;
}

/** What of those at a place is meant, `chain` being the outermost first: what can be acted on, else the innermost that has a name. */
function meantOf(chain: readonly Element[]): Element | undefined {
  // The items of a combo box that is closed are where it is, and it is what can be clicked.
  const box = chain.findIndex(({ role }) => role === "combobox");
  const inner = (box < 0 ? chain : chain.slice(0, box + 1)).slice(1).toReversed();
  return (
    inner.find(({ role, name }) => ACTIONABLE.has(role) && name !== "") ??
    inner.find(({ role }) => ACTIONABLE.has(role)) ??
    inner.find(({ name }) => name !== "") ??
    inner[0] ??
    chain[0]
  );
}

/** The element at a place with its locator; undefined where nothing is known by name. @throws as {@link Elements}. */
export async function locatedAt(elements: Elements, x: number, y: number): Promise<LocatorMatch | undefined> {
  const chain = await elements.at(x, y);
  const element = meantOf(chain);
  if (!element) return undefined;
  return locatorOf(elements, element, chain.slice(0, chain.indexOf(element)));
}

/** The locator of an element that is known already. As {@link locatedAt}. */
export async function locatedElement(elements: Elements, element: Element): Promise<LocatorMatch> {
  const [x, y] = element.center ?? [];
  const chain = x === undefined || y === undefined ? [] : await elements.at(x, y).catch(() => []);
  const at = chain.findIndex(({ native_id }) => native_id === element.native_id);
  return locatorOf(elements, element, chain.slice(0, Math.max(0, at)));
}

/** @param around what it is in, the outermost first. */
async function locatorOf(
  elements: Elements,
  element: Element,
  around: readonly Element[],
): Promise<LocatorMatch> {
  const { role: said, native_role, window_title, name } = element;
  const role = said === GENERIC ? native_role : said;
  const own: Locator = name === "" || name.length > MAX_SAID ? { role } : { role, name };
  const title = window_title.slice(0, MAX_SAID);
  const inWindow: Locator = title === "" || said === "window" ? own : { ...own, window: title };
  const groups = around
    .slice(1)
    .toReversed()
    .filter((one) => one.name !== "" && one.name.length <= MAX_SAID && one.role !== GENERIC);
  const tries: Locator[] = [
    ...(own.name === undefined ? [] : [own]),
    inWindow,
    ...groups.slice(0, 3).map((group) => ({ ...inWindow, within: { role: group.role, name: group.name } })),
  ];
  for (const locator of tries)
    if (await isOnly(elements, locator, element)) return { element, locator, unique: true };
  const { elements: alike } = await elements.find(inWindow, MAX_ALIKE);
  for (let nth = 1; nth <= alike.length; nth++) {
    const locator = { ...inWindow, nth };
    if (await isOnly(elements, locator, element)) return { element, locator, unique: true };
  }
  return { element, locator: inWindow, unique: false };
}

/** Whether the locator is read again, and names the element and no other that can be seen. */
async function isOnly(elements: Elements, locator: Locator, { native_id }: Element): Promise<boolean> {
  if (printLocator(locator).length > 1_500) return false;
  const { elements: hits, more } = await elements.find(locator, 2 + MAX_ALIKE);
  const seen = hits.filter(({ visible }) => visible);
  const [only, ...others] = seen.length > 0 ? seen : hits;
  return !more && others.length === 0 && only?.native_id === native_id;
}
