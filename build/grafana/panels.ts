/**
 * The panels that the dashboard has many of: a number, and a graph over time.
 */
import {
  BigValueGraphMode,
  LegendDisplayMode,
  LegendPlacement,
  SortOrder,
  StackingConfigBuilder,
  StackingMode,
  TooltipDisplayMode,
  VizLegendOptionsBuilder,
  VizTooltipOptionsBuilder,
} from "@grafana/grafana-foundation-sdk/common";
import {
  FieldColorBuilder,
  FieldColorModeId,
  ThresholdsConfigBuilder,
  ThresholdsMode,
} from "@grafana/grafana-foundation-sdk/dashboard";
import { DataqueryBuilder } from "@grafana/grafana-foundation-sdk/prometheus";
import { PanelBuilder as StatBuilder } from "@grafana/grafana-foundation-sdk/stat";
import { PanelBuilder as GraphBuilder } from "@grafana/grafana-foundation-sdk/timeseries";

/** The Prometheus that is chosen at the top of the dashboard. */
export const SOURCE = { type: "prometheus", uid: "${datasource}" };

/** A query, and what its series are called. */
type Query = readonly [expr: string, legend: string];

interface PanelView {
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
export function number(shown: PanelView, expr: string, alarming: number | null = null): StatBuilder {
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

/** Lines over time; of the ten hosts or routes that matter, as a rule. `span` is of 24 columns. */
export function graph(shown: PanelView, queries: readonly Query[], span = 8): GraphBuilder {
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

/** For what adds up to a whole. */
export const stacked = (panel: GraphBuilder) =>
  panel
    .fillOpacity(60)
    .lineWidth(0)
    .stacking(new StackingConfigBuilder().mode(StackingMode.Normal).group("A"));

/** What the `nth` query of a panel is called. */
export const refId = (nth: number) => String.fromCharCode("A".charCodeAt(0) + nth);

/**
 * For a histogram by route: 300 hosts have some 40,000 series of it, which Prometheus 2.42 goes through a hundred
 * times a second. Rates are over longer times then, so nothing is left out.
 */
export const coarse = (panel: GraphBuilder) => panel.maxDataPoints(120);
