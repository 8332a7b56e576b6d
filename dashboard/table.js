/**
 * Tables that are brought up to date under the eyes of whoever reads them.
 */
import { el } from "./dom.js";
import { loading } from "./parts.js";

/** @typedef {import("./dom.js").Child} Child */

/**
 * @template Row
 * @typedef {object} Column
 * @property {string} label
 * @property {(row: Row) => Child | Child[]} cell
 * @property {"number" | "wide" | "tight" | "actions"} [kind] numbers are aligned, wide columns take what is left
 */

/**
 * A table whose cells stay while they say the same: what is selected, checked or has the focus is left alone. So what a
 * button in a cell does may depend on the row's key, and on what the cell shows.
 *
 * @template Row
 * @param {{
 *   label: string,
 *   columns: ReadonlyArray<Column<Row>>,
 *   key: (row: Row) => string | number,
 *   empty: () => Node,
 *   rowClass?: (row: Row) => string,
 *   compact?: boolean,
 * }} options `compact` for one so narrow that it stays a table on any screen
 */
export function table({ label, columns, key, empty, rowClass = () => "", compact = false }) {
  /** @type {Map<string | number, { told: string, row: HTMLTableRowElement }>} */
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
  /** The width that it needs, while that is more than there is. */
  let needs = 0;

  /** Where there is no room for the columns, each row becomes a list of its cells. */
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
      /** How many rows there were with a key: what cannot be told apart stays as many as it is. */
      const met = new Map();
      const next = rows.map((row) => {
        const name = key(row);
        const nth = met.get(name) ?? 0;
        met.set(name, nth + 1);
        const id = nth === 0 ? name : `${name} #${nth}`;
        const told = JSON.stringify(row);
        const known = shown.get(id);
        const made = known?.told === told ? known.row : known ? update(known.row, make(row)) : make(row);
        made.className = rowClass(row);
        return { id, told, row: made };
      });
      shown = new Map(next.map(({ id, told, row }) => [id, { told, row }]));
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
 * Brings a row up to date, cell by cell. The focus stays at its place among the buttons of a cell.
 *
 * @param {HTMLTableRowElement} row
 * @param {HTMLTableRowElement} next
 */
function update(row, next) {
  const cells = [...next.cells];
  [...row.cells].forEach((cell, at) => {
    const made = cells[at];
    if (!made || cell.isEqualNode(made)) return;
    const focused = [...cell.querySelectorAll("button")].findIndex((one) => one.matches(":focus"));
    cell.replaceWith(made);
    made.querySelectorAll("button")[focused]?.focus();
  });
  return row;
}

/**
 * Makes `children` the children of `parent`, moving only what has to move.
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
