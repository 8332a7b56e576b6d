/**
 * What benches of fleets behind NATS servers need: the servers, a desk that asks all hosts of one process, and runs a plan for them.
 */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { RUNTIME_OPTIONS } from "../../src/cli/reexec";
import { newNKey } from "../../src/wire/nats/nkeys";
import { check, freePort, mebibytes, median, residentBytes, startServer, temporaryFolder } from "../support";
import { natsIdOf } from "./sim-seed";

const DEAD = "10%";

interface Ran {
  readonly ms: number;
  readonly counts: Readonly<Record<string, number>>;
}

/** How long it took, and how much processor time of the desk. */
interface Took {
  readonly ms: number;
  readonly cpuMs: number;
}

interface Round extends Took {
  readonly answered: number;
  readonly unreachable: number;
}

/** How a desk asked hosts over one connection to each server, and ran plans for them. */
export interface Fleet {
  /** How long one round of requests took, in milliseconds, and the processor time for it. */
  readonly askMs: number;
  readonly about: string;
  /** How long a plan took, the longer of two, in milliseconds, and the bare loop for it. */
  readonly planMs: number;
  readonly bareMs: number;
  /** The most memory of the desk while it asked, and while it ran plans, and the sum of that of the servers, in bytes. */
  readonly peaks: { readonly asking: number; readonly planning: number };
  readonly servers: number;
}

/**
 * A desk asks that many hosts behind so many servers, a tenth of which are off, and runs two plans for them. The hosts are in one
 * process, with one connection to each server.
 *
 * @throws where one that is there did not answer, or a job did not run once.
 */
export async function askAndPlan(count: number, servers: number, seed: string): Promise<Fleet> {
  const [desk, fleet] = [newNKey("U"), newNKey("U")];
  // Without an operator: no user that svc makes may speak for all hosts.
  const users = [desk, fleet].map(({ id }) => `{ nkey: ${id} }`).join(", ");
  await using stack = new AsyncDisposableStack();
  const started = [];
  for (let nth = 0; nth < servers; nth++)
    started.push(stack.use(await startNats(`authorization { users: [${users}] }`)));
  const urls = started.map(({ url }) => url).join(",");
  const flags = ["--carrier", "nats", "--hosts", `${count}`, "--dead", DEAD, "--seed", seed];
  const sim = [process.execPath, program("sim"), ...flags, "--hub", urls];
  const hosts = stack.use(await startServer(sim, { SIM_NATS_SEED: fleet.seed }));
  await untilUp(servers, hosts.url);
  const ids = Array.from({ length: count }, (_, nth) => natsIdOf(seed, nth));
  const asked = await ask(urls, ids, { DESK_NATS_SEED: desk.seed });
  const [alive, off] = [0.9 * count, 0.1 * count];
  for (const { answered, unreachable } of asked.rounds)
    check("the hosts that were asked", { answered, unreachable }, { answered: alive, unreachable: off });
  using folder = temporaryFolder();
  const child = Bun.spawn([process.execPath, program("plan"), folder.path, `${count}`, urls, seed, DEAD], {
    stdio: ["ignore", "pipe", "inherit"],
    env: { ...process.env, ...RUNTIME_OPTIONS, DESK_NATS_SEED: desk.seed },
  });
  const { first, again, peak, bareMs } = (await child.stdout.json()) as {
    first: Ran;
    again: Ran;
    peak: number;
    bareMs: number;
  };
  await child.exited;
  const about = (await (await fetch(`${hosts.url}/sim`)).json()) as { runs: number; faults: string[] };
  for (const { counts } of [first, again]) check("the plan", counts, { ok: alive, unreachable: off });
  const ran = { runs: about.runs, faults: about.faults.length };
  check("what the hosts ran", ran, { runs: 3 * alive, faults: 0 });
  return {
    askMs: median(asked.rounds.map(({ ms }) => ms)),
    about: asked.about,
    planMs: Math.max(first.ms, again.ms),
    bareMs,
    peaks: { asking: asked.peak, planning: peak },
    servers: started.reduce((sum, { pid }) => sum + residentBytes(pid), 0),
  };
}

/** Where a program of the benches is. */
export const program = (name: string) => join(import.meta.dir, `${name}.ts`);

/** A server on loopback, without TLS: that is measured nowhere here. */
export async function startNats(...conf: readonly string[]) {
  const folder = temporaryFolder();
  const port = freePort();
  const lines = [`listen: "127.0.0.1:${port}"`, "max_connections: 65536", ...conf];
  writeFileSync(join(folder.path, "nats-server.conf"), `${lines.join("\n")}\n`);
  const child = Bun.spawn(["nats-server", "-c", "nats-server.conf", "-l", "log"], {
    cwd: folder.path,
    stdio: ["ignore", "ignore", "ignore"],
  });
  for (let tries = 0; tries < 200; tries++) {
    const socket = await Bun.connect({ hostname: "127.0.0.1", port, socket: { data() {} } }).catch(
      () => null,
    );
    socket?.end();
    if (socket) break;
    await Bun.sleep(50);
  }
  return {
    url: `nats://127.0.0.1:${port}`,
    pid: child.pid,
    async [Symbol.asyncDispose]() {
      child.kill("SIGKILL");
      await child.exited;
      folder[Symbol.dispose]();
    },
  };
}

/** A desk asks all of them, over and over. */
export async function ask(url: string, ids: readonly string[], env: Record<string, string>) {
  const child = Bun.spawn([process.execPath, program("nats-desk"), url], {
    stdio: [new Blob([ids.join("")]), "pipe", "inherit"],
    env: { ...process.env, ...RUNTIME_OPTIONS, ...env },
  });
  const { rounds, peak, bare } = (await child.stdout.json()) as {
    rounds: Round[];
    peak: number;
    bare: Took[];
  };
  await child.exited;
  const middle = (all: readonly Took[], what: keyof Took) => seconds(median(all.map((one) => one[what])));
  const about = `${middle(rounds, "cpuMs")} of the processor; a bare loop: ${middle(bare, "ms")}, ${middle(bare, "cpuMs")}`;
  return { rounds, about, peak };
}

/** @throws when they are not up within two minutes, with what ended them. */
export async function untilUp(count: number, url: string): Promise<void> {
  const deadline = performance.now() + 120_000;
  for (;;) {
    const about = (await (await fetch(`${url}/sim`)).json()) as { linked: number };
    if (about.linked >= count) return;
    if (performance.now() > deadline)
      throw new Error(`expected ${count} connections: ${JSON.stringify(about)}`);
    await Bun.sleep(50);
  }
}

/** The figure for the memory of the desk, against what is allowed, without its name. */
export function memoryOf({ peaks, servers }: Pick<Fleet, "peaks" | "servers">, allowedBytes: number) {
  const { asking, planning } = peaks;
  const peak = Math.max(asking, planning);
  const each = `asking ${mebibytes(asking)}, planning ${mebibytes(planning)}`;
  return {
    ratio: peak / allowedBytes,
    goal: "<= 1",
    detail: `${mebibytes(peak)} / ${mebibytes(allowedBytes)} allowed (${each}); the servers: ${mebibytes(servers)}`,
  } as const;
}

/** As text. */
export const seconds = (ms: number) => `${(ms / 1_000).toFixed(2)} s`;
