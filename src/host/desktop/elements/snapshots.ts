/**
 * Snapshots of what programs show, with short references to elements, and what has changed since an earlier one.
 *
 * Promise: a reference names the same element as long as that lives, and afterwards nothing. Bounded in snapshots and references.
 */
import { sleep } from "../../../lib/deadline";
import { cancelled, rejected } from "../../../lib/errors";
import { createFairMap } from "../../../lib/fair-map";
import { jsonLine } from "../../../lib/sanitize";
import type { Element, TreeScope } from "./calls";
import type { Elements } from "./elements";
import {
  differenceOf,
  type Entry,
  entriesOf,
  holders,
  type Lines,
  linesOf,
  MAX_SHOWN,
  sizeOf,
  withContents,
} from "./snapshot-lines";

/** How many elements of the windows are read. */
const MAX_READ = 4_000;
/** Of how many fields a snapshot shows what they hold. */
const MAX_HELD = 200;
/** How many snapshots and references are kept of all callers together. */
const MAX_KEPT = 64;
const MAX_REFERENCES = 5_000;
/** What is the same after this time rests, in milliseconds. */
const REST_MS = 150;
const REST_LIMIT_MS = 3_000;

/** Which windows a snapshot is of. */
export type Scope = Pick<TreeScope, "app" | "window" | "within" | "id">;

/** A look at the windows of a scope. */
export interface Look {
  readonly entries: readonly Entry[];
  readonly deaf: readonly string[];
  readonly more: boolean;
}

/** An answer with lines. */
export interface Snapshot {
  /** Its number, for `since`. */
  readonly snapshot: number;
  /** The number of the snapshot that the lines are changes of; null where they are all there is. */
  readonly since: number | null;
  readonly lines: readonly string[];
  readonly left_out: Lines["leftOut"];
  /** The programs that did not answer. */
  readonly deaf: readonly string[];
}

/** Who asks, for what, and how long the answer may be. */
export interface Wish {
  /** The share of the caller: of another's snapshots nobody gets changes. */
  readonly share: string | null;
  readonly scope: Scope;
  readonly since?: number | undefined;
  /** In bytes. */
  readonly most: number;
}

type ReadElements = Pick<Elements, "tree" | "contents">;

/** The snapshots of a desktop. */
export interface Snapshots {
  /** The same, of what others have read: `elements` are asked by what looks now. */
  of(elements: ReadElements): Snapshots;
  /** What shows now. @throws as the calls of {@link Elements}. */
  look(scope: Scope): Promise<Look>;
  /** What shows once nothing has changed for a moment; `rests` is false where it never did within 3 seconds. */
  lookAtRest(scope: Scope, signal: AbortSignal): Promise<Look & { readonly rests: boolean }>;
  /** Keeps a look, and answers with it, or with what has changed since an earlier one. */
  answer(look: Look, wish: Wish, base?: Look): Snapshot;
  /** The look of an earlier answer to the same caller about the same scope; undefined where it is not kept. */
  earlier(wish: Wish): Look | undefined;
  /** What shows now, as lines without references; nothing of it is kept. @param most bytes. */
  outline(most: number): Promise<readonly string[]>;
  /** The element of a reference, as it was when it was named. @throws `rejected` for one that there is not. */
  resolve(reference: string): Element;
}

/** A reference as snapshots have it, alone or with the role and name of its element: `e12 button "OK"`. */
export const REFERENCE = /^e[1-9]\d{0,8}(?: \S.*)?$/;

/** A reference with what it names, for who is to understand it without the snapshot. */
export const wordedReference = (reference: string, { role, name }: Element): string =>
  `${numberIn(reference)} ${role} ${jsonLine(name)}`;

export const isBare = (reference: string): boolean => REFERENCE.test(reference) && !reference.includes(" ");

const numberIn = (reference: string): string => reference.split(" ", 1)[0] ?? "";

