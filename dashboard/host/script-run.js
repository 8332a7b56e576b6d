/**
 * A run of a script on this host, traced: what became of each action, which step failed, and the trace, which opens there.
 */
import { el, setText } from "../dom.js";
import { counted, milliseconds } from "../format.js";
import { asError, badge, json, nothing, notice, panel, prose } from "../parts.js";
import { table } from "../table.js";
import { parseScript } from "./script.js";
import { failureIn } from "./trace-parts.js";
import { createViewer } from "./trace-viewer.js";

/** Milliseconds after which the page says where else a run is shown: it may take hours, or its answer may be lost. */
const LATE_MS = 75_000;

/** @typedef {import("../wire").Answer<"execute">} Report */
/** @typedef {Report["outcomes"][number] & { nth: number }} Outcome */
/** @typedef {import("./step-list.js").Mark} Mark */

/** What is said of a run that has no answer yet. */
const stillRunning = () => [
  `no answer for ${LATE_MS / 1_000} s: `,
  el("a", { href: "#jobs" }, "Jobs and history"),
  " shows whether it goes on",
];

const outcomeTable = () =>
  table({
    label: "Outcomes, in the order of the actions",
    columns: [
      { label: "#", kind: "number", cell: (/** @type {Outcome} */ { nth }) => String(nth) },
      { label: "Command", cell: ({ command }) => el("code", {}, command) },
      { label: "State", kind: "tight", cell: ({ ok }) => badge(ok ? "ok" : "error", ok ? "ok" : "failed") },
      {
        label: "Result",
        kind: "wide",
        cell: ({ ok, result, error, detail, omitted }) => {
          if (!ok) return el("div", {}, prose(error), detail !== undefined && json(detail));
          return omitted
            ? el("span", { class: "faint" }, "omitted: the run returned too much")
            : json(result);
        },
      },
      { label: "Took", kind: "number", cell: ({ duration_ms }) => milliseconds(duration_ms) },
    ],
    key: ({ nth }) => nth,
    empty: () => nothing("No outcomes yet", "The outcome and the result of each action are shown here."),
  });

/**
 * @param {import("../view.js").View} view
 * @param {{
 *   numberOf: (place: string) => string,
 *   looked: (place: string) => void,
 *   ended: (marks: ReadonlyMap<string, Mark>) => void,
 * }} of `numberOf`: what the step at a place of the script is called, empty for none; `looked` is called for each step of the trace that
 *   is looked at, `ended` with what became of the steps, by their places
 */
export function scriptRun({ api, may, signal }, { numberOf, looked, ended }) {
  const outcome = el("span", { class: "hint", role: "status" });
  const made = panel("Run", { tools: [outcome] });
  const listed = outcomeTable();
  const viewer = createViewer(signal, { closes: true, looked: ({ place }) => looked(place) });
  made.body.append(listed.root, viewer.root);
  made.root.hidden = true;

  /**
   * @param {Report} report
   * @param {string | undefined} failed the place of the step that failed
   * @param {number} all how many actions there are
   */
  function tell({ ok, status, run_id, outcomes }, failed, all) {
    const left = all - outcomes.length;
    const number = failed === undefined ? "" : numberOf(failed);
    outcome.replaceChildren(
      badge(ok ? "ok" : "error", ok ? "all ok" : status),
      ok || number === "" ? "" : ` step ${number} failed`,
      left > 0 ? ` ${counted(left, "action")} did not run` : "",
      el("span", { class: "faint" }, ` run ${run_id.slice(0, 8)}`),
    );
  }

  /** Shows the trace. @param {string} run_id @returns whether it is there */
  async function showTrace(run_id) {
    try {
      await viewer.show(await api.blob(`runs/${run_id}/trace`), { takesFocus: false });
      return !signal.aborted;
    } catch (error) {
      made.notes.replaceChildren(notice("warn", `Its trace cannot be shown: ${asError(error).message}`));
      return false;
    }
  }

  /** Shows what came of it: at once, and once more when the trace says which step inside an action failed. @param {Report} report @param {number} all */
  async function show(report, all) {
    const { outcomes, run_id } = report;
    listed.show(outcomes.map((one, at) => ({ ...one, nth: at + 1 })));
    /** @type {Map<string, Mark>} */
    const marks = new Map();
    for (const [at, { ok }] of outcomes.entries()) marks.set(`[${at}]`, ok ? "ok" : "failed");
    const first = outcomes.findIndex(({ ok }) => !ok);
    const failed = first < 0 ? undefined : `[${first}]`;
    tell(report, failed, all);
    ended(marks);
    if (failed !== undefined) looked(failed);
    if (!may("screen") || !(await showTrace(run_id))) return;
    for (const { place, ok } of viewer.steps()) if (ok !== null) marks.set(place, ok ? "ok" : "failed");
    tell(report, viewer.steps()[failureIn(viewer.steps())]?.place ?? failed, all);
    ended(marks);
  }

  return {
    root: made.root,
    /**
     * @param {string} text of a script that was checked
     * @param {Record<string, unknown>} options how it is run
     */
    async start(text, { needs, ...options }) {
      requireValues(needs, options.variables);
      const { actions } = parseScript(text);
      made.root.hidden = false;
      made.notes.replaceChildren();
      viewer.root.hidden = true;
      listed.show([]);
      setText(outcome, "running…");
      const late = setTimeout(() => outcome.replaceChildren(...stillRunning()), LATE_MS);
      try {
        // A picture of the screen is for who may see it.
        const wanted = { ...options, actions, trace: may("screen") };
        const report = await api.post("execute", wanted, { withinMs: null });
        if (!signal.aborted) await show(report, actions.length);
      } catch (error) {
        setText(outcome, "");
        throw error;
      } finally {
        clearTimeout(late);
      }
    },
  };
}

/**
 * @param {unknown} needs the variables that whoever runs the script gives
 * @param {unknown} variables those that it gives itself
 * @throws {Error} for one that has no value: the page gives none
 */
function requireValues(needs, variables) {
  const missing = Array.isArray(needs)
    ? needs.find((name) => !Object.hasOwn(Object(variables), name))
    : undefined;
  if (missing !== undefined)
    throw new Error(
      `The script needs ${missing}, which has no value here: svc execute --var-file FILE gives it.`,
    );
}
