/**
 * The metrics of one service: a registry of its own, behind a small recorder. Names are the field's (docs/metrics.md).
 */
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from "prom-client";
import { commit, version } from "../version";

/** Seconds; from a static answer to a screenshot of a large screen. */
const DURATION_BUCKETS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

/** Where the gauges get their value when a scrape asks; none may cost a query over a whole log. */
export interface GaugeSources {
  uptimeSeconds(): number | Promise<number>;
  auditRows(): number | Promise<number>;
  activeSessions(): number | Promise<number>;
  schedulerJobs(): number | Promise<number>;
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
  /** The text of a scrape. */
  render(): Promise<string>;
}

/** Metrics over `sources`, the process's own included. */
export function createMetrics(sources: GaugeSources): Metrics {
  const registers = [new Registry()];
  const [registry] = registers as [Registry];
  collectDefaultMetrics({ register: registry });

  const gauge = (name: string, help: string, value: () => number | Promise<number>) =>
    new Gauge({
      name,
      help,
      registers,
      async collect() {
        this.set(await value());
      },
    });
  gauge("service_rest_uptime_seconds", "Seconds since the REST server started", sources.uptimeSeconds);
  gauge("service_rest_audit_rows", "Rows in the audit log", sources.auditRows);
  gauge("service_active_sessions", "Live peer sessions", sources.activeSessions);
  gauge("service_scheduler_jobs", "Jobs known to the scheduler", sources.schedulerJobs);
  new Gauge({
    name: "service_build_info",
    help: "Always 1; the labels say what is running",
    labelNames: ["version", "commit", "platform", "arch"],
    registers,
  }).set({ version, commit, platform: process.platform, arch: process.arch }, 1);

  const failedAuth = new Counter({
    name: "service_rest_failed_auth_total",
    help: "Requests with a wrong or malformed token",
    registers,
  });
  const auditFailures = new Counter({
    name: "service_audit_failures_total",
    help: "Audit rows that could not be written",
    registers,
  });
  const requests = new Counter({
    name: "service_rest_requests_total",
    help: "Requests answered",
    labelNames: ["method", "path", "status"],
    registers,
  });
  const durations = new Histogram({
    name: "service_rest_request_duration_seconds",
    help: "From the request's headers to its response",
    labelNames: ["method", "path"],
    buckets: DURATION_BUCKETS,
    registers,
  });

  return {
    recordRequest(method, path, status, seconds) {
      requests.inc({ method, path, status });
      durations.observe({ method, path }, seconds);
    },
    recordFailedAuth: () => failedAuth.inc(),
    recordAuditFailure: () => auditFailures.inc(),
    render: () => registry.metrics(),
  };
}
