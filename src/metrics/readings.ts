/**
 * The metrics that are read at each scrape, one declaration each. One that cannot be read is NaN (with labels: absent), and
 * the rest of the scrape is served.
 */
import Counter from "prom-client/lib/counter";
import Gauge from "prom-client/lib/gauge";
import type Registry from "prom-client/lib/registry";
import { commit, version } from "../version";
import { type Connection, DESK, type DeskSources, regionLabel } from "./desk-readings";
import { HOST, type HostSources } from "./host-readings";
import { processReadings } from "./process";

/** The slice of the service that is read. No reading may cost a query over a whole log. */
export interface MetricSources extends HostSources, DeskSources {
  rest(): Promise<{
    readonly server: {
      uptimeSeconds(): number;
      /** In milliseconds since 1970; undefined without TLS. */
      certificateEnds(): number | undefined;
    } | null;
  }>;
  audit(): Promise<{
    rowCount(): number;
    patrolled(): { readonly verified_at: string | null; readonly altered: readonly unknown[] } | null;
  } | null>;
  sessions(): Promise<{ list(): ReadonlyArray<{ readonly state: string }> }>;
  viewersNow(): number;
  scheduler(): Promise<{ count(): number | Promise<number> }>;
  runs(): Promise<{ totals(): RunTotals }>;
  events(): { counts(): ReadonlyMap<string, number> };
  spanCounts(): { readonly sent: number; readonly dropped: number } | undefined;
  eventStreams(): Promise<{ count(): number }>;
  hostLink(): Promise<{ readonly desk: string; readonly state: string; readonly dials: number } | null>;
  natsHost(): Promise<Connection | null>;
  tokens(): Promise<{ list(): ReadonlyArray<{ readonly name: string; readonly expires: string | null }> }>;
}

interface RunTotals {
  readonly active: number;
  /** Runs that ended since the process started; also the ways in which none has ended yet, as 0. */
  readonly ended: ReadonlyArray<{
    readonly source: string;
    readonly status: string;
    readonly count: number;
  }>;
}

interface Sample {
  readonly value: number;
  readonly labels: Readonly<Record<string, string>>;
}

/** A metric that is read at each scrape. */
export interface Reading {
  readonly name: string;
  readonly help: string;
  /** Absent for a gauge. */
  readonly type?: "counter";
  readonly labels?: readonly string[];
  read(service: MetricSources): number | readonly Sample[] | Promise<number | readonly Sample[]>;
}

/** The most tokens with a metric each. */
const MAX_TOKENS = 100;

