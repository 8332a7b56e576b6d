import { view } from "../../src/cli/view";
import { poll as pollHosts } from "../../src/fleet/operations/fleet";
import { table } from "../../src/lib/table";

const COLUMNS = ["LABEL", "STATE", "LATENCY", "CLIENTS", "JOBS", "ADDRESS", "ERROR"];

export const poll = view(pollHosts, {
  watch: 5,
  text(results) {
    if (results.length === 0) return "no hosts: `svc admin add` adds one";
    const rows = results.map(({ label, base_url, healthy, latency_ms, sessions, job_count, error }) => [
      label,
      healthy ? "healthy" : "DOWN",
      latency_ms === null ? "" : `${latency_ms} ms`,
      sessions === null ? "" : `${sessions.host.connected_clients}`,
      job_count === null ? "" : `${job_count}`,
      base_url,
      error ?? "",
    ]);
    const healthy = results.filter((result) => result.healthy).length;
    return `${table(COLUMNS, rows)}\n${healthy} of ${results.length} healthy`;
  },
  good: (results) => results.every(({ healthy }) => healthy),
  examples: [
    ["$0 admin poll", "Every host; exit code 1 when one is not healthy"],
    ["$0 admin poll --on tag:lab,!tag:old --watch", "Some of them, as a table that refreshes"],
  ],
});
