/**
 * A gauge whose value is asked for at each scrape. One that cannot be had is NaN, and the rest of the scrape is served.
 */
import Gauge from "prom-client/lib/gauge";
import type Registry from "prom-client/lib/registry";

/** Adds the gauge `name` to `registry`. */
export function addGauge(
  registry: Registry,
  name: string,
  help: string,
  value: () => number | Promise<number>,
): void {
  new Gauge({
    name,
    help,
    registers: [registry],
    async collect() {
      this.set(await measured(value));
    },
  });
}

async function measured(value: () => number | Promise<number>): Promise<number> {
  try {
    return await value();
  } catch {
    return Number.NaN;
  }
}
