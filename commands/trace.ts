/** `svc trace`: lists, gets and exports traces of runs, and steps through one. */
import * as v from "valibot";
import { stepThrough } from "../src/cli/step-through";
import { type Group, print } from "../src/cli/subcommand";
import { view } from "../src/cli/view";
import { field, path } from "../src/core/fields";
import { exportTrace, getTrace, listTraces, showTrace } from "../src/host/trace/operations";
import { writeNamedFile } from "../src/lib/files";
import { jsonLine, printable } from "../src/lib/sanitize";
import { timeText } from "../src/lib/time-text";

type TraceView = v.InferOutput<typeof showTrace.output>;

export default {
  verbs: {
    list: view(listTraces, {
      columns: ["RUN", "STARTED", "STATUS", "FROM", "SCRIPT", "STEPS", "PICTURES", "KiB"],
      rows: ({ traces }) =>
        traces.map((trace) => [
          trace.run_id.slice(0, 8),
          trace.started_at,
          trace.status,
          [trace.source_type, trace.source_id].filter(Boolean).join(" "),
          trace.script_path || trace.commands.join(" "),
          `${trace.steps}`,
          `${trace.pictures}`,
          `${Math.ceil(trace.bytes / 1_024)}`,
        ]),
      none: "no traces",
      examples: [["$0 trace list", "Those of failed jobs, and those that clients asked for"]],
    }),
    get: view(getTrace, {
      positionals: ["run_id"],
      names: { run_id: "id" },
      extra: {
        output: field(v.optional(path(v.string())), "File to write (trace-ID.zip), - for stdout"),
      },
      async run({ call, input, extra, globals }) {
        const answer = await call(input);
        const bytes = new Uint8Array(await answer.arrayBuffer());
        const file = extra.output ?? `trace-${input.run_id.slice(0, 8)}.zip`;
        if (file === "-") await Bun.write(Bun.stdout, bytes);
        else {
          writeNamedFile(file, bytes, "--output");
          print(globals, { file, bytes: bytes.length }, () => printable(file));
        }
        return 0;
      },
      examples: [["$0 trace get 9f1c2e4a --output failed.zip", "Write the trace of a run to a file"]],
    }),
    export: view(exportTrace, {
      positionals: ["trace", "file"],
      text: ({ file, bytes, steps }) => `${printable(file)}: ${steps} steps, ${Math.ceil(bytes / 1_024)} KiB`,
      examples: [
        ["$0 trace export run.zip run.html", "One file for a colleague: it opens in a browser, without svc"],
      ],
    }),
    show: view(showTrace, {
      positionals: ["trace"],
      async run({ call, input, globals, show }) {
        const shown = await call(input);
        if (globals.json || !process.stdin.isTTY || !process.stdout.isTTY) return show(shown);
        await stepThrough(
          heading(shown),
          shown.steps.map((_, at) => stepText(shown, at)),
          failures(shown),
        );
        return 0;
      },
      text: (shown) =>
        [...heading(shown), "", ...shown.steps.map((_, at) => `${stepText(shown, at).join("\n")}\n`)].join(
          "\n",
        ),
      examples: [
        ["$0 trace show run.zip", "Step through it; → and ← go on and back, f to what failed, q ends"],
        ["$0 trace show 9f1c2e4a --pictures shots", "Write its pictures into a folder too"],
        ["$0 trace show run.zip --json", "Its steps as JSON"],
      ],
    }),
  },
} satisfies Group;

/** The run, in two lines or three. */
function heading({ run, written }: TraceView): string[] {
  const from = [run.source_type, run.source_id].filter(Boolean).join(" ");
  const omitted =
    run.omitted_steps + run.omitted_pictures > 0
      ? [`left out, as too many: the first ${run.omitted_steps} steps and ${run.omitted_pictures} pictures`]
      : [];
  const end = run.error_text === null ? "" : `: ${run.error_text}`;
  return [
    `run ${run.run_id}  ${timeText(run.started_at)}  ${from}  ${run.script_path}`,
    `${run.status}${end}`,
    ...omitted,
    ...(written === undefined ? [] : [`pictures are in ${written}`]),
  ].map((line) => printable(line, 1_000));
}

function stepText({ steps, run }: TraceView, at: number): string[] {
  const step = steps[at];
  if (!step) return [];
  const { number, place, command, ok, duration_ms, at_ms, error, result, before, after, no_picture } = step;
  const where = step.host === undefined ? place : `${step.host}  ${place}`;
  const outcome = ok === null ? "did not end" : ok ? "ok" : "FAILED";
  const lines = [
    `${number}/${run.steps + run.omitted_steps}  ${command}  ${outcome}  at ${seconds(at_ms)}, ${duration_ms ?? "?"} ms  ${where}`,
    `  arguments  ${jsonLine(step.arguments)}`,
    ...(error === undefined ? [] : [`  error      ${error}`]),
    ...(result === undefined ? [] : [`  result     ${jsonLine(result)}`]),
    ...(before === null && after === null ? [] : [`  pictures   ${before ?? "-"} → ${after ?? "-"}`]),
    ...(no_picture === undefined ? [] : [`  no picture: ${no_picture}`]),
  ];
  return lines.map((line) => printable(line, 2_000));
}

const failures = ({ steps }: TraceView) => steps.flatMap(({ ok }, at) => (ok === false ? [at] : []));

const seconds = (ms: number) => `${(ms / 1_000).toFixed(3)} s`;
