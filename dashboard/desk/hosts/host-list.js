/**
 * The list of hosts: a grid of which only the lines in view are in the document, however many hosts there are. It has one tab stop; the
 * line that keys act upon is its active descendant (WAI-ARIA 1.2, grid).
 */
import { button, el, newId } from "../../dom.js";
import { COLUMNS, goneCells, groupCells, rowCells } from "./host-row.js";

/** @typedef {import("./host-row.js").Item} Item */

/** Pixels of a line: as wide as a desk, and in two lines on a phone. As in style.css. */
const HEIGHT = 36;
const HEIGHT_NARROW = 60;
const NARROW = "(max-width: 40rem)";

/** Lines beyond each edge of what is in view. */
const BEYOND = 8;

/** The keys that move, each by how many lines; a page is what is in view. @type {Record<string, (page: number) => number>} */
const MOVES = {
  ArrowDown: () => 1,
  ArrowUp: () => -1,
  j: () => 1,
  k: () => -1,
  PageDown: (page) => page,
  PageUp: (page) => -page,
  Home: () => Number.NEGATIVE_INFINITY,
  End: () => Number.POSITIVE_INFINITY,
};

/**
 * What the list tells.
 *
 * @typedef {object} ListActs
 * @property {boolean} selects whether hosts can be selected
 * @property {(label: string) => boolean} isSelected
 * @property {(labels: readonly string[], on: boolean) => void} select
 * @property {() => void} selectAll
 * @property {() => void} clear ends the selection
 * @property {(label: string) => void} open
 * @property {(label: string) => void} look opens its screen
 * @property {(label: string, by: HTMLElement) => void} menu
 * @property {(label: string) => void} plan makes a plan for the selected hosts, or for this one where none is
 * @property {() => void} help
 * @property {(tag: string) => void} tag
 * @property {(by: string) => void} sort
 */

/**
 * @param {ListActs} acts
 * @param {AbortSignal} signal
 */
