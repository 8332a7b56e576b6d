/**
 * What pages are put together from: panels, tables, badges, times, questions.
 */
import { button, el, newId, setText } from "./dom.js";
import { ago, count, moment } from "./format.js";
import { icon } from "./icons.js";

/** @typedef {import("./dom.js").Child} Child */
/** @typedef {"ok" | "warn" | "error" | "info" | "none"} Tone */

/**
 * A box with a heading. What goes wrong inside is told inside, above what was there before.
 *
 * @param {string} title
 * @param {{ tools?: Child[], class?: string }} [options] `tools` stand beside the heading
 */
export function panel(title, { tools = [], class: more = "" } = {}) {
  const id = newId("panel");
  const trouble = el("div", { role: "alert" });
  const notes = el("div", { class: "panel-notes" });
  const body = el("div", { class: "panel-body" });
  const root = el(
    "section",
    { class: `panel ${more}`, "aria-labelledby": id },
    el("header", { class: "panel-head" }, el("h2", { id }, title), el("div", { class: "tools" }, ...tools)),
    trouble,
    notes,
    body,
  );
  return {
    root,
    /** What is to be said before anything else; takes no room while there is nothing. */
    notes,
    body,
    /** @param {{ message: string } | null} error null takes back what was said */
    fail(error) {
      trouble.replaceChildren(...(error ? [notice("error", error.message)] : []));
    },
  };
}

/**
 * A line that says how something is, with an icon for those who do not see the colour.
 *
 * @param {Tone} tone
 * @param {...Child} text
 */
export function notice(tone, ...text) {
  return el(
    "div",
    { class: `notice ${tone}` },
    icon(tone === "none" ? "info" : tone),
    el("div", {}, ...text),
  );
}

/**
 * What stands where there is nothing: that there is nothing, and what to do about it.
 *
 * @param {string} title
 * @param {...Child} todo
 */
export function nothing(title, ...todo) {
  return el("div", { class: "nothing" }, el("strong", {}, title), el("p", {}, ...todo));
}

/** Stands where an answer is going to be. */
export const loading = () => el("p", { class: "nothing", role: "status" }, "Loading…");

/**
 * A word in a colour that says how good it is; the word says so too.
 *
 * @param {Tone} tone
 * @param {string} text
 */
export const badge = (tone, text) => el("span", { class: `badge ${tone}` }, text);

/** @param {string | null | undefined} iso a moment, told as how long ago it was; the exact one on hover */
export function time(iso) {
  if (!iso || Number.isNaN(Date.parse(iso))) return el("span", { class: "faint" }, iso || "–");
  return el("time", { datetime: iso, title: moment(iso), class: "ago" }, ago(iso));
}

/** Brings every {@link time} of the page up to date. */
export function refreshTimes() {
  for (const element of document.querySelectorAll("time.ago")) {
    const iso = element.getAttribute("datetime");
    if (iso) setText(element, ago(iso));
  }
}

/**
 * A figure with its name.
 *
 * @param {string} label
 */
export function figure(label) {
  const value = el("dd", {}, "–");
  return {
    root: el("div", { class: "figure" }, el("dt", {}, label), value),
    /**
     * @param {string} text
     * @param {Tone} [tone]
     * @param {string} [title]
     */
    show(text, tone = "none", title = "") {
      setText(value, text);
      value.className = tone;
      value.title = title;
    },
  };
}

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
 * }} options `compact` for one so narrow that it stays a table on a small screen
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
  const root = el("div", { class: compact ? "table" : "table stacks" }, loading());

  /** @param {Row} row */
  const make = (row) =>
    el(
      "tr",
      { role: "row", class: rowClass(row) },
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
      const next = rows.map((row) => {
        const id = key(row);
        const told = JSON.stringify(row) + rowClass(row);
        const known = shown.get(id);
        if (known?.told === told) return { id, told, row: known.row };
        return { id, told, row: known ? update(known.row, make(row)) : make(row) };
      });
      shown = new Map(next.map(({ id, told, row }) => [id, { told, row }]));
      place(
        body,
        next.map(({ row }) => row),
      );
      if (whole.parentNode !== root) root.replaceChildren(whole);
    },
  };
}

