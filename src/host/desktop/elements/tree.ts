/**
 * What windows show, as trees, and what is at a place: read in the child process.
 */
import { deadline } from "../../../lib/deadline";
import { failureOf } from "../../../lib/errors";
import type { Point, Rect } from "../geometry";
import type { Questions } from "./accessible";
import type { TreeScope } from "./calls";
import type { Frame } from "./frames";
import { COMBO_BOX, labelOf, mayBeLabelled } from "./labels";
import { LABEL_ROLES, LABELLED } from "./names";
import { NoSuchThing, type Ref } from "./ref";
import { PASSWORD } from "./roles";
import { STATE } from "./said";
import type { ElementNode, Place, Search } from "./search";

/** What asks programs. */
export interface Client {
  readonly ask: Questions;
  readonly look: Search;
}

/** An element of a tree, as it was read. */
export interface NodeTree {
  readonly seen: ElementNode;
  readonly children: readonly NodeTree[];
}

/** Menus and their items: what is in one that is closed is not read where only what shows is wanted. */
const MENUS: ReadonlySet<number> = new Set([8, 33, 35, 41, 45]);
const MAX_LABELLED = 200;
/** How long a tree is read, in milliseconds: far less than what a call of the child may take, which ends the calls of all. */
const READ_MS = 6_000;
/** How long the labels of fields are looked for, in milliseconds. */
const LABEL_MS = 3_000;
/** How deep a tree is read: the pages of browsers have some dozens of levels. */
const MAX_LEVELS = 200;
/** How much text of a program an answer has, in characters: the whole of it is read on the event loop of svc. */
const MAX_TEXT = 2_000_000;

/** How many characters of an answer an element takes. */
const textOf = ({ ref, name, window, program }: ElementNode): number =>
  ref.bus.length + ref.path.length + name.length + window.length + program.name.length;

/** As many of the first elements as an answer may have the texts of. */
export function withinText(all: readonly ElementNode[]): readonly ElementNode[] {
  let left = MAX_TEXT;
  const over = all.findIndex((one) => {
    left -= textOf(one);
    return left < 0;
  });
  return over < 0 ? all : all.slice(0, over);
}

/**
 * The windows of a scope, and what is in them.
 *
 * @param most how many elements in all.
 * @param placeOf the place of an id.
 * @param ms after which nothing more is read; `more` says so.
 */
export async function readTree(
  { ask, look }: Client,
  { id, shown, ...scope }: TreeScope,
  most: number,
  placeOf: (id: string) => Place,
  ms = READ_MS,
) {
  const end = performance.now() + ms;
  const { places, deaf } =
    id === undefined ? await look.places(scope) : { places: [placeOf(id)], deaf: [] as string[] };
  const late = new Set(deaf);
  let left = most;
  let text = MAX_TEXT;
  let isCut = false;
  const read = async (place: Place, level: number): Promise<NodeTree | undefined> => {
    if (performance.now() > end || text < 0) left = 0;
    if (left <= 0) return undefined;
    if (level > MAX_LEVELS) {
      isCut = true;
      return undefined;
    }
    left--;
    const [seen, refs] = await Promise.all([look.look(place), ask.children(place.ref)]);
    text -= textOf(seen);
    if (text < 0) return undefined;
    // What is inside of a secret field may be its text.
    const isClosed = shown && MENUS.has(seen.role) && !seen.has(STATE.showing);
    const inside = seen.role === PASSWORD || isClosed ? [] : refs;
    const children = await Promise.all(inside.map((ref) => branch({ ...place, ref }, level + 1)));
    return { seen, children: children.filter((one) => one !== undefined) };
  };
  /** An element that has gone meanwhile is left out, and so is what a program does not say in time. */
  const branch = async (place: Place, level: number): Promise<NodeTree | undefined> => {
    try {
      return await read(place, level);
    } catch (error) {
      if (error instanceof NoSuchThing) return undefined;
      if (!failureOf(error)) throw error;
      late.add(place.program.name);
      return undefined;
    }
  };
  const trees = await Promise.all(places.map((place) => branch(place, 1)));
  const windows = trees.filter((one) => one !== undefined);
  const naming = Promise.all(windows.map((window) => labelled({ ask, look }, window)));
  const named = await deadline(naming, { ms: LABEL_MS, late: () => windows });
  return { windows: named, more: left <= 0 || text < 0 || isCut, deaf: [...late] };
}

/** The elements of a tree, what holds something before what is in it. */
function flat(window: NodeTree): ElementNode[] {
  const all: ElementNode[] = [];
  const add = ({ seen, children }: NodeTree) => {
    all.push(seen);
    for (const child of children) add(child);
  };
  add(window);
  return all;
}

/** The tree with the names of labels for fields that have none. */
async function labelled({ ask, look }: Client, window: NodeTree): Promise<NodeTree> {
  const all = flat(window);
  const fields = all.filter(({ role }) => LABELLED.has(role));
  const texts = all.filter(({ role }) => LABEL_ROLES.includes(role));
  const names = new Map<ElementNode, string>();
  await Promise.all(
    fields
      .filter(mayBeLabelled)
      .slice(0, MAX_LABELLED)
      .map(async (field) => {
        names.set(field, await labelOf(ask, look.below, field, texts, fields));
      }),
  );
  const renamed = ({ seen, children }: NodeTree): NodeTree => ({
    seen: { ...seen, name: names.get(seen) || seen.name },
    children: children.map(renamed),
  });
  return names.size === 0 ? window : renamed(window);
}

/** How deep an element may be, and how many children are compared with a place. */
const MAX_DEEP = 80;
const MAX_COMPARED = 500;

