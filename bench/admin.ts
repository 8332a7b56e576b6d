/**
 * Polling 10,000 hosts, each an address of 127/8, of which one in ten never answers; and some of them beside a bare loop.
 */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { createFleet, NO_FAULTS } from "./programs/sim-host";
import { addressOf } from "./programs/sim-seed";
import { BINARY, type Figure, mebibytes, startServer, startSvc, TOKEN, temporaryFolder } from "./support";

const HOSTS = 10_000;
/** Beside a bare loop, for which each dead host of 64 takes the whole timeout. */
const COMPARED = 2_000;
const SEED = "admin";
const TIMEOUT_S = 3;
const ALLOWED_MS = 5_000;
const ALLOWED_BYTES = 256 * 1_048_576;

export async function bench(): Promise<Figure[]> {
  if (process.platform !== "linux") return [];
  const flags = ["--hosts", `${HOSTS}`, "--dead", "10%", "--seed", SEED];
  await using fleet = await startServer([process.execPath, program("sim"), ...flags]);
  const port = new URL(fleet.url).port;
  const { hosts } = createFleet(HOSTS, SEED, { ...NO_FAULTS, dead: 0.1 });
  const addresses = hosts.map(({ nth }) => addressOf(nth));
  const healthy = hosts
    .filter(({ isDead, nth }) => !isDead && nth < COMPARED)
    .map(({ nth }) => addressOf(nth));
  const { tookMs, peakBytes } = await pollAll(port, addresses);
  const againMs = await pollAgain(port, addresses);
  const all = await besideFetches(1, port, addresses.slice(0, COMPARED));
  const alive = await besideFetches(11, port, healthy);
  return [
    {
      name: "a poll of 10,000 hosts, 1,000 of them dead",
      ratio: tookMs / ALLOWED_MS,
      goal: "<= 1",
      detail: `${(tookMs / 1_000).toFixed(2)} s / ${ALLOWED_MS / 1_000} s allowed, with a timeout of ${TIMEOUT_S} s`,
    },
    {
      name: "the same, by a desk that has asked them before",
      ratio: againMs / ALLOWED_MS,
      goal: "<= 1",
      detail: `${(againMs / 1_000).toFixed(2)} s / ${ALLOWED_MS / 1_000} s allowed: those that were dead are asked first`,
    },
    {
      name: "peak memory of the first",
      ratio: peakBytes / ALLOWED_BYTES,
      goal: "<= 1",
      detail: `${mebibytes(peakBytes)} / ${mebibytes(ALLOWED_BYTES)} allowed`,
    },
    {
      name: "polling 2,000 of them / a bare loop of fetches",
      ratio: all.ratio,
      goal: ">= 0.7",
      detail: `${Math.round(all.subject)} / ${Math.round(all.baseline)} hosts a second, 64 at once`,
    },
    {
      name: `polling ${healthy.length} healthy hosts only / a bare loop of fetches`,
      ratio: alive.ratio,
      goal: ">= 0.5",
      detail: `${Math.round(alive.subject)} / ${Math.round(alive.baseline)} hosts a second, 64 at once`,
    },
  ];
}

const program = (name: string) => join(import.meta.dir, "programs", `${name}.ts`);

/** A folder with these hosts in its address book. */
function folderOf(port: string, addresses: readonly string[]) {
  const folder = temporaryFolder();
  const hosts = addresses.map((address) => ({
    label: address,
    base_url: `http://${address}:${port}`,
    token: TOKEN,
    tags: [],
  }));
  writeFileSync(join(folder.path, "admin_hosts.json"), JSON.stringify({ hosts }), { mode: 0o600 });
  return folder;
}

/** @throws where others are dead than should be. */
function checked(results: ReadonlyArray<{ readonly healthy: boolean }>): void {
  const dead = results.filter(({ healthy }) => !healthy);
  if (results.length === HOSTS && dead.length === HOSTS / 10) return;
  throw new Error(
    `expected ${HOSTS / 10} of ${HOSTS} hosts dead but found ${dead.length} of ${results.length}`,
  );
}

/** `svc admin poll` as its users have it. */
async function pollAll(port: string, addresses: readonly string[]) {
  using folder = folderOf(port, addresses);
  const started = performance.now();
  const flags = ["--json", "--timeout", `${TIMEOUT_S}`, "--config-dir", folder.path];
  const child = Bun.spawn([BINARY, "admin", "poll", ...flags], { stdio: ["ignore", "pipe", "inherit"] });
  const results = await child.stdout.json();
  await child.exited;
  const tookMs = performance.now() - started;
  checked(results);
  return { tookMs, peakBytes: child.resourceUsage()?.maxRSS ?? Number.NaN };
}

/** How long the second poll of a server takes, in milliseconds. */
async function pollAgain(port: string, addresses: readonly string[]): Promise<number> {
  using folder = folderOf(port, addresses);
  await using desk = await startSvc(folder.path);
  let tookMs = Number.NaN;
  for (const _ of ["first", "again"]) {
    const started = performance.now();
    const answer = await fetch(`${desk.url}/admin/poll?timeout_s=${TIMEOUT_S}`, {
      headers: { authorization: `Bearer ${TOKEN}` },
    });
    const results = (await answer.json()) as Array<{ healthy: boolean }>;
    tookMs = performance.now() - started;
    checked(results);
  }
  return tookMs;
}

async function besideFetches(rounds: number, port: string, addresses: readonly string[]) {
  const child = Bun.spawn([process.execPath, program("poll"), `${rounds}`, port, ...addresses], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  return (await new Response(child.stdout).json()) as { ratio: number; subject: number; baseline: number };
}
