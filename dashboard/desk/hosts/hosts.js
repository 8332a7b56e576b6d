/**
 * Hosts: those of the address book, one line each, however many they are; and what is done to some of them. `#hosts/LABEL` is one of
 * them. This server asks the hosts; the browser asks only this server.
 */
import { addressIn, hostAddress } from "../../address.js";
import { button, el, setText } from "../../dom.js";
import { count } from "../../format.js";
import { icon } from "../../icons.js";
import { actionButton, loading, nothing, panel, time } from "../../parts.js";
import { parseHostQuery } from "../../query.js";
import { broadcastPanel } from "../broadcast.js";
import { joinPanel } from "../join.js";
import { wallPanel } from "../live-wall.js";
import { hostActs } from "./host-acts.js";
import { hostBulk } from "./host-bulk.js";
import { hostList } from "./host-list.js";
import { hostMenu } from "./host-menu.js";
import { openHost } from "./host-page.js";
import { hostPeek } from "./host-peek.js";
import { hostRows } from "./host-rows.js";
import { hostSearch, USUAL_SORT } from "./host-search.js";
import { doing, STATE_ORDER, stateOf } from "./host-words.js";

/** @typedef {import("./host-words.js").Row} Row */
/** @typedef {import("./host-row.js").Item} Item */

/** @param {import("../../view.js").View} view */
export function open(view) {
  const [label] = addressIn(location.hash).path;
  if (label === undefined || label === "") openList(view);
  else openHost(view, label);
}