/**
 * Brings a row up to date, cell by cell.
 *
 * @param {HTMLTableRowElement} row
 * @param {HTMLTableRowElement} next
 */
function update(row, next) {
  row.className = next.className;
  const cells = [...next.cells];
  [...row.cells].forEach((cell, at) => {
    const made = cells[at];
    if (made && !cell.isEqualNode(made)) cell.replaceWith(made);
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

/**
 * Asks before something is done; resolves to whether it is to be done.
 *
 * @param {string} title
 * @param {string} doIt what the button says
 * @param {...Child} content
 * @returns {Promise<boolean>}
 */
export function ask(title, doIt, ...content) {
  const id = newId("dialog");
  const cancel = button("Cancel", () => dialog.close("no"));
  const form = el(
    "form",
    { method: "dialog" },
    el("h2", { id }, title),
    el("div", { class: "dialog-body" }, ...content),
    el("div", { class: "dialog-foot" }, cancel, el("button", { value: "yes", class: "primary" }, doIt)),
  );
  const dialog = el("dialog", { "aria-labelledby": id }, form);
  document.body.append(dialog);
  return new Promise((resolve) => {
    dialog.addEventListener("close", () => {
      dialog.remove();
      resolve(dialog.returnValue === "yes");
    });
    dialog.showModal();
  });
}

/**
 * A button that does something that takes its time: it cannot be pressed again meanwhile, and what goes wrong is told.
 *
 * @param {Child | readonly Child[]} label
 * @param {() => Promise<void>} act
 * @param {(error: Error | null) => void} tell null when it starts anew
 * @param {import("./dom.js").Attributes} [attributes]
 */
export function actionButton(label, act, tell, attributes = {}) {
  const made = button(
    label,
    async () => {
      if (made.getAttribute("aria-disabled") === "true") return;
      // Not `disabled`: that would take the focus away.
      made.setAttribute("aria-disabled", "true");
      tell(null);
      try {
        await act();
      } catch (error) {
        tell(error instanceof Error ? error : new Error(String(error)));
      } finally {
        made.removeAttribute("aria-disabled");
      }
    },
    attributes,
  );
  return made;
}

/**
 * A button that copies a text; nothing where the browser has no clipboard (it needs HTTPS or loopback).
 *
 * @param {string} label
 * @param {() => string} text
 */
export function copyButton(label, text) {
  if (!navigator.clipboard) return null;
  const says = el("span", { role: "status" }, label);
  return button([icon("copy"), says], async () => {
    await navigator.clipboard.writeText(text());
    setText(says, "Copied");
    setTimeout(() => setText(says, label), 2_000);
  });
}

/**
 * Hands `text` to the browser as a file to keep.
 *
 * @param {string} name
 * @param {string} text
 */
export function download(name, text) {
  const url = URL.createObjectURL(new Blob([text], { type: "application/octet-stream" }));
  el("a", { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
}

/** Characters of a text that are shown before one asks for all of it. */
const CLIPPED_AT = 400;

/**
 * A text of any length, on one line or many: the beginning, and all of it on demand.
 *
 * @param {string | null | undefined} text
 */
export function prose(text) {
  if (text === null || text === undefined || text === "") return el("span", { class: "faint" }, "–");
  if (text.length <= CLIPPED_AT) return el("span", { class: "prose" }, text);
  const shown = el("span", { class: "prose" }, `${text.slice(0, CLIPPED_AT)}…`);
  const all = button(`Show all ${count(text.length)} characters`, () => {
    shown.textContent = text;
    all.remove();
  });
  return el("div", {}, shown, " ", all);
}

/**
 * A value as JSON: short ones in the line, others as a block.
 *
 * @param {unknown} value
 */
export function json(value) {
  const line = JSON.stringify(value) ?? "null";
  if (line.length <= 60) return el("code", {}, line);
  const text = JSON.stringify(value, null, 2);
  const block = el("pre", { class: "json", tabindex: 0 }, text.slice(0, 20_000));
  if (text.length <= 20_000) return block;
  return el(
    "div",
    {},
    block,
    el("p", { class: "hint" }, `The first 20,000 of ${count(text.length)} characters.`),
  );
}
