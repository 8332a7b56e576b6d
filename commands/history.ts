/** `svc history`: lists the runs that have ended, from disk. */
import { view } from "../src/cli/view";
import { listHistory } from "../src/host/runs/operations/runs";

/** What a run without a script is of, where that is a plan. */
const planOf = ({ source_type, source_id }: { source_type: string; source_id: string }) =>
  source_type === "plan" ? `plan ${source_id.slice(0, 8)}` : "";

export default view(listHistory, {
  names: { source_type: "source" },
  columns: ["ID", "STARTED", "SECONDS", "STATUS", "FROM", "SCRIPT", "ERROR"],
  rows: ({ runs }) =>
    runs.map((run) => [
      `${run.id}`,
      run.started_at,
      run.duration_seconds?.toFixed(3) ?? "",
      run.status,
      [run.source_type, run.source_id, run.token && `(${run.token})`].filter(Boolean).join(" "),
      run.script_path || planOf(run),
      run.error_text ?? "",
    ]),
  none: "no runs",
  examples: [
    ["$0 history --source scheduler --status error", "Jobs that failed"],
    ["$0 history --source-id 7d3f0c52", "What a plan ran on this host"],
  ],
});
