/**
 * Broadcast: one list of actions for many hosts, with each result as it arrives.
 */
import { ask } from "../dialog.js";
import { button, el, labelled, setText } from "../dom.js";
import { counted, milliseconds } from "../format.js";
import { stopChoice } from "../host/script.js";
import { onPage } from "../page-words.js";
import { actionButton, badge, json, nothing, notice, panel, prose } from "../parts.js";
import { table } from "../table.js";
import { hostActionsField, listFor } from "./plan-form.js";

/** @typedef {import("../wire").Answer<"admin/broadcast">} Delivery */

/** Milliseconds between two updates of the table: each lays out all rows, and many hosts answer at once. */
const SHOWN_AFTER_MS = 250;

/** @type {Record<string, import("../parts.js").Tone>} */
const TONES = {
  ok: "ok",
  failed: "error",
  unreachable: "error",
  unauthorized: "error",
  timeout: "warn",
  cancelled: "none",
};

/**
 * @param {import("../view.js").View} view
 * @param {Set<string>} selected labels of the hosts to send to; call `tellSelection` when they change
 */
export function broadcastPanel({ api, signal }, selected) {
  const text = hostActionsField({ "aria-label": "Actions for the hosts, as JSON" });
  const canary = el("input", { type: "number", min: 0, value: 0 });
  const failures = el("input", { value: "100%", pattern: "\\d+%?" });
  const parallel = el("input", { placeholder: "64", pattern: "\\d+%?" });
  const stop = stopChoice();
  const go = actionButton("Broadcast…", start, (error) => made.tell(error), { class: "primary" });
  const cancel = button("Cancel", () => running?.abort());
  cancel.hidden = true;
  const summary = el("div", { role: "status" });
  const made = panel("Broadcast", { tools: [cancel, go] });
  const results = table({
    label: "Results, in order of arrival",
    columns: [
      { label: "Host", cell: (/** @type {Delivery} */ { label }) => el("strong", {}, label) },
      { label: "Status", kind: "tight", cell: ({ status }) => badge(TONES[status] ?? "none", status) },
      {
        label: "Result",
        kind: "wide",
        cell: ({ error, outcomes = [] }) =>
          el("div", {}, error && prose(onPage(error)), outcomes.length > 0 && outcomesList(outcomes)),
      },
      { label: "Took", kind: "number", cell: ({ duration_ms }) => milliseconds(duration_ms) },
    ],
    key: ({ label }) => label,
    empty: () =>
      nothing("Nothing sent yet", "Select hosts above, write a list of actions, and broadcast it."),
  });
  made.body.append(
    text,
    el(
      "div",
      { class: "fields" },
      labelled("Canaries", canary, "Hosts that run it first."),
      labelled("Max. failures", failures, "Number of hosts or a percentage."),
      labelled("In parallel", parallel, "Number of hosts or a percentage."),
      labelled("When an action fails on a host", stop.root, "Decides for that host only."),
    ),
    summary,
    results.root,
  );
  results.show([]);

  /** @type {AbortController | null} */
  let running = null;
  signal.addEventListener("abort", () => running?.abort());

  function tellSelection() {
    setText(go, selected.size === 0 ? "Broadcast…" : `Broadcast to ${counted(selected.size, "host")}…`);
  }

  async function start() {
    if (selected.size === 0) throw new Error("Select at least one host above.");
    const labels = [...selected];
    const actions = await listFor(api, text.value);
    const question = [
      el("p", {}, labels.join(", ")),
      // A token that reads no reference has the refusals of the hosts alone.
      ...(await refusals(api, labels, actions).catch(() => [])),
      el("pre", { class: "json", tabindex: 0 }, JSON.stringify(actions, null, 2)),
    ];
    if (!(await ask(`Run this on ${counted(labels.length, "host")}?`, "Broadcast", ...question))) return;
    running = new AbortController();
    cancel.hidden = false;
    /** @type {Delivery[]} */
    const done = [];
    const show = () => {
      timer = 0;
      results.show(done);
      tellSummary(done, labels.length, running === null);
    };
    let timer = 0;
    show();
    try {
      const body = {
        actions,
        on: labels.join(","),
        canary: canary.valueAsNumber || 0,
        max_failures: share(failures.value),
        ...(parallel.value !== "" && { max_parallel: share(parallel.value) }),
        stop_on_error: stop.value(),
      };
      for await (const result of api.lines("admin/broadcast", body, running.signal)) {
        if (signal.aborted) return;
        done.push(result);
        timer ||= setTimeout(show, SHOWN_AFTER_MS);
      }
    } finally {
      clearTimeout(timer);
      running = null;
      cancel.hidden = true;
      show();
    }
  }

  /**
   * @param {readonly Delivery[]} done
   * @param {number} all
   * @param {boolean} ended
   */
  function tellSummary(done, all, ended) {
    const good = done.filter(({ ok }) => ok).length;
    const bad = done.length - good;
    const text = `${good} ok, ${bad} failed, ${all - done.length} ${ended ? "without a result" : "pending"}`;
    summary.replaceChildren(
      notice(
        ended ? (good === all ? "ok" : "error") : "info",
        el("div", {}, text),
        !ended && el("div", { class: "hint" }, "Leaving this page cancels the pending hosts."),
      ),
    );
  }

  return {
    root: made.root,
    tellSelection,
    /** Goes to the list of actions. */
    enter() {
      made.root.scrollIntoView({ block: "center" });
      text.focus({ preventScroll: true });
    },
  };
}

