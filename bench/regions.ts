/**
 * A fleet in regions: 250,000 simulated hosts behind five NATS servers, a tenth of them off. One desk, with one connection to each
 * server, asks them all and runs a plan for them. The hosts and the servers are other processes on the same machine. In place of an
 * address book, the desk has a list of hosts that takes little memory. What comes after the desk in its process, a bare loop, is not counted. Without nats-server there are no figures.
 */
import { askAndPlan, memoryOf, seconds } from "./programs/nats-support";
import type { Figure } from "./support";

const ALL = { hosts: 250_000, servers: 5, askMs: 10_000, planMs: 40_000, bytes: 512 * 1_048_576 };

/** @param hosts how many, for a look that takes less; what is allowed stays. */
export async function bench(hosts = ALL.hosts): Promise<Figure[]> {
  if (process.platform !== "linux" || Bun.which("nats-server") === null) return [];
  const found = await askAndPlan(hosts, ALL.servers, "regions");
  const { askMs, about, planMs, bareMs } = found;
  const fleet = `${hosts.toLocaleString("en")} hosts at ${ALL.servers} NATS servers`;
  return [
    {
      name: `${fleet} are asked by one desk, a tenth of them are off`,
      ratio: askMs / ALL.askMs,
      goal: "<= 1",
      detail: `${seconds(askMs)} / ${seconds(ALL.askMs)} allowed; ${about}`,
    },
    {
      name: `a plan for ${fleet}`,
      ratio: planMs / ALL.planMs,
      goal: "<= 1",
      detail: `${seconds(planMs)} / ${seconds(ALL.planMs)} allowed; a bare loop: ${seconds(bareMs)}`,
    },
    {
      name: `peak memory of the desk of ${fleet}, without its address book`,
      ...memoryOf(found, ALL.bytes),
    },
  ];
}
