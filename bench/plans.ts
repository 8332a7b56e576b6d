/**
 * A plan for 50,000 hosts, of which one in ten is not linked: as the server of a desk runs it, but for the hub, in whose place one
 * WebSocket leads to all hosts, which are simulated in another process. The baseline is a loop that signs a job for each host, sends it
 * and writes down how it ended (`programs/plan.ts`).
 */
import { join } from "node:path";
import { RUNTIME_OPTIONS } from "../src/cli/reexec";
import { check, type Figure, mebibytes, startServer, temporaryFolder } from "./support";

const HOSTS = 50_000;
const DEAD = "10%";
const SEED = "plans";
const ALLOWED_MS = 8_000;
const ALLOWED_BYTES = 256 * 1_048_576;

const ALLOWED_TURN_MS = 50;

interface Ran {
  readonly ms: number;
  readonly turnMs: number;
  readonly counts: Readonly<Record<string, number>>;
}

export async function bench(): Promise<Figure[]> {
  using folder = temporaryFolder();
  const flags = ["--carrier", "all", "--hosts", `${HOSTS}`, "--dead", DEAD, "--seed", SEED];
  await using fleet = await startServer([process.execPath, program("sim"), ...flags]);
  const args = [folder.path, `${HOSTS}`, fleet.url, SEED, DEAD];
  const child = Bun.spawn([process.execPath, program("plan"), ...args], {
    stdio: ["ignore", "pipe", "inherit"],
    env: { ...process.env, ...RUNTIME_OPTIONS },
  });
  const { first, again, peak, bareMs } = (await child.stdout.json()) as {
    first: Ran;
    again: Ran;
    peak: number;
    bareMs: number;
  };
  await child.exited;
  const { runs, faults } = (await (await fetch(`${fleet.url}/sim`)).json()) as {
    runs: number;
    faults: string[];
  };
  check("the first plan", first.counts, { ok: 0.9 * HOSTS, unreachable: 0.1 * HOSTS });
  check("the second plan", again.counts, { ok: 0.9 * HOSTS, unreachable: 0.1 * HOSTS });
  check("what the hosts ran", { runs, faults: faults.length }, { runs: 3 * 0.9 * HOSTS, faults: 0 });
  const figure = (name: string, { ms }: Ran): Figure => ({
    name,
    ratio: ms / ALLOWED_MS,
    goal: "<= 1",
    detail: `${seconds(ms)} / ${seconds(ALLOWED_MS)} allowed; a bare loop: ${seconds(bareMs)}`,
  });
  const turnMs = Math.max(first.turnMs, again.turnMs);
  return [
    figure("a plan for 50,000 hosts, 5,000 of them not linked", first),
    figure("another plan for them", again),
    {
      name: "peak memory of these plans",
      ratio: peak / ALLOWED_BYTES,
      goal: "<= 1",
      detail: `${mebibytes(peak)} / ${mebibytes(ALLOWED_BYTES)} allowed`,
    },
    {
      name: "processor time of the longest turn of the event loop in these plans, against 50 ms",
      ratio: turnMs / ALLOWED_TURN_MS,
      goal: "<= 1",
      detail: `${turnMs.toFixed(0)} / ${ALLOWED_TURN_MS} ms`,
    },
  ];
}

const program = (name: string) => join(import.meta.dir, "programs", `${name}.ts`);

const seconds = (ms: number) => `${(ms / 1_000).toFixed(2)} s`;
