/**
 * The Grafana dashboard over one host or all: what stands in `docs/grafana/svc.json`.
 *
 * Every query names its hosts by the dashboard's variables (`$job`, `$tag`, `$instance`), and needs no recording rules.
 */
import {
  BigValueGraphMode,
  LegendDisplayMode,
  LegendPlacement,
  SortOrder,
  StackingConfigBuilder,
  StackingMode,
  TableCellDisplayMode,
  TableSortByFieldStateBuilder,
  TooltipDisplayMode,
  VizLegendOptionsBuilder,
  VizTooltipOptionsBuilder,
} from "@grafana/grafana-foundation-sdk/common";
import {
  DashboardBuilder,
  DashboardCursorSync,
  DatasourceVariableBuilder,
  FieldColorBuilder,
  FieldColorModeId,
  MappingType,
  QueryVariableBuilder,
  RowBuilder,
  ThresholdsConfigBuilder,
  ThresholdsMode,
  VariableRefresh,
  VariableSort,
} from "@grafana/grafana-foundation-sdk/dashboard";
import { DataqueryBuilder, PromQueryFormat } from "@grafana/grafana-foundation-sdk/prometheus";
import { PanelBuilder as StatBuilder } from "@grafana/grafana-foundation-sdk/stat";
import { PanelBuilder as TableBuilder } from "@grafana/grafana-foundation-sdk/table";
import { PanelBuilder as GraphBuilder } from "@grafana/grafana-foundation-sdk/timeseries";

const SOURCE = { type: "prometheus", uid: "${datasource}" };

/** `$tag` is the name of a label that the wanted hosts have; `job`, which all have, stands for any host. */
const HOSTS = 'job=~"$job", $tag=~".+", instance=~"$instance"';

/** The series of `metric` at the chosen hosts. */
const at = (metric: string, matchers = "") => `${metric}{${HOSTS}${matchers && `, ${matchers}`}}`;
const rate = (metric: string, matchers?: string) => `rate(${at(metric, matchers)}[$__rate_interval])`;
const increase = (metric: string, matchers?: string) => `increase(${at(metric, matchers)}[$__range])`;

/** The `share` of what a histogram counted that was below the result. */
const quantile = (share: number, histogram: string, by: string, matchers?: string) =>
  `histogram_quantile(${share}, sum by (${by}le) (${rate(`${histogram}_bucket`, matchers)}))`;
const mean = (histogram: string) =>
  `sum by (instance) (${rate(`${histogram}_sum`)}) / sum by (instance) (${rate(`${histogram}_count`)})`;
const mostOf = (query: string) => `topk(10, ${query})`;

const ERRORS = 'status=~"5.."';
const FAILED = 'status=~"error|timeout"';
const FIRING = 'ALERTS{alertname=~"Svc.+", alertstate="firing"}';
/** What a host answers within milliseconds, and somebody asks for all the time. */
const AT_ONCE = 'path=~"/health|/metrics|/sessions|/jobs"';

/** A query, and what its series are called. */
type Query = readonly [expr: string, legend: string];

interface Shown {
  readonly title: string;
  /** What it means, and what to make of it. */
  readonly description: string;
  /** https://grafana.com/docs/grafana/latest/panels-visualizations/configure-standard-options/#unit. */
  readonly unit: string;
}

const red = (value: number) =>
  new ThresholdsConfigBuilder().mode(ThresholdsMode.Absolute).steps([
    { value: null, color: "green" },
    { value, color: "red" },
  ]);

/** One number, red from `alarming` on. */
function number(shown: Shown, expr: string, alarming: number | null = null): StatBuilder {
  const panel = new StatBuilder()
    .title(shown.title)
    .description(shown.description)
    .unit(shown.unit)
    .datasource(SOURCE)
    .span(4)
    .height(4)
    .graphMode(BigValueGraphMode.None)
    .withTarget(new DataqueryBuilder().refId("A").expr(expr).instant());
  if (alarming !== null) return panel.thresholds(red(alarming));
  return panel.colorScheme(new FieldColorBuilder().mode(FieldColorModeId.Fixed).fixedColor("text"));
}

