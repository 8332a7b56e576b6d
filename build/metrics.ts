/**
 * The metrics reference, read from a scrape in which everything has happened once: it has what Prometheus gets.
 */

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { RUN_ENDINGS } from "../src/core/run";
import { RUN_SOURCES } from "../src/host/runs/types";
import { createMetrics, type Metrics } from "../src/metrics/metrics";
import { createService } from "../src/service/service";

/** A metric family of a scrape. */
export interface Family {
  readonly name: string;
  readonly type: string;
  readonly help: string;
  /** Without the `le` of a histogram. */
  readonly labels: readonly string[];
  /** The upper bounds of a histogram's buckets, but for `+Inf`. */
  readonly buckets: readonly string[];
  readonly series: number;
}

/** The families of a host, in the order of a scrape. */
export async function metricFamilies(): Promise<Family[]> {
  return familiesOf(await scrape(everythingOnce));
}

/** The text of `docs/metrics.md`. */
export async function metricReference(): Promise<string> {
  const idle = familiesOf(await scrape(() => {}));
  const families = await metricFamilies();
  const later = new Set(idle.filter(({ series }) => series === 0).map(({ name }) => name));
  const rows = families.map(({ name, type, labels, help }) => {
    const named = labels.map((label) => `\`${label}\``).join(", ");
    const explained = later.has(name) ? `${help}. Only after the first one` : help;
    return `| \`${name}\` | ${type} | ${named} | ${unitOf(name)} | ${explained}. |`;
  });
  const buckets = families.flatMap(({ name, buckets }) =>
    buckets.length > 0 ? [`| \`${name}\` | ${buckets.join(", ")} |`] : [],
  );
  const perRoute = total(families.filter(({ name }) => later.has(name)));
  return [
    INTRODUCTION,
    "## Every metric",
    ["| name | type | labels | unit | |", "|---|---|---|---|---|", ...rows].join("\n"),
    `A histogram has the series \`…_bucket\` (with the label \`le\`), \`…_sum\` and \`…_count\`. The upper bounds of its buckets:`,
    ["| histogram | `le`, and `+Inf` |", "|---|---|", ...buckets].join("\n"),
    LABELS,
    `## How many series

A host that was just started has ${total(familiesOf(await scrapeOfHost()))} series; one that has joined a desk, and a desk, have some more: those above that are
\`absent\` elsewhere. Each method and route adds ${perRoute} after its first request: one for each status that it
answered with, the others for its histogram. Nothing that a client sends becomes a label: a path is the template of a route,
or \`unmatched\`. The routes of svc therefore limit the number of series; a host that is scraped and polled has 200 to 300.`,
    QUERIES,
  ]
    .join("\n\n")
    .concat("\n");
}

function everythingOnce(metrics: Metrics): void {
  metrics.record_request("GET", "/metrics", 503, 0.001, "screen");
  metrics.countFailedAuth();
  metrics.countAuditFailure();
  metrics.addLinkSample({ rtt_ms: 1, fps: 1, bitrate_kbps: 1, packet_loss_pct: 1, jitter_ms: 1 }, true);
}

async function scrape(before: (metrics: Metrics) => void): Promise<string> {
  const ended = RUN_SOURCES.flatMap((source) => RUN_ENDINGS.map((status) => ({ source, status, count: 0 })));
  const metrics = createMetrics({
    rest: async () => ({ server: { uptimeSeconds: () => 1, certificateEnds: () => Date.now() } }),
    configDir: tmpdir(),
    checkResults: async () => new Map([["clock", { ok: true, severity: "info" }]]),
    audit: async () => ({
      rowCount: () => 1,
      patrolled: () => ({ verified_at: new Date().toISOString(), altered: [] }),
    }),
    sessions: async () => ({ list: () => [{ state: "open" }] }),
    viewersNow: () => 1,
    scheduler: async () => ({ count: () => 1 }),
    runs: async () => ({ totals: () => ({ active: 1, ended }) }),
    events: () => ({ counts: () => new Map([["run.ended", 3]]) }),
    eventStreams: async () => ({ count: () => 2 }),
    hub: () => ({ links: () => [{ linked: true }] }),
    oddNow: () => ({ odd: 1, alike: 40, unknown: 2, longest_s: 900 }),
    hostLink: async () => ({ desk: "desk.example:9939", state: "linked", dials: 1 }),
    natsHost: async () => ({ state: "connected", attempts: 1 }),
    natsDesks: () =>
      new Map([
        [
          "",
          {
            state: () => ({ state: "connected", attempts: 1 }),
            presence: { counts: () => ({ up: 3, gone: 1 }) },
          },
        ],
      ]),
    existingPlans: async () => ({
      ledger: { plans: () => [{ seq: 1, state: "running" }], counts: () => ({ ok: 1 }) },
    }),
    foundLogs: async () => new Map([["host", { state: "ok" }]]),
    driftFound: () => new Map(),
    spanCounts: () => ({ sent: 0, dropped: 0 }),
    tokens: async () => ({ list: () => [{ name: "prometheus", expires: "2027-01-01T00:00:00.000Z" }] }),
    standbyNow: async () => ({
      taken_over: null,
      standbys: [{ name: "second", silent_s: 3 }],
      following: null,
    }),
  });
  before(metrics);
  return metrics.render();
}

