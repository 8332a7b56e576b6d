/**
 * Audit log: what was done on this host and by whom, and whether the log is unaltered.
 */
import { TAKES_LONG } from "../api.js";
import { witnessedLine } from "../desk/witnessed.js";
import { ask } from "../dialog.js";
import { button, el, labelled, setText } from "../dom.js";
import { count, counted } from "../format.js";
import { icon } from "../icons.js";
import { paging } from "../paging.js";
import { actionButton, badge, nothing, notice, offer, panel, prose, time } from "../parts.js";
import { table } from "../table.js";

/** Rows of a page. */
const PAGE = 50;

/** The last moment that has four digits for its year. */
const LAST_MOMENT = "9999-12-31T23:59";

/** @typedef {import("../wire").Answer<"audit/list">["rows"][number]} Row */
/** @typedef {import("../wire").Answer<"audit/verify">} Verdict */

/** @type {ReadonlyArray<import("../table.js").Column<Row>>} */
const COLUMNS = [
  { label: "ID", kind: "number", cell: ({ id }) => String(id) },
  { label: "When", cell: ({ ts }) => time(ts) },
  { label: "Type", cell: ({ event_type }) => el("code", {}, event_type) },
  { label: "Host or client", cell: ({ host_id }) => prose(host_id) },
  { label: "Viewer", cell: ({ viewer_id }) => prose(viewer_id) },
  { label: "What happened", kind: "wide", cell: ({ detail }) => prose(detail) },
];

/**
 * A table of audit rows.
 *
 * @param {{ label: string, rowClass: (row: Row) => string, filtered: () => boolean }} options
 */
const auditTable = ({ filtered, ...options }) =>
  table({
    ...options,
    columns: COLUMNS,
    key: ({ id }) => id,
    empty: () => nothing("No rows", filtered() ? "No row matches the filter." : "No changes recorded yet."),
  });

/**
 * The newest rows after others were appended; null where not all of those are in the event.
 *
 * @param {import("../wire").Answer<"audit/list">} answer
 * @param {import("../events.js").Happening} happened
 * @param {number} most rows of the answer
 * @param {URLSearchParams} [filter]
 */
export function afterRows(answer, { type, data }, most, filter = new URLSearchParams()) {
  if (type !== "audit.appended") return null;
  const { newest, appended } = /** @type {{ newest: Row[], appended: number }} */ (data);
  const last = answer.rows[0]?.id ?? 0;
  const added = newest.filter((row) => row.id > last && matches(row, filter));
  const oldest = newest.at(-1)?.id ?? 0;
  if (newest.length < appended && oldest > last + 1) return null;
  if (added.length === 0) return answer;
  const rows = [...added, ...answer.rows].slice(0, most);
  return { ...answer, rows, count: rows.length };
}

/**
 * Whether the server would find a row by a filter.
 *
 * @param {Row} row
 * @param {URLSearchParams} filter
 */
function matches({ event_type, host_id, ts }, filter) {
  const since = filter.get("since");
  const until = filter.get("until");
  return (
    (filter.get("event_type") ?? event_type) === event_type &&
    (filter.get("host_id") ?? host_id) === host_id &&
    (since === null || Date.parse(ts) >= Date.parse(since)) &&
    (until === null || Date.parse(ts) < Date.parse(until))
  );
}

/**
 * What the server has found that verifies all rows in turn.
 *
 * @param {import("../wire").Answer<"audit/status">["patrolled"]} patrolled
 */
function patrolLines(patrolled) {
  if (!patrolled) return [];
  const { verified_at, altered } = patrolled;
  if (altered.length > 0)
    return altered.map(({ id, reason }) =>
      el(
        "p",
        {},
        badge("error", "altered"),
        ` ${id === null ? "" : `Row ${count(id)}: `}${reason}. Keep a copy of audit.db as it is, and find out who wrote to it.`,
      ),
    );
  if (verified_at === null)
    return [el("p", { class: "hint" }, "The server is verifying all rows for the first time.")];
  return [
    el(
      "p",
      { class: "hint" },
      "The server verifies all rows in turn. It has verified all of them ",
      time(verified_at),
      ".",
    ),
  ];
}

