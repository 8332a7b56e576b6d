import { command, withService } from "../src/cli/command";
import { ask, onHosts } from "../src/cli/fan-out";
import { listHistory } from "../src/runs/operations/history";

export default command({
  builder: (argv) =>
    onHosts(argv)
      .option("limit", { type: "number", default: 20, describe: "The most runs, 1 to 10,000" })
      .option("source", { type: "string", describe: "Only runs from rest, scheduler or manual" })
      .option("source-id", { type: "string", describe: "Only runs of this client or job" })
      .option("status", { type: "string", describe: "Only runs that ended so: ok, error, …" })
      .option("before-id", { type: "number", describe: "Only runs with a lower id" })
      .example("$0 history --source scheduler --status error", "Jobs that failed"),
  handler: (flags) =>
    withService(flags, (service) => {
      const query = {
        limit: flags.limit,
        source_type: flags.source,
        source_id: flags.sourceId,
        status: flags.status,
        before_id: flags.beforeId,
      };
      return ask(service, flags, listHistory, query, {
        columns: ["ID", "STARTED", "SECONDS", "STATUS", "FROM", "SCRIPT", "ERROR"],
        rows: ({ runs }) =>
          runs.map((run) => [
            `${run.id}`,
            run.started_at,
            run.duration_seconds?.toFixed(3) ?? "",
            run.status,
            [run.source_type, run.source_id].filter(Boolean).join(" "),
            run.script_path,
            run.error_text ?? "",
          ]),
        none: "no runs",
      });
    }),
});
