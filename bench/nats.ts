/**
 * A fleet behind a NATS server: 50,000 simulated hosts over one connection, which a desk asks and for which it runs a plan, and 18,000
 * over a connection each, with the rights that `svc nats` gives. Without nats-server there are no figures.
 */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { RUNTIME_OPTIONS } from "../src/cli/reexec";
import { addDesk, newOperator, serverTokens } from "../src/desk/nats/operator";
import { type NKey, newNKey, nkey } from "../src/wire/nats/nkeys";
import { userToken } from "../src/wire/nats/tokens";
import { natsIdOf } from "./programs/sim-seed";
import {
  check,
  type Figure,
  freePort,
  mebibytes,
  median,
  residentBytes,
  startServer,
  temporaryFolder,
} from "./support";

const ONE = { hosts: 50_000, dead: "10%", askMs: 1_000, planMs: 8_000, bytes: 256 * 1_048_576 };
const EACH = { hosts: 18_000, upMs: 30_000, askMs: 1_000, bytes: 64 * 1_024 };
const SEED = "nats";

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

export async function bench(): Promise<Figure[]> {
  if (process.platform !== "linux" || Bun.which("nats-server") === null) return [];
  return [...(await oneConnection()), ...(await connectionEach())];
}

async function oneConnection(): Promise<Figure[]> {
  const [desk, fleet] = [newNKey("U"), newNKey("U")];
  // Without an operator: no user that svc makes may speak for all hosts.
  const users = [desk, fleet].map(({ id }) => `{ nkey: ${id} }`).join(", ");
  await using server = await startNats(`authorization { users: [${users}] }`);
  const flags = ["--carrier", "nats", "--hosts", `${ONE.hosts}`, "--dead", ONE.dead, "--seed", SEED];
  await using hosts = await startServer([process.execPath, program("sim"), ...flags, "--hub", server.url], {
    SIM_NATS_SEED: fleet.seed,
  });
  await untilUp(1, hosts.url);
  const ids = Array.from({ length: ONE.hosts }, (_, nth) => natsIdOf(SEED, nth));
  const asked = await ask(server.url, ids, { DESK_NATS_SEED: desk.seed });
  for (const { answered, unreachable } of asked.rounds) {
    check(
      "the hosts that were asked",
      { answered, unreachable },
      { answered: 0.9 * ONE.hosts, unreachable: 0.1 * ONE.hosts },
    );
  }
  using folder = temporaryFolder();
  const args = [folder.path, `${ONE.hosts}`, server.url, SEED, ONE.dead];
  const child = Bun.spawn([process.execPath, program("plan"), ...args], {
    stdio: ["ignore", "pipe", "inherit"],
    env: { ...process.env, ...RUNTIME_OPTIONS, DESK_NATS_SEED: desk.seed },
  });
  const { first, again, bareMs } = (await child.stdout.json()) as { first: Ran; again: Ran; bareMs: number };
  await child.exited;
  const { runs, faults } = (await (await fetch(`${hosts.url}/sim`)).json()) as {
    runs: number;
    faults: string[];
  };
  for (const { counts } of [first, again]) {
    check("the plan", counts, { ok: 0.9 * ONE.hosts, unreachable: 0.1 * ONE.hosts });
  }
  check("what the hosts ran", { runs, faults: faults.length }, { runs: 3 * 0.9 * ONE.hosts, faults: 0 });
  const askMs = median(asked.rounds.map(({ ms }) => ms));
  const planMs = Math.max(first.ms, again.ms);
  const peak = Math.max(asked.peak, child.resourceUsage()?.maxRSS ?? Number.NaN);
  return [
    {
      name: "50,000 hosts behind a NATS server are asked over one connection, 5,000 of them are off",
      ratio: askMs / ONE.askMs,
      goal: "<= 1",
      detail: `${seconds(askMs)} / ${seconds(ONE.askMs)} allowed; ${asked.about}`,
    },
    {
      name: "a plan for them",
      ratio: planMs / ONE.planMs,
      goal: "<= 1",
      detail: `${seconds(planMs)} / ${seconds(ONE.planMs)} allowed; a bare loop: ${seconds(bareMs)}`,
    },
    {
      name: "peak memory of the desk",
      ratio: peak / ONE.bytes,
      goal: "<= 1",
      detail: `${mebibytes(peak)} / ${mebibytes(ONE.bytes)} allowed; the server: ${mebibytes(residentBytes(server.pid))}`,
    },
  ];
}

