/**
 * Requests by method, route and status, and their durations. Every request is counted here, and a scrape converts the counts
 * to prom-client's form: prom-client itself would hash the labels at each count.
 */
import Counter from "prom-client/lib/counter";
import Histogram from "prom-client/lib/histogram";
import type Registry from "prom-client/lib/registry";

/** Seconds; from a static answer to a screenshot of a large screen. */
const DURATION_BUCKETS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

const DURATIONS = {
  name: "service_rest_request_duration_seconds",
  help: "Time from a request's headers to the start of its answer",
};

/** The requests of one method to one route. */
interface Tally {
  readonly labels: { readonly method: string; readonly path: string };
  /** By status, since the last scrape. */
  readonly statuses: Map<number, number>;
  /** Those of them that ask for a screen where there is none. */
  readonly screenless: Map<number, number>;
  /** Count by bucket; the last one is for longer durations. */
  readonly buckets: number[];
  seconds: number;
  count: number;
}

/** Adds `service_rest_requests_total` and the durations to `registry`. */
export function countRequests(registry: Registry) {
  /** By path and method. */
  const tallies = new Map<string, Map<string, Tally>>();
  const all = () => [...tallies.values()].flatMap((methods) => [...methods.values()]);
  const registers = [registry];

  const requests = new Counter({
    name: "service_rest_requests_total",
    help: "Answered requests, refused ones included",
    labelNames: ["method", "path", "status", "lacks"],
    registers,
    collect() {
      for (const { labels, statuses, screenless } of all()) {
        for (const [status, count] of statuses) this.inc({ ...labels, status }, count);
        for (const [status, count] of screenless) this.inc({ ...labels, status, lacks: "screen" }, count);
        statuses.clear();
        screenless.clear();
      }
    },
  });

  class Durations extends Histogram<"method" | "path"> {
    /** Called by the registry at a scrape. */
    async getForPromString() {
      return {
        ...DURATIONS,
        type: "histogram",
        aggregator: "sum",
        values: all().flatMap(samplesOf),
      };
    }
  }
  new Durations({ ...DURATIONS, labelNames: ["method", "path"], registers });

  return {
    requests,
    /**
     * @param seconds that it took; undefined, and what is no duration, is left out of the histogram.
     * @param lacks as of `RequestMetrics`.
     */
    count(
      method: string,
      path: string,
      status: number,
      seconds: number | undefined,
      lacks: "screen" | null = null,
    ): void {
      let tally = tallies.get(path)?.get(method);
      if (!tally) {
        const buckets = new Array<number>(DURATION_BUCKETS.length + 1).fill(0);
        tally = {
          labels: { method, path },
          statuses: new Map(),
          screenless: new Map(),
          buckets,
          seconds: 0,
          count: 0,
        };
        tallies.set(path, (tallies.get(path) ?? new Map()).set(method, tally));
      }
      const counts = lacks === null ? tally.statuses : tally.screenless;
      counts.set(status, (counts.get(status) ?? 0) + 1);
      // One that is no number would make the sum NaN for good.
      if (seconds === undefined || !Number.isFinite(seconds) || seconds < 0) return;
      let at = 0;
      while (seconds > (DURATION_BUCKETS[at] ?? Number.POSITIVE_INFINITY)) at++;
      tally.buckets[at] = (tally.buckets[at] ?? 0) + 1;
      tally.seconds += seconds;
      tally.count++;
    },
  };
}

/** The samples of a histogram: its buckets, which are cumulative, sum and count. */
function samplesOf({ labels, buckets, seconds, count }: Tally) {
  let below = 0;
  const lines = buckets.map((count, at) => {
    below += count;
    const le = String(DURATION_BUCKETS[at] ?? "+Inf");
    return { metricName: `${DURATIONS.name}_bucket`, labels: { le, ...labels }, value: below };
  });
  return [
    ...lines,
    { metricName: `${DURATIONS.name}_sum`, labels, value: seconds },
    { metricName: `${DURATIONS.name}_count`, labels, value: count },
  ];
}