function graph(shown: Shown, queries: readonly Query[], span = 8): GraphBuilder {
  const targets = queries.map(([expr, legend], nth) =>
    new DataqueryBuilder().refId(refId(nth)).expr(expr).legendFormat(legend).range(),
  );
  return new GraphBuilder()
    .title(shown.title)
    .description(shown.description)
    .unit(shown.unit)
    .datasource(SOURCE)
    .span(span)
    .height(8)
    .min(0)
    .fillOpacity(10)
    .legend(
      new VizLegendOptionsBuilder()
        .displayMode(LegendDisplayMode.List)
        .placement(LegendPlacement.Bottom)
        .showLegend(true),
    )
    .tooltip(new VizTooltipOptionsBuilder().mode(TooltipDisplayMode.Multi).sort(SortOrder.Descending))
    .targets(targets);
}

const stacked = (panel: GraphBuilder) =>
  panel
    .fillOpacity(60)
    .lineWidth(0)
    .stacking(new StackingConfigBuilder().mode(StackingMode.Normal).group("A"));

const refId = (nth: number) => String.fromCharCode("A".charCodeAt(0) + nth);

/** A column of the list of hosts. */
interface Column {
  readonly title: string;
  readonly expr: string;
  readonly unit: string;
}

const perHost = (expr: string) => `sum by (instance) (${expr})`;

const COLUMNS: readonly Column[] = [
  { title: "State", expr: `max by (instance, job) (${at("up")})`, unit: "none" },
  { title: "Build", expr: `max by (instance, version, commit) (${at("service_build_info")})`, unit: "none" },
  { title: "Uptime", expr: perHost(at("service_rest_uptime_seconds")), unit: "dtdurations" },
  { title: "Sessions", expr: perHost(at("service_active_sessions")), unit: "none" },
  { title: "Jobs", expr: perHost(at("service_scheduler_jobs")), unit: "none" },
  { title: "Runs going on", expr: perHost(at("service_active_runs")), unit: "none" },
  { title: "Failed runs", expr: perHost(increase("service_runs_total", FAILED)), unit: "none" },
  { title: "5xx", expr: perHost(increase("service_rest_requests_total", ERRORS)), unit: "none" },
  { title: "Wrong tokens", expr: perHost(increase("service_rest_failed_auth_total")), unit: "none" },
  { title: "Memory", expr: perHost(at("process_resident_memory_bytes")), unit: "bytes" },
];

/** The hosts, a row each: Grafana merges what the queries say of the same one. */
function hostList(): TableBuilder {
  const names = COLUMNS.map(({ title }, nth) => [`Value #${refId(nth)}`, title] as const);
  const panel = new TableBuilder()
    .title("Hosts")
    .description(
      "What runs where. Failed runs, 5xx and wrong tokens are counted over the dashboard's time range.",
    )
    .datasource(SOURCE)
    .span(24)
    .height(10)
    .decimals(0)
    .filterable(true)
    .sortBy([new TableSortByFieldStateBuilder().displayName("State").desc(false)])
    .targets(
      COLUMNS.map(({ expr }, nth) =>
        new DataqueryBuilder().refId(refId(nth)).expr(expr).instant().format(PromQueryFormat.Table),
      ),
    )
    .transformations([
      { id: "merge", options: {} },
      {
        id: "organize",
        options: {
          // The build is in the labels of its series; its value is always 1.
          excludeByName: { Time: true, "Value #B": true },
          indexByName: Object.fromEntries(
            ["instance", "job", "Value #A", "version", "commit", ...names.slice(2).map(([name]) => name)].map(
              (name, nth) => [name, nth],
            ),
          ),
          renameByName: {
            instance: "Host",
            job: "Job",
            version: "Version",
            commit: "Commit",
            ...Object.fromEntries(names),
          },
        },
      },
    ])
    .overrideByName("State", [
      {
        id: "mappings",
        value: [
          {
            type: MappingType.ValueToText,
            options: {
              0: { text: "down", color: "red", index: 0 },
              1: { text: "up", color: "green", index: 1 },
            },
          },
        ],
      },
      { id: "custom.cellOptions", value: { type: TableCellDisplayMode.ColorText } },
    ]);
  for (const { title, unit } of COLUMNS) {
    if (unit !== "none") panel.overrideByName(title, [{ id: "unit", value: unit }]);
  }
  return panel;
}

