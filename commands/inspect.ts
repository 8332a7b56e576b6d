import type * as v from "valibot";
import { command, withService } from "../src/cli/command";
import { ask, onHosts } from "../src/cli/fan-out";
import { watchable, watching } from "../src/cli/watch";
import { callLocalServer } from "../src/client/local-server";
import { LINK_METRICS, type LinkMetric } from "../src/core/records";
import type { TimedSample } from "../src/inspector/inspector";
import { inspectorRecent, inspectorSummary } from "../src/inspector/operations";
import { sparkline } from "../src/lib/sparkline";
import { table } from "../src/lib/table";

/** Samples in a sparkline, a character each. */
const SPARKS = 20;

export default command({
  builder: (argv) =>
    watchable(onHosts(argv), 1)
      .option("session", { type: "string", describe: "Only the samples of this session" })
      .epilogue("The window of statistics is that of the server that runs here (`svc serve`).")
      .example("$0 inspect --watch", "How the links of the sessions are")
      .example("$0 inspect --on all", "On each host of the address book"),
  handler: (flags) =>
    withService(flags, (service) => {
      const { configDir } = service;
      const which = flags.session === undefined ? {} : { session: flags.session };
      return watching(flags, ({ clear }) => {
        let samples: readonly TimedSample[] = [];
        const here = async () => {
          samples = (await callLocalServer(configDir, inspectorRecent, { n: SPARKS, ...which })).samples;
          const summary = await callLocalServer(configDir, inspectorSummary, which);
          clear();
          return summary;
        };
        const view = {
          columns: STATISTICS,
          rows: (summary: Summary) => rowsOf(summary).map(([, row]) => row),
          text: (summary: Summary) => textOf(summary, samples),
        };
        if (flags.on !== undefined) clear();
        return ask(service, flags, inspectorSummary, which, view, here);
      });
    }),
});

type Summary = v.InferOutput<typeof inspectorSummary.output>;

const STATISTICS = ["METRIC", "LAST", "MIN", "AVG", "P95", "MAX"];

const rowsOf = ({ metrics }: Summary): Array<[LinkMetric, string[]]> =>
  LINK_METRICS.map((metric) => {
    const { last, min, avg, p95, max } = metrics[metric] ?? {};
    return [metric, [metric, ...[last, min, avg, p95, max].map(shown)]];
  });

/** A gigabit a second leaves the sparkline its place in 80 columns. */
const shown = (value: number | null | undefined) =>
  typeof value === "number" ? `${value < 100 ? Math.round(value * 100) / 100 : Math.round(value)}` : "";

function textOf(summary: Summary, samples: readonly TimedSample[]): string {
  const rows = rowsOf(summary).map(([metric, row]) => [...row, sparkline(samples.map((one) => one[metric]))]);
  const window = `${summary.sample_count} samples over ${Math.round(summary.window_seconds)} s`;
  return `${table([...STATISTICS, `LATEST ${SPARKS}`], rows)}\n${window}`;
}
