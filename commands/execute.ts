import { callOperation } from "../src/call";
import { localCaller } from "../src/caller";
import { command, print, withService } from "../src/cli";
import { executeActions, executeFile } from "../src/executor/operations";
import type { Outcome } from "../src/executor/run";
import { badInput } from "../src/lib/errors";
import { printable } from "../src/lib/text";

export default command({
  builder: (argv) =>
    argv
      .positional("script", {
        type: "string",
        demandOption: true,
        describe: "Actions as JSON, or a .json file",
      })
      .option("stop-on-error", {
        type: "boolean",
        default: false,
        describe: "Leave the rest once one has failed",
      })
      .example(`$0 execute '[["AC_rest_api_status"]]'`, "Run one action")
      .example("$0 execute nightly.json --json", "Run a script, print its outcomes as JSON"),
  handler: (flags) =>
    withService(flags, async (service) => {
      const inline = flags.script.trimStart().startsWith("[") || flags.script.trimStart().startsWith("{");
      const stop_on_error = flags.stopOnError;
      const caller = localCaller(service, "script");
      const report = inline
        ? await callOperation(
            service,
            executeActions,
            { actions: actionsIn(flags.script), stop_on_error },
            caller,
          )
        : await callOperation(service, executeFile, { path: flags.script, stop_on_error }, caller);
      print(flags, report, () => table(report.outcomes));
      return report.ok ? 0 : 1;
    }),
});

function actionsIn(text: string): unknown {
  try {
    const parsed: unknown = JSON.parse(text);
    const wrapped = typeof parsed === "object" && parsed !== null && !Array.isArray(parsed);
    return wrapped && "auto_control" in parsed ? parsed.auto_control : parsed;
  } catch {
    throw badInput("script: expected JSON, or the path of a .json file");
  }
}

function table(outcomes: readonly Outcome[]): string {
  const lines = outcomes.map(({ command, ok, result, error, duration_ms }) => {
    const told = printable(ok ? JSON.stringify(result ?? null) : (error ?? ""), 200);
    return `${ok ? "ok    " : "FAILED"}  ${command}  ${told}  (${duration_ms} ms)`;
  });
  return lines.join("\n");
}
