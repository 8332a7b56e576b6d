/**
 * Traces: those that the host keeps, and one of them step by step with its pictures.
 */
import { button, el, setText } from "../dom.js";
import { counted, milliseconds } from "../format.js";
import { actionButton, asError, badge, json, nothing, panel, prose, time } from "../parts.js";
import { table } from "../table.js";
import { filesOf } from "./zip.js";

/** @typedef {import("../wire").Answer<"traces">["traces"][number]} Trace */

/**
 * A step as `steps.json` has it.
 *
 * @typedef {object} Step
 * @property {number} number
 * @property {string} place
 * @property {string} command
 * @property {unknown} arguments
 * @property {number} at_ms
 * @property {number | null} duration_ms
 * @property {boolean | null} ok
 * @property {unknown} [result]
 * @property {string} [error]
 * @property {string | null} before
 * @property {string | null} after
 * @property {string} [no_picture]
 * @property {string} [element]
 * @property {string[]} [tree]
 */

/**
 * The traces that this host keeps, and one that was opened.
 *
 * @param {import("../view.js").View} view
 */
export function tracesPanel({ api, may, poll, signal }) {
  const file = el("input", { type: "file", accept: ".zip", "aria-label": "Open a trace from a file" });
  const made = panel("Traces", { tools: [el("label", { class: "hint" }, "From a file ", file)] });
  const viewer = createViewer(signal);
  const listed = table({
    label: "Traces that this host keeps",
    columns: [
      { label: "Started", cell: (/** @type {Trace} */ { started_at }) => time(started_at) },
      {
        label: "Status",
        kind: "tight",
        cell: ({ status }) =>
          badge(status === "ok" ? "ok" : status === "cancelled" ? "warn" : "error", status),
      },
      {
        label: "Script or commands",
        kind: "wide",
        cell: ({ script_path, commands }) =>
          script_path ? el("code", {}, script_path) : prose(commands.join(", ")),
      },
      {
        label: "From",
        cell: ({ source_type, source_id }) => (source_id ? `${source_type} · ${source_id}` : source_type),
      },
      { label: "Steps", kind: "number", cell: ({ steps }) => String(steps) },
      { label: "Error", cell: ({ error_text }) => prose(error_text) },
      {
        label: "Actions",
        kind: "actions",
        hidden: !may("screen"),
        cell: ({ run_id }) =>
          actionButton("Open", async () => viewer.show(await api.blob(`runs/${run_id}/trace`)), made.tell, {
            "aria-label": `Open the trace of run ${run_id.slice(0, 8)}`,
          }),
      },
    ],
    key: ({ run_id }) => run_id,
    empty: () =>
      nothing(
        "No traces",
        "The trace of a job's last failed run is kept, and those of runs that were asked for one (svc execute --trace).",
      ),
  });
  made.body.append(viewer.root, listed.root);
  file.addEventListener("change", async () => {
    const [chosen] = file.files ?? [];
    if (!chosen) return;
    made.tell(null);
    try {
      await viewer.show(chosen);
    } catch (error) {
      made.tell(asError(error));
    }
    file.value = "";
  });
  const polled = poll({
    path: "traces",
    on: ["run.ended"],
    every: 10,
    rest: 60,
    show({ traces }) {
      made.fail(null);
      listed.show(traces);
    },
    fail: made.fail,
  });
  return { root: made.root, now: polled.now };
}

/**
 * One trace, a step at a time.
 *
 * @param {AbortSignal} signal
 */