const isIn = ({ bounds }: ElementNode, { x, y }: Point): boolean =>
  bounds !== undefined &&
  x >= bounds.x &&
  y >= bounds.y &&
  x < bounds.x + bounds.width &&
  y < bounds.y + bounds.height;

/**
 * The windows and elements at a place, the outermost first; empty where nothing has a name there.
 *
 * @param frames places of the windows there, as the display has them: the window that fits one best is the one on top.
 * @param popup where the list or menu is that is open on top of them, if one is.
 */
export async function readAt(
  asking: Client,
  spot: Point,
  frames: readonly Frame[],
  popup: Rect | undefined,
): Promise<ElementNode[]> {
  const { ask, look } = asking;
  const { places } = await look.places({});
  const open = popup && (await openedAs(asking, places, popup));
  if (open) return descend(asking, open, spot);
  const seen = await Promise.all(places.map((place) => look.look(place).catch(() => undefined)));
  const here = seen.filter((one) => one !== undefined && isIn(one, spot) && one.has(STATE.showing));
  const [window] = here
    .filter((one) => one !== undefined)
    .toSorted((a, b) => fit(a, frames) - fit(b, frames));
  if (!window) return [];
  const chain = await descend(asking, [window], spot);
  // What is in a closed combo box is where it is.
  const at = chain.findLastIndex(mayBeLabelled);
  const leaf = chain[at];
  if (leaf && (at === chain.length - 1 || leaf.role === COMBO_BOX)) {
    const [texts, fields] = await Promise.all(
      [LABEL_ROLES, [...LABELLED]].map(async (roles) => {
        const refs = await look.below(window, roles, MAX_LABELLED);
        return Promise.all(refs.map((ref) => look.look({ ...leaf, ref })));
      }),
    );
    const label = await labelOf(ask, look.below, leaf, texts ?? [], fields ?? []);
    chain[at] = { ...leaf, name: label || leaf.name };
  }
  return chain;
}

/** What is at a place in the last of a chain, at the end of it. */
async function descend(asking: Client, from: readonly ElementNode[], spot: Point): Promise<ElementNode[]> {
  const chain = [...from];
  for (let inner = chain.at(-1); inner && chain.length < MAX_DEEP; ) {
    if (inner.role === PASSWORD) break;
    inner = await innerAt(asking, inner, spot);
    if (inner) chain.push(inner);
  }
  return chain;
}

/** What may be a window of its own on the screen while it is part of another: lists and menus. */
const OPENED: readonly number[] = [31, 33, 41, 69, 98];
/** How many of them are compared with what is open. */
const MAX_OPENED = 500;
/** How much of what is open a list has to take. */
const MOST_OF = 0.5;

/** The window, and the list or menu of it, that is open at a place of the screen. */
async function openedAs(
  { look }: Client,
  places: readonly Place[],
  popup: Rect,
): Promise<ElementNode[] | undefined> {
  const size = ({ width, height }: Rect) => width * height;
  const found = await Promise.all(
    places.map(async (place) => {
      const refs = await look.below(place, OPENED, MAX_OPENED).catch(() => []);
      const all = await Promise.all(refs.map((ref) => look.look({ ...place, ref }).catch(() => undefined)));
      return all.flatMap((list) =>
        list?.bounds && list.has(STATE.showing) && size(shared(list.bounds, popup)) >= MOST_OF * size(popup)
          ? [{ place, list, size: size(list.bounds) }]
          : [],
      );
    }),
  );
  const [best] = found.flat().toSorted((a, b) => a.size - b.size);
  return best && [await look.look(best.place), best.list];
}

/** The part of two places that both have. */
function shared(one: Rect, other: Rect): Rect {
  const [x, y] = [Math.max(one.x, other.x), Math.max(one.y, other.y)];
  const right = Math.min(one.x + one.width, other.x + other.width);
  const bottom = Math.min(one.y + one.height, other.y + other.height);
  return { x, y, width: Math.max(0, right - x), height: Math.max(0, bottom - y) };
}

const ACTIVE = 1;

/** How badly a window fits the windows of the display; the active one where the display says none. */
function fit({ bounds, has }: ElementNode, frames: readonly Frame[]): number {
  if (!bounds) return Number.POSITIVE_INFINITY;
  const own = [bounds.x, bounds.y, bounds.width, bounds.height];
  const apart = (frame: readonly number[]) =>
    own.reduce((sum, one, at) => sum + Math.abs(one - (frame[at] ?? 0)), 0);
  if (frames.length === 0) return (has(ACTIVE) ? 0 : 1e9) + bounds.width * bounds.height;
  return Math.min(...frames.map(apart));
}

/** What is in an element at a place, by its program, else by the places of its children. */
async function innerAt(
  { ask, look }: Client,
  outer: ElementNode,
  spot: Point,
): Promise<ElementNode | undefined> {
  const isOther = (ref: Ref) => ref.path !== outer.ref.path && !ref.path.endsWith("/null");
  const fits = (one: ElementNode) => isIn(one, spot) && one.has(STATE.showing);
  const ref = await ask.atPoint(outer.ref, spot.x, spot.y);
  if (ref?.bus === outer.ref.bus && isOther(ref)) {
    const one = await look.look({ ...outer, ref });
    if (fits(one)) return one;
  }
  const refs = (await ask.children(outer.ref)).slice(0, MAX_COMPARED);
  const children = await Promise.all(refs.map((ref) => look.look({ ...outer, ref }).catch(() => undefined)));
  // What is drawn last is on top.
  return children.filter((one) => one !== undefined && isOther(one.ref) && fits(one)).at(-1);
}
