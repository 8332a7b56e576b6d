/**
 * One line of the list of hosts. Its parts take no focus by themselves: the keys are those of the list.
 */
import { hostAddress } from "../../address.js";
import { el } from "../../dom.js";
import { counted } from "../../format.js";
import { doing, rttOf, seenTime, stateBadge } from "./host-words.js";

/** @typedef {import("./host-words.js").Row} Row */

/** Tags that a line has room for; the others are counted. */
const TAGS_SHOWN = 2;

/**
 * What a line shows: a host, which may have been removed since, or the head of a group with its tag.
 *
 * @typedef {{ key: string, row: Row, isGone?: boolean } | { key: string, tag: string, hosts: number }} Item
 */

/** @param {string} name @param {...import("../../dom.js").Child} children */
const cell = (name, ...children) => el("div", { role: "gridcell", class: `host-${name}` }, ...children);

/**
 * The columns: their names in a class, their words, and what they are sorted by. @type {ReadonlyArray<readonly [name: string, text: string, by: string]>}
 */
export const COLUMNS = [
  ["tick", "", ""],
  ["name", "Host", "label"],
  ["status", "State", "state"],
  ["tags", "Tags", "tags"],
  ["doing", "Now", "now"],
  ["seen", "Last seen", "seen"],
  ["rtt", "RTT", "rtt"],
  ["version", "Version", "version"],
  ["more", "More", ""],
];

/** @param {Row} row @param {boolean} isSelected @param {{ selects: boolean }} what */
export function rowCells(row, isSelected, { selects }) {
  const { label, tags, version, base_url } = row;
  const box = el("input", { type: "checkbox", value: label, tabindex: -1, "aria-label": `Select ${label}` });
  box.checked = isSelected;
  const text = doing(row);
  return [
    cell("tick", selects && box),
    cell(
      "name",
      el("a", { href: hostAddress(label), tabindex: -1, title: `${label}\n${base_url}` }, label),
      row.trust === "nothing" && el("span", { class: "badge error" }, "not encrypted"),
    ),
    cell("status", stateBadge(row)),
    cell("tags", ...tagButtons(tags)),
    cell("doing", el("span", { title: text }, text)),
    cell("seen", seenTime(row)),
    cell("rtt", rttOf(row)),
    cell("version", version ?? "–"),
    cell(
      "more",
      el(
        "button",
        { type: "button", tabindex: -1, "aria-label": `More about ${label}`, "data-more": label },
        "⋯",
      ),
    ),
  ];
}

/** A host that was removed: it stands there until the order is made anew, and nothing can be done to it. @param {Row} row */
export const goneCells = (row) => [
  cell("tick"),
  cell("name", el("s", { title: row.label }, row.label)),
  cell("status", el("span", { class: "badge host-state none", "data-sign": "–" }, "removed")),
  cell("tags", row.tags.join(", ")),
  cell("doing"),
  cell("seen", seenTime(row)),
  cell("rtt"),
  cell("version"),
  cell("more"),
];

/** Each shows the hosts with that tag. @param {readonly string[]} tags */
function tagButtons(tags) {
  const shown = tags.slice(0, tags.length > TAGS_SHOWN ? TAGS_SHOWN - 1 : TAGS_SHOWN);
  const rest = tags.length - shown.length;
  return [
    ...shown.map((tag) =>
      el(
        "button",
        { type: "button", class: "tag", tabindex: -1, "data-tag": tag, title: `Hosts with the tag ${tag}` },
        tag,
      ),
    ),
    rest > 0 && el("span", { class: "hint", title: tags.join(", ") }, `+${rest}`),
  ];
}

/** The line above the hosts with a tag. @param {string} tag @param {number} hosts */
export const groupCells = (tag, hosts) => [
  el(
    "div",
    { role: "gridcell", class: "host-group", "aria-colspan": COLUMNS.length },
    el("strong", {}, tag === "" ? "without tags" : tag),
    el("span", { class: "hint" }, counted(hosts, "host")),
  ),
];
