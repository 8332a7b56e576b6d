/**
 * What a person points at and types into, by name: the locator of what is clicked, and whether a field is secret.
 *
 * Promise: what is typed while a field that says that it is secret has the focus is known as secret; where programs cannot be asked
 * just then, it counts as secret if such a field was there.
 */
import { deadline } from "../../../lib/deadline";
import { failureOf, messageOf } from "../../../lib/errors";
import type { Log } from "../../../lib/log";
import type { Element, Findings } from "../elements/calls";
import { createElements, type Elements, programNames } from "../elements/elements";
import { printLocator } from "../elements/locator";
import { folded } from "../elements/names";
import { ACTIONABLE, type LocatorMatch, locatedAt } from "../elements/unique";
import type { Point } from "../geometry";

/** How long programs are asked for what is at a place, and for their secret fields, in milliseconds. */
const PLACE_MS = 3_000;
const FIELDS_MS = 1_500;
/** How far the pointer may have moved from where it was looked at, in pixels. */
const NEAR = 3;
/** Where on them they are clicked matters. */
const BY_PLACE: ReadonlySet<string> = new Set(["slider", "scrollbar"]);
/** How many secret fields are looked at. */
const MAX_FIELDS = 50;

/** What is at a place by name: all that finds it again, in one line. */
export interface NamedPlace {
  readonly line: string;
  /** Whether a name is part of it, rather than a number alone. */
  readonly isNamed: boolean;
}

/** What programs show by name. Nothing of it throws. */
export interface Names {
  /** Why nothing is known by name; undefined where it is. */
  readonly missing: string | undefined;
  /** Looks at what is under the pointer before it is clicked: a click may close it. */
  look(point: Point, isMenu: boolean): Promise<void>;
  /**
   * What was at a place when it was last looked at, else now: a press may open or close what is there.
   *
   * @param since forgets what was looked at before, by performance.now().
   * @param isMenu whether a window that no program lists is there: the list of a combo box, a menu.
   */
  at(point: Point, since: number, isMenu: boolean): Promise<NamedPlace | undefined>;
  /** Whether a secret field has the focus. */
  isSecret(): Promise<boolean>;
  stop(): Promise<void>;
}

/** Asks the programs of this desktop, and says why it cannot. */
export async function createNames(log: Log): Promise<Names> {
  const elements = createElements({ log });
  const secretFields = () =>
    deadline(elements.find({ role: "password text" }, MAX_FIELDS), { ms: FIELDS_MS });
  const isSecret = secretFocus(secretFields);
  let before:
    | { readonly point: Point; readonly at: number; readonly place: NamedPlace | undefined }
    | undefined;
  const missing = await secretFields().then(() => undefined, messageOf);
  const named = async (point: Point, isMenu: boolean): Promise<NamedPlace | undefined> => {
    if (missing !== undefined) return undefined;
    if (isMenu) return itemAt(elements, point).catch(() => undefined);
    const looked = locatedAt(elements, point.x, point.y).catch(() => undefined);
    return placeOf(await deadline(looked, { ms: PLACE_MS, late: () => undefined }));
  };
  return {
    missing,
    async look(point, isMenu) {
      const at = performance.now();
      const place = await named(point, isMenu);
      before = { point, at, place };
    },
    async at(point, since, isMenu) {
      const last = before;
      const isSame = last && Math.hypot(last.point.x - point.x, last.point.y - point.y) <= NEAR;
      return isSame && last.at >= since ? last.place : named(point, isMenu);
    },
    isSecret: async () => missing === undefined && isSecret(),
    stop: () => elements.stop(),
  };
}

/** Tells whether a secret field has the focus: it counts as having it while the program that had one does not answer. */
export function secretFocus(look: () => Promise<Findings>): () => Promise<boolean> {
  /** The names of each program that had one. */
  let holders: ReadonlyArray<readonly string[]> = [];
  return async () => {
    try {
      const { elements: fields, deaf } = await look();
      const late = new Set(deaf.map(folded));
      const silent = holders.filter((names) => names.some((name) => late.has(name)));
      holders = [...silent, ...fields.map(programNames)];
      return silent.length > 0 || fields.some(({ focused }) => focused);
    } catch (error) {
      // Programs that are too busy to answer may have one.
      return failureOf(error)?.code === "timeout" || holders.length > 0;
    }
  };
}

function placeOf(located: LocatorMatch | undefined): NamedPlace | undefined {
  if (!located?.unique) return undefined;
  const { locator, element } = located;
  if (!ACTIONABLE.has(element.role) || BY_PLACE.has(element.role)) return undefined;
  return { line: printLocator(locator), isNamed: locator.name !== undefined || locator.nth === undefined };
}

const ITEMS = ["menuitem", "menuitemcheckbox", "menuitemradio", "listitem", "option"];
/** How many items of menus are compared with a place. */
const MAX_ITEMS = 500;

/** The item of a menu or list that is open over other windows: programs do not say that what they list is in front. */
async function itemAt(elements: Elements, { x, y }: Point): Promise<NamedPlace | undefined> {
  const isHere = ({ bounds, showing, name }: Element) => {
    const [left = 0, top = 0, width = 0, height = 0] = bounds ?? [];
    return showing && name !== "" && x >= left && y >= top && x < left + width && y < top + height;
  };
  const asked = ITEMS.map((role) => elements.find({ role }, MAX_ITEMS).catch(() => ({ elements: [] })));
  const all = (await Promise.all(asked)).flatMap((found) => found.elements);
  // A menu that holds the item is an item as well.
  const [item, ...others] = all.filter(isHere).toSorted((a, b) => areaOf(a) - areaOf(b));
  if (!item || others.some((one) => areaOf(one) === areaOf(item) && one.name !== item.name)) return undefined;
  const locator = { role: item.role, name: item.name };
  const { elements: alike } = await elements.find(locator, MAX_ITEMS);
  const isOnly = alike.filter(({ visible }) => visible).length === 1;
  return isOnly ? { line: printLocator(locator), isNamed: true } : undefined;
}

const areaOf = ({ bounds }: Element) => (bounds ? bounds[2] * bounds[3] : 0);