export function hostList(acts, signal) {
  /** @type {readonly Item[]} */
  let items = [];
  /** The key of the line that keys act upon; and that from which a range is selected. */
  let active = "";
  let anchor = "";
  /** By key. @type {Map<string, { root: HTMLElement, shown: string, of: unknown }>} */
  const lines = new Map();
  const narrow = matchMedia(NARROW);
  let frame = 0;
  const id = newId("hosts");

  const all = el("input", { type: "checkbox", "aria-label": "Select all hosts that are listed" });
  all.addEventListener("change", () => (all.checked ? acts.selectAll() : acts.clear()));
  const heads = COLUMNS.map(([name, text, by]) => {
    const unsorted = name === "tick" && acts.selects ? all : el("span", { class: "unseen" }, text);
    const head = by === "" ? unsorted : button(text, () => acts.sort(by));
    return el("div", { role: "columnheader", class: `host-${name}` }, head);
  });
  const space = el("div", { role: "rowgroup", class: "hosts-space" });
  const root = el(
    "div",
    {
      ...{ class: "hosts-grid", role: "grid", tabindex: 0, id, "aria-label": "Hosts" },
      ...(acts.selects && { "aria-multiselectable": "true" }),
    },
    el(
      "div",
      { role: "rowgroup", class: "hosts-head" },
      el("div", { role: "row", class: "host-line", "aria-rowindex": 1 }, ...heads),
    ),
    space,
  );

  const height = () => (narrow.matches ? HEIGHT_NARROW : HEIGHT);
  /** Lines that are whole in view. */
  const page = () => Math.max(1, Math.floor((root.clientHeight - height()) / height()));
  const placeOf = (/** @type {string} */ key) => items.findIndex((one) => one.key === key);
  /** The label of a host to which something can be done; else empty. @param {Item | undefined} item */
  const labelIn = (item) => (item && "row" in item && !item.isGone ? item.row.label : "");

  function draw() {
    frame = 0;
    const each = height();
    space.style.height = `${items.length * each}px`;
    const from = Math.max(0, Math.floor(root.scrollTop / each) - BEYOND);
    const to = Math.min(items.length, Math.ceil((root.scrollTop + root.clientHeight) / each) + BEYOND);
    const wanted = items.slice(from, to);
    const keys = new Set(wanted.map(({ key }) => key));
    for (const [key, { root: line }] of lines) {
      if (keys.has(key)) continue;
      // The focus stays in the list when its line goes.
      if (line.contains(document.activeElement)) root.focus({ preventScroll: true });
      line.remove();
      lines.delete(key);
    }
    for (const [nth, item] of wanted.entries()) {
      const line = lineOf(item, from + nth);
      line.style.transform = `translateY(${(from + nth) * each}px)`;
      const there = space.children[nth] ?? null;
      if (there !== line) space.insertBefore(line, there);
    }
    const isHere = keys.has(active);
    if (isHere) root.setAttribute("aria-activedescendant", `${id}-${lineId(active)}`);
    else root.removeAttribute("aria-activedescendant");
  }

  /** Numbers for keys, as an id has no spaces. @type {Map<string, number>} */
  const ids = new Map();
  /** @param {string} key */
  function lineId(key) {
    const known = ids.get(key) ?? ids.size;
    ids.set(key, known);
    return known;
  }

  /** The line of an item, made anew only where it shows something else. @param {Item} item @param {number} at */
  function lineOf(item, at) {
    const known = lines.get(item.key);
    const label = labelIn(item);
    const isSelected = label !== "" && acts.isSelected(label);
    const shown = `${isSelected} ${item.key === active}`;
    const of = "hosts" in item ? item.hosts : item.isGone ? "gone" : item.row;
    const line =
      known?.root ??
      el("div", { role: "row", class: "host-line", id: `${id}-${lineId(item.key)}`, "data-key": item.key });
    line.setAttribute("aria-rowindex", `${at + 2}`);
    if (known?.of === of && known.shown === shown) return line;
    if (known?.of !== of) {
      const cells = cellsOf(item, isSelected);
      // What had the focus in it goes: the next key is for the list.
      if (line.contains(document.activeElement)) root.focus({ preventScroll: true });
      line.replaceChildren(...cells);
    }
    line.classList.toggle("active", item.key === active);
    line.classList.toggle("gone", of === "gone");
    if (of === "gone") line.setAttribute("aria-disabled", "true");
    else line.removeAttribute("aria-disabled");
    if (label === "" || !acts.selects) line.removeAttribute("aria-selected");
    else line.setAttribute("aria-selected", String(isSelected));
    const box = line.querySelector("input");
    if (box) box.checked = isSelected;
    lines.set(item.key, { root: line, shown, of });
    return line;
  }

  /** @param {Item} item @param {boolean} isSelected */
  function cellsOf(item, isSelected) {
    if ("hosts" in item) return groupCells(item.tag, item.hosts);
    return item.isGone ? goneCells(item.row) : rowCells(item.row, isSelected, acts);
  }

  const soon = () => {
    frame ||= requestAnimationFrame(draw);
  };

  /** @param {number} at @param {boolean} extends_ whether the selection grows to there */
  function moveTo(at, extends_) {
    const place = Math.max(0, Math.min(items.length - 1, at));
    const item = items[place];
    if (!item) return;
    if (extends_) selectRange(anchor === "" ? active : anchor, item.key, true);
    else anchor = item.key;
    active = item.key;
    const [top, bottom] = [place * height(), (place + 1) * height()];
    const view = root.clientHeight - height();
    if (top < root.scrollTop) root.scrollTop = top;
    else if (bottom > root.scrollTop + view) root.scrollTop = bottom - view;
    draw();
  }

  /** @param {string} from @param {string} to keys @param {boolean} on */
  function selectRange(from, to, on) {
    // Where the range began is not listed any more.
    if (placeOf(from) === -1) from = to;
    const ends = [placeOf(from), placeOf(to)].map((at) => Math.max(0, at));
    const some = items.slice(Math.min(...ends), Math.max(...ends) + 1);
    acts.select(some.map(labelIn).filter(Boolean), on);
    anchor = from;
  }

  root.addEventListener("keydown", (event) => {
    const { key, shiftKey, ctrlKey, metaKey, altKey, target } = event;
    if (altKey || (target !== root && target instanceof HTMLElement && target.closest(".hosts-head"))) return;
    const label = labelIn(items[placeOf(active)]);
    const move = MOVES[key];
    if (ctrlKey || metaKey) {
      if (key !== "a" || !acts.selects) return;
      acts.selectAll();
    } else if (move)
      moveTo(
        active === "" && !key.startsWith("E") ? 0 : placeOf(active) + move(page()),
        shiftKey && acts.selects,
      );
    else if (key === "x" || key === " ") {
      if (label === "" || !acts.selects) return;
      acts.select([label], !acts.isSelected(label));
      anchor = active;
    } else if (key === "Enter" && label !== "") acts.open(label);
    else if (key === "o" && label !== "") acts.look(label);
    else if (key === "m" && label !== "") acts.menu(label, lines.get(active)?.root ?? root);
    else if (key === "p" && label !== "") acts.plan(label);
    else if (key === "?") acts.help();
    else if (key === "Escape") acts.clear();
    else return;
    event.preventDefault();
  });

  space.addEventListener("click", (event) => {
    const { target, shiftKey } = event;
    if (!(target instanceof HTMLElement)) return;
    const key = target.closest(".host-line")?.getAttribute("data-key") ?? "";
    const label = labelIn(items[placeOf(key)]);
    const tag = target.getAttribute("data-tag");
    if (target instanceof HTMLInputElement) {
      if (shiftKey && anchor !== "") selectRange(anchor, key, target.checked);
      else if (label !== "") acts.select([label], target.checked);
    } else if (tag !== null) acts.tag(tag);
    else if (target.hasAttribute("data-more")) acts.menu(label, target);
    active = key;
    if (!shiftKey) anchor = key;
    // The next key is for the list.
    if (target.closest("button, a") === null) root.focus({ preventScroll: true });
    soon();
  });

  root.addEventListener("scroll", soon, { passive: true });
  const sized = new ResizeObserver(soon);
  sized.observe(root);
  signal.addEventListener("abort", () => {
    sized.disconnect();
    cancelAnimationFrame(frame);
  });

  return {
    root,
    /** Whether somebody points at it or types into it: then nothing changes its place. */
    isUsed: () => root.matches(":hover, :focus-within") || root.scrollTop > 0,
    /**
     * @param {readonly Item[]} next
     * @param {{ sort: string, isDown: boolean, isAll: boolean, isSome: boolean }} how
     */
    show(next, { sort, isDown, isAll, isSome }) {
      items = next;
      root.setAttribute("aria-rowcount", `${items.length + 1}`);
      for (const [nth, [, , by]] of COLUMNS.entries()) {
        const head = heads[nth];
        if (by !== "" && by === sort) head?.setAttribute("aria-sort", isDown ? "descending" : "ascending");
        else head?.removeAttribute("aria-sort");
      }
      all.checked = isAll;
      all.indeterminate = isSome && !isAll;
      // It grows with its hosts up to what style.css allows.
      root.style.setProperty("--lines", `${items.length}`);
      draw();
    },
    /** Goes to the first line; the next key moves from there. */
    enter() {
      root.focus();
      if (placeOf(active) === -1) moveTo(0, false);
    },
    toTop() {
      root.scrollTop = 0;
    },
  };
}
