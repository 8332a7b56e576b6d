/**
 * Hosts that dial a desk: 15,000 over WebSockets in plain, and 5,000 over TLS that lose their hub. The hosts are simulated in another
 * process on the same processors. The baseline is a WebSocket server that takes whoever dials and keeps nothing (`bare-hub.ts`).
 */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { RUNTIME_OPTIONS } from "../src/cli/reexec";
import { identityOf, labelOf } from "./programs/sim-seed";
import {
  BINARY,
  type Figure,
  freePort,
  median,
  residentBytes,
  type Server,
  startServer,
  TOKEN,
  temporaryFolder,
} from "./support";

const SEED = "links";
const PLAIN = { hosts: 15_000, allowedMs: 10_000, allowedAskMs: 1_000, allowedBytes: 12 * 1_024 };
const TLS = { hosts: 5_000, allowedMs: 60_000 };

export async function bench(): Promise<Figure[]> {
  if (process.platform !== "linux") return [];
  using folder = deskOf(PLAIN.hosts);
  const bare = await plain(await run("bare-hub"));
  const hub = await plain(await run("hub", folder.path));
  const back = await lostHub();
  return [
    {
      name: "15,000 hosts link to a hub",
      ratio: hub.upMs / PLAIN.allowedMs,
      goal: "<= 1",
      detail: `${seconds(hub.upMs)} / ${seconds(PLAIN.allowedMs)} allowed; a bare WebSocket server: ${seconds(bare.upMs)}`,
    },
    {
      name: "all 15,000 are asked and have answered",
      ratio: hub.askMs / PLAIN.allowedAskMs,
      goal: "<= 1",
      detail: `${seconds(hub.askMs)} / ${seconds(PLAIN.allowedAskMs)} allowed; a bare WebSocket server: ${seconds(bare.askMs)}`,
    },
    {
      name: "memory of the hub for a link",
      ratio: hub.bytesEach / PLAIN.allowedBytes,
      goal: "<= 1",
      detail: `${kibibytes(hub.bytesEach)} / ${kibibytes(PLAIN.allowedBytes)} allowed; a bare WebSocket server: ${kibibytes(bare.bytesEach)}`,
    },
    {
      name: "5,000 hosts link again over TLS after kill -9 of the hub",
      ratio: back / TLS.allowedMs,
      goal: "<= 1",
      detail: `${seconds(back)} / ${seconds(TLS.allowedMs)} allowed`,
    },
  ];
}

const program = (name: string) => join(import.meta.dir, "programs", `${name}.ts`);
const run = (name: string, ...args: string[]) =>
  startServer([process.execPath, program(name), ...args], name === "sim" ? {} : RUNTIME_OPTIONS);

/** How long it takes until all are linked, and then until all have answered, and what a link costs the hub in memory. */
async function plain(hub: Server) {
  await using _ = hub;
  const get = <T>(path: string) => answerTo<T>(hub.url + path);
  const before = residentBytes(hub.pid);
  const started = performance.now();
  await using fleet = await run("sim", ...simulated(PLAIN.hosts), "--hub", await get<string>("/hub"));
  await untilLinked(PLAIN.hosts, () => get<number>("/links"), fleet);
  const upMs = performance.now() - started;
  const bytesEach = (residentBytes(hub.pid) - before) / PLAIN.hosts;
  const rounds: Array<{ answered: number; ms: number }> = [];
  for (let round = 0; round < 5; round++) rounds.push(await get("/ask"));
  const missing = rounds.find(({ answered }) => answered !== PLAIN.hosts);
  if (missing) throw new Error(`expected ${PLAIN.hosts} answers but found ${missing.answered}`);
  return { upMs, bytesEach, askMs: median(rounds.map(({ ms }) => ms)) };
}

/** How long it takes until all are back after the hub was killed and started again. */
async function lostHub(): Promise<number> {
  using folder = deskOf(TLS.hosts);
  const port = freePort();
  const limits = ["--max-connections", "15000", "--max-client-connections", "4096"];
  const flags = ["--hub", "--tls", "--port", `${port}`, ...limits];
  const command = [BINARY, "serve", "--json", "--rate-limit", "0", "--config-dir", folder.path, ...flags];
  const serve = () => startServer(command, { SVC_TOKEN: TOKEN });
  const linked = async () => {
    const state = await answerTo<{ hub: { links: number } }>(`https://127.0.0.1:${port}/link/state`);
    return state.hub.links;
  };
  let hub = await serve();
  try {
    const pin = Bun.spawnSync([BINARY, "pin", "--config-dir", folder.path]).stdout.toString().trim();
    const where = ["--hub", `wss://127.0.0.1:${port}`, "--pin", pin];
    await using fleet = await run("sim", ...simulated(TLS.hosts), ...where);
    await untilLinked(TLS.hosts, linked, fleet);
    process.kill(hub.pid, "SIGKILL");
    const killed = performance.now();
    await hub[Symbol.asyncDispose]();
    hub = await serve();
    await untilLinked(TLS.hosts, linked, fleet);
    return performance.now() - killed;
  } finally {
    await hub[Symbol.asyncDispose]();
  }
}

async function answerTo<T>(url: string): Promise<T> {
  const headers = { authorization: `Bearer ${TOKEN}` };
  const response = await fetch(url, { headers, tls: { rejectUnauthorized: false } });
  return (await response.json()) as T;
}

const simulated = (hosts: number) => ["--carrier", "link", "--hosts", `${hosts}`, "--seed", SEED];

/** The folder of a desk that those hosts have joined. */
function deskOf(count: number) {
  const folder = temporaryFolder();
  const hosts = Array.from({ length: count }, (_, nth) => {
    const { publicKey: host_key, hostId: host_id } = identityOf(SEED, nth);
    const member = { host_id, host_key, nonce: "0".repeat(22) };
    return { label: labelOf(nth), base_url: `link:${host_id}`, tags: [], member };
  });
  writeFileSync(join(folder.path, "admin_hosts.json"), JSON.stringify({ hosts }), { mode: 0o600 });
  return folder;
}

/** @throws when they are not within two minutes, with what the hosts say about it. */
async function untilLinked(count: number, linked: () => Promise<number>, fleet: Server): Promise<void> {
  const deadline = performance.now() + 120_000;
  while ((await linked()) < count) {
    if (performance.now() > deadline) {
      const about = await (await fetch(`${fleet.url}/sim`)).text();
      throw new Error(`expected ${count} links but found ${await linked()}; the hosts: ${about}`);
    }
    await Bun.sleep(50);
  }
}

const seconds = (ms: number) => `${(ms / 1_000).toFixed(2)} s`;
const kibibytes = (bytes: number) => `${(bytes / 1_024).toFixed(1)} KiB`;
