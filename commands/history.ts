import { view } from "../src/cli/view";
import { listHistory } from "../src/runs/operations";

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
      run.script_path,
      run.error_text ?? "",
    ]),
  none: "no runs",
  examples: [["$0 history --source scheduler --status error", "Jobs that failed"]],
});
