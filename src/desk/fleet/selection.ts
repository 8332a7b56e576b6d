/**
 * Selections of hosts: `lab-01`, `lab-*`, `tag:lab`, `tag:lab,!tag:old`, `all`. In labels and tags, `*` stands for any characters, and
 * `?` for one, unless a host has that very label or tag.
 *
 * The result is the union of the terms, without what the terms after a `!` match, wherever they stand. What changes from one moment to
 * the next, such as the state of a host, is no term: `svc admin list` looks for that (`core/host-query.ts`).
 *
 * The promise: a selection that somebody sends keeps nobody waiting; its patterns are compared with the names in slices.
 */
import { isPattern, namePattern } from "../../core/name-pattern";
import { badInput } from "../../lib/errors";
import { printable } from "../../lib/sanitize";
import { stepsInSlices, stepsNow } from "../../lib/turn";

/** What a selection looks at. */
interface Selectable {
  readonly label: string;
  readonly tags: readonly string[];
}

/** Finds hosts by what a term of a selection names. A host is whatever stands for one: itself, or its place in the book. */
export interface HostFinder<H> {
  /** All hosts. */
  all(): readonly H[];
  /** Those with this very label, or tag. */
  labelled(label: string): readonly H[];
  tagged(tag: string): readonly H[];
  /** The labels, and the tags, that hosts have. */
  labels(): Iterable<string>;
  tags(): Iterable<string>;
}

/**
 * The hosts that `selection` matches, in the order of the address book.
 *
 * @throws a `bad_input` failure for a label or tag that no host has (except a tag or a pattern after `!`), and when nothing matches.
 */
export async function selectHosts<H extends Selectable>(
  hosts: readonly H[],
  selection: string,
): Promise<H[]> {
  const selected = await stepsInSlices(selectedIn(finderIn(hosts), selection));
  return hosts.filter((host) => selected.has(host));
}

/** The same in this turn: for a selection that the owner of this desk has written. */
export function selectHostsNow<H extends Selectable>(hosts: readonly H[], selection: string): H[] {
  const selected = stepsNow(selectedIn(finderIn(hosts), selection));
  return hosts.filter((host) => selected.has(host));
}

/**
 * The same as {@link selectHosts} for a selection of before: hosts that are gone since, and tags that no host has any more, match none.
 *
 * @throws `bad_input` for what never was a selection.
 */
export async function matchingHosts<H extends Selectable>(
  hosts: readonly H[],
  selection: string,
): Promise<H[]> {
  const matched = await stepsInSlices(matchedIn(finderIn(hosts), selection, false));
  return hosts.filter((host) => matched.has(host));
}

/**
 * Those of `hosts` that have one of these tags, in their order. Where a pattern is among the tags, these are all of them: who asks compares them,
 * in slices.
 */
export function taggedHosts<H extends Selectable>(
  hosts: readonly H[],
  tags: readonly string[],
): readonly H[] {
  if (tags.some(isPattern)) return hosts;
  const wanted = new Set(tags);
  return hosts.filter((host) => host.tags.some((tag) => wanted.has(tag)));
}

/** What `finder` finds with one of these tags, or one like it, in no order, in steps. */
export function* taggedIn<H>(finder: HostFinder<H>, tags: readonly string[]): Generator<void, Set<H>> {
  const likes = tags.flatMap((tag) => namePattern(tag) ?? []);
  const known = likes.length === 0 ? [] : [...finder.tags()];
  const named = new Set(tags);
  for (const isLike of likes) for (const tag of yield* alike(known, isLike)) named.add(tag);
  return new Set(yield* hostsWith(named, finder.tagged));
}

/** What `finder` finds for `selection`, in no order, in steps. @throws as {@link selectHosts}. */
export function* selectedIn<H>(finder: HostFinder<H>, selection: string): Generator<void, Set<H>> {
  const selected = yield* matchedIn(finder, selection, true);
  if (selected.size > 0) return selected;
  if (selection !== "" && finder.all().length === 0)
    throw badInput("on: the address book has no hosts: `svc join-token` or `svc admin add` brings some");
  throw badInput(`on: ${printable(selection, 200)} selects no host`);
}

