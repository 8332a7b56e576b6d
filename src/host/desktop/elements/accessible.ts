/**
 * What elements say of themselves: one call of AT-SPI2 for each question, and plain values for answers that are not as they should be.
 */
import * as v from "valibot";
import { valueAs } from "../../../lib/value-in";
import type { Rect } from "../geometry";
import { ACCESSIBLE, type Bus, isRef } from "./bus";
import { NoSuchThing, type Ref } from "./ref";
import { normalized } from "./said";
import type { Roots } from "./search";

const REGISTRY: Ref = { bus: "org.a11y.atspi.Registry", path: "/org/a11y/atspi/accessible/root" };

/** The faces (interfaces) of elements. */
export const FACES = {
  accessible: ACCESSIBLE,
  action: "org.a11y.atspi.Action",
  cell: "org.a11y.atspi.TableCell",
  collection: "org.a11y.atspi.Collection",
  component: "org.a11y.atspi.Component",
  editable: "org.a11y.atspi.EditableText",
  selection: "org.a11y.atspi.Selection",
  table: "org.a11y.atspi.Table",
  text: "org.a11y.atspi.Text",
  value: "org.a11y.atspi.Value",
} as const;

/** How many relations of an element are looked at. */
const MAX_RELATIONS = 20;

/** More children than these are not listed: the sheet of LibreOffice Calc says that it has 2,147,483,647. */
export const MAX_CHILDREN = 3_000;

const PAIR = v.tuple([v.string(), v.string()]);
/** An element as programs name it. */
export const REF = v.pipe(
  PAIR,
  v.transform(([bus, path]): Ref => ({ bus, path })),
  v.check(isRef),
);
/** Elements as programs list them; what cannot be asked is left out. */
const REFS = v.pipe(
  v.array(PAIR),
  v.transform((pairs): Ref[] => pairs.map(([bus, path]) => ({ bus, path })).filter(isRef)),
);
const NUMBER = v.fallback(v.number(), 0);
const TEXT = v.fallback(v.string(), "");

const isNothing = ({ path }: Ref) => path.endsWith("/null");

const refIn = (value: unknown): Ref | undefined => {
  const ref = valueAs(REF, value);
  return ref && !isNothing(ref) ? ref : undefined;
};

/** Questions to elements. What a program does not have is undefined, or empty. @throws as the calls of {@link Bus}, but for `NoSuchThing`. */
export interface Accessibles {
  role(ref: Ref): Promise<number>;
  name(ref: Ref): Promise<string>;
  /** Its name as the program has it, with blanks. */
  rawName(ref: Ref): Promise<string>;
  childCount(ref: Ref): Promise<number>;
  /** None where it says that it has more than {@link MAX_CHILDREN}. */
  children(ref: Ref): Promise<Ref[]>;
  parent(ref: Ref): Promise<Ref | undefined>;
  /** Whether it has each of the states, by their numbers. */
  states(ref: Ref): Promise<(state: number) => boolean>;
  bounds(ref: Ref): Promise<Rect | undefined>;
  /** What is said to be its label. */
  labels(ref: Ref): Promise<Ref[]>;
  /** Those below it that have one of the roles; undefined where the program does not search. */
  matches(ref: Ref, roles: readonly number[], most: number): Promise<Ref[] | undefined>;
  indexInParent(ref: Ref): Promise<number>;
  /** What of it is at a place of the screen, as its program says; undefined where it does not. */
  atPoint(ref: Ref, x: number, y: number): Promise<Ref | undefined>;
  /** The cell of a table, from 0; undefined where it has no such cell. */
  cellAt(table: Ref, row: number, column: number): Promise<Ref | undefined>;
}

/** What is asked of elements on every system. */
export type Questions = Pick<
  Accessibles,
  "role" | "name" | "children" | "parent" | "states" | "bounds" | "labels" | "matches" | "atPoint" | "cellAt"
>;

/** Places are asked for in the coordinates of the screen. */
const ON_SCREEN = 0;
const NOWHERE = -(2 ** 31);
const LABELLED_BY = 2;
const ANY = 2;
const ALL = 1;
const CANONICAL = 1;