async function connectionEach(): Promise<Figure[]> {
  const keys = { ...newOperator(""), server: { urls: [] } };
  const { part } = addDesk(keys, "bench", true);
  const { operator, accounts } = serverTokens("bench", keys);
  await using server = await startNats(
    `operator: ${operator}`,
    `system_account: ${keys.system_account}`,
    "resolver: MEMORY",
    `resolver_preload: { ${Object.entries(accounts)
      .map((one) => one.join(": "))
      .join(", ")} }`,
  );
  const signer = nkey(keys.host_signer);
  const users = Array.from({ length: EACH.hosts }, () => newNKey("U")).map(({ id, seed }: NKey) => ({
    id,
    seed,
    jwt: userToken("host", id, signer, keys.account),
  }));
  using folder = temporaryFolder();
  const file = join(folder.path, "users.json");
  writeFileSync(file, JSON.stringify(users));
  const before = residentBytes(server.pid);
  const flags = ["--carrier", "nats", "--hosts", `${EACH.hosts}`, "--seed", SEED, "--users", file];
  const started = performance.now();
  await using hosts = await startServer([process.execPath, program("sim"), ...flags, "--hub", server.url]);
  await untilUp(EACH.hosts, hosts.url);
  const upMs = performance.now() - started;
  const ids = users.map(({ id }) => id);
  const { rounds, about } = await ask(server.url, ids, {
    DESK_NATS_SEED: part.desk.seed,
    DESK_NATS_JWT: part.desk.jwt,
  });
  for (const { answered } of rounds) check("the hosts that answered", { answered }, { answered: EACH.hosts });
  const askMs = median(rounds.map(({ ms }) => ms));
  const bytesEach = (residentBytes(server.pid) - before) / EACH.hosts;
  return [
    {
      name: "18,000 hosts connect to a NATS server",
      ratio: upMs / EACH.upMs,
      goal: "<= 1",
      detail: `${seconds(upMs)} / ${seconds(EACH.upMs)} allowed`,
    },
    {
      name: "all 18,000 are asked and have answered",
      ratio: askMs / EACH.askMs,
      goal: "<= 1",
      detail: `${seconds(askMs)} / ${seconds(EACH.askMs)} allowed; ${about}`,
    },
    {
      name: "memory of the NATS server for a host, after that",
      ratio: bytesEach / EACH.bytes,
      goal: "<= 1",
      detail: `${kibibytes(bytesEach)} / ${kibibytes(EACH.bytes)} allowed`,
    },
  ];
}

const program = (name: string) => join(import.meta.dir, "programs", `${name}.ts`);

/** A server on loopback, without TLS: that is measured nowhere here. */
async function startNats(...conf: readonly string[]) {
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
async function ask(url: string, ids: readonly string[], env: Record<string, string>) {
  const child = Bun.spawn([process.execPath, program("nats-desk"), url], {
    stdio: [new Blob([JSON.stringify(ids)]), "pipe", "inherit"],
    env: { ...process.env, ...RUNTIME_OPTIONS, ...env },
  });
  const { rounds, bare } = (await child.stdout.json()) as { rounds: Round[]; bare: Took[] };
  await child.exited;
  const middle = (all: readonly Took[], what: keyof Took) => seconds(median(all.map((one) => one[what])));
  const about = `${middle(rounds, "cpuMs")} of the processor; a bare loop: ${middle(bare, "ms")}, ${middle(bare, "cpuMs")}`;
  return { rounds, about, peak: child.resourceUsage()?.maxRSS ?? Number.NaN };
}

/** @throws when they are not up within two minutes, with what ended them. */
async function untilUp(count: number, url: string): Promise<void> {
  const deadline = performance.now() + 120_000;
  for (;;) {
    const about = (await (await fetch(`${url}/sim`)).json()) as { linked: number };
    if (about.linked >= count) return;
    if (performance.now() > deadline)
      throw new Error(`expected ${count} connections: ${JSON.stringify(about)}`);
    await Bun.sleep(50);
  }
}

const seconds = (ms: number) => `${(ms / 1_000).toFixed(2)} s`;
const kibibytes = (bytes: number) => `${(bytes / 1_024).toFixed(1)} KiB`;
