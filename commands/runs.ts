import { type CommandGroup, command, withService } from "../src/cli/command";
import { ask, onHosts } from "../src/cli/fan-out";
import { callLocalServer } from "../src/client/local-server";
import { jsonLine } from "../src/lib/sanitize";
import { cancelRun, listRuns, showRun } from "../src/runs/operations/runs";
import type { RunRecord } from "../src/runs/types";

const COLUMNS = ["RUN", "STARTED", "SECONDS", "STATUS", "FROM", "SCRIPT", "ERROR"];

const rowOf = (run: RunRecord) => [
  run.run_id.slice(0, 8),
  run.started_at,
  run.duration_seconds?.toFixed(3) ?? "",
  run.status,
  [run.source_type, run.source_id].filter(Boolean).join(" "),
  run.script_path || run.commands.join(" "),
  run.error_text ?? "",
];

const list = command({
  builder: (argv) => onHosts(argv).example("$0 runs list", "What goes on in the server of this host"),
  handler: (flags) =>
    withService(flags, (service) =>
      ask(
        service,
        flags,
        listRuns,
        {},
        { columns: COLUMNS, rows: ({ runs }) => runs.map(rowOf), none: "no runs" },
        () => callLocalServer(service.configDir, listRuns, {}),
      ),
    ),
});

const show = command({
  builder: (argv) =>
    onHosts(argv)
      .positional("id", { type: "string", demandOption: true, describe: "The run, or how its id begins" })
      .example("$0 runs show 9f1c2e4a", "What became of each of its actions"),
  handler: (flags) =>
    withService(flags, (service) => {
      const input = { run_id: flags.id };
      return ask(
        service,
        flags,
        showRun,
        input,
        {
          columns: ["COMMAND", "OUTCOME", "MS", "RESULT"],
          rows: ({ outcomes }) =>
            outcomes.map(({ command, ok, duration_ms, result, error, omitted }) => [
              command,
              ok ? "ok" : "FAILED",
              duration_ms.toFixed(1),
              omitted ? "(too large to be kept)" : ok ? jsonLine(result ?? null) : (error ?? ""),
            ]),
          none: "no outcomes yet",
          warnings: ({ status, error_text }) => (error_text === null ? [] : [`${status}: ${error_text}`]),
        },
        () => callLocalServer(service.configDir, showRun, input),
      );
    }),
});

const cancel = command({
  builder: (argv) =>
    onHosts(argv)
      .positional("id", { type: "string", demandOption: true, describe: "The run, or how its id begins" })
      .example("$0 runs cancel 9f1c2e4a", "End it at once"),
  handler: (flags) =>
    withService(flags, (service) => {
      const input = { run_id: flags.id };
      return ask(
        service,
        flags,
        cancelRun,
        input,
        { columns: COLUMNS, rows: (run) => [rowOf(run)], text: ({ run_id }) => `${run_id} is cancelled` },
        () => callLocalServer(service.configDir, cancelRun, input),
      );
    }),
});

export default {
  examples: [
    ["$0 runs list", "What goes on in the server of this host"],
    ["$0 runs cancel 9f1c2e4a", "End a run at once"],
  ],
  group: {
    list: { describe: "List the runs of the server: going on, and lately ended", ...list },
    "show <id>": { describe: "Show what became of a run", ...show },
    "cancel <id>": { describe: "Cancel a run", ...cancel },
  },
} satisfies CommandGroup;
