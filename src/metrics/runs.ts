/**
 * The runs of this process, by where they came from and how they ended; asked for at each scrape.
 */
import Counter from "prom-client/lib/counter";
import type Registry from "prom-client/lib/registry";
import { addGauge } from "./gauge";

/** What is counted of runs. */
export interface RunTotals {
  /** Those that go on. */
  readonly active: number;
  /** Those that ended, since the process started; also the ways in which none has ended yet, as 0. */
  readonly ended: ReadonlyArray<{ readonly source: string; readonly status: string; readonly count: number }>;
}

/** Adds both families to `registry`. */
export function addRunMetrics(registry: Registry, totals: () => Promise<RunTotals>): void {
  new Counter({
    name: "service_runs_total",
    help: "Runs of action lists that ended",
    labelNames: ["source", "status"],
    registers: [registry],
    async collect() {
      const { ended } = await totals();
      this.reset();
      for (const { source, status, count } of ended) this.inc({ source, status }, count);
    },
  });
  addGauge(
    registry,
    "service_active_runs",
    "Runs that go on, those that wait for their turn at the input devices included",
    async () => (await totals()).active,
  );
}