/**
 * The hosts that will refuse one of these actions as far as the address book knows, before anything is sent: it may be more than what
 * they let this desk do.
 *
 * @param {import("../api.js").Api} api
 * @param {readonly string[]} labels
 * @param {readonly unknown[]} actions
 */
async function refusals(api, labels, actions) {
  const [reference, hosts] = await Promise.all([api.ask("commands/reference"), api.ask("admin/hosts")]);
  const named = commandsIn(actions, new Set());
  const used = reference.commands.filter(({ command }) => named.has(command));
  return hosts.flatMap(({ label, allows }) => {
    if (!labels.includes(label) || !allows || allows.includes("admin")) return [];
    const beyond = used.flatMap(({ command, scope = "any" }) =>
      scope === "any" || allows.includes(scope) ? [] : `${command} needs ${scope}`,
    );
    if (beyond.length === 0) return [];
    const why = ` ${beyond.join(", ")}: \`svc desk set --allow\` on the host, or another token of it, allows more`;
    return [el("p", { class: "prose" }, badge("warn", `${label} will refuse it`), why)];
  });
}

/**
 * The commands of a list, also of lists inside.
 *
 * @param {unknown} value
 * @param {Set<unknown>} found
 */
function commandsIn(value, found) {
  if (typeof value !== "object" || value === null) return found;
  if (Array.isArray(value)) found.add(value[0]);
  for (const inner of Object.values(value)) commandsIn(inner, found);
  return found;
}

/**
 * The outcome of each action on a host; unfolded if one failed.
 *
 * @param {NonNullable<Delivery["outcomes"]>} outcomes
 */
function outcomesList(outcomes) {
  const bad = outcomes.filter(({ ok }) => !ok).length;
  const item = (/** @type {typeof outcomes[number]} */ { command, ok, result, error }) =>
    el("li", {}, badge(ok ? "ok" : "error", String(command)), ok ? json(result) : prose(String(error ?? "")));
  return el(
    "details",
    { open: bad > 0 },
    el("summary", {}, `${counted(outcomes.length, "action")}, ${bad === 0 ? "all ok" : `${bad} failed`}`),
    el("ul", { class: "outcomes" }, ...outcomes.map(item)),
  );
}

/** @param {string} text a number, or a percentage such as 25% */
const share = (text) => (/^\s*\d+\s*$/.test(text) ? Number(text) : text.trim());