const SERVICE: readonly Reading[] = [
  {
    name: "service_rest_uptime_seconds",
    help: "Seconds since the REST server started",
    read: async (service) => (await service.rest()).server?.uptimeSeconds() ?? 0,
  },
  {
    name: "service_rest_audit_rows",
    help: "Rows in the audit log, archives excluded; 0 without a log",
    read: async (service) => (await service.audit())?.rowCount() ?? 0,
  },
  {
    name: "service_audit_altered_rows",
    help: "Rows of the audit log that are not as they were written, or are gone; 16 for more; NaN where no server verifies them",
    read: async (service) => (await service.audit())?.patrolled()?.altered.length ?? Number.NaN,
  },
  {
    name: "service_audit_verified_timestamp_seconds",
    help: "When all rows of the audit log had last been verified in turn, in Unix time; NaN before that",
    async read(service) {
      const at = (await service.audit())?.patrolled()?.verified_at;
      return at ? Date.parse(at) / 1_000 : Number.NaN;
    },
  },
  {
    name: "service_active_sessions",
    help: "Peer sessions that are connected",
    async read(service) {
      const sessions = (await service.sessions()).list();
      return sessions.filter(({ state }) => state === "open").length;
    },
  },
  {
    name: "service_screen_viewers",
    help: "Viewers of the live screen, those that wait for an approval included",
    read: (service) => service.viewersNow(),
  },
  {
    name: "service_scheduler_jobs",
    help: "Scheduled jobs, paused ones included; also 0 when their file cannot be read",
    read: async (service) => (await service.scheduler()).count(),
  },
  {
    name: "service_runs_total",
    help: "Runs of action lists that ended",
    type: "counter",
    labels: ["source", "status"],
    async read(service) {
      const { ended } = (await service.runs()).totals();
      return ended.map(({ source, status, count }) => ({ labels: { source, status }, value: count }));
    },
  },
  {
    name: "service_active_runs",
    help: "Active runs, including those that wait for the input devices",
    read: async (service) => (await service.runs()).totals().active,
  },
  {
    name: "service_events_total",
    help: "Events of this host, for those who follow it, by type",
    type: "counter",
    labels: ["type"],
    read: (service) =>
      Array.from(service.events().counts(), ([type, value]) => ({ labels: { type }, value })),
  },
  {
    name: "service_event_streams",
    help: "Streams of events that are open, and polls that wait for one",
    read: async (service) => (await service.eventStreams()).count(),
  },
  {
    name: "service_token_expires_seconds",
    help: "Seconds until a named token ends, negative after that; of those that end at all, the first 100",
    labels: ["name"],
    async read(service) {
      const ending = (await service.tokens()).list().flatMap(({ name, expires }) => {
        return expires === null
          ? []
          : { labels: { name }, value: (Date.parse(expires) - Date.now()) / 1_000 };
      });
      return ending.sort((a, b) => a.value - b.value).slice(0, MAX_TOKENS);
    },
  },
  {
    name: "service_desk_link_up",
    help: "1 while this host has its link to the desk, else 0; absent where it keeps none",
    labels: ["desk"],
    read: (service) => ofDeskLink(service, ({ state }) => (state === "linked" ? 1 : 0)),
  },
  {
    name: "service_desk_link_dials_total",
    help: "How often this host has dialled its desk; absent where it keeps no link",
    type: "counter",
    labels: ["desk"],
    read: (service) => ofDeskLink(service, ({ dials }) => dials),
  },
  {
    name: "service_otlp_spans_total",
    help: "Spans of runs that the collector of --otlp has taken (sent), or that were given up (dropped); absent without one",
    type: "counter",
    labels: ["result"],
    read: (service) =>
      Object.entries(service.spanCounts() ?? {}).map(([result, value]) => ({ labels: { result }, value })),
  },
  {
    name: "service_nats_up",
    help: "1 while this host, or this desk, is connected to its NATS server, of a desk also that of each region, else 0; absent where it keeps no connection",
    labels: ["role", "region"],
    read: (service) => ofNats(service, ({ state }) => (state === "connected" ? 1 : 0)),
  },
  {
    name: "service_nats_attempts_total",
    help: "How often a connection to the NATS server was tried; absent where none is kept",
    type: "counter",
    labels: ["role", "region"],
    read: (service) => ofNats(service, ({ attempts }) => attempts),
  },
  {
    name: "service_build_info",
    help: "Always 1; the labels name the build",
    labels: ["version", "commit", "platform", "arch"],
    read: () => [{ labels: { version, commit, platform: process.platform, arch: process.arch }, value: 1 }],
  },
];

/** A sample for each connection to a NATS server that is kept. */
async function ofNats(
  service: MetricSources,
  sampleOf: (connection: Connection) => number,
): Promise<Sample[]> {
  const ofDesk = Array.from(
    service.natsDesks(),
    ([region, desk]) => [{ role: "desk", ...regionLabel(region) }, desk.state()] as const,
  );
  return [[{ role: "host" }, await service.natsHost()] as const, ...ofDesk].flatMap(([labels, one]) =>
    one && one.state !== "off" ? [{ labels, value: sampleOf(one) }] : [],
  );
}

/** A sample for the link of this host to its desk, where it keeps one. */
async function ofDeskLink(
  service: MetricSources,
  sampleOf: (link: { readonly state: string; readonly dials: number }) => number,
): Promise<Sample[]> {
  const link = await service.hostLink();
  return link && link.state !== "off" ? [{ labels: { desk: link.desk }, value: sampleOf(link) }] : [];
}

/** Adds all of them to `registry`. */
export function addReadings(registry: Registry, service: MetricSources): void {
  for (const { name, help, type, labels = [], read } of [
    ...processReadings(),
    ...SERVICE,
    ...DESK,
    ...HOST,
  ]) {
    const samples = async (): Promise<readonly Sample[]> => {
      try {
        const value = await read(service);
        return typeof value === "number" ? [{ value, labels: {} }] : value;
      } catch {
        return labels.length > 0 ? [] : [{ value: Number.NaN, labels: {} }];
      }
    };
    const Metric = type === "counter" ? Counter : Gauge;
    new Metric({
      name,
      help,
      labelNames: labels,
      registers: [registry],
      async collect() {
        const current = await samples();
        this.reset();
        for (const { labels, value } of current) this.inc(labels, value);
      },
    });
  }
}
