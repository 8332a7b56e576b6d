/**
 * Selections of hosts: `lab-01`, `tag:lab`, `tag:lab,!tag:old`, `all`.
 *
 * The result is the union of the terms, without what the terms after a `!` match, wherever they stand.
 */
import { badInput } from "../lib/errors";
import { printable } from "../lib/sanitize";
import type { Host } from "./host";

/**
 * The hosts that `selection` matches, in the order of the address book.
 *
 * @throws a `bad_input` failure for a label or tag that no host has (except a tag after `!`), and when nothing matches.
 */
export function selectHosts(hosts: readonly Host[], selection: string): Host[] {
  const terms = [...new Set(selection.split(",").map((term) => term.trim().normalize("NFC")))];
  if (terms.includes(""))
    throw badInput("on: expected terms between commas: LABEL, tag:TAG, all, or !… to exclude");
  const excluding = terms.filter((term) => term.startsWith("!"));
  const including = terms.filter((term) => !term.startsWith("!"));
  if (including.length === 0) throw badInput("on: expected a term without !, such as all");
  const selected = new Set(including.flatMap((term) => matching(hosts, term, true)));
  for (const term of excluding)
    for (const host of matching(hosts, term.slice(1), false)) selected.delete(host);
  if (selected.size === 0) throw badInput(`on: ${printable(selection, 200)} selects no host`);
  return hosts.filter((host) => selected.has(host));
}

function matching(hosts: readonly Host[], term: string, mustExist: boolean): readonly Host[] {
  if (term === "all") return hosts;
  const tag = term.startsWith("tag:") ? term.slice(4) : undefined;
  const found = hosts.filter(({ label, tags }) => (tag === undefined ? label === term : tags.includes(tag)));
  if (found.length > 0 || (tag !== undefined && !mustExist)) return found;
  if (tag === undefined) throw badInput(`on: no host is labelled ${printable(term, 130)}`);
  throw badInput(`on: no host is tagged ${printable(tag, 130)}`);
}
