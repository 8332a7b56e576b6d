/**
 * Looking for elements in what programs show: the programs side by side, each by its own search where it has one, else step by step.
 *
 * Bounded in elements; one that does not answer is left out, and named.
 */
import { deadline } from "../../../lib/deadline";
import { failureOf, timedOut } from "../../../lib/errors";
import type { Rect } from "../geometry";
import type { Questions } from "./accessible";
import { COMBO_BOX, labelOf, mayBeLabelled } from "./labels";
import type { Locator } from "./locator";
import { type Memory, remembering } from "./memory";
import { namedBy } from "./named-by";
import { folded, hasStates, LABEL_ROLES, LABELLED, NAMED_BY_CONTENT } from "./names";
import { NoSuchThing, type Ref } from "./ref";
import { numbersOf } from "./roles";
import { normalized, STATE } from "./said";
import { cellsByAddress, holdsSheet } from "./sheets";

/** How many elements of a program are looked at. */
const MAX_NODES = 20_000;
/** How many programs, and windows of each. */
const MAX_PROGRAMS = 200;
const MAX_WINDOWS = 200;
/** How many fields without a name, and labels, are compared. */
const MAX_LABELLED = 200;
/** How much of a row is its name, in elements. */
const MAX_CONTENT = 60;
/**
 * How long a program may take to say its name, to list its windows, and for a search, in milliseconds: together less than what a call of
 * the child may take, which ends the calls of all.
 */
const LIST_MS = 3_000;
const SEARCH_MS = 6_000;

/** A program that can be asked. */
export interface Program {
  readonly ref: Ref;
  readonly name: string;
  /** Null where nobody says. */
  readonly pid: number | null;
}

/** A window of a program, or another place to look in. */
export interface Place {
  readonly ref: Ref;
  readonly program: Program;
  readonly window: string;
}

/** An element that was found, with what it says of itself. */
export interface ElementNode extends Place {
  readonly role: number;
  /** Its name, or that of the label beside it. */
  readonly name: string;
  readonly bounds: Rect | undefined;
  readonly has: (state: number) => boolean;
}

/** What a search found, in the order of the programs. */
export interface SearchResult {
  readonly hits: readonly ElementNode[];
  /** The programs that did not answer. */
  readonly deaf: readonly string[];
}

/** The programs of a desktop, and what ends the questions to one. */
export interface Roots {
  /** Those that can be asked, and their processes. @throws an `unavailable` failure where none can. */
  list(most: number): Promise<ReadonlyArray<Pick<Program, "ref" | "pid">>>;
  /** Has what waits for the program fail at once, and for a while all further questions to it: it answers, and takes too long. */
  giveUp(bus: string): void;
}

/** Searches. Each throws an `unavailable` failure where the bus has gone. */
export interface Search {
  programs(): Promise<{ programs: Program[]; deaf: string[] }>;
  windows(program: Program): Promise<Place[]>;
  find(locator: Locator): Promise<SearchResult>;
  /** The windows that a locator looks in; with `within`, what it names. */
  places(locator: Locator): Promise<{ readonly places: Place[]; readonly deaf: string[] }>;
  /** What is at `ref` now. */
  look(place: Place): Promise<ElementNode>;
  /**
   * The elements with one of the roles below, at most `most`; without roles all of them. The program itself searches a place; what is
   * below an element alone is walked, as it may be a sheet.
   */
  below(at: Place | Ref, roles: readonly number[] | undefined, most: number): Promise<Ref[]>;
}

/** The elements below one, by the search of the program, else step by step. */
function lister(ask: Questions, memory: Memory): Search["below"] {
  const walk = async (from: Ref, wanted: ReadonlySet<number> | undefined, most: number): Promise<Ref[]> => {
    const isKept = memory.holds(from.bus);
    const { role: roleOf, children: childrenOf } = isKept ? memory : ask;
    const found = new Set<Ref>();
    /** What each holds, for the order of the outline: they are looked at level by level. */
    const inside = new Map<Ref, readonly Ref[]>();
    let seen = 0;
    let level = [from];
    /** A program may say that an element is in itself. */
    const met = new Set<string>([keyOf(from)]);
    const isNew = (ref: Ref) => met.size < met.add(keyOf(ref)).size;
    while (level.length > 0 && seen < MAX_NODES && found.size < most) {
      seen += level.length;
      const goesOn = seen < MAX_NODES;
      const looked = await Promise.all(
        level.map((ref) => {
          const leaf = isKept ? memory.leaf(ref) : undefined;
          return leaf === undefined
            ? Promise.all([wanted ? roleOf(ref) : 0, goesOn ? childrenOf(ref) : NONE])
            : ([leaf, NONE] as const);
        }),
      );
      const next: Ref[] = [];
      for (const [nth, [role, children]] of looked.entries()) {
        const ref = level[nth];
        if (!ref) continue;
        const own = children.slice(0, MAX_NODES - seen - next.length).filter(isNew);
        next.push(...own);
        inside.set(ref, own);
        if (ref !== from && (!wanted || wanted.has(role))) found.add(ref);
      }
      level = next;
    }
    return inOrder(from, inside)
      .filter((ref) => found.has(ref))
      .slice(0, most);
  };
  return async (at, roles, most) => {
    const ref = "ref" in at ? at.ref : at;
    const mayAsk = roles !== undefined && "ref" in at && !holdsSheet(at) && !memory.holds(ref.bus);
    const found = mayAsk && (await ask.matches(ref, roles, most));
    if (mayAsk && !found) memory.begin(ref.bus);
    return found || walk(ref, roles && new Set(roles), most);
  };
}