/** @param mustExist whether a term that matches none is refused. */
function* matchedIn<H>(
  finder: HostFinder<H>,
  selection: string,
  mustExist: boolean,
): Generator<void, Set<H>> {
  const terms = [...new Set(selection.split(",").map((term) => term.trim().normalize("NFC")))];
  if (terms.includes(""))
    throw badInput("on: expected terms between commas: LABEL, tag:TAG, all, or !… to exclude");
  const excluding = terms.filter((term) => term.startsWith("!"));
  const including = terms.filter((term) => !term.startsWith("!"));
  const bare = mustExist ? terms.find((term) => /^!?(?:tag:)?$/.test(term)) : undefined;
  if (bare !== undefined) throw badInput(`on: expected a label or a tag after ${bare}`);
  if (including.length === 0) throw badInput("on: expected a term without !, such as all");
  const find = termsIn(finder);
  const selected = new Set<H>();
  const [included, excluded] = mustExist ? (["any", "label"] as const) : (["none", "none"] as const);
  for (const term of including) for (const host of yield* find(term, included)) selected.add(host);
  for (const term of excluding)
    for (const host of yield* find(term.slice(1), excluded)) selected.delete(host);
  return selected;
}

/** The most patterns of a selection: each is compared with every label, or tag, of the address book. */
const MAX_PATTERNS = 16;

/** Ends the error for a term with spaces, which may be words of `svc admin list`. */
const SEARCH =
  ": terms have commas between them; `svc admin list WORDS --format on` prints what a search finds in that form";

/** Which terms are refused that match nothing: any, labels that are no patterns, or none. */
type Strictness = "any" | "label" | "none";

/** Finds the hosts that a term matches. There may be as many terms as hosts: it does not look at every host for each. */
function termsIn<H>(
  finder: HostFinder<H>,
): (term: string, refused: Strictness) => Generator<void, readonly H[]> {
  let patterns = 0;
  return function* (term, refused) {
    if (term === "all") return finder.all();
    const tag = term.startsWith("tag:") ? term.slice(4) : undefined;
    const found = tag === undefined ? finder.labelled(term) : finder.tagged(tag);
    if (found.length > 0) return found;
    const isLike = namePattern(tag ?? term);
    if (isLike) {
      if (++patterns > MAX_PATTERNS) throw badInput(`on: expected at most ${MAX_PATTERNS} terms with * or ?`);
      const matched =
        tag === undefined
          ? yield* hostsWith(yield* alike(finder.labels(), isLike), finder.labelled)
          : yield* hostsWith(yield* alike(finder.tags(), isLike), finder.tagged);
      if (matched.length > 0 || refused !== "any") return matched;
    }
    const search = /\s/.test(term) ? SEARCH : "";
    if (tag === undefined && refused !== "none")
      throw badInput(`on: no host is labelled ${printable(term, 130)}${search}`);
    if (tag !== undefined && refused === "any")
      throw badInput(`on: no host is tagged ${printable(tag, 130)}${search}`);
    return [];
  };
}

/** How many names are compared between two looks at the clock. */
const NAMES_AT_ONCE = 64;

/** The names that `isLike` finds. */
function* alike(names: Iterable<string>, isLike: (name: string) => boolean): Generator<void, string[]> {
  const found: string[] = [];
  let count = 0;
  for (const name of names) {
    if (isLike(name)) found.push(name);
    if (++count % NAMES_AT_ONCE === 0) yield;
  }
  return found;
}

/** What `find` finds for each of these names. */
function* hostsWith<H>(names: Iterable<string>, find: (name: string) => readonly H[]): Generator<void, H[]> {
  const found: H[] = [];
  for (const name of names) {
    for (const host of find(name)) found.push(host);
    yield;
  }
  return found;
}

const NONE: readonly never[] = [];

/** Finds hosts in a list. */
function finderIn<H extends Selectable>(hosts: readonly H[]): HostFinder<H> {
  const labelled = Map.groupBy(hosts, ({ label }) => label);
  const tagged = new Map<string, H[]>();
  for (const host of hosts) {
    for (const tag of new Set(host.tags)) {
      const known = tagged.get(tag);
      if (known) known.push(host);
      else tagged.set(tag, [host]);
    }
  }
  return {
    all: () => hosts,
    labelled: (label) => labelled.get(label) ?? NONE,
    tagged: (tag) => tagged.get(tag) ?? NONE,
    labels: () => labelled.keys(),
    tags: () => tagged.keys(),
  };
}
