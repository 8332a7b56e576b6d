/**
 * Requests by method, route and status, and how long they took. Counted here, on the path of every request, and put into
 * prom-client's form at a scrape: prom-client itself hashes the labels at each count.
 */
import Counter from "prom-client/lib/counter";
import Histogram from "prom-client/lib/histogram";
import type Registry from "prom-client/lib/registry";

/** Seconds; from a static answer to a screenshot of a large screen. */
const DURATION_BUCKETS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

const DURATIONS = {
  name: "service_rest_request_duration_seconds",
  help: "From a request's headers to the beginning of its answer",
};

/** What became of the requests of a method to a route. */
interface Tally {
  readonly labels: { readonly method: string; readonly path: string };
  /** By status, since the last scrape. */
  readonly statuses: Map<number, number>;
  /** How many fell into each bucket; the last is for what took longer. */
  readonly buckets: number[];
  seconds: number;
  count: number;
}

export interface RequestCounts {
  record(method: string, path: string, status: number, seconds: number): void;
  /** `service_rest_requests_total`. */
  readonly requests: Counter<"method" | "path" | "status">;
}

/** Adds both families to `registry`. */
export function countRequests(registry: Registry): RequestCounts {
  const tallies = new Map<string, Tally>();
  const registers = [registry];

  const requests = new Counter({
    name: "service_rest_requests_total",
    help: "Requests answered, also those that were refused",
    labelNames: ["method", "path", "status"],
    registers,
    collect() {
      for (const { labels, statuses } of tallies.values()) {
        for (const [status, count] of statuses) this.inc({ ...labels, status }, count);
        statuses.clear();
      }
    },
  });

  class Durations extends Histogram<"method" | "path"> {
    /** What the registry asks a histogram for. */
    async getForPromString() {
      return {
        ...DURATIONS,
        type: "histogram",
        aggregator: "sum",
        values: [...tallies.values()].flatMap(told),
      };
    }
  }
  new Durations({ ...DURATIONS, labelNames: ["method", "path"], registers });

  return {
    requests,
    record(method, path, status, seconds) {
      const key = `${method} ${path}`;
      let tally = tallies.get(key);
      if (!tally) {
        const buckets = new Array<number>(DURATION_BUCKETS.length + 1).fill(0);
        tally = { labels: { method, path }, statuses: new Map(), buckets, seconds: 0, count: 0 };
        tallies.set(key, tally);
      }
      tally.statuses.set(status, (tally.statuses.get(status) ?? 0) + 1);
      let at = 0;
      while (seconds > (DURATION_BUCKETS[at] ?? Number.POSITIVE_INFINITY)) at++;
      tally.buckets[at] = (tally.buckets[at] ?? 0) + 1;
      tally.seconds += seconds;
      tally.count++;
    },
  };
}

/** The lines of a histogram: its buckets, each with all that is below it, sum and count. */
function told({ labels, buckets, seconds, count }: Tally) {
  let below = 0;
  const lines = buckets.map((fell, at) => {
    below += fell;
    const le = String(DURATION_BUCKETS[at] ?? "+Inf");
    return { metricName: `${DURATIONS.name}_bucket`, labels: { le, ...labels }, value: below };
  });
  return [
    ...lines,
    { metricName: `${DURATIONS.name}_sum`, labels, value: seconds },
    { metricName: `${DURATIONS.name}_count`, labels, value: count },
  ];
}