/** What a host gives that was just started, and is no desk. */
async function scrapeOfHost(): Promise<string> {
  const configDir = mkdtempSync(join(tmpdir(), "svc-metrics-"));
  const service = createService({ configDir });
  try {
    await (await service.rest()).start({ port: 0 });
    return await (await service.metrics()).render();
  } finally {
    await service.stop();
    rmSync(configDir, { recursive: true });
  }
}

/** Of the text format: https://prometheus.io/docs/instrumenting/exposition_formats/#text-based-format. */
function familiesOf(text: string): Family[] {
  return text.split(/^(?=# HELP )/m).map((block) => {
    const [, name = "", help = ""] = /^# HELP (\w+) (.*)$/m.exec(block) ?? [];
    const [, type = ""] = /^# TYPE \w+ (\w+)$/m.exec(block) ?? [];
    const samples = block.split("\n").filter((line) => /^\w/.test(line));
    const labels = new Set(
      samples.flatMap((line) => [...line.matchAll(/(\w+)="/g)].map(([, label = ""]) => label)),
    );
    labels.delete("le");
    const buckets = samples.flatMap((line) => /\ble="([^"+]+)"/.exec(line)?.[1] ?? []);
    return { name, type, help, labels: [...labels], buckets, series: samples.length };
  });
}

const total = (families: readonly Family[]) => families.reduce((sum, { series }) => sum + series, 0);

/** A name contains its unit: https://prometheus.io/docs/practices/naming/#metric-names. */
function unitOf(name: string): string {
  if (name.endsWith("_bytes_per_second")) return "bytes/s";
  if (name.endsWith("_frames_per_second")) return "1/s";
  return /_(seconds|bytes|ratio)(_total)?$/.exec(name)?.[1] ?? "";
}

const INTRODUCTION = `# Metrics

<!-- Generated by \`npm run docs\` from what a scrape gives; do not edit. -->

Every \`svc serve\` answers \`GET /metrics\` in the Prometheus text format, behind its token and over TLS like every route:

\`\`\`sh
svc token show | sed 's/^/Authorization: Bearer /' | curl -H @- http://127.0.0.1:9939/metrics
\`\`\`

The folder of this page has files for Prometheus 2.42 or later and for Grafana:

| file | |
|---|---|
| [prometheus/prometheus.yml](prometheus/prometheus.yml) | a configuration with service discovery from an address book, and one with a list of hosts |
| [prometheus/alerts.yml](prometheus/alerts.yml) | alert rules, each with [what to do](troubleshooting.md#alerts); [alerts.test.yml](prometheus/alerts.test.yml) has their tests |
| [grafana/svc.json](grafana/svc.json) | a dashboard for one host or all: Dashboards → New → Import |

## Scraping

- **The token**: \`svc token add prometheus --scope metrics\` makes a token that can only scrape
  ([security.md](security.md#tokens-that-allow-less)). Put it into a file that only Prometheus may read. With
  \`--token-file\` every host accepts the same token, so that one job can scrape all of them. It works for 90 days on each
  (\`--expires\`); \`SvcTokenExpires\` warns in the last week.
- **Which hosts**: \`GET /admin/targets\` of a desk gives the desk itself and its address book to HTTP service discovery
  ([fleet.md](fleet.md)); \`svc admin targets\` prints the same for file discovery. Each target has \`svc_host\`, its
  label in the address book, and \`svc_tag_<tag>="true"\` for each of its tags. The desk, which alone has the metrics of links, plans and
  audit logs of its hosts, has \`svc_desk="true"\`.
- **Job names**: the alerts expect jobs named \`svc\` or \`svc-…\`.
- **TLS**: use \`ca_file\`; Prometheus cannot pin a key. For the certificates that svc makes, \`svc tls cert --on all > svc-ca.pem\` on the
  desk writes those of all hosts into one file: what each one shows on a connection that the address book trusts, so add hosts with a
  pin. Each is for the host's name and for the addresses that it had; \`svc serve --allow-host\` adds others. svc renews a certificate
  once a year, so write the file anew every week (a timer, or a job of cron). Left out, with a warning, are certificates of an
  authority (\`openssl req -x509\` makes those by default: add \`-addext basicConstraints=critical,CA:FALSE\`), and those that are also for
  another host of the address book. What remains: a host chooses what else its certificate is for. Prometheus would take it for any
  other target with that name, so use the file for jobs that scrape the hosts of this address book, and for nothing else.
- **The rate limit** counts scrapes: a scrape every 30 s uses 2 of a client's 120 requests a minute.
- **The audit log** has a row for each scrape: with one every 30 s, 2,880 rows a day.

The tests check the configuration and the alerts with promtool, and every query of the dashboard with a Prometheus that
scrapes svc. They have no Grafana: nobody has opened the dashboard in one yet.`;

const LABELS = `## Labels

| label | values |
|---|---|
| \`method\` | \`GET\`, \`POST\`, \`other\` |
| \`path\` | the template of a route, such as \`/runs/{run_id}\`; \`unmatched\` |
| \`status\` of a request | the HTTP status. 401: no token, or a wrong one; 429: beyond the rate limit, or locked out |
| \`lacks\` | \`screen\`: the host has none, which is no error of the server; absent for any other request |
| \`limit\` | \`total\`, \`client\`: the limit that a connection was over |
| \`source\` | ${RUN_SOURCES.map((source) => `\`${source}\``).join(", ")}: a request, a job, a plan of a desk, svc itself |
| \`status\` of a run | ${RUN_ENDINGS.map((status) => `\`${status}\``).join(", ")} |
| \`name\` | the name of a named token |
| \`type\` | the type of an event, such as \`run.ended\` ([events.md](events.md)) |
| \`state\` of an audit log | what \`svc admin witness\` says of it: \`ok\`, \`silent\`, \`forked\` and others ([audit.md](audit.md#witnesses)) |
| \`state\` of links | \`linked\`, \`gone\`: the host has lost its link ([links.md](links.md)) |
| \`result\` | \`sent\`: the collector has taken them; \`dropped\`: they were given up ([OpenTelemetry](opentelemetry.md)) |
| \`role\` | \`host\`, \`desk\`: as what this machine is connected to a NATS server ([nats.md](nats.md)) |
| \`state\` of hosts over NATS | \`up\`, \`gone\`: the host ended its connection, or was not heard for 5.5 minutes |
| \`desk\` | the address of the desk that this host has joined |
| \`state\` of plans, and of hosts of a plan | as in [plans.md](plans.md#states) |
| \`version\`, \`commit\`, \`platform\`, \`arch\` | of the binary |`;

const QUERIES = `## Queries

Hosts that do not answer:

\`\`\`promql
up{job=~"svc(-.*)?"} == 0
\`\`\`

Share of requests that ended in a 5xx, by host, without those for a screen that it does not have:

\`\`\`promql
sum by (instance) (rate(service_rest_requests_total{status=~"5..", lacks=""}[5m]))
  / sum by (instance) (rate(service_rest_requests_total[5m]))
\`\`\`

95 % of the answers of a route came within:

\`\`\`promql
histogram_quantile(0.95, sum by (path, le) (rate(service_rest_request_duration_seconds_bucket[5m])))
\`\`\`

Scheduled runs that failed in the last day, by host, of those tagged \`lab\`:

\`\`\`promql
sum by (instance) (increase(service_runs_total{source="scheduler", status!="ok", svc_tag_lab="true"}[1d])) > 0
\`\`\`

Hosts that run another version than most:

\`\`\`promql
service_build_info * on (version, commit) group_left ()
  (count by (version, commit) (service_build_info) < scalar(max(count by (version, commit) (service_build_info))))
\`\`\``;
