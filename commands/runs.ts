/** `svc runs`: lists, shows and cancels runs; says why one no longer fits, and proves what one did. */
import type * as v from "valibot";
import { RECEIPT_FILE, writeReceipt } from "../src/cli/receipt-file";
import { shownTable } from "../src/cli/shown-table";
import type { Group } from "../src/cli/subcommand";
import { view } from "../src/cli/view";
import { mendLines } from "../src/core/mend";
import { runProof } from "../src/host/audit/receipt/operations";
import { cancelRun, listRuns, mendRun, showRun } from "../src/host/runs/operations/runs";
import { jsonLine, printable } from "../src/lib/sanitize";
import { timeText } from "../src/lib/time-text";

const COLUMNS = ["RUN", "STARTED", "SECONDS", "STATUS", "FROM", "SCRIPT", "ERROR"];

type Run = v.InferInput<typeof cancelRun.output>;

const rowOf = (run: Run) => [
  run.run_id.slice(0, 8),
  run.started_at,
  run.duration_seconds?.toFixed(3) ?? "",
  run.waiting_for ? `waiting for ${run.waiting_for}` : run.status,
  [run.source_type, run.source_id].filter(Boolean).join(" "),
  run.script_path || run.commands.join(" "),
  run.error_text ?? "",
];

type RunDetail = v.InferInput<typeof showRun.output>;

const OUTCOMES = ["COMMAND", "OUTCOME", "MS", "RESULT"];

const outcomeRows = ({ outcomes }: RunDetail) =>
  outcomes.map(({ command, ok, duration_ms, result, error, omitted }) => [
    command,
    ok ? "ok" : "FAILED",
    duration_ms.toFixed(1),
    omitted ? "(too large to be kept)" : ok ? jsonLine(result ?? null) : (error ?? ""),
  ]);

/** Why there are no outcomes: the server has none of a run of `svc execute`, which is another process. */
function noOutcomes({ outcomes_kept, source_type, status }: RunDetail): string {
  if (outcomes_kept !== false) return "no outcomes yet";
  const why =
    source_type === "manual"
      ? "another process ran it, whose output had its outcomes and messages"
      : "they are no longer kept";
  return `no outcomes: ${why} (${status})`;
}

/** What `AC_log` left, below the outcomes. */
const logText = ({ log = [] }: RunDetail) =>
  log.length === 0
    ? ""
    : `\n\n${log.map(({ at, message }) => `${timeText(at)}  ${printable(message, 1_000)}`).join("\n")}`;

/** Where what was on the screen is, of a run that failed. */
const screenText = ({ black_box }: RunDetail) =>
  black_box
    ? `\n\nwhat was on the screen before it failed: svc screen at ${timeText(black_box.to)}, or svc recording export FILE.webm --since ${timeText(black_box.from)} --until ${timeText(black_box.to)}`
    : "";

export default {
  verbs: {
    list: view(listRuns, {
      columns: COLUMNS,
      rows: ({ runs }) => runs.map(rowOf),
      none: "no runs",
      examples: [["$0 runs list", "The runs of the server on this host"]],
    }),
    show: view(showRun, {
      positionals: ["run_id"],
      names: { run_id: "id" },
      columns: OUTCOMES,
      rows: outcomeRows,
      text: (run) => shownTable(OUTCOMES, outcomeRows(run), noOutcomes(run)) + logText(run) + screenText(run),
      none: "no outcomes",
      warnings: ({ status, error_text }) => (error_text === null ? [] : [`${status}: ${error_text}`]),
      examples: [["$0 runs show 9f1c2e4a", "The outcome of each action, and what it logged"]],
    }),
    mend: view(mendRun, {
      positionals: ["run_id"],
      names: { run_id: "id" },
      text: (mend) =>
        [
          ...mendLines(mend).map((line) => printable(line, 500)),
          ...(mend.script_path.startsWith("script:")
            ? [`another locator: svc scripts mend ${mend.script_path.slice(7)} LOCATOR NEW-LOCATOR`]
            : []),
        ].join("\n"),
      examples: [["$0 runs mend 9f1c2e4a", "Which element it missed, and what is there instead"]],
    }),
    proof: view(runProof, {
      positionals: ["run_id"],
      names: { run_id: "id" },
      on: false,
      extra: { output: RECEIPT_FILE },
      run: async ({ call, input, extra, globals }) => writeReceipt(globals, await call(input), extra.output),
      examples: [
        [
          "$0 runs proof 9f1c2e4a --output run.json",
          "For somebody who was not there: `svc audit verify-run`",
        ],
      ],
    }),
    cancel: view(cancelRun, {
      positionals: ["run_id"],
      names: { run_id: "id" },
      columns: COLUMNS,
      rows: (run) => [rowOf(run)],
      text: ({ run_id }) => `${run_id} is cancelled`,
      examples: [["$0 runs cancel 9f1c2e4a", "End it at once"]],
    }),
  },
} satisfies Group;