function alertList(): TableBuilder {
  return new TableBuilder()
    .title("Alerts")
    .description(
      "Alerts of docs/prometheus/alerts.yml that fire, at any host. None, or rules that are not loaded: empty.",
    )
    .datasource(SOURCE)
    .span(24)
    .height(6)
    .noValue("No alert fires")
    .withTarget(
      new DataqueryBuilder()
        .refId("A")
        .expr(`max by (severity, alertname, instance) (${FIRING})`)
        .instant()
        .format(PromQueryFormat.Table),
    )
    .transformations([
      {
        id: "organize",
        options: {
          excludeByName: { Time: true, Value: true },
          indexByName: { severity: 0, alertname: 1, instance: 2 },
          renameByName: { severity: "Severity", alertname: "Alert", instance: "Host" },
        },
      },
    ]);
}

const ROWS: ReadonlyArray<
  readonly [title: string, panels: ReadonlyArray<StatBuilder | GraphBuilder | TableBuilder>]
> = [
  [
    "Fleet",
    [
      number(
        { title: "Hosts up", description: "Hosts that Prometheus has metrics of.", unit: "none" },
        `sum(${at("up")})`,
      ),
      number(
        { title: "Hosts down", description: "Hosts that do not answer Prometheus.", unit: "none" },
        `count(${at("up")} == 0) or vector(0)`,
        1,
      ),
      number(
        { title: "Firing alerts", description: "Of docs/prometheus/alerts.yml, at any host.", unit: "none" },
        `count(${FIRING}) or vector(0)`,
        1,
      ),
      number(
        {
          title: "Builds",
          description: "Different builds of svc; more than one during an upgrade.",
          unit: "none",
        },
        `count(count by (version, commit) (${at("service_build_info")}))`,
        2,
      ),
      number(
        { title: "Peer sessions", description: "Connected now.", unit: "none" },
        `sum(${at("service_active_sessions")})`,
      ),
      number(
        { title: "Runs going on", description: "Runs of action lists, waiting ones included.", unit: "none" },
        `sum(${at("service_active_runs")})`,
      ),
      hostList(),
      alertList(),
    ],
  ],
  [
    "Requests",
    [
      stacked(
        graph(
          {
            title: "Requests by status",
            description:
              "401: no token or a wrong one. 429: beyond the rate limit, or locked out. 5xx: see below.",
            unit: "reqps",
          },
          [[`sum by (status) (${rate("service_rest_requests_total")})`, "{{status}}"]],
          12,
        ),
      ),
      graph(
        { title: "Busiest routes", description: "The ten that are asked for most often.", unit: "reqps" },
        [[mostOf(`sum by (method, path) (${rate("service_rest_requests_total")})`), "{{method}} {{path}}"]],
        12,
      ),
      graph(
        {
          title: "Server errors",
          description:
            "Share of a host's requests that end in a 5xx; the ten worst. 503: it lacks something. 500: a bug.",
          unit: "percentunit",
        },
        [
          [
            mostOf(
              `${perHost(rate("service_rest_requests_total", ERRORS))} / ${perHost(rate("service_rest_requests_total"))}`,
            ),
            "{{instance}}",
          ],
        ],
      ),
      graph(
        {
          title: "Slowest routes",
          description:
            "95 % of the answers of a route came within this time; the ten slowest. Scripts take as long as they do.",
          unit: "s",
        },
        [[mostOf(quantile(0.95, "service_rest_request_duration_seconds", "path, ")), "{{path}}"]],
      ),
      graph(
        {
          title: "Slowest hosts",
          description:
            "90 % of a host's answers to what is there at once came within this time; the ten slowest.",
          unit: "s",
        },
        [
          [
            mostOf(quantile(0.9, "service_rest_request_duration_seconds", "instance, ", AT_ONCE)),
            "{{instance}}",
          ],
        ],
      ),
    ],
  ],
  [
    "Actions",
    [
      stacked(
        graph(
          {
            title: "Runs by ending",
            description:
              "Runs of action lists that ended, in a minute. error: an action failed. timeout: at the deadline.",
            unit: "opm",
          },
          [[`sum by (status) (${rate("service_runs_total")}) * 60`, "{{status}}"]],
        ),
      ),
      graph(
        {
          title: "Failing runs",
          description: "Share of a host's runs that end with an error or at their deadline; the ten worst.",
          unit: "percentunit",
        },
        [
          [
            mostOf(`${perHost(rate("service_runs_total", FAILED))} / ${perHost(rate("service_runs_total"))}`),
            "{{instance}}",
          ],
        ],
      ),
      graph(
        {
          title: "Runs by source",
          description:
            "Runs that ended, in a minute: of requests (rest), of jobs (scheduler), of svc itself (manual).",
          unit: "opm",
        },
        [[`sum by (source) (${rate("service_runs_total")}) * 60`, "{{source}}"]],
      ),
      graph(
        {
          title: "Runs going on",
          description:
            "By host, the ten with most. A host takes 256; runs that use pointer or keyboard wait for one another.",
          unit: "none",
        },
        [[mostOf(perHost(at("service_active_runs"))), "{{instance}}"]],
        12,
      ),
      graph(
        {
          title: "Scheduled jobs",
          description: "By host, the ten with most; paused ones included.",
          unit: "none",
        },
        [[mostOf(perHost(at("service_scheduler_jobs"))), "{{instance}}"]],
        12,
      ),
    ],
  ],
  [
    "Sessions and links",
    [
      graph({ title: "Peer sessions", description: "Connected, by host; the ten with most.", unit: "none" }, [
        [mostOf(perHost(at("service_active_sessions"))), "{{instance}}"],
      ]),
      graph(
        {
          title: "Round trip",
          description:
            "Half and 90 % of the samples of all links are below. Empty while no link is measured, like its neighbours.",
          unit: "s",
        },
        [
          [quantile(0.5, "service_link_rtt_seconds", ""), "50 %"],
          [quantile(0.9, "service_link_rtt_seconds", ""), "90 %"],
        ],
      ),
      graph(
        { title: "Throughput", description: "Of a link, on average; the ten hosts with most.", unit: "Bps" },
        [[mostOf(mean("service_link_bitrate_bytes_per_second")), "{{instance}}"]],
      ),
      graph(
        {
          title: "Packet loss",
          description: "On average; the ten worst hosts. Sessions of svc itself do not measure it.",
          unit: "percentunit",
        },
        [[mostOf(mean("service_link_packet_loss_ratio")), "{{instance}}"]],
      ),
      graph(
        {
          title: "Jitter",
          description:
            "90 % of the samples of all links are below. Sessions of svc itself do not measure it.",
          unit: "s",
        },
        [[quantile(0.9, "service_link_jitter_seconds", ""), "90 %"]],
      ),
      graph(
        {
          title: "Frames a second",
          description: "On average; the ten hosts with most. Sessions of svc itself have no picture.",
          unit: "none",
        },
        [[mostOf(mean("service_link_frames_per_second")), "{{instance}}"]],
      ),
    ],
  ],
  [
    "Audit and access",
    [
      graph(
        {
          title: "Audit rows",
          description:
            "In the log, by host; the ten longest. It falls by a tenth when old rows are archived, otherwise when somebody prunes or clears it.",
          unit: "short",
        },
        [[mostOf(perHost(at("service_rest_audit_rows"))), "{{instance}}"]],
      ),
      graph(
        {
          title: "Audit rows that could not be written",
          description: "In a minute, by host. Anything above 0: requests that change something are refused.",
          unit: "opm",
        },
        [[mostOf(`${perHost(rate("service_audit_failures_total"))} * 60`), "{{instance}}"]],
      ),
      graph(
        {
          title: "Wrong tokens",
          description: "In a minute, by host. Above some: somebody guesses, or a client has an old token.",
          unit: "opm",
        },
        [[mostOf(`${perHost(rate("service_rest_failed_auth_total"))} * 60`), "{{instance}}"]],
      ),
    ],
  ],
  [
    "Process",
    [
      graph(
        {
          title: "Memory",
          description: "Resident, without child processes; the ten with most.",
          unit: "bytes",
        },
        [[mostOf(perHost(at("process_resident_memory_bytes"))), "{{instance}}"]],
        6,
      ),
      graph(
        {
          title: "Processor",
          description: "Of one processor, without child processes; the ten busiest.",
          unit: "percentunit",
        },
        [[mostOf(perHost(rate("process_cpu_seconds_total"))), "{{instance}}"]],
        6,
      ),
      graph(
        {
          title: "File descriptors",
          description: "Share of those that may be open; on Linux.",
          unit: "percentunit",
        },
        [[mostOf(`${perHost(at("process_open_fds"))} / ${perHost(at("process_max_fds"))}`), "{{instance}}"]],
        6,
      ),
      graph(
        {
          title: "Starts",
          description: "Within the hour before, by host. Three are a crash loop.",
          unit: "none",
        },
        [[mostOf(perHost(`changes(${at("process_start_time_seconds")}[1h])`)), "{{instance}}"]],
        6,
      ),
    ],
  ],
];

