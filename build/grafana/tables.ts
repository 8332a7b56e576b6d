/**
 * The dashboard's two tables: the hosts, and the alerts that fire.
 */
import { TableCellDisplayMode, TableSortByFieldStateBuilder } from "@grafana/grafana-foundation-sdk/common";
import { MappingType } from "@grafana/grafana-foundation-sdk/dashboard";
import { DataqueryBuilder, PromQueryFormat } from "@grafana/grafana-foundation-sdk/prometheus";
import { PanelBuilder as TableBuilder } from "@grafana/grafana-foundation-sdk/table";
import { refId, SOURCE } from "./panels";
import { at, ERRORS, FAILED, FIRING, increase, perHost } from "./queries";

/** A column of the list of hosts. */
interface Column {
  readonly title: string;
  readonly expr: string;
  readonly unit: string;
}

const COLUMNS: readonly Column[] = [
  { title: "State", expr: `max by (instance, job) (${at("up")})`, unit: "none" },
  { title: "Build", expr: `max by (instance, version, commit) (${at("service_build_info")})`, unit: "none" },
  { title: "Uptime", expr: perHost(at("service_rest_uptime_seconds")), unit: "dtdurations" },
  { title: "Sessions", expr: perHost(at("service_active_sessions")), unit: "none" },
  { title: "Jobs", expr: perHost(at("service_scheduler_jobs")), unit: "none" },
  { title: "Active runs", expr: perHost(at("service_active_runs")), unit: "none" },
  { title: "Failed runs", expr: perHost(increase("service_runs_total", FAILED)), unit: "none" },
  { title: "5xx", expr: perHost(increase("service_rest_requests_total", ERRORS)), unit: "none" },
  { title: "Wrong tokens", expr: perHost(increase("service_rest_failed_auth_total")), unit: "none" },
  { title: "Memory", expr: perHost(at("process_resident_memory_bytes")), unit: "bytes" },
];

/** The hosts, a row each: Grafana merges what the queries say of the same one. */
export function hostList(): TableBuilder {
  const names = COLUMNS.map(({ title }, nth) => [`Value #${refId(nth)}`, title] as const);
  const panel = new TableBuilder()
    .title("Hosts")
    .description(
      "Version and state of each host. Failed runs, 5xx and wrong tokens are counted over the dashboard's time range.",
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

/** The alerts that fire, a row each. */
export function alertList(): TableBuilder {
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
