/**
 * In which order and in which groups hosts are listed, and how many are in each state.
 */
import { USUAL_SORT } from "./host-search.js";
import { doing, rttMsOf, STATE_ORDER, stateOf } from "./host-words.js";

/** @typedef {import("./host-words.js").Row} Row */
/** @typedef {import("./host-row.js").Item} Item */

/** How many hosts are in each state. @param {readonly Row[]} rows */
export function countsOf(rows) {
  /** @type {Map<string, number>} */
  const counts = new Map();
  for (const row of rows) {
    const state = stateOf(row);
    counts.set(state, (counts.get(state) ?? 0) + 1);
  }
  return counts;
}

/** Numbers in labels count as numbers; one for all, as each costs. */
const words = new Intl.Collator(undefined, { numeric: true });

/** What the columns are sorted by. @type {Record<string, (row: Row) => string | number>} */
const SORTED = {
  state: (row) => STATE_ORDER.indexOf(stateOf(row)),
  label: ({ label }) => label,
  tags: ({ tags }) => tags.join(" "),
  now: doing,
  // The latest first.
  seen: ({ seen }) => (seen === null ? Number.POSITIVE_INFINITY : -Date.parse(seen)),
  rtt: (row) => rttMsOf(row) ?? Number.POSITIVE_INFINITY,
  version: ({ version }) => version ?? "",
};

/** The rows sorted by a column, downwards after a minus. @param {readonly Row[]} rows @param {string} sort */
export function sortedBy(rows, sort) {
  const name = sort.replace(/^-/, "");
  const by = SORTED[Object.hasOwn(SORTED, name) ? name : USUAL_SORT] ?? (() => 0);
  const sign = sort.startsWith("-") ? -1 : 1;
  return rows
    .map((row) => ({ row, by: by(row) }))
    .sort((a, b) => {
      const first =
        typeof a.by === "number" && typeof b.by === "number"
          ? compared(a.by, b.by)
          : words.compare(`${a.by}`, `${b.by}`);
      return first === 0 ? words.compare(a.row.label, b.row.label) : sign * first;
    })
    .map(({ row }) => row);
}

/** Also of two that are infinite. @param {number} a @param {number} b */
const compared = (a, b) => (a === b ? 0 : a < b ? -1 : 1);

/** The lines of these rows. @param {readonly Row[]} rows @param {string} group @returns {Item[]} */
export const itemsOf = (rows, group) =>
  group === "tag" ? groupsOf(rows) : rows.map((row) => ({ key: row.label, row }));

/** A host is in the group of each of its tags. @param {readonly Row[]} rows @returns {Item[]} */
function groupsOf(rows) {
  /** @type {Map<string, Row[]>} */
  const groups = new Map();
  for (const row of rows) {
    for (const tag of row.tags.length > 0 ? row.tags : [""]) {
      const known = groups.get(tag);
      if (known) known.push(row);
      else groups.set(tag, [row]);
    }
  }
  // Those without tags come last.
  const sorted = [...groups].sort(([a], [b]) => Number(a === "") - Number(b === "") || words.compare(a, b));
  return sorted.flatMap(([tag, some]) => [
    { key: `# ${tag}`, tag, hosts: some.length },
    ...some.map((row) => ({ key: `${tag} ${row.label}`, row })),
  ]);
}
