/**
 * The metrics of one service: a registry of its own, behind a small recorder. Names are the field's (docs/metrics.md).
 */
import Counter from "prom-client/lib/counter";
import Gauge from "prom-client/lib/gauge";
import Histogram from "prom-client/lib/histogram";
import Registry from "prom-client/lib/registry";
import { commit, version } from "../version";
import { addGauge } from "./gauge";
import { addProcessMetrics } from "./process";
import { countRequests } from "./requests";
import { addRunMetrics, type RunTotals } from "./runs";
import { createTimeline, type TimelineReport } from "./timeline";

/**
 * What is measured of a link: its field in the wire format, its name and unit in Prometheus (base units:
 * https://prometheus.io/docs/practices/naming/#base-units), what it is in words, the factor between the two units, and
 * the histogram's buckets, from a wired LAN to a link that is beyond use.
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

/** Link statistics by their fields in the wire format; null for what was not measured. */
export type LinkReading = Readonly<Record<(typeof LINK_METRICS)[number]["field"], number | null>>;

/** Whom a scrape asks for what is counted elsewhere; none may cost a query over a whole log. */
export interface MetricSources {
  uptimeSeconds(): number | Promise<number>;
  auditRows(): number | Promise<number>;
  activeSessions(): number | Promise<number>;
  schedulerJobs(): number | Promise<number>;
  runs(): Promise<RunTotals>;
}

/** Requests answered, and how many of them in which way. */
export interface RequestTotals {
  readonly total: number;
  readonly clientErrors: number;
  readonly serverErrors: number;
  /** Requests with a wrong or malformed token, also among `clientErrors`. */
  readonly failedAuth: number;
}

export interface Metrics {
  /**
   * Counts a request that was answered.
   *
   * @param path the route's template, or `unmatched`; never what the client sent.
   * @param method a method of the table, or `other`.
   */
  recordRequest(method: string, path: string, status: number, seconds: number): void;
  /** Counts a request with a wrong or malformed token. */
  recordFailedAuth(): void;
  /** Counts an audit row that could not be written. */
  recordAuditFailure(): void;
  /** Takes a reading of a peer's link. @param isNewest whether none was taken later. */
  recordLink(reading: LinkReading, isNewest: boolean): void;
  /** What has been counted since the service was made. */
  requestTotals(): Promise<RequestTotals>;
  /** How they spread over the last hour. */
  requestTimeline(): TimelineReport;
  /** Audit rows that could not be written since the service was made. */
  auditFailures(): Promise<number>;
  /** The text of a scrape. */
  render(): Promise<string>;
}

/** Metrics over `sources`, the process's own included. */
export function createMetrics(sources: MetricSources): Metrics {
  const registry = new Registry();
  const registers = [registry];
  addProcessMetrics(registry);

  addGauge(
    registry,
    "service_rest_uptime_seconds",
    "Seconds since the REST server started",
    sources.uptimeSeconds,
  );
  addGauge(
    registry,
    "service_rest_audit_rows",
    "Rows in the audit log, those in its archives not counted; 0 where there is none",
    sources.auditRows,
  );
  addGauge(registry, "service_active_sessions", "Peer sessions that are connected", sources.activeSessions);
  addGauge(
    registry,
    "service_scheduler_jobs",
    "Scheduled jobs, paused ones included; 0 also when their file cannot be read",
    sources.schedulerJobs,
  );
  addRunMetrics(registry, sources.runs);
  new Gauge({
    name: "service_build_info",
    help: "Always 1; the labels say what is running",
    labelNames: ["version", "commit", "platform", "arch"],
    registers,
  }).set({ version, commit, platform: process.platform, arch: process.arch }, 1);

  const timeline = createTimeline();
  const failedAuth = new Counter({
    name: "service_rest_failed_auth_total",
    help: "Requests with a wrong or malformed token; those of a client that is locked out are not counted",
    registers,
  });
  const auditFailures = new Counter({
    name: "service_audit_failures_total",
    help: "Audit rows of requests that could not be written; what would change something is refused then",
    registers,
  });
  const { requests, record } = countRequests(registry);

  const links = LINK_METRICS.map(({ field, name, what, factor, buckets }) => {
    const newest = new Gauge({
      name: `service_link_newest_${name}`,
      help: `The newest sample of a peer link: ${what}; NaN when it was not measured`,
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

  return {
    recordLink(reading, isNewest) {
      for (const { field, factor, newest, all } of links) {
        const value = reading[field];
        if (isNewest) newest.set(value === null ? Number.NaN : value * factor);
        if (value !== null) all.observe(value * factor);
      }
    },
    recordRequest(method, path, status, seconds) {
      record(method, path, status, seconds);
      timeline.record(status);
    },
    recordFailedAuth: () => failedAuth.inc(),
    recordAuditFailure: () => auditFailures.inc(),
    async requestTotals() {
      const counted = (await requests.get()).values;
      const withStatus = (from: number, to: number) =>
        sum(counted.filter(({ labels }) => Number(labels.status) >= from && Number(labels.status) < to));
      return {
        total: sum(counted),
        clientErrors: withStatus(400, 500),
        serverErrors: withStatus(500, 600),
        failedAuth: sum((await failedAuth.get()).values),
      };
    },
    requestTimeline: () => timeline.report(),
    auditFailures: async () => sum((await auditFailures.get()).values),
    render: () => registry.metrics(),
  };
}

const sum = (values: ReadonlyArray<{ readonly value: number }>) =>
  values.reduce((total, { value }) => total + value, 0);