export function accessibles(bus: Bus): Accessibles {
  const gently = async <T>(question: Promise<T>, otherwise: T): Promise<T> => {
    try {
      return await question;
    } catch (error) {
      if (error instanceof NoSuchThing) return otherwise;
      throw error;
    }
  };
  const get = (ref: Ref, name: string) => gently(bus.get(ref, ACCESSIBLE, name), undefined);
  const ask = (ref: Ref, member: string) => gently(bus.call(ref, ACCESSIBLE, member), []);
  const rawName = async (ref: Ref) => v.parse(TEXT, await get(ref, "Name"));
  const childCount = async (ref: Ref) => v.parse(NUMBER, await get(ref, "ChildCount"));
  return {
    role: async (ref) => v.parse(NUMBER, (await ask(ref, "GetRole"))[0]),
    rawName,
    name: async (ref) => normalized(await rawName(ref)),
    childCount,
    async children(ref) {
      const count = await childCount(ref);
      if (count < 1 || count > MAX_CHILDREN) return [];
      const [children] = await ask(ref, "GetChildren");
      return (valueAs(REFS, children) ?? []).slice(0, MAX_CHILDREN).filter((child) => !isNothing(child));
    },
    parent: async (ref) => refIn(await get(ref, "Parent")),
    async states(ref) {
      const words = valueAs(v.array(v.number()), (await ask(ref, "GetState"))[0]) ?? [];
      return (state) => (((words[state >> 5] ?? 0) >>> (state & 31)) & 1) === 1;
    },
    async bounds(ref) {
      const [extents] = await gently(bus.call(ref, FACES.component, "GetExtents", "u", [ON_SCREEN]), []);
      const read = valueAs(v.tuple([v.number(), v.number(), v.number(), v.number()]), extents);
      if (!read) return undefined;
      const [x, y, width, height] = read;
      // GTK says the least whole number of what is on no screen.
      return width > 0 && height > 0 && x > NOWHERE && y > NOWHERE ? { x, y, width, height } : undefined;
    },
    async labels(ref) {
      const [relations] = await ask(ref, "GetRelationSet");
      return (valueAs(v.array(v.tuple([v.number(), REFS])), relations) ?? [])
        .slice(0, MAX_RELATIONS)
        .flatMap(([kind, refs]) => (kind === LABELLED_BY ? refs.slice(0, 5) : []));
    },
    async matches(ref, roles, most) {
      const words = [0, 0, 0, 0, 0];
      for (const role of roles) words[role >> 5] = (words[role >> 5] ?? 0) | (1 << (role & 31));
      const rule = [[0, 0], ALL, {}, ALL, words, ANY, [], ALL, false];
      const body = [rule, CANONICAL, most, true];
      const [found] = await gently(
        bus.call(ref, FACES.collection, "GetMatches", "(aiia{ss}iaiiasib)uib", body),
        [],
      );
      // Not all stop at the most that is asked for.
      return valueAs(REFS, found)
        ?.slice(0, most)
        .filter((one) => !isNothing(one));
    },
    indexInParent: async (ref) => v.parse(NUMBER, (await ask(ref, "GetIndexInParent"))[0]),
    async atPoint(ref, x, y) {
      const body = [x, y, ON_SCREEN];
      const [said] = await gently(bus.call(ref, FACES.component, "GetAccessibleAtPoint", "iiu", body), []);
      return refIn(said);
    },
    async cellAt(table, row, column) {
      const body = [row, column];
      const [said] = await gently(bus.call(table, FACES.table, "GetAccessibleAt", "ii", body), []);
      return refIn(said);
    },
  };
}

/** The programs on the bus. */
export const rootsOf = (bus: Bus): Roots => ({
  async list(most) {
    const [listed] = await bus.call(REGISTRY, ACCESSIBLE, "GetChildren");
    const refs = (valueAs(REFS, listed) ?? []).slice(0, most);
    return Promise.all(refs.map(async (ref) => ({ ref, pid: await pidOf(bus, ref.bus) })));
  },
  giveUp: (name) => bus.giveUp(name),
});

/** The process of a name on the bus; null where the bus does not say. */
export async function pidOf(bus: Bus, name: string): Promise<number | null> {
  const daemon = { bus: "org.freedesktop.DBus", path: "/org/freedesktop/DBus" };
  const [pid] = await bus
    .call(daemon, "org.freedesktop.DBus", "GetConnectionUnixProcessID", "s", [name])
    .catch(() => []);
  return typeof pid === "number" ? pid : null;
}
