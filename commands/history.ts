import { callOperation } from "../src/call";
import { localCaller } from "../src/caller";
import { command, print, withService } from "../src/cli";
import { listHistory } from "../src/history/operations";
import { table } from "../src/lib/table";

export default command({
  builder: (argv) =>
    argv
      .option("limit", { type: "number", default: 20, describe: "The most runs, 1 to 10,000" })
      .option("source", { type: "string", describe: "Only runs from rest, scheduler or manual" })
      .option("source-id", { type: "string", describe: "Only runs of this client or job" })
      .option("status", { type: "string", describe: "Only runs that ended so: ok, error, …" })
      .option("before-id", { type: "number", describe: "Only runs with a lower id" })
      .example("$0 history --source scheduler --status error", "Jobs that failed"),
  handler: (flags) =>
    withService(flags, async (service) => {
      const query = {
        limit: flags.limit,
        source_type: flags.source,
        source_id: flags.sourceId,
        status: flags.status,
        before_id: flags.beforeId,
      };
      const listed = await callOperation(service, listHistory, query, localCaller(service, "cli"));
      print(flags, listed, () =>
        table(
          ["ID", "STARTED", "SECONDS", "STATUS", "FROM", "SCRIPT", "ERROR"],
          listed.runs.map((run) => [
            `${run.id}`,
            run.started_at,
            run.duration_seconds?.toFixed(3) ?? "",
            run.status,
            [run.source_type, run.source_id].filter(Boolean).join(" "),
            run.script_path,
            run.error_text ?? "",
          ]),
        ),
      );
      return 0;
    }),
});