const NONE: readonly Ref[] = [];

const keyOf = ({ bus, path }: Ref): string => `${bus}${path}`;

/** All below one, as an outline has them: what something holds comes before what stands after it, as with the search of a program. */
function inOrder(from: Ref, inside: ReadonlyMap<Ref, readonly Ref[]>): Ref[] {
  const all: Ref[] = [];
  const left = [from];
  for (let ref = left.pop(); ref; ref = left.pop()) {
    all.push(ref);
    left.push(...(inside.get(ref) ?? NONE).toReversed());
  }
  return all;
}

/** What of one place a locator names. */
function matcher(ask: Questions, memory: Memory, below: Search["below"], look: Search["look"]) {
  const inPlace = async (place: Place, locator: Locator): Promise<ElementNode[]> => {
    const { role, name, pattern } = locator;
    const fits = namedBy(locator);
    const roles = role === undefined ? undefined : numbersOf(role);
    const cells = await cellsByAddress(ask, below, place, locator, roles);
    if (cells) return Promise.all(cells.map((ref) => look({ ...place, ref })));
    const own = roles === undefined || roles.includes(await ask.role(place.ref)) ? [place.ref] : [];
    const refs = uniqueOf([...own, ...(await below(place, roles, MAX_NODES))].map((ref) => ({ ref }))).map(
      ({ ref }) => ref,
    );
    if (name === undefined && pattern === undefined) {
      const seen = await Promise.all(refs.map((ref) => look({ ...place, ref })));
      const fields = await labelled(place, seen);
      return seen.map((one) => fields.find(({ ref, name: label }) => ref === one.ref && label !== "") ?? one);
    }
    const names = await memory.names(refs, fits);
    const hits = refs.filter((_, nth) => fits(names[nth] ?? ""));
    if (hits.length > 0) return Promise.all(hits.map((ref) => look({ ...place, ref })));
    // What is chosen in a combo box is its name for many toolkits: all of them may have a label.
    const mayAll = roles?.includes(COMBO_BOX) === true;
    const nameless = refs.filter((_, nth) => mayAll || names[nth] === "").slice(0, MAX_LABELLED);
    if (roles?.some((one) => NAMED_BY_CONTENT.has(one))) return byContent(place, nameless, locator);
    const fields = await labelled(place, await Promise.all(nameless.map((ref) => look({ ...place, ref }))));
    return fields.filter((one) => fits(one.name));
  };
  /** Rows that have no name are named by what is in them, as WAI-ARIA has it. */
  const byContent = async (place: Place, refs: readonly Ref[], locator: Locator): Promise<ElementNode[]> => {
    const seen = await Promise.all(
      refs.map(async (ref) => {
        const inside = await Promise.all(
          (await below({ ...place, ref }, undefined, MAX_CONTENT)).map((part) => ask.name(part)),
        );
        // A cell and the text in it say the same.
        const words = inside.filter((word, nth) => word !== "" && word !== inside[nth - 1]);
        return { ...(await look({ ...place, ref })), name: words.join(" ") };
      }),
    );
    return seen.filter((one) => NAMED_BY_CONTENT.has(one.role) && namedBy(locator)(one.name));
  };
  /** Fields that may have no name of their own, with that of the label that says so, or that stands before them. */
  const labelled = async (place: Place, seen: readonly ElementNode[]): Promise<ElementNode[]> => {
    const fields = seen.filter(({ role }) => LABELLED.has(role));
    const unnamed = fields.filter(mayBeLabelled).slice(0, MAX_LABELLED);
    if (unnamed.length === 0) return [];
    const labels = (await below(place, LABEL_ROLES, MAX_LABELLED)).map((ref) => look({ ...place, ref }));
    const texts = await Promise.all(labels);
    return Promise.all(
      unnamed.map(async (field) => ({ ...field, name: await labelOf(ask, below, field, texts, fields) })),
    );
  };
  return inPlace;
}

