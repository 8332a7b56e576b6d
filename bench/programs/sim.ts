/**
 * Many hosts in one process, with what goes wrong with hosts (`sim-host.ts`):
 *
 *     sim.ts --hosts 2000 --dead 10% --slow 1% --lose 0.1% --dup 0.1% --seed 7
 *
 * Every address of 127/8 answers as the host of that number does. Says `{"url", "seed"}` once it listens; `GET /sim/faults` at
 * any address says what must not have happened.
 */
import { parseArgs } from "node:util";
import { createFleet, faultsIn } from "./sim-host";
import { serveHosts } from "./sim-https";
import { parseShare } from "./sim-seed";

const { values } = parseArgs({
  options: {
    hosts: { type: "string", default: "2000" },
    seed: { type: "string", default: `${Math.floor(Math.random() * 2 ** 32)}` },
    dead: { type: "string", default: "0%" },
    slow: { type: "string", default: "0%" },
    lose: { type: "string", default: "0%" },
    dup: { type: "string", default: "0%" },
    skew: { type: "string", default: "0" },
    flap: { type: "string", default: "0" },
    "run-ms": { type: "string", default: "0" },
  },
});
const [dead, slow, lose, dup] = [values.dead, values.slow, values.lose, values.dup].map(parseShare) as [
  number,
  number,
  number,
  number,
];
const skewMs = Number(values.skew) * 1_000;
const faults = { dead, slow, lose, dup, skewMs, flapMs: Number(values.flap) * 1_000 };
const fleet = createFleet(Number(values.hosts), values.seed, faults, { runMs: Number(values["run-ms"]) });
const { port } = serveHosts(fleet.hosts, { more: () => faultsIn(fleet.runs, skewMs) });
console.log(JSON.stringify({ url: `http://127.0.0.1:${port}`, seed: values.seed }));
