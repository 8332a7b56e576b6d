/**
 * What is done with elements by the interfaces of their programs, beside a press: items, what opens and closes, tables.
 *
 * What was to change is looked at afterwards: an answer of true proves nothing.
 */
import * as v from "valibot";
import { rejected, unavailable, untouched } from "../../../lib/errors";
import { type Accessibles, FACES, MAX_CHILDREN, REF } from "./accessible";
import type { Bus } from "./bus";
import { comes } from "./deeds";
import { type ItemSearch, itemOf, wordsOf } from "./items";
import { COMBO_BOX, hasItem } from "./labels";
import { actionsOf, doAction } from "./press";
import { NoSuchThing, orLacking, type Ref, requireThere } from "./ref";
import { normalized, STATE } from "./said";
import type { Table } from "./tables";

/** What an action of an element uses. */
export interface Reach extends ItemSearch {
  readonly bus: Bus;
  readonly ask: Accessibles;
}

const MENU_ITEMS: ReadonlySet<number> = new Set([8, 35, 45]);
const TABLES: ReadonlySet<number> = new Set([55, 66]);
/** How far the table of a cell, and what selects an item, may be above it. */
const MAX_CLIMB = 4;

/** @returns what the program answers; undefined where it has no such thing. */
const ifThere = <T>(answer: Promise<T>): Promise<T | undefined> =>
  answer.catch((error) => {
    if (error instanceof NoSuchThing) return undefined;
    throw error;
  });

/** The first answer of a call; undefined where the program has no such thing. */
export const ask1 = async (bus: Bus, ...asked: Parameters<Bus["call"]>): Promise<unknown> =>
  (await ifThere(bus.call(...asked)))?.[0];

/** As {@link ask1}, of a call that changes something. */
export const change = async (bus: Bus, ...asked: Parameters<Bus["change"]>): Promise<unknown> =>
  (await ifThere(bus.change(...asked)))?.[0];

/** A property of an interface; undefined where the program has no such thing. */
export const property = async (bus: Bus, ...asked: Parameters<Bus["get"]>): Promise<unknown> =>
  ifThere(bus.get(...asked));

/** Does the action of the name, or the first. @returns whether the program says that it did; undefined where there is none. */
async function act({ bus, ask }: Reach, ref: Ref, wanted: RegExp): Promise<boolean | undefined> {
  const names = await actionsOf(bus, ref);
  const named = names.findIndex((name) => wanted.test(name));
  if (names.length === 0) return undefined;
  return (await doAction(bus, ask, ref, Math.max(0, named))) ?? false;
}

/** As {@link change}, of a child. @returns whether the program says that it did; undefined where that selects nothing. */
const selectChild = (bus: Bus, ref: Ref, at: number): Promise<boolean | undefined> =>
  bus.change(ref, FACES.selection, "SelectChild", "i", [at]).then(([done]) => done === true, orLacking);

/** The elements around one, the nearest first. */
export async function above(ask: Accessibles, ref: Ref, most = MAX_CLIMB): Promise<Ref[]> {
  const found: Ref[] = [];
  let at: Ref | undefined = ref;
  while (found.length < most) {
    at = await ask.parent(at);
    if (!at) break;
    found.push(at);
  }
  return found;
}

/**
 * Selects an element, or the item of that name in it.
 *
 * @throws `not_found` with the nearest name, or where it has gone; {@link untouched} where its program has nothing that selects it;
 * `rejected` where that was asked, and it is not selected: it may have done something.
 */
export async function select(reach: Reach, ref: Ref, item: string | undefined): Promise<void> {
  const { bus, ask } = reach;
  const wanted = item === undefined ? ref : await itemOf(reach, ref, item);
  const isCombo = item !== undefined && (await ask.role(ref)) === COMBO_BOX;
  // Most name a combo box by what is chosen: the list of Qt 5 marks an item that is not chosen yet.
  const saysChosen = isCombo && (await hasItem(ask, reach.look.below, { ref, name: await ask.name(ref) }));
  const isDone = async () => {
    if (!saysChosen && (await ask.states(wanted))(STATE.selected)) return true;
    if (item === undefined) return false;
    return [await ask.name(ref), normalized(String(await textOf(bus, ref)))].includes(normalized(item));
  };
  if (await isDone()) return;
  const itself = MENU_ITEMS.has(await ask.role(wanted)) ? [byPress, bySelection] : [bySelection, byPress];
  let wasAsked = false;
  for (const way of [...(isCombo ? [byCombo(ref)] : []), ...itself]) {
    const did = await way(reach, wanted);
    if (did && (await comes(isDone))) return;
    wasAsked ||= did !== undefined;
  }
  if (wasAsked) throw rejected("the program was asked to, and did not select it");
  await requireThere(ask, wanted);
  throw untouched("by its program it cannot be selected");
}

