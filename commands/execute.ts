import type * as v from "valibot";
import { actionsIn, isInline, mustExist, SCRIPT } from "../src/cli/script";
import { oneOf } from "../src/cli/subcommand";
import { view } from "../src/cli/view";
import type { Outcome } from "../src/core/run";
import { printable } from "../src/lib/sanitize";
import { executeActions, executeFile } from "../src/runs/operations";
import { PERMISSION_FIELDS } from "../src/service";

type Permitted = Readonly<Record<keyof typeof PERMISSION_FIELDS, boolean>>;

type Report = Omit<v.InferOutput<typeof executeActions.output>, "result">;

const shared = {
  on: false,
  cancellable: true,
  kind: "script",
  names: { path: "script" },
  service: ({ allow_shell, allow_audit_clear }: Permitted) => ({ allow_shell, allow_audit_clear }),
  text: ({ outcomes }: Report) => outcomes.map(line).join("\n"),
  good: ({ ok }: Report) => ok,
  problems: ({ ok, run_id, status, error_text }: Report) =>
    ok ? [] : [`run ${run_id} (${status}): ${error_text}`],
} as const;

const inline = view(executeActions, {
  ...shared,
  hidden: ["actions"],
  extra: { script: SCRIPT, ...PERMISSION_FIELDS },
  positionals: ["script"],
  complete: async (input, { script }) => ({ ...input, actions: await actionsIn(script) }),
});

const file = view(executeFile, {
  ...shared,
  extra: PERMISSION_FIELDS,
  positionals: ["path"],
  complete(input) {
    mustExist(input.path);
    return input;
  },
});

export default oneOf(
  [
    [`$0 execute '[["AC_rest_api_status"]]'`, "Run one action"],
    ["$0 execute nightly.json --json", "Run a script, print its outcomes as JSON"],
    ["$0 execute - < actions.json", "Read stdin: the process list shows no actions"],
  ],
  [file, inline],
  ({ script }) => (Array.isArray(script) && isInline(script[0] ?? "") ? inline : file),
);

function line({ command, ok, result, error, duration_ms }: Outcome): string {
  const text = printable(ok ? JSON.stringify(result ?? null) : (error ?? ""), 200);
  return `${ok ? "ok    " : "FAILED"}  ${command}  ${text}  (${duration_ms} ms)`;
}
