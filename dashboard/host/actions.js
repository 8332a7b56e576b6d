/**
 * Actions: write, check and run a list of actions, and look up what each command takes.
 */
import { addressIn, keepInAddress } from "../address.js";
import { el, labelled, setText } from "../dom.js";
import { counted, milliseconds } from "../format.js";
import { icon } from "../icons.js";
import { actionButton, asError, badge, json, nothing, notice, panel, prose } from "../parts.js";
import { table } from "../table.js";
import { referencePanel } from "./reference.js";
import { draftField, parseScript, readScript, stopChoice } from "./script.js";

/** Milliseconds after which the page says where else a run is shown: it may take hours, or its answer may be lost. */
const LATE_MS = 75_000;

/** The draft goes with the tab, like the token. */
const DRAFT_KEY = "svc-draft";

const EXAMPLE = `[
  ["AC_screen_size"],
  ["AC_sleep", {"seconds": 1}]
]
`;

/** @typedef {import("../wire").Answer<"execute">["outcomes"][number]} Outcome */

/** @param {import("../view.js").View} view */
export function open(view) {
  const editor = editorPanel(view);
  const reference = referencePanel(view, editor.insert);
  view.root.append(
    el(
      "div",
      { class: "beside" },
      el("div", { class: "stack" }, editor.root, view.may("operate") && editor.outcomes),
      reference,
    ),
  );
  const script = addressIn(location.hash).query.get("script");
  if (script === null) return;
  // Once: the address of now adds nothing when it is opened again.
  keepInAddress("actions", {});
  void editor.insert(["AC_run_script", { path: `script:${script}` }]);
}

/** @param {import("../view.js").View} view */
function editorPanel({ api, may, signal }) {
  const text = draftField(DRAFT_KEY, EXAMPLE, { rows: 14, "aria-label": "Actions, as JSON" });
  text.addEventListener("input", () => verdict.replaceChildren());
  const stop = stopChoice();
  const verdict = el("div", { role: "status" });
  const made = panel("Script", {
    tools: [
      actionButton([icon("ok"), "Check"], check, tell),
      may("operate") && actionButton([icon("play"), "Run"], run, tell, { class: "primary" }),
    ],
  });
  made.body.append(
    text,
    ...(may("operate")
      ? [labelled("When an action fails", stop.root, "Unless the script itself says otherwise.")]
      : []),
    verdict,
  );

  const outcome = el("span", { class: "hint", role: "status" });
  const outcomes = panel("Outcomes", { tools: [outcome] });
  const listed = table({
    label: "Outcomes, in the order of the actions",
    columns: [
      { label: "#", kind: "number", cell: (/** @type {Outcome & { nth: number }} */ { nth }) => String(nth) },
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
    empty: () => nothing("Nothing has run yet", "The outcome and the result of each action are shown here."),
  });
  outcomes.body.append(listed.root);
  listed.show([]);

  /** @param {Error | null} error */
  function tell(error) {
    if (!error) return verdict.replaceChildren();
    const problems =
      "body" in error ? problemsOf(/** @type {{ body: Record<string, unknown> }} */ (error).body) : [];
    // The message has the same faults, in one line.
    const said =
      problems.length > 0
        ? el("ul", { class: "advice" }, ...problems.map((problem) => el("li", { class: "prose" }, problem)))
        : el("div", {}, error.message);
    verdict.replaceChildren(notice("error", said));
  }

  async function check() {
    const found = await api.post("execute/check", { text: text.value }, { changes: false });
    const { unset } = found.variables;
    verdict.replaceChildren(
      notice("ok", `${counted(found.count, "action")} checked, no errors. Nothing has run.`),
      ...(unset.length > 0
        ? [notice("warn", `No action sets ${unset.map((name) => `\${${name}}`).join(", ")}.`)]
        : []),
    );
  }

  async function run() {
    const { options } = await api.post("execute/check", { text: text.value }, { changes: false });
    const { actions } = parseScript(text.value);
    setText(outcome, "running…");
    const late = setTimeout(() => outcome.replaceChildren(...stillRunning()), LATE_MS);
    try {
      const wanted = { stop_on_error: stop.value(), ...options, actions };
      const report = await api.post("execute", wanted, { withinMs: null });
      if (signal.aborted) return;
      listed.show([]);
      listed.show(report.outcomes.map((one, at) => ({ ...one, nth: at + 1 })));
      const left = actions.length - report.outcomes.length;
      outcome.replaceChildren(
        badge(report.ok ? "ok" : "error", report.ok ? "all ok" : report.status),
        left > 0 ? ` ${counted(left, "action")} did not run` : "",
        el("span", { class: "faint" }, ` run ${report.run_id.slice(0, 8)}`),
      );
    } catch (error) {
      setText(outcome, "");
      throw error;
    } finally {
      clearTimeout(late);
    }
  }

  return {
    root: made.root,
    outcomes: outcomes.root,
    /** Appends an action to the list. @param {readonly unknown[]} action */
    async insert(action) {
      let script;
      try {
        script = await readScript(api, text.value);
      } catch (error) {
        tell(asError(error));
        return;
      }
      const actions = [...script.actions, action];
      text.value = script.says
        ? `${JSON.stringify(script.withActions(actions), null, 2)}\n`
        : `[\n${actions.map((one) => `  ${JSON.stringify(one)}`).join(",\n")}\n]\n`;
      text.dispatchEvent(new Event("input"));
      verdict.replaceChildren(notice("info", `${String(action[0])} was added to the end of the script.`));
    },
  };
}

/** What is said of a run that has no answer yet. */
const stillRunning = () => [
  `no answer for ${LATE_MS / 1_000} s: `,
  el("a", { href: "#jobs" }, "Jobs and history"),
  " shows whether it goes on",
];

/**
 * The problems that the server lists, each with its place.
 *
 * @param {Record<string, unknown>} body
 */
function problemsOf({ problems }) {
  if (!Array.isArray(problems)) return [];
  return problems.map((problem) => {
    if (typeof problem === "string") return problem;
    const { line, column, action = "", message = "" } = problem;
    const place = line === undefined ? "" : `line ${line}, column ${column}: `;
    return `${place}${action}: ${message}`;
  });
}
