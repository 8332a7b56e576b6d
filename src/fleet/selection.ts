/**
 * Selections of hosts: `lab-01`, `tag:lab`, `tag:lab,!tag:old`, `all`.
 *
 * The terms of a selection are united; what a term after `!` stands for is taken out again, wherever it is written.
 */
import { badInput } from "../lib/errors";
import { printable } from "../lib/sanitize";
import type { Host } from "./host";

/**
 * The hosts that `selection` stands for, in the order of the address book.
 *
 * @throws a `bad_input` failure for a label or tag that no host has (a tag that is taken out may be one that nobody has),
 *   and when nothing is selected.
 */
export function selectHosts(hosts: readonly Host[], selection: string): Host[] {
  const terms = [...new Set(selection.split(",").map((term) => term.trim()))];
  if (terms.includes(""))
    throw badInput("on: expected terms between commas: LABEL, tag:TAG, all, or !… without");
  const wanted = terms.filter((term) => !term.startsWith("!"));
  if (wanted.length === 0) throw badInput("on: expected what to begin with, such as all");
  const taken = new Set(wanted.flatMap((term) => matching(hosts, term, true)));
  for (const term of terms) {
    if (term.startsWith("!")) for (const host of matching(hosts, term.slice(1), false)) taken.delete(host);
  }
  if (taken.size === 0) throw badInput(`on: ${printable(selection, 200)} selects no host`);
  return hosts.filter((host) => taken.has(host));
}

function matching(hosts: readonly Host[], term: string, mustExist: boolean): readonly Host[] {
  if (term === "all") return hosts;
  const tag = term.startsWith("tag:") ? term.slice(4) : undefined;
  if (tag === undefined) {
    const found = hosts.filter(({ label }) => label === term);
    if (found.length === 0) throw badInput(`on: no host is labelled ${printable(term, 130)}`);
    return found;
  }
  const found = hosts.filter(({ tags }) => tags.includes(tag));
  if (found.length === 0 && mustExist) throw badInput(`on: no host is tagged ${printable(tag, 130)}`);
  return found;
}
