/**
 * The Grafana dashboard over one host or all: what stands in `docs/grafana/svc.json`.
 *
 * Every query but that for alerts names its hosts by the dashboard's variables, and none needs recording rules.
 */
import {
  DashboardBuilder,
  DashboardCursorSync,
  DatasourceVariableBuilder,
  QueryVariableBuilder,
  RowBuilder,
  VariableRefresh,
  VariableSort,
} from "@grafana/grafana-foundation-sdk/dashboard";
import { SOURCE } from "./panels";
import { rows } from "./rows";

/** The JSON that Grafana imports. */
export function grafanaDashboard(): string {
  const builder = new DashboardBuilder("svc")
    .uid("svc-fleet")
    .description("One host that runs `svc serve`, or all. Generated; see docs/metrics.md.")
    .tags(["svc", "prometheus"])
    .time({ from: "now-6h", to: "now" })
    .refresh("1m")
    .tooltip(DashboardCursorSync.Crosshair)
    .variables(variables());
  for (const [title, panels] of rows()) {
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
