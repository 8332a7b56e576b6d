/** `svc inspect`: shows the link quality of sessions, with a sparkline for each metric. */
import type * as v from "valibot";
import { shownTable } from "../src/cli/shown-table";
import { print } from "../src/cli/subcommand";
import { answerHere, view } from "../src/cli/view";
import { LINK_METRICS, type LinkMetric } from "../src/core/answer-schemas";
import { inspectorRecent, inspectorSummary } from "../src/host/inspector/operations";
import { sparkline } from "../src/lib/sparkline";

/** Samples in a sparkline, a character each. */
const SPARKS = 20;

export default view(inspectorSummary, {
  watch: { interval: 1, types: ["session.*"] },
  epilogue: "The server on this host (`svc serve`) collects the statistics.",
  columns: ["METRIC", "LAST", "MIN", "AVG", "P95", "MAX"],
  rows: (summary) => rowsOf(summary).map(([, row]) => row),
  async run({ service, globals, input, call }) {
    const summary = await call(input);
    const { samples } = globals.json
      ? { samples: [] }
      : await answerHere(service, inspectorRecent, { n: SPARKS, ...input });
    print(globals, summary, () => textOf(summary, samples));
    return 0;
  },
  examples: [
    ["$0 inspect --watch", "The links of the sessions, every second"],
    ["$0 inspect --on all", "On each host of the address book"],
  ],
});

type Summary = v.InferOutput<typeof inspectorSummary.output>;
type Samples = v.InferInput<typeof inspectorRecent.output>["samples"];

const rowsOf = ({ metrics }: Summary): Array<[LinkMetric, string[]]> =>
  LINK_METRICS.map((metric) => {
    const { last, min, avg, p95, max } = metrics[metric] ?? {};
    return [metric, [metric, ...[last, min, avg, p95, max].map(cell)]];
  });

/** A gigabit a second leaves the sparkline its place in 80 columns. */
const cell = (value: number | null | undefined) =>
  typeof value === "number" ? `${value < 100 ? Math.round(value * 100) / 100 : Math.round(value)}` : "";

function textOf(summary: Summary, samples: Samples): string {
  const rows = rowsOf(summary).map(([metric, row]) => [
    ...row,
    sparkline(samples.map((one) => one[metric] ?? null)),
  ]);
  const window = `${summary.sample_count} samples over ${Math.round(summary.window_seconds)} s`;
  return `${shownTable(["METRIC", "LAST", "MIN", "AVG", "P95", "MAX", `LATEST ${SPARKS}`], rows)}\n${window}`;
}