export function search(roots: Roots, ask: Questions): Search {
  /** @throws a `timeout` failure where a program takes longer; what else waits for it fails then too. */
  const within = <T>(ms: number, name: string, work: Promise<T>): Promise<T> =>
    deadline(work, {
      ms,
      late() {
        roots.giveUp(name);
        throw timedOut("the program takes too long");
      },
    });
  /** What programs were called when they answered last: one that does not is still known by it. */
  const names = new Map<string, string>();
  const programs = async () => {
    const listed = await roots.list(MAX_PROGRAMS);
    const deaf: string[] = [];
    const all = await Promise.all(
      listed.map(async ({ ref, pid }): Promise<Program[]> => {
        try {
          const name = await within(LIST_MS, ref.bus, ask.name(ref));
          names.set(ref.bus, name);
          return [{ ref, name, pid }];
        } catch (error) {
          if (!failureOf(error)) throw error;
          deaf.push(names.get(ref.bus) ?? (pid === null ? ref.bus : `process ${pid}`));
          return [];
        }
      }),
    );
    const there = new Set(listed.map(({ ref }) => ref.bus));
    for (const bus of names.keys()) if (!there.has(bus)) names.delete(bus);
    return { programs: all.flat(), deaf };
  };
  const windowsOf = async (program: Program): Promise<Place[]> => {
    const refs = (await ask.children(program.ref)).slice(0, MAX_WINDOWS);
    return Promise.all(refs.map(async (ref) => ({ ref, program, window: await ask.name(ref) })));
  };
  const windows = (program: Program) => within(LIST_MS, program.ref.bus, windowsOf(program));
  const memory = remembering(ask);
  const below = lister(ask, memory);
  const look = async (place: Place): Promise<ElementNode> => {
    const { ref } = place;
    const [role, name, bounds, has] = await Promise.all([
      ask.role(ref),
      ask.name(ref),
      ask.bounds(ref),
      ask.states(ref),
    ]);
    return { ...place, role, name, bounds, has };
  };
  const inPlace = matcher(ask, memory, below, look);
  const find = async (locator: Locator): Promise<SearchResult> => {
    // A pattern that is none is no fault of the programs.
    namedBy(locator);
    const places = await placesOf(locator);
    const found = await Promise.all(
      places.places.map(async (place) => {
        try {
          return { hits: await within(SEARCH_MS, place.ref.bus, inPlace(place, locator)), deaf: [] };
        } catch (error) {
          if (!(error instanceof NoSuchThing) && !failureOf(error)) throw error;
          return { hits: [], deaf: [place.program.name] };
        }
      }),
    );
    const hits = uniqueOf(found.flatMap((one) => one.hits)).filter((one) => hasStates(one, locator));
    const { nth } = locator;
    return {
      hits: nth === undefined ? hits : seenOf(hits).slice(nth - 1, nth),
      deaf: [...new Set([...places.deaf, ...found.flatMap((one) => one.deaf)])],
    };
  };
  /** Where to look: in windows, or in what the element is within. */
  const placesOf = async ({ app, window, within }: Locator): Promise<{ places: Place[]; deaf: string[] }> => {
    if (within) {
      const { hits, deaf } = await find({ app, window, ...within });
      return { places: [...hits], deaf: [...deaf] };
    }
    const { programs: all, deaf } = await programs();
    const fitting = all.filter(({ name }) => app === undefined || folded(name) === folded(app));
    const places = await Promise.all(
      fitting.map((program) =>
        windows(program).catch((error) => {
          if (!failureOf(error)) throw error;
          deaf.push(program.name);
          return [];
        }),
      ),
    );
    const inTitle = (place: Place) =>
      window === undefined || folded(place.window).includes(folded(normalized(window)));
    return { places: places.flat().filter(inTitle), deaf };
  };
  return { programs, windows, find, look, below, places: placesOf };
}

/** Those that can be seen, also by scrolling; all where none can: what `nth` counts. */
function seenOf(all: readonly ElementNode[]): readonly ElementNode[] {
  const visible = all.filter(({ has }) => has(STATE.visible) || has(STATE.showing));
  return visible.length > 0 ? visible : all;
}

/** Each element once: what is within two places is found twice. */
function uniqueOf<T extends { readonly ref: Ref }>(all: readonly T[]): T[] {
  return [...new Map(all.map((one) => [keyOf(one.ref), one])).values()];
}
