/**
 * Traces: those that the host keeps, and one of them step by step with its pictures.
 */
import { el } from "../dom.js";
import { actionButton, asError, badge, nothing, panel, prose, time } from "../parts.js";
import { table } from "../table.js";
import { createViewer } from "./trace-viewer.js";

/** @typedef {import("../wire").Answer<"traces">["traces"][number]} Trace */

/**
 * The traces that this host keeps, and one that was opened.
 *
 * @param {import("../view.js").View} view
 */
export function tracesPanel({ api, may, poll, signal }) {
  const file = el("input", { type: "file", accept: ".zip", "aria-label": "Open a trace from a file" });
  const made = panel("Traces", { tools: [el("label", { class: "hint" }, "From a file ", file)] });
  const viewer = createViewer(signal, { closes: true });
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