function createViewer(signal) {
  /** @type {Map<string, Blob>} */
  let files = new Map();
  /** @type {Step[]} */
  let steps = [];
  let at = 0;
  const where = el("strong", { role: "status" });
  const about = el("p", { class: "hint" });
  const details = el("dl", { class: "step" });
  const before = picture("Before");
  const after = picture("After");
  const root = el(
    "section",
    { class: "trace", "aria-label": "Steps of the trace", hidden: true, tabindex: -1 },
    about,
    el(
      "div",
      { class: "tools" },
      button("Back", () => go(at - 1)),
      button("Next", () => go(at + 1), { class: "primary" }),
      button("Next failure", () => {
        const next = steps.findIndex(({ ok }, index) => index > at && ok === false);
        go(next < 0 ? steps.findIndex(({ ok }) => ok === false) : next);
      }),
      button("Close", () => {
        root.hidden = true;
      }),
      where,
    ),
    details,
    el("div", { class: "pictures" }, before.root, after.root),
  );
  root.addEventListener("keydown", ({ key }) => {
    if (key === "ArrowRight") go(at + 1);
    if (key === "ArrowLeft") go(at - 1);
  });
  signal.addEventListener("abort", () => {
    before.show(undefined);
    after.show(undefined);
  });

  /** @param {number} to */
  function go(to) {
    if (to < 0 || to >= steps.length) return;
    at = to;
    const step = steps[at];
    if (!step) return;
    setText(where, `Step ${at + 1} of ${steps.length}`);
    const { ok, command, place, at_ms, duration_ms, error, result, no_picture, element, tree = [] } = step;
    details.replaceChildren(
      ...term(
        "Command",
        el("code", {}, command),
        " ",
        outcomeOf(ok),
        " ",
        el("span", { class: "hint" }, place),
      ),
      ...term("Time", `after ${milliseconds(at_ms)}, took ${milliseconds(duration_ms)}`),
      ...(element === undefined ? [] : term("Element", el("code", {}, element))),
      ...term("Arguments", json(step.arguments)),
      ...(error === undefined ? [] : term("Error", prose(error))),
      ...(result === undefined ? [] : term("Result", json(result))),
      ...(no_picture === undefined ? [] : term("No picture", prose(no_picture))),
      ...(tree.length === 0 ? [] : term("By name, after it", el("pre", {}, tree.join("\n")))),
    );
    before.show(files.get(step.before ?? ""));
    after.show(files.get(step.after ?? ""));
  }

  return {
    root,
    /**
     * @param {Blob} archive
     * @throws {Error} when it is no trace
     */
    async show(archive) {
      const found = await filesOf(archive);
      const run = await jsonIn(found, "run.json");
      const listed = await jsonIn(found, "steps.json");
      if (run?.format !== "svc-trace" || !Array.isArray(listed)) throw new Error("This is not a trace.");
      if (signal.aborted) return;
      files = found;
      steps = listed;
      const omitted =
        run.omitted_steps > 0 ? ` The first ${counted(run.omitted_steps, "step")} were left out.` : "";
      setText(about, `Run ${run.run_id}: ${run.status}. ${run.error_text ?? ""}${omitted}`);
      root.hidden = false;
      setText(where, "No steps");
      go(0);
      root.scrollIntoView({ block: "nearest" });
      root.focus({ preventScroll: true });
    },
  };
}

/** @param {boolean | null} ok */
const outcomeOf = (ok) =>
  ok === null ? badge("none", "did not end") : ok ? badge("ok", "ok") : badge("error", "failed");

/**
 * @param {string} name
 * @param {...import("../dom.js").Child} text
 */
const term = (name, ...text) => [el("dt", {}, name), el("dd", {}, ...text)];

/** A picture with its caption. @param {string} caption */
function picture(caption) {
  const image = el("img", { alt: `The screen, ${caption.toLowerCase()}`, hidden: true });
  const none = el("p", { class: "hint" }, "no picture");
  const root = el("figure", {}, el("figcaption", {}, caption), image, none);
  return {
    root,
    /** @param {Blob | undefined} file */
    show(file) {
      URL.revokeObjectURL(image.src);
      image.hidden = file === undefined;
      none.hidden = file !== undefined;
      if (file) image.src = URL.createObjectURL(new Blob([file], { type: "image/png" }));
      else image.removeAttribute("src");
    },
  };
}

/**
 * @param {ReadonlyMap<string, Blob>} files
 * @param {string} name
 * @returns {Promise<any>} undefined where it is missing or no JSON
 */
async function jsonIn(files, name) {
  const text = await files.get(name)?.text();
  try {
    return JSON.parse(text ?? "");
  } catch {
    return undefined;
  }
}