export function createSnapshots(elements: ReadElements): Snapshots {
  const kept = createFairMap<number, { readonly look: Look; readonly about: string }>(MAX_KEPT);
  const numbers = new Map<string, number>();
  const named = createFairMap<number, Element>(MAX_REFERENCES, (_, { native_id }) =>
    numbers.delete(native_id),
  );
  let newest = 0;
  let references = 0;

  const refOf =
    (share: string | null) =>
    ({ id, element }: Entry): string => {
      const number = numbers.get(id) ?? ++references;
      numbers.set(id, number);
      named.put(share, number, element);
      return `e${number}`;
    };
  const lookIn = async (elements: ReadElements, scope: Scope): Promise<Look> => {
    const tree = await elements.tree({ ...scope, shown: true }, MAX_READ);
    const entries = entriesOf(tree);
    const ids = holders(entries).slice(0, MAX_HELD);
    const held = ids.length === 0 ? [] : await elements.contents(ids, MAX_SHOWN + 1);
    const contents = new Map(ids.map((id, at) => [id, held[at] ?? null]));
    return { entries: withContents(entries, contents), deaf: tree.deaf, more: tree.more };
  };
  const earlier = ({ since, share, scope }: Wish) => {
    const found = since === undefined ? undefined : kept.get(share, since);
    return found && found.about === JSON.stringify(scope) ? found.look : undefined;
  };
  const of = (elements: ReadElements): Snapshots => ({
    of,
    look: (scope) => lookIn(elements, scope),
    async lookAtRest(scope, signal) {
      const end = performance.now() + REST_LIMIT_MS;
      const look = () => lookIn(elements, scope);
      let before = await look();
      for (;;) {
        await sleep(REST_MS, signal, gone);
        const now = await look();
        const rests = isSame(before, now);
        if (rests || performance.now() > end) return { ...now, rests };
        before = now;
      }
    },
    answer(now, wish, base = earlier(wish)) {
      const keep = (look: Look) => {
        kept.put(wish.share, ++newest, { look, about: JSON.stringify(wish.scope) });
        return newest;
      };
      const isKept = base !== undefined && base === earlier(wish);
      const since = base ? ((isKept ? wish.since : keep(base)) ?? null) : null;
      const snapshot = keep(now);
      const name = refOf(wish.share);
      const all = () => linesOf(now.entries, wish.most, name);
      const { lines, leftOut } = base ? changes(base, now, wish.most, name) : all();
      return { snapshot, since, lines, left_out: leftOut, deaf: withinBytes(now.deaf, DEAF_BYTES) };
    },
    earlier,
    outline: async (most) => linesOf((await lookIn(elements, {})).entries, most).lines,
    resolve(reference) {
      const element = named.find(Number(numberIn(reference).slice(1)));
      if (!element) throw stale(reference, "no snapshot has it, or svc has started anew since");
      if (!isBare(reference) && reference !== wordedReference(reference, element))
        throw stale(reference, "it names another");
      return element;
    },
  });
  return of(elements);
}

const gone = () => cancelled("cancelled while the screen comes to rest");

/** How many bytes of an answer name programs that did not answer: a part of what `linesOf` leaves free. */
const DEAF_BYTES = 100;

/** As many of the first texts as have room in an answer, and one more for the others. @param most bytes. @param others says how many. */
export function withinBytes(
  texts: readonly string[],
  most: number,
  others: (left: number) => string = () => "…",
): string[] {
  let left = most;
  const over = texts.findIndex((text) => {
    left -= sizeOf(text);
    return left < 0;
  });
  return over < 0 ? [...texts] : [...texts.slice(0, over), others(texts.length - over)];
}

/** @param why what is wrong with it. */
export const stale = (reference: string, why: string) =>
  rejected(`${numberIn(reference)} names no element: ${why}; take a new snapshot`);

const isSame = (one: Look, other: Look) =>
  one.entries.length === other.entries.length &&
  one.entries.every(
    ({ id, words }, at) => id === other.entries[at]?.id && words === other.entries[at]?.words,
  );

/** Lines marked by what has become of their elements: `-` gone, `~` changed, `+` new. */
function changes(before: Look, now: Look, most: number, refOf: (entry: Entry) => string): Lines {
  const { gone: left, changed, added } = differenceOf(before.entries, now.entries);
  // Each part may take what the one before it has left.
  let room = most;
  const parts = [
    { entries: left, mark: "- " },
    { entries: changed, mark: "~ " },
    { entries: added, mark: "+ " },
  ].map(({ entries, mark }) => {
    const part = linesOf(entries, room, refOf, mark);
    room -= part.lines.reduce((sum, line) => sum + sizeOf(line), 0);
    return part;
  });
  const sum = (of: "act" | "others") => parts.reduce((all, { leftOut }) => all + leftOut[of], 0);
  return {
    lines: parts.flatMap(({ lines }) => lines),
    leftOut: { act: sum("act"), others: sum("others") },
  };
}
