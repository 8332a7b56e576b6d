/**
 * Hosts: those of the address book, one line each, however many they are; and what is done to some of them. `#hosts/LABEL` is one of
 * them. This server asks the hosts; the browser asks only this server.
 */
import { addressIn, hostAddress } from "../../address.js";
import { button, el, setText } from "../../dom.js";
import { count } from "../../format.js";
import { icon } from "../../icons.js";
import { actionButton, copyButton, loading, nothing, panel, time } from "../../parts.js";
import { doubtOf, nearest, parseHostQuery } from "../../query.js";
import { broadcastPanel } from "../broadcast.js";
import { joinPanel } from "../join.js";
import { wallPanel } from "../live-wall.js";
import { hostActs } from "./host-acts.js";
import { hostBulk } from "./host-bulk.js";
import { hostList } from "./host-list.js";
import { hostMenu } from "./host-menu.js";
import { countsOf, itemsOf, sortedBy } from "./host-order.js";
import { openHost } from "./host-page.js";
import { hostPeek } from "./host-peek.js";
import { hostRows } from "./host-rows.js";
import { hostSearch } from "./host-search.js";
import { hostsOf } from "./host-words.js";

/** @typedef {import("./host-words.js").Row} Row */
/** @typedef {import("./host-row.js").Item} Item */

/** The most screens of hosts that a search has found: each is a picture, and who wants more of them selects them. */
const MOST_ON_WALL = 200;

/** The word of a search that finds this label. @param {string} label */
const asWord = (label) => (/[\s,:!*?]/.test(label) ? `"${label}"` : label);

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
  /** Labels of the hosts whose screens are shown: those that are selected, else those that a search has found. @type {Set<string>} */
  const onWall = new Set();
  const wall = wallPanel(view, onWall);
  const joining = may("admin") && joinPanel(view);
  const when = el("span", { class: "hint", role: "status" });
  /** Says how many hosts that are listed were removed. */
  const gone = el("span", { class: "hint", role: "status" });
  const made = panel("Hosts", { class: "hosts" });
  const rows = hostRows(view, { changed: () => refresh(false), polled: tellPolled, fail: made.fail });
  /** New names of hosts, by the old ones: rows of before have the latter, and what is selected stays so. @type {Map<string, string>} */
  const renamed = new Map();
  const acts = hostActs(
    view,
    made.tell,
    rows.changed,
    (from, to) => void (selected.has(from) && renamed.set(from, to)),
  );
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
      plan(label) {
        if (may("operate")) void bulk.plan(label);
      },
      help: search.help,
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
    gone,
    when,
    copyButton("Copy link", () => location.href, "to this list") ?? "",
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
  /** How many hosts are in each state. @type {ReadonlyMap<string, number>} */
  let counts = new Map();
  let isKnown = false;

  function clear() {
    selected.clear();
    tellSelection();
  }

  function tellSelection() {
    const here = new Set(selected.size > 0 ? listed : []);
    bulk.show([...selected].filter((label) => !here.has(label)).length);
    broadcast.tellSelection();
    onWall.clear();
    const found = search.shown().q === "" ? [] : listed.slice(0, MOST_ON_WALL);
    for (const label of selected.size > 0 ? selected : found) onWall.add(label);
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

  /** All rows in the order of `sort`, until they change: a key in the search sorts nothing. @type {readonly Row[]} */
  let sorted = [];
  let sortedAs = "";

  /** Shows the rows as they are now. @param {boolean} isAsked whether a person asks for it: then lines may change their places */
  function refresh(isAsked) {
    const all = rows.all();
    const { q, sort, group } = search.shown();
    if (!isAsked || sort !== sortedAs) {
      sorted = sortedBy(all, sort);
      sortedAs = sort;
      counts = countsOf(all);
      forgetGone(all);
    }
    isKnown ||= !isAsked || all.length > 0;
    const query = parseHostQuery(q);
    search.count(counts);
    // What is not a query yet leaves the list as it is.
    if ("fault" in query) items = inPlace(items);
    else showItems(itemsOf(query.select(sorted, Date.now()), group), isAsked);
    if ("fault" in query) search.tell(query.fault);
    else search.tell((all.length > 0 && items.length === 0 && doubtOf(q)) || "", true);
    const labels = items.flatMap((item) => ("row" in item && !item.isGone ? [item.row.label] : []));
    listed = group === "" ? labels : [...new Set(labels)];
    tellEmpty(all.length, q);
    tellSelection();
  }

  /** @param {readonly Item[]} next @param {boolean} isAsked */
  function showItems(next, isAsked) {
    const isSame = () => next.length === items.length && next.every(({ key }, at) => key === items[at]?.key);
    const isSome = items.length > 0 && rows.all().length > 0;
    const stays = !isAsked && isSome && list.isUsed() && !isSame();
    items = stays ? inPlace(items) : next;
    moved.hidden = !stays;
    setText(moved, stays ? "Some hosts have changed place: sort again" : "");
    const removed = new Set(items.flatMap((item) => ("row" in item && item.isGone ? item.row.label : [])));
    setText(gone, removed.size > 0 ? `${hostsOf(removed.size)} removed` : "");
    if (isAsked) list.toTop();
  }

  /** The same lines with what is known now; those of hosts that were removed say so. @param {readonly Item[]} before @returns {Item[]} */
  const inPlace = (before) =>
    before.map((item) => {
      if (!("row" in item)) return item;
      const row = rows.of(item.row.label);
      return row ? { key: item.key, row } : { ...item, isGone: true };
    });

  /** @param {readonly Row[]} all */
  function forgetGone(all) {
    if (selected.size === 0) return;
    const here = new Set(all.map(({ label }) => label));
    for (const label of [...selected].filter((one) => !here.has(one))) {
      selected.delete(label);
      const to = renamed.get(label);
      if (to !== undefined && here.has(to)) selected.add(to);
      // Another host may get the old name.
      renamed.delete(label);
    }
  }

  /** What `empty` says now; undefined while it says that hosts are loaded. @type {string | undefined} */
  let toldEmpty;

  /** @param {number} known @param {string} q */
  function tellEmpty(known, q) {
    if (!isKnown) return;
    list.root.hidden = items.length === 0;
    const told = items.length > 0 ? "" : `${known === 0} ${q}`;
    if (told === toldEmpty) return;
    toldEmpty = told;
    const none = nothing(
      "No hosts",
      may("admin")
        ? "Let hosts join with a string, or add them: name, address and token of each."
        : "The hosts that are managed from here are listed here.",
    );
    const near = nearest(
      q.trim(),
      sorted.map(({ label }) => label),
    );
    const unfit = el(
      "div",
      {},
      nothing("No host fits that", q),
      el(
        "p",
        { class: "buttons" },
        near !== undefined && button(`Did you mean ${near}?`, () => search.update({ q: asWord(near) })),
        button("Show all hosts", () => search.update({ q: "" })),
      ),
    );
    empty.replaceChildren(...(items.length > 0 ? [] : [known === 0 ? none : unfit]));
  }

  /** @param {readonly import("./host-rows.js").PollResult[]} found @param {Date} at */
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
