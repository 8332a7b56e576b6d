import * as v from "valibot";
import { oneOf } from "../src/cli/subcommand";
import { view } from "../src/cli/view";
import { field } from "../src/core/fields";
import type { Outcome } from "../src/core/run";
import { parseScript } from "../src/core/script";
import { printable } from "../src/lib/sanitize";
import { executeActions, executeFile } from "../src/runs/operations/execute";

const LIST = v.object({ actions: v.array(v.unknown()) });

const allow_shell = field(v.optional(v.boolean(), false), "Let the script run programs (AC_shell_command)");

const shared = {
  on: false,
  cancellable: true,
  kind: "script",
  names: { path: "script" },
  service: ({ allow_shell: allowShell }: { readonly allow_shell: boolean }) => ({ allowShell }),
  text: ({ outcomes }: { readonly outcomes: readonly Outcome[] }) => outcomes.map(line).join("\n"),
  good: ({ ok }: { readonly ok: boolean }) => ok,
  problems: (report: {
    readonly ok: boolean;
    readonly run_id: string;
    readonly status: string;
    readonly error_text: string | null;
  }) => (report.ok ? [] : [`run ${report.run_id} (${report.status}): ${report.error_text}`]),
} as const;

const inline = view(executeActions, {
  ...shared,
  hidden: ["actions"],
  extra: { script: field(v.string(), "Actions as JSON, a .json file, or - for stdin"), allow_shell },
  positionals: ["script"],
  async complete(input, { script }) {
    const [text, otherwise] =
      script === "-"
        ? [await Bun.stdin.bytes(), "script: expected JSON on stdin"]
        : [script, "script: expected JSON, or the path of a .json file"];
    const { actions } = v.parse(LIST, { actions: parseScript(text, otherwise) });
    return { ...input, actions };
  },
});

const file = view(executeFile, { ...shared, extra: { allow_shell }, positionals: ["path"] });

export default oneOf(
  {
    describe: "Run a list of actions",
    examples: [
      [`$0 execute '[["AC_rest_api_status"]]'`, "Run one action"],
      ["$0 execute nightly.json --json", "Run a script, print its outcomes as JSON"],
      ["$0 execute - < actions.json", "Actions from stdin, in no list of processes"],
    ],
  },
  [file, inline],
  ({ script }) => (Array.isArray(script) && /^\s*[[{]|^-$/.test(script[0] ?? "") ? inline : file),
);

function line({ command, ok, result, error, duration_ms }: Outcome): string {
  const said = printable(ok ? JSON.stringify(result ?? null) : (error ?? ""), 200);
  return `${ok ? "ok    " : "FAILED"}  ${command}  ${said}  (${duration_ms} ms)`;
}
