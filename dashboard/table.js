/**
 * Tables that are updated in place while they are read.
 */
import { el } from "./dom.js";
import { loading } from "./parts.js";

/** @typedef {import("./dom.js").Child} Child */

/** What may have the focus in a cell. */
const FOCUSED = "a, button";

/**
 * @template Row
 * @typedef {object} Column
 * @property {string} label
 * @property {(row: Row) => Child | Child[]} cell
 * @property {boolean} [hidden] leaves the column out
 * @property {"number" | "wide" | "tight" | "actions"} [kind] numbers are right-aligned, wide columns take the room that is left
 */

/**
 * A table that replaces only cells that changed, so that selection, checked boxes and focus are kept. A button in a cell
 * may therefore depend only on the row's key and on what the cell shows.
 *
 * @template Row
 * @param {{
 *   label: string,
 *   columns: ReadonlyArray<Column<Row>>,
 *   key: (row: Row) => string | number,
 *   empty: () => Node,
 *   rowClass?: (row: Row) => string,
 *   compact?: boolean,
 * }} options `compact` for a table narrow enough for any screen
 */
export function table({ label, columns: all, key, empty, rowClass = () => "", compact = false }) {
  const columns = all.filter(({ hidden = false }) => !hidden);
  /** @type {Map<string | number, { text: string, row: HTMLTableRowElement }>} */
  let shown = new Map();
  const body = el("tbody", { role: "rowgroup" });
  const head = columns.map((column) =>
    el("th", { scope: "col", role: "columnheader", class: column.kind }, column.label),
  );
  const whole = el(
    "table",
    { role: "table", "aria-label": label },
    el("thead", { role: "rowgroup" }, el("tr", { role: "row" }, ...head)),
    body,
  );
  const root = el("div", { class: compact ? "table compact" : "table" }, loading());
  /** The width that the columns need, if more than there is. */
  let needs = 0;

  /** Without room for the columns, each row becomes a list of its cells. */
  function fit() {
    if (compact || root.clientWidth === 0) return;
    if (root.clientWidth >= needs) {
      root.classList.remove("stacked");
      needs = root.scrollWidth > root.clientWidth ? root.scrollWidth : 0;
    }
    root.classList.toggle("stacked", needs > 0);
  }
  new ResizeObserver(fit).observe(root);

  /** @param {Row} row */
  const make = (row) =>
    el(
      "tr",
      { role: "row" },
      ...columns.map(({ label: name, cell, kind }) =>
        el("td", { role: "cell", class: kind, "data-label": name }, ...[cell(row)].flat()),
      ),
    );

  return {
    root,
    /** @param {readonly Row[]} rows */
    show(rows) {
      if (rows.length === 0) {
        shown = new Map();
        body.replaceChildren();
        root.replaceChildren(empty());
        return;
      }
      /** The number of rows with a key so far: rows with equal keys are all shown. */
      const met = new Map();
      const next = rows.map((row) => {
        const name = key(row);
        const nth = met.get(name) ?? 0;
        met.set(name, nth + 1);
        const id = nth === 0 ? name : `${name} #${nth}`;
        const text = JSON.stringify(row);
        const known = shown.get(id);
        const made = known?.text === text ? known.row : known ? update(known.row, make(row)) : make(row);
        made.className = rowClass(row);
        return { id, text, row: made };
      });
      shown = new Map(next.map(({ id, text, row }) => [id, { text, row }]));
      place(
        body,
        next.map(({ row }) => row),
      );
      if (whole.parentNode !== root) root.replaceChildren(whole);
      fit();
    },
  };
}

/**
 * Updates a row cell by cell. The focus stays on the button or link at the same place in its cell.
 *
 * @param {HTMLTableRowElement} row
 * @param {HTMLTableRowElement} next
 */
function update(row, next) {
  const cells = [...next.cells];
  [...row.cells].forEach((cell, at) => {
    const made = cells[at];
    if (!made || cell.isEqualNode(made)) return;
    const focused = [...cell.querySelectorAll(FOCUSED)].findIndex((one) => one.matches(":focus"));
    cell.replaceWith(made);
    const same = made.querySelectorAll(FOCUSED)[focused];
    if (same instanceof HTMLElement) same.focus();
  });
  return row;
}

/**
 * Makes `children` the children of `parent`, moving as few as possible.
 *
 * @param {Element} parent
 * @param {readonly Element[]} children
 */
function place(parent, children) {
  const wanted = new Set(children);
  for (const child of [...parent.children]) if (!wanted.has(child)) child.remove();
  let at = parent.firstElementChild;
  for (const child of children) {
    if (child === at) at = at.nextElementSibling;
    else parent.insertBefore(child, at);
  }
}