/** @param {import("../view.js").View} view */
export function open(view) {
  const { root, api, signal } = view;
  const unverified = el("p", { class: "hint" }, "Not verified since this page was opened.");
  const verdict = el("div", { role: "status" }, unverified);
  const chain = panel("Chain", {
    tools: [actionButton([icon("ok"), "Verify chain"], verify, (error) => chain.tell(error))],
  });
  const witnesses = witnessedLine(signal);
  const patrol = el("div", { role: "status" });
  chain.body.append(verdict, patrol, witnesses.root);

  /** The row at which the chain is broken; null while none is known. @type {number | null} */
  let broken = null;
  const pages = paging(PAGE, () => polled.now());

  const type = el("select", {}, el("option", { value: "" }, "any"));
  /** The types to choose from. @type {Set<string>} */
  const types = new Set();
  const host = el("input", { type: "text", placeholder: "any", maxlength: 1_000, spellcheck: "false" });
  const since = el("input", { type: "datetime-local", max: LAST_MOMENT });
  const until = el("input", { type: "datetime-local", max: LAST_MOMENT });
  const reset = button("Reset", () => {
    form.reset();
    filter = readFilter();
    pages.toNewest();
  });
  const form = el(
    "form",
    { class: "fields", role: "search", "aria-label": "Filter" },
    labelled("Type", type),
    labelled("Host or client", host),
    labelled("From", since),
    labelled("Before", until),
    el("div", { class: "buttons" }, el("button", { class: "primary" }, "Filter"), reset),
  );
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    filter = readFilter();
    pages.toNewest();
  });
  /** As it was last applied. */
  let filter = readFilter();

  const where = el("span", { class: "hint", role: "status" });
  const clearing = actionButton([icon("remove"), "Clear log…"], clear, (error) => rows.tell(error), {
    hidden: true,
  });
  const rows = panel("Rows", { tools: [where, ...pages.buttons, clearing] });
  const listed = auditTable({
    label: "Audit log, newest first",
    rowClass: ({ id }) => (id === broken ? "broken" : ""),
    filtered: () => filter.size > 0,
  });
  rows.body.append(listed.root);

  root.append(el("div", { class: "stack" }, chain.root, el("div", { class: "card" }, form), rows.root));

  const polled = view.poll({
    path: () => `audit/list?${new URLSearchParams([...pages.query(), ...filter])}`,
    on: ["audit.*"],
    every: 10,
    apply(answer, happened) {
      // Another page than the first has only older rows.
      if (happened.type === "audit.appended" && pages.query().has("before_id")) return answer;
      return afterRows(answer, happened, PAGE, filter);
    },
    show({ rows: found, cut }) {
      rows.fail(null);
      pages.shown(found, cut);
      const [first] = found;
      const last = found.at(-1);
      setText(where, first && last ? `rows ${count(first.id)} to ${count(last.id)}` : "");
      offerTypes(found.map(({ event_type }) => event_type));
      listed.show(found);
    },
    fail: rows.fail,
  });
  const state = view.poll({
    path: "audit/status",
    on: ["audit.witnessed", "audit.altered"],
    every: 60,
    apply(answer, { type, data }) {
      if (type !== "audit.altered")
        return { ...answer, witnessed: /** @type {typeof answer.witnessed} */ (data) };
      const row = /** @type {NonNullable<typeof answer.patrolled>["altered"][number]} */ (data);
      const { verified_at = null, altered = [] } = answer.patrolled ?? {};
      const others = altered.filter(({ id }) => id !== row.id);
      return { ...answer, patrolled: { verified_at, altered: [...others, row] } };
    },
    show({ event_types, may_clear, witnessed, patrolled }) {
      patrol.replaceChildren(...patrolLines(patrolled));
      witnesses.show(witnessed);
      offerTypes(event_types);
      clearing.hidden = !may_clear;
    },
  });

  /** @param {readonly string[]} found */
  function offerTypes(found) {
    for (const one of found) types.add(one);
    offer(type, "any", [...types].sort());
  }

  function readFilter() {
    const wanted = new URLSearchParams();
    if (type.value) wanted.set("event_type", type.value);
    if (host.value) wanted.set("host_id", host.value);
    if (since.value) wanted.set("since", new Date(since.value).toISOString());
    if (until.value) wanted.set("until", new Date(until.value).toISOString());
    return wanted;
  }

  async function verify() {
    const before = [...verdict.childNodes];
    verdict.replaceChildren(el("p", { class: "hint" }, "Verifying…"));
    try {
      const found = await api.ask("audit/verify", TAKES_LONG);
      if (signal.aborted) return;
      broken = found.broken_at_id;
      verdict.replaceChildren(tell(found));
      void polled.now();
    } catch (error) {
      verdict.replaceChildren(...before);
      throw error;
    }
  }

  async function clear() {
    const { rows: total } = await api.ask("audit/status");
    if (
      !(await ask(
        "Clear the audit log?",
        `Remove ${counted(total, "row")}`,
        el("p", {}, "All rows are removed for good. A new first row records who cleared the log, and when."),
        el(
          "p",
          {},
          "To keep a copy, run ",
          el("code", {}, "svc audit export log.jsonl.gz"),
          " on the host first.",
        ),
      ))
    )
      return;
    // It verifies all rows first.
    await api.run("AC_audit_log_clear", {}, TAKES_LONG);
    if (signal.aborted) return;
    broken = null;
    verdict.replaceChildren(unverified);
    form.reset();
    filter = readFilter();
    types.clear();
    pages.toNewest();
    await state.now();
  }

  /** @param {Verdict} found */
  function tell({ ok, broken_at_id, total_rows, reason }) {
    if (ok) return notice("ok", `Chain OK (${counted(total_rows, "row")})`);
    const show = button("Show the row", () => {
      form.reset();
      filter = readFilter();
      // With a few newer rows above it for context.
      pages.toBelow((broken_at_id ?? 0) + 5);
      listed.root.scrollIntoView({ block: "nearest" });
    });
    return notice(
      "error",
      el("strong", {}, `Chain broken at row id ${broken_at_id} of ${total_rows}`),
      reason && el("div", {}, reason),
      el("div", { class: "buttons" }, show),
    );
  }
}
