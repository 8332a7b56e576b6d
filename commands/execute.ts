import { resolve } from "node:path";
import { command, print, terminated, withService } from "../src/cli/command";
import { callOperation } from "../src/core/call";
import { localCaller } from "../src/core/caller";
import { DEFAULT_TIMEOUT_S, type Outcome } from "../src/core/run";
import { parseScript } from "../src/core/script";
import { printable } from "../src/lib/sanitize";
import { executeActions, executeFile } from "../src/runs/operations/execute";

const NO_SCRIPT = "script: expected JSON, or the path of a .json file";
const NO_STDIN = "script: expected JSON on stdin";

export default command({
  builder: (argv) =>
    argv
      .positional("script", {
        type: "string",
        demandOption: true,
        describe: "Actions as JSON, a .json file, or - for stdin",
      })
      .nargs("script", 1) // else yargs takes `-` for the empty text
      .option("stop-on-error", {
        type: "boolean",
        default: false,
        describe: "Leave the rest once one has failed",
      })
      .option("timeout", {
        type: "number",
        default: DEFAULT_TIMEOUT_S,
        describe: "Seconds after which the run is ended",
      })
      .option("allow-shell", {
        type: "boolean",
        default: false,
        describe: "Let the script run programs (AC_shell_command)",
      })
      .example(`$0 execute '[["AC_rest_api_status"]]'`, "Run one action")
      .example("$0 execute nightly.json --json", "Run a script, print its outcomes as JSON")
      .example("$0 execute - < actions.json", "Actions from stdin, in no list of processes"),
  handler: (flags) =>
    withService(
      flags,
      async (service) => {
        // Before a signal means that a run is to be cancelled: until there is one, it ends svc.
        const script = flags.script === "-" ? await Bun.stdin.bytes() : flags.script;
        const piped = typeof script !== "string";
        const cancel = new AbortController();
        void terminated().then(() => cancel.abort());
        const caller = localCaller(service, "script", { signal: cancel.signal });
        const options = { stop_on_error: flags.stopOnError, timeout_seconds: flags.timeout };
        const report =
          piped || /^\s*[[{]/.test(script)
            ? await callOperation(
                service,
                executeActions,
                { actions: parseScript(script, piped ? NO_STDIN : NO_SCRIPT), ...options },
                caller,
              )
            : await callOperation(service, executeFile, { path: resolve(script), ...options }, caller);
        print(flags, report, () => table(report.outcomes));
        if (!report.ok) service.log.error(`run ${report.run_id} (${report.status}): ${report.error_text}`);
        return report.ok ? 0 : 1;
      },
      { allowShell: flags.allowShell },
    ),
});

function table(outcomes: readonly Outcome[]): string {
  const lines = outcomes.map(({ command, ok, result, error, duration_ms }) => {
    const told = printable(ok ? JSON.stringify(result ?? null) : (error ?? ""), 200);
    return `${ok ? "ok    " : "FAILED"}  ${command}  ${told}  (${duration_ms} ms)`;
  });
  return lines.join("\n");
}
