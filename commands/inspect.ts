import { setTimeout as delay } from "node:timers/promises";
import type * as v from "valibot";
import { ask, onHosts } from "../src/ask";
import { command, terminated, withService } from "../src/cli";
import { METRICS, type Metric, type TimedSample } from "../src/inspector/inspector";
import { inspectorRecent, inspectorSummary } from "../src/inspector/operations";
import { badInput } from "../src/lib/errors";
import { sparkline } from "../src/lib/sparkline";
import { table } from "../src/lib/table";
import { callLocalServer } from "../src/rest/local";

/** Samples in a sparkline, a character each. */
const SPARKS = 30;

export default command({
  builder: (argv) =>
    onHosts(argv)
      .option("session", { type: "string", describe: "Only the samples of this session" })
      .option("watch", { type: "boolean", default: false, describe: "Again and again, until Ctrl-C" })
      .option("interval", { type: "number", default: 1, describe: "watch: seconds between two" })
      .epilogue("The window of statistics is that of the server that runs here (`svc serve`).")
      .example("$0 inspect --watch", "How the links of the sessions are")
      .example("$0 inspect --on all", "On each host of the address book"),
  handler: (flags) =>
    withService(flags, async (service) => {
      if (!(flags.interval >= 0.1 && flags.interval <= 86_400)) {
        throw badInput(`interval: expected 0.1 to 86,400 seconds but found ${flags.interval}`);
      }
      const which = flags.session === undefined ? {} : { session: flags.session };
      const { configDir } = service;
      const once = async () => {
        let samples: readonly TimedSample[] = [];
        const here = async () => {
          samples = (await callLocalServer(configDir, inspectorRecent, { n: SPARKS, ...which })).samples;
          return callLocalServer(configDir, inspectorSummary, which);
        };
        const view = {
          columns: STATISTICS,
          rows: (summary: Summary) => rowsOf(summary).map(([, row]) => row),
          text: (summary: Summary) => textOf(summary, samples),
        };
        if (flags.watch && process.stdout.isTTY && !flags.json) process.stdout.write("\u001b[H\u001b[2J");
        return ask(service, flags, inspectorSummary, which, view, here);
      };
      if (!flags.watch) return once();
      const ended = new AbortController();
      void terminated().then(() => ended.abort());
      while (!ended.signal.aborted) {
        await once();
        await delay(flags.interval * 1_000, undefined, { signal: ended.signal }).catch(() => {});
      }
      return 0;
    }),
});

type Summary = v.InferOutput<typeof inspectorSummary.output>;

const STATISTICS = ["METRIC", "LAST", "MIN", "AVG", "P95", "MAX"];

const rowsOf = ({ metrics }: Summary): Array<[Metric, string[]]> =>
  METRICS.map((metric) => {
    const { last, min, avg, p95, max } = metrics[metric] ?? {};
    return [metric, [metric, ...[last, min, avg, p95, max].map(shown)]];
  });

const shown = (value: number | null | undefined) =>
  typeof value === "number" ? `${Math.round(value * 100) / 100}` : "";

function textOf(summary: Summary, samples: readonly TimedSample[]): string {
  const rows = rowsOf(summary).map(([metric, row]) => [...row, sparkline(samples.map((one) => one[metric]))]);
  const window = `${summary.sample_count} samples over ${Math.round(summary.window_seconds)} s`;
  return `${table([...STATISTICS, `LATEST ${SPARKS}`], rows)}\n${window}`;
}