/** @param {import("../../view.js").View} view */
function openList(view) {
  const { may, signal } = view;
  /** Labels of the hosts that something is done to. @type {Set<string>} */
  const selected = new Set();
  const broadcast = broadcastPanel(view, selected);
  const wall = wallPanel(view, selected);
  const joining = may("admin") && joinPanel(view);
  const when = el("span", { class: "hint", role: "status" });
  const made = panel("Hosts", { class: "hosts" });
  const rows = hostRows(view, { changed: () => refresh(false), polled: tellPolled, fail: made.fail });
  /** New names of hosts, by the old ones: rows of before have the latter, and what is selected stays so. @type {Map<string, string>} */
  const renamed = new Map();
  const acts = hostActs(view, made.tell, rows.again, (from, to) => renamed.set(from, to));
  const menu = hostMenu(view, acts, made.tell);
  const search = hostSearch(
    () => refresh(true),
    () => list.enter(),
    signal,
  );
  const list = hostList(
    {
      selects: true,
      isSelected: (label) => selected.has(label),
      select(labels, on) {
        for (const label of labels) on ? selected.add(label) : selected.delete(label);
        tellSelection();
      },
      selectAll() {
        for (const label of listed) selected.add(label);
        tellSelection();
      },
      clear,
      open: (label) => location.assign(hostAddress(label)),
      look(label) {
        if (may("screen")) location.assign(`#live:${encodeURIComponent(label)}`);
      },
      menu(label, by) {
        const row = rows.of(label);
        if (row) menu.open(row, by, list.root);
      },
      tag: search.tag,
      sort(by) {
        const { sort } = search.shown();
        search.update({ sort: sort === by ? `-${by}` : by });
      },
    },
    signal,
  );
  const peek = may("screen") ? hostPeek(view, list.root, rows.of) : null;
  const bulk = hostBulk(view, {
    ...{ selected, clear, acts, rows, tell: made.tell },
    send: broadcast.enter,
    screens: wall.enter,
  });
  const moved = button("", () => refresh(true), { class: "hosts-moved", hidden: true });
  const empty = el("div", { class: "hosts-empty" }, loading());
  const tools = [
    when,
    ...(peek ? [peek.toggle] : []),
    ...(may("operate") ? [actionButton([icon("refresh"), "Poll"], rows.poll, made.tell)] : []),
    ...(may("admin") ? [actionButton([icon("add"), "Add…"], acts.add, made.tell)] : []),
  ];
  made.root.querySelector(".tools")?.append(...tools);
  list.root.hidden = true;
  made.body.append(search.root, moved, list.root, empty, bulk.root, menu.root);
  if (peek) made.body.append(peek.root);
  if (!may("operate")) setText(when, "not polled: that needs a token for operate");

  /** The labels that are listed, in their order; and how each group of them is headed. @type {string[]} */
  let listed = [];
  /** The items that are shown, in the order of then. @type {readonly Item[]} */
  let items = [];
  let isKnown = false;

  function clear() {
    selected.clear();
    tellSelection();
  }

  function tellSelection() {
    const here = new Set(listed);
    bulk.show([...selected].filter((label) => !here.has(label)).length);
    broadcast.tellSelection();
    wall.show();
    show();
  }

  function show() {
    const { sort } = search.shown();
    const isSome = selected.size > 0 && listed.some((label) => selected.has(label));
    list.show(items, {
      ...{ sort: sort.replace(/^-/, ""), isDown: sort.startsWith("-") },
      ...{ isSome, isAll: isSome && listed.every((label) => selected.has(label)) },
    });
  }

  /** Shows the rows as they are now. @param {boolean} isAsked whether a person asks for it: then lines may change their places */
  function refresh(isAsked) {
    const all = rows.all();
    if (isAsked) isKnown ||= all.length > 0;
    else isKnown = true;
    const { q, sort, group } = search.shown();
    const query = parseHostQuery(q);
    search.tell("fault" in query ? query.fault : "");
    search.count(countsOf(all));
    // What is not a query yet leaves the list as it is.
    const found =
      "fault" in query ? all.filter(({ label }) => listed.includes(label)) : query.select(all, Date.now());
    const sorted = sortedBy(found, sort);
    const next = group === "tag" ? groupsOf(sorted) : sorted.map((row) => ({ key: row.label, row }));
    forgetGone(all);
    const isSame = next.length === items.length && next.every(({ key }, at) => key === items[at]?.key);
    const stays = !isAsked && !isSame && items.length > 0 && list.isUsed();
    items = stays ? inPlace(items) : next;
    moved.hidden = !stays;
    setText(moved, stays ? "Some hosts have changed place: sort again" : "");
    listed = [...new Set(items.flatMap((item) => ("row" in item ? [item.row.label] : [])))];
    if (isAsked) list.toTop();
    tellEmpty(all.length, q);
    tellSelection();
  }

  /** The same lines with what is known now; those that are gone stay out. @param {readonly Item[]} before @returns {Item[]} */
  function inPlace(before) {
    /** @type {Item[]} */
    const now = [];
    for (const item of before) {
      const row = "row" in item ? rows.of(item.row.label) : undefined;
      if (!("row" in item)) now.push(item);
      else if (row) now.push({ key: item.key, row });
    }
    return now;
  }

  /** @param {readonly Row[]} all */
  function forgetGone(all) {
    if (selected.size === 0) return;
    const here = new Set(all.map(({ label }) => label));
    for (const label of [...selected].filter((one) => !here.has(one))) {
      selected.delete(label);
      const to = renamed.get(label);
      if (to !== undefined) selected.add(to);
    }
  }

  /** @param {number} known @param {string} q */
  function tellEmpty(known, q) {
    if (!isKnown) return;
    list.root.hidden = items.length === 0;
    const none = nothing(
      "No hosts",
      may("admin")
        ? "Let hosts join with a string, or add them: name, address and token of each."
        : "The hosts that are managed from here are listed here.",
    );
    const unfit = el(
      "div",
      {},
      nothing("No host fits that", q),
      el(
        "p",
        { class: "buttons" },
        button("Show all hosts", () => search.update({ q: "" })),
      ),
    );
    empty.replaceChildren(...(items.length > 0 ? [] : [known === 0 ? none : unfit]));
  }

  /** @param {readonly import("./host-rows.js").Polled[]} found @param {Date} at */
  function tellPolled(found, at) {
    const well = found.filter(({ healthy }) => healthy).length;
    when.replaceChildren(
      `${count(well)} of ${count(found.length)} healthy · polled `,
      time(at.toISOString()),
    );
  }

  view.root.append(
    el(
      "div",
      { class: "stack" },
      made.root,
      may("screen") && wall.root,
      may("operate") && broadcast.root,
      joining,
    ),
  );
}

/** How many hosts are in each state. @param {readonly Row[]} rows */
function countsOf(rows) {
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
  version: ({ version }) => version ?? "",
};

/** @param {readonly Row[]} rows @param {string} sort */
function sortedBy(rows, sort) {
  const by = SORTED[sort.replace(/^-/, "")] ?? SORTED[USUAL_SORT] ?? (() => 0);
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
