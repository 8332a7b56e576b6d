/**
 * One run: the outcome of each action, and what the script logged.
 */
import { keptAddress } from "../address.js";
import { button, el, setText } from "../dom.js";
import { milliseconds } from "../format.js";
import { badge, json, nothing, prose, time } from "../parts.js";
import { table } from "../table.js";

/** @typedef {import("../wire").Answer<"runs/{run_id}">} ShownRun */
/** @typedef {ShownRun["outcomes"][number] & { nth: number }} Outcome */
/** @typedef {NonNullable<ShownRun["log"]>[number] & { nth: number }} Line */

/** What a link to the time line of the black box says. */
export const SCREEN_BEFORE = "What was on the screen before it failed";

/**
 * The details of the run that was asked for last.
 *
 * @param {import("../api.js").Api} api
 */
export function runDetails(api) {
  const title = el("strong", {});
  const logged = el("div", {});
  const outcomes = table({
    label: "Outcomes of the run",
    columns: [
      { label: "Command", cell: (/** @type {Outcome} */ { command }) => el("code", {}, command) },
      { label: "Outcome", kind: "tight", cell: ({ ok }) => badge(ok ? "ok" : "error", ok ? "ok" : "failed") },
      { label: "Took", kind: "number", cell: ({ duration_ms }) => milliseconds(duration_ms) },
      {
        label: "Result",
        kind: "wide",
        cell: ({ ok, result, error, omitted }) =>
          omitted ? "too large to be kept" : ok ? json(result ?? null) : prose(error),
      },
    ],
    key: ({ nth }) => nth,
    empty: () => nothing("No outcomes", "None yet, or the run is from before the server was started."),
  });
  const lines = table({
    label: "Log of the run",
    columns: [
      { label: "Time", cell: (/** @type {Line} */ { at }) => time(at) },
      { label: "Message", kind: "wide", cell: ({ message }) => prose(message) },
    ],
    key: ({ nth }) => nth,
    empty: () => el("p", { class: "hint" }, "The script logged nothing (AC_log)."),
  });
  logged.append(lines.root);
  const before = el("p", { hidden: true });
  const close = button("Close", () => {
    root.hidden = true;
  });
  const root = el(
    "section",
    { class: "trace", "aria-label": "Details of a run", hidden: true, tabindex: -1 },
    el("div", { class: "tools" }, title, close),
    before,
    logged,
    outcomes.root,
  );
  return {
    root,
    /** @param {string} run_id */
    async show(run_id) {
      const text = await (await api.blob(`runs/${run_id}`)).text();
      const run = /** @type {ShownRun} */ (JSON.parse(text));
      setText(title, `Run ${run.run_id.slice(0, 8)}: ${run.status}`);
      before.hidden = !run.black_box;
      before.replaceChildren(
        ...(run.black_box ? [el("a", { href: keptAddress(null, run.black_box) }, SCREEN_BEFORE)] : []),
      );
      lines.show((run.log ?? []).map((line, nth) => ({ ...line, nth })));
      outcomes.show(run.outcomes.map((outcome, nth) => ({ ...outcome, nth })));
      root.hidden = false;
      root.focus();
    },
  };
}
