/** What queries in the docs may name: the metrics of a host with their labels, and what Prometheus itself adds. */
import { parser } from "@prometheus-io/lezer-promql";
import { metricFamilies } from "../../build/metrics";

/** Labels of a target: `job` and `instance`, and those of an address book (docs/fleet.md). */
const OF_TARGETS = /^(job|instance|svc_host|svc_tag_\w+)$/;

/** Series that Prometheus makes (https://prometheus.io/docs/concepts/jobs_instances/, …/alerting_rules/). */
const OF_PROMETHEUS = new Map([
  ["up", []],
  ["ALERTS", ["alertname", "alertstate", "severity"]],
]);

/** Every series a query may select, with its labels but for those of targets. */
async function knownSeries(): Promise<Map<string, readonly string[]>> {
  const known = new Map<string, readonly string[]>(OF_PROMETHEUS);
  for (const { name, type, labels } of await metricFamilies()) {
    if (type !== "histogram") known.set(name, labels);
    else {
      known.set(`${name}_bucket`, [...labels, "le"]);
      known.set(`${name}_sum`, labels).set(`${name}_count`, labels);
    }
  }
  return known;
}

/** What is wrong with `query`: its syntax, or a metric or a label that is not there. */
export async function complaintsAbout(query: string): Promise<string[]> {
  const known = await knownSeries();
  const anywhere = new Set([...known.values()].flat());
  const complaints: string[] = [];
  let metric = "";
  parser.parse(query).iterate({
    enter({ type, name, from, to, node }) {
      const text = query.slice(from, to);
      if (type.isError) complaints.push(`not PromQL at ${from}: ${query}`);
      if (name === "VectorSelector") {
        const { firstChild } = node;
        metric = firstChild?.name === "Identifier" ? query.slice(firstChild.from, firstChild.to) : "";
        if (!known.has(metric)) complaints.push(`no such metric: ${text}`);
      }
      if (name !== "LabelName" || OF_TARGETS.test(text)) return;
      const labels = node.parent?.name === "GroupingLabels" ? anywhere : new Set(known.get(metric));
      if (!labels.has(text)) complaints.push(`no such label of ${metric}: ${text}`);
    },
  });
  return complaints;
}