const textOf = (bus: Bus, ref: Ref) => ask1(bus, ref, FACES.text, "GetText", "ii", [0, 1_000]);

/** A combo box selects its items by their numbers (GTK 3, Java). */
const byCombo =
  (combo: Ref) =>
  async ({ bus, ask }: Reach, item: Ref) =>
    selectChild(bus, combo, await ask.indexInParent(item));

const byPress = (reach: Reach, ref: Ref) => act(reach, ref, /^(?:select|click|press|activate)$/i);

/** @returns whether the program says that it did; undefined where nothing that it is in selects anything. */
async function bySelection({ bus, ask }: Reach, ref: Ref): Promise<boolean | undefined> {
  let child = ref;
  let did: boolean | undefined;
  for (const parent of await above(ask, ref)) {
    // In a sheet it is the cell that is selected, not its row.
    if (TABLES.has(await ask.role(parent)) && (await ask.childCount(parent)) <= MAX_CHILDREN) {
      const row = await rowOf(bus, ask, parent, ref, child);
      if (row !== undefined)
        return bus
          .change(parent, FACES.table, "AddRowSelection", "i", [row])
          .then(([done]) => done === true, orLacking);
    }
    const selected = await selectChild(bus, parent, await ask.indexInParent(child));
    if (selected) return true;
    did = selected ?? did;
    child = parent;
  }
  return did;
}

const POSITION = v.tuple([v.number(), v.number()]);

async function rowOf(bus: Bus, ask: Accessibles, table: Ref, cell: Ref, child: Ref) {
  for (const one of [cell, child]) {
    const read = v.safeParse(POSITION, await property(bus, one, FACES.cell, "Position"));
    if (read.success) return read.output[0];
  }
  const row = await ask1(bus, table, FACES.table, "GetRowAtIndex", "i", [await ask.indexInParent(child)]);
  return typeof row === "number" && row >= 0 ? row : undefined;
}

/** Opens or closes what can be. @throws `unavailable` where the program does not. */
export async function expand(reach: Reach, ref: Ref, open: boolean): Promise<void> {
  const isCombo = (await reach.ask.role(ref)) === COMBO_BOX;
  const isDone = async () => {
    const isOpen =
      (await reach.ask.states(ref))(STATE.expanded) || (isCombo && (await showsList(reach.ask, ref)));
    return isOpen === open;
  };
  if (await isDone()) return;
  const did = await act(reach, ref, open ? /expand|open|show/i : /collapse|contract|close|hide/i);
  if (did && (await comes(isDone))) return;
  throw unavailable(`the program did not ${open ? "open" : "close"} it`);
}

const LISTS: ReadonlySet<number> = new Set([31, 33, 41, 98]);

/** Whether the list of a combo box is on the screen: GTK 3 and Qt 5 do not say that it is open. */
async function showsList(ask: Accessibles, ref: Ref): Promise<boolean> {
  const inside = await Promise.all(
    (await ask.children(ref)).map(async (one) => {
      const [role, has] = await Promise.all([ask.role(one), ask.states(one)]);
      return LISTS.has(role) && has(STATE.showing);
    }),
  );
  return inside.includes(true);
}

/** A table of a program, by the interface for tables. @throws `unavailable` where it is none. */
export async function tableOf(reach: Reach, ref: Ref): Promise<Table> {
  const { bus, ask } = reach;
  const [rows, columns] = await Promise.all([
    property(bus, ref, FACES.table, "NRows"),
    property(bus, ref, FACES.table, "NColumns"),
  ]);
  if (typeof rows !== "number" || typeof columns !== "number")
    throw unavailable("by its program it is no table");
  const header = async (column: number): Promise<string> => {
    const said = v.safeParse(REF, await ask1(bus, ref, FACES.table, "GetColumnHeader", "i", [column]));
    const name = said.success ? await ask.name(said.output) : "";
    if (name !== "") return name;
    const words = await ask1(bus, ref, FACES.table, "GetColumnDescription", "i", [column]);
    return typeof words === "string" ? normalized(words) : "";
  };
  return {
    ref,
    rows,
    columns,
    headers: (count) => Promise.all(Array.from({ length: count }, (_, column) => header(column))),
    async text(cell) {
      const words = await wordsOf(reach, cell);
      if (words !== "") return words;
      const text = await textOf(bus, cell);
      return typeof text === "string" ? normalized(text) : "";
    },
  };
}
