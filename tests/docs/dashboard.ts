/** The Grafana dashboard as tests read it. */
import * as v from "valibot";
import { readPage } from "./pages";

const SIDE = v.pipe(v.number(), v.integer(), v.minValue(0));
const DASHBOARD = v.object({
  schemaVersion: v.pipe(v.number(), v.minValue(39)),
  templating: v.object({ list: v.array(v.object({ name: v.string() })) }),
  panels: v.array(
    v.object({
      id: v.number(),
      type: v.picklist(["row", "stat", "table", "timeseries"]),
      title: v.string(),
      description: v.optional(v.string()),
      datasource: v.optional(v.unknown()),
      gridPos: v.object({ x: SIDE, y: SIDE, w: SIDE, h: SIDE }),
      fieldConfig: v.optional(v.object({ defaults: v.object({ unit: v.optional(v.string()) }) })),
      targets: v.optional(v.array(v.object({ refId: v.string(), expr: v.string() }))),
    }),
  ),
});

const dashboard = () => v.parse(DASHBOARD, JSON.parse(readPage("docs/grafana/svc.json")));

export const grafanaPanels = () => dashboard().panels;
export const grafanaVariables = () => dashboard().templating.list.map(({ name }) => name);

/** `query` as Grafana asks it with every variable at All, and `seconds` as the interval of rates and the time shown. */
export const ungrafana = (query: string, seconds = 60) =>
  query
    .replaceAll("$job", "svc.*")
    .replaceAll("$tag", "job")
    .replaceAll("$instance", ".+")
    .replaceAll(/\$__(rate_interval|range)\b/g, `${seconds}s`);
