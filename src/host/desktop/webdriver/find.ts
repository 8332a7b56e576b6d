/**
 * Finding elements as WebDriver clients ask for them (W3C WebDriver, section 12.3): in the window of the session, or in another element.
 */
import { type Caller, requesterOf } from "../../../core/caller";
import { sleep } from "../../../lib/deadline";
import { orElse } from "../../../lib/or-else";
import { failing, named } from "../../../wire/webdriver/errors";
import type { DesktopWindow } from "../backend";
import type { Desktop } from "../desktop";
import type { Branch, Element } from "../elements/calls";
import { gone } from "../elements/elements";
import { type Locator, parseLocator, printLocator } from "../elements/locator";
import { knownRole } from "../elements/roles";
import { inOrder, queryBranch } from "./query";
import type { Session } from "./sessions";

/** How an element may be asked for. */
export const STRATEGIES = [
  ...[
    "css selector",
    "xpath",
    "accessibility id",
    "name",
    "link text",
    "partial link text",
    "tag name",
    "-svc locator",
  ],
] as const;
type Strategy = (typeof STRATEGIES)[number];

/** How many elements are found at most, and looked at. */
const MOST = 5_000;
const POLL_MS = 100;

/** Who looks, and where. */
export interface Look {
  readonly desktop: Desktop;
  readonly session: Session;
  readonly caller: Caller;
}

/** The window of the session, as the desktop lists it; undefined for the whole desktop. @throws `no such window`. */
export async function windowOf({ desktop, session, caller }: Look): Promise<DesktopWindow | undefined> {
  if (session.window === null) return undefined;
  const windows = await desktop.windows(requesterOf(caller));
  const window = windows?.find(({ hwnd }) => hwnd === session.window);
  if (window) return window;
  throw failing("no such window", "the window of this session has been closed");
}

/** Whether an element is in that window, as far as its program says. */
const isIn = (element: Element, { title, pid }: DesktopWindow) =>
  element.window_title === title &&
  (pid === null || element.process_id === null || element.process_id === pid);

/** What the window of the session shows. */
export async function treeOf(look: Look): Promise<readonly Branch[]> {
  const window = await windowOf(look);
  const title = window && window.title !== "" ? { window: window.title } : {};
  const { windows } = await look.desktop.elements.tree({ ...title, shown: false }, MOST);
  if (!window) return windows;
  return windows.filter(({ element }) =>
    isIn({ ...element, window_title: element.window_title || element.name }, window),
  );
}

/** What an element holds. @throws `stale element reference`. */
async function treeWithin({ desktop }: Look, id: string): Promise<readonly Branch[]> {
  const { windows } = await named(
    "not_found",
    "stale element reference",
    desktop.elements.tree({ id, shown: false }, MOST),
  );
  return windows;
}

/** What a strategy asks for that needs no tree of XML. */
function locatorFor(using: Strategy, value: string): Locator | undefined {
  switch (using) {
    case "-svc locator":
      return parseLocator(value);
    case "accessibility id":
    case "name":
      return { name: value };
    case "link text":
      return { role: "link", name: value };
    case "partial link text":
      return { role: "link", name: value, exact: false };
    case "tag name":
      return roleIn(value);
    case "css selector":
      return plainCss(value);
    default:
      return undefined;
  }
}

/** `button`, `[name="Save"]`, `button[name="Save"]`: what most clients ask for. */
const PLAIN = /^([a-z]+)?(?:\[name=(?:"([^"\\]+)"|'([^'\\]+)')\])?$/;

function plainCss(selector: string): Locator | undefined {
  const [, role, double, single] = PLAIN.exec(selector.trim()) ?? [];
  const name = double ?? single;
  if (role === undefined) return name === undefined ? undefined : { name };
  const known = roleIn(role);
  return known && { ...known, ...(name !== undefined && { name }) };
}

/** Undefined for what is no role: nothing has it. */
const roleIn = (text: string): Locator | undefined => orElse(() => ({ role: knownRole(text) }), undefined);

async function matching(
  look: Look,
  using: Strategy,
  value: string,
  within: string | undefined,
): Promise<Element[]> {
  const locator = locatorFor(using, value);
  const isOwnLine = using === "-svc locator";
  if (within === undefined && locator) {
    const window = await windowOf(look);
    const scoped =
      window && window.title !== "" && !locator.window ? { ...locator, window: window.title } : locator;
    const elements = await labelledToo(look, scoped);
    return window ? elements.filter((one) => isIn(one, window) || locator.window !== undefined) : elements;
  }
  if (isOwnLine)
    throw failing(
      "invalid argument",
      "-svc locator: expected from the session, as a locator says itself what an element is in",
    );
  const tree = within === undefined ? await treeOf(look) : await treeWithin(look, within);
  const all = tree.flatMap(inOrder);
  const isWithin = within !== undefined;
  if (locator) return all.slice(isWithin ? 1 : 0).filter((one) => fits(one, locator));
  const language = using === "xpath" ? "xpath" : "css selector";
  const found = look.session.queries.select(
    requesterOf(look.caller),
    ...([tree.map(queryBranch), language, value, isWithin] as const),
  );
  return (await named("bad_input", "invalid selector", found)).flatMap((at) => all[at] ?? []);
}

/** Roles and names are compared as the text is: what the find of elements does besides needs its program. */
function fits(element: Element, { role, name, exact = true }: Locator): boolean {
  if (role !== undefined && element.role !== role && element.native_role !== role) return false;
  if (name === undefined) return true;
  const [own, wanted] = [element.name.toLowerCase(), name.toLowerCase()];
  return exact ? own === wanted : own.includes(wanted);
}

/** The elements that are asked for, once there is one or the implicit wait is over. */
export async function findAll(
  look: Look,
  using: Strategy,
  value: string,
  within?: string,
): Promise<Element[]> {
  const end = performance.now() + look.session.timeouts.implicit;
  for (;;) {
    const found = await matching(look, using, value, within);
    if (found.length > 0 || performance.now() >= end) return found;
    await sleep(POLL_MS, look.caller.signal, gone);
  }
}

/** What a label beside it names. */
const LABELLED = ["textbox", "combobox", "spinbutton", "slider", "listbox"] as const;

/** What matches; where those are labels alone, the fields beside them come first. */
async function labelledToo({ desktop }: Look, locator: Locator): Promise<Element[]> {
  const { elements } = await desktop.elements.find(locator, MOST);
  const isLabel = ({ role }: Element) => role === "text";
  if (locator.role !== undefined || elements.length === 0 || !elements.every(isLabel)) return elements;
  const fields = await Promise.all(LABELLED.map((role) => desktop.elements.find({ ...locator, role }, MOST)));
  return [...fields.flatMap((one) => one.elements), ...elements];
}

/** The first of {@link findAll}; of a line of svc the only one. @throws `no such element`. */
export async function findFirst(
  look: Look,
  using: Strategy,
  value: string,
  within?: string,
): Promise<Element> {
  const found = await findAll(look, using, value, within);
  const shown = using === "-svc locator" ? found.filter(({ visible }) => visible) : found;
  const [element] = shown.length > 0 ? shown : found;
  if (!element) throw failing("no such element", `there is no ${described(using, value)}`);
  if (using === "-svc locator" && shown.length > 1)
    throw failing(
      "invalid argument",
      `${described(using, value)} names ${shown.length} elements: nth says which`,
    );
  return element;
}

const described = (using: Strategy, value: string) =>
  using === "-svc locator"
    ? printLocator(parseLocator(value))
    : `element for ${using} ${JSON.stringify(value.slice(0, 500))}`;
