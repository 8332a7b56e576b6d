/**
 * The metrics of one service: a registry of its own, behind a small recorder. Names are the field's (docs/metrics.md).
 */
import Counter from "prom-client/lib/counter";
import Gauge from "prom-client/lib/gauge";
import Histogram from "prom-client/lib/histogram";
import Registry from "prom-client/lib/registry";
import type { LinkSample, RequestTotals } from "../core/answer-schemas";
import { type Publish, unheard } from "../core/events";
import { atMost } from "../lib/at-most";
import { once } from "../lib/once";
import { requestsCounted } from "./events";
import type { MetricSources } from "./readings";
import { countRequests } from "./requests";
import { createTimeline, type Timeline } from "./timeline";

/**
 * The metrics of a link: the field of a sample, the name in Prometheus in base units
 * (https://prometheus.io/docs/practices/naming/#base-units), a description, the factor between the two units, and the
 * buckets of the histogram, from a wired LAN to an unusable link.
 */
const LINK_METRICS = [
  {
    field: "rtt_ms",
    name: "rtt_seconds",
    what: "round-trip time",
    factor: 1e-3,
    buckets: [0.001, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2],
  },
  {
    field: "fps",
    name: "frames_per_second",
    what: "frames a second",
    factor: 1,
    buckets: [1, 5, 10, 15, 20, 25, 30, 50, 60, 120],
  },
  {
    field: "bitrate_kbps",
    name: "bitrate_bytes_per_second",
    what: "bytes a second",
    factor: 125,
    buckets: [1e4, 3e4, 1e5, 3e5, 1e6, 3e6, 1e7, 1e8],
  },
  {
    field: "packet_loss_pct",
    name: "packet_loss_ratio",
    what: "share of the packets that were lost, 0 to 1",
    factor: 1e-2,
    buckets: [0, 0.001, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5],
  },
  {
    field: "jitter_ms",
    name: "jitter_seconds",
    what: "inter-arrival jitter (RFC 3550)",
    factor: 1e-3,
    buckets: [0.001, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5],
  },
] as const;

/** The time between two events about requests at least, in milliseconds. */
const EVENT_MS = 1_000;

/** Counts requests and samples of links, and gives the text of a scrape. */
export interface Metrics {
  /** Takes a sample of a peer link. @param isNewest whether none was taken later. */
  addLinkSample(sample: LinkSample, isNewest: boolean): void;
  /**
   * Counts a request that was answered. Callers must not pass what the client sent.
   *
   * @param method a method of the table, or `other`.
   * @param path the route's template, or `unmatched`.
   * @param status of the answer.
   * @param seconds that it took; a request without is counted, and not among the durations.
   * @param lacks what the host lacks that it asked for: no error of the server.
   */
  record_request(
    method: string,
    path: string,
    status: number,
    seconds?: number,
    lacks?: "screen" | null,
  ): void;
  /** Counts a request with a wrong or malformed token. */
  countFailedAuth(): void;
  /** Counts an audit row that could not be written. */
  countAuditFailure(): void;
  /** Counts a connection that was ended. @param limit which limit it was over: `total` or `client`. */
  countRefusedConnection(limit: string): void;
  /** Requests since the service was made. */
  requestTotals(): Promise<RequestTotals>;
  /** Requests over the last hour. */
  requestTimeline(): Timeline;
  /** Audit rows that could not be written since the service was made. */
  auditFailures(): Promise<number>;
  render(): Promise<string>;
}

/** The metrics of `service`, and of the process. */
export function createMetrics(service: MetricSources, publish: Publish = unheard): Metrics {
  const registry = new Registry();
  const registers = [registry];
  // Made with the first scrape: there are dozens, and few servers are scraped.
  const readings = once(async () => {
    const { addReadings } = await import("./readings");
    const read = new Registry();
    addReadings(read, service);
    return read;
  });

  const timeline = createTimeline();
  const failedAuth = new Counter({
    name: "service_rest_failed_auth_total",
    help: "Requests with a wrong or malformed token, except those of locked-out clients",
    registers,
  });
  const auditFailures = new Counter({
    name: "service_audit_failures_total",
    help: "Audit rows of requests that could not be written; svc then refuses changes",
    registers,
  });
  const refusedConnections = new Counter({
    name: "service_rest_connections_refused_total",
    help: "Connections ended because there were too many: in total, or of a client without a token",
    labelNames: ["limit"],
    registers,
  });
  for (const limit of ["total", "client"]) refusedConnections.inc({ limit }, 0);
  const { requests, count } = countRequests(registry);

  const links = LINK_METRICS.map(({ field, name, what, factor, buckets }) => {
    const newest = new Gauge({
      name: `service_link_newest_${name}`,
      help: `Newest sample of a peer link: ${what}; NaN when it was not measured`,
      registers,
    });
    newest.set(Number.NaN);
    const all = new Histogram({
      name: `service_link_${name}`,
      help: `All samples of peer links, one a second and link: ${what}`,
      buckets: [...buckets],
      registers,
    });
    return { field, factor, newest, all };
  });

  const requestTotals = async (): Promise<RequestTotals> => {
    const counted = (await requests.get()).values;
    const withStatus = (from: number, to: number) =>
      sum(counted.filter(({ labels }) => Number(labels.status) >= from && Number(labels.status) < to));
    // What asks for a screen where there is none asks the wrong host.
    const screenless = sum(counted.filter(({ labels }) => labels.lacks === "screen"));
    return {
      total: sum(counted),
      client_errors: withStatus(400, 500) + screenless,
      server_errors: withStatus(500, 600) - screenless,
      failed_auth: sum((await failedAuth.get()).values),
    };
  };
  const publishTotals = atMost(EVENT_MS, async () => publish(requestsCounted, await requestTotals()));

  return {
    addLinkSample(sample, isNewest) {
      for (const { field, factor, newest, all } of links) {
        const value = sample[field];
        if (isNewest) newest.set(value === null ? Number.NaN : value * factor);
        if (value !== null) all.observe(value * factor);
      }
    },
    record_request(method, path, status, seconds, lacks = null) {
      count(method, path, status, seconds, lacks);
      timeline.add(lacks === null ? status : 404);
      publishTotals.call();
    },
    countFailedAuth: () => failedAuth.inc(),
    countAuditFailure: () => auditFailures.inc(),
    countRefusedConnection: (limit) => refusedConnections.inc({ limit }),
    requestTotals,
    requestTimeline: () => timeline.report(),
    auditFailures: async () => sum((await auditFailures.get()).values),
    async render() {
      const read = await (await readings()).metrics();
      return `${read}\n${await registry.metrics()}`;
    },
  };
}

const sum = (values: ReadonlyArray<{ readonly value: number }>) =>
  values.reduce((total, { value }) => total + value, 0);