/** The JSON that Grafana imports. */
export function grafanaDashboard(): string {
  const builder = new DashboardBuilder("svc")
    .uid("svc-fleet")
    .description("Hosts that run `svc serve`: one or all. Made by svc; see docs/metrics.md.")
    .tags(["svc", "prometheus"])
    .time({ from: "now-6h", to: "now" })
    .refresh("1m")
    .tooltip(DashboardCursorSync.Crosshair)
    .variables(variables());
  for (const [title, panels] of ROWS) {
    builder.withRow(new RowBuilder(title));
    for (const panel of panels) builder.withPanel(panel);
  }
  const { panels = [], ...dashboard } = builder.build();
  const numbered = panels.map((panel, nth) => ({ ...panel, id: nth + 1 }));
  return `${JSON.stringify({ ...dashboard, panels: numbered }, null, 2)}\n`;
}

function variables() {
  const everyOne = { text: "All", value: "$__all" };
  const asked = (name: string, label: string, qryType: 0 | 1, query: string) =>
    new QueryVariableBuilder(name)
      .label(label)
      .datasource(SOURCE)
      .query({ qryType, query, refId: "PrometheusVariableQueryEditor-VariableQuery" })
      .definition(query)
      .refresh(VariableRefresh.OnTimeRangeChanged)
      .sort(VariableSort.AlphabeticalAsc)
      .includeAll(true)
      .current(everyOne);
  return [
    new DatasourceVariableBuilder("datasource").label("Prometheus").type("prometheus"),
    asked("job", "Job", 1, "label_values(service_build_info, job)").multi(true),
    asked("tag", "Tag", 0, "label_names()").regex("/^(?<value>svc_tag_(?<text>.+))$/").allValue("job"),
    asked("instance", "Host", 1, 'label_values(up{job=~"$job", $tag=~".+"}, instance)')
      .multi(true)
      .allValue(".+"),
  ];
}
