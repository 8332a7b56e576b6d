/**
 * Selections of hosts: `lab-01`, `lab-*`, `tag:lab`, `tag:lab,!tag:old`, `all`. In labels and tags, `*` stands for any characters, and
 * `?` for one, unless a host has that very label or tag.
 *
 * The result is the union of the terms, without what the terms after a `!` match, wherever they stand. What changes from one moment to
 * the next, such as the state of a host, is no term: `svc admin list` looks for that (`core/host-query.ts`).
 */
import { namePattern } from "../../core/host-query";
import { badInput } from "../../lib/errors";
import { printable } from "../../lib/sanitize";

/** What a selection looks at. */
interface Selectable {
  readonly label: string;
  readonly tags: readonly string[];
}

/**
 * The hosts that `selection` matches, in the order of the address book.
 *
 * @throws a `bad_input` failure for a label or tag that no host has (except a tag or a pattern after `!`), and when nothing matches.
 */
export function selectHosts<H extends Selectable>(hosts: readonly H[], selection: string): H[] {
  const selected = matchingHosts(hosts, selection, true);
  if (hosts.length === 0 && selection !== "")
    throw badInput("on: the address book has no hosts: `svc join-token` or `svc admin add` brings some");
  if (selected.length === 0) throw badInput(`on: ${printable(selection, 200)} selects no host`);
  return selected;
}

/**
 * The same for a selection of before: hosts that are gone since, and tags that no host has any more, match none.
 *
 * @param mustExist whether a term that matches none is refused.
 * @throws `bad_input` for what never was a selection.
 */
export function matchingHosts<H extends Selectable>(
  hosts: readonly H[],
  selection: string,
  mustExist = false,
): H[] {
  const terms = [...new Set(selection.split(",").map((term) => term.trim().normalize("NFC")))];
  if (terms.includes(""))
    throw badInput("on: expected terms between commas: LABEL, tag:TAG, all, or !… to exclude");
  const excluding = terms.filter((term) => term.startsWith("!"));
  const including = terms.filter((term) => !term.startsWith("!"));
  if (including.length === 0) throw badInput("on: expected a term without !, such as all");
  const find = finderIn(hosts);
  const selected = new Set<H>();
  const [included, excluded] = mustExist ? (["any", "label"] as const) : (["none", "none"] as const);
  for (const term of including) for (const host of find(term, included)) selected.add(host);
  for (const term of excluding) for (const host of find(term.slice(1), excluded)) selected.delete(host);
  return hosts.filter((host) => selected.has(host));
}

/** The most patterns of a selection: each is compared with every label, or tag, of the address book. */
const MAX_PATTERNS = 16;

/** Which terms are refused that match nothing: any, labels that are no patterns, or none. */
type Refused = "any" | "label" | "none";

/** Finds the hosts that a term matches. There may be as many terms as hosts: it does not look at every host for each. */
function finderIn<H extends Selectable>(hosts: readonly H[]) {
  const labelled = Map.groupBy(hosts, ({ label }) => label);
  const tagged = new Map<string, H[]>();
  for (const host of hosts) {
    for (const tag of new Set(host.tags)) {
      const known = tagged.get(tag);
      if (known) known.push(host);
      else tagged.set(tag, [host]);
    }
  }
  let patterns = 0;
  return (term: string, refused: Refused): readonly H[] => {
    if (term === "all") return hosts;
    const tag = term.startsWith("tag:") ? term.slice(4) : undefined;
    const found = tag === undefined ? labelled.get(term) : tagged.get(tag);
    if (found) return found;
    const isLike = namePattern(tag ?? term);
    if (isLike) {
      if (++patterns > MAX_PATTERNS) throw badInput(`on: expected at most ${MAX_PATTERNS} terms with * or ?`);
      const names = tag === undefined ? labelled : tagged;
      const matched = [...names].flatMap(([name, those]) => (isLike(name) ? those : []));
      if (matched.length > 0 || refused !== "any") return matched;
    }
    if (tag === undefined && refused !== "none")
      throw badInput(`on: no host is labelled ${printable(term, 130)}`);
    if (tag !== undefined && refused === "any")
      throw badInput(`on: no host is tagged ${printable(tag, 130)}`);
    return [];
  };
}
