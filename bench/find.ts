/**
 * `svc find TEXT --on all` over 1,000 hosts whose black boxes are asked, each of which takes as long as one of this machine does that has to
 * start what reads it; one in ten has as many finds as are asked for.
 */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { createFleet, NO_FAULTS } from "./programs/sim-host";
import { addressOf } from "./programs/sim-seed";
import { BINARY, type Figure, mebibytes, startServer, TOKEN, temporaryFolder } from "./support";

const HOSTS = 1_000;
/** How long a host takes to start what reads its black box, and to look through an hour of texts, in milliseconds. */
const READ_MS = 300;
const ALLOWED_MS = 2_000;
const ALLOWED_BYTES = 256 * 1_048_576;
const ROUNDS = 3;

export async function bench(): Promise<Figure[]> {
  if (process.platform !== "linux") return [];
  const sim = [process.execPath, join(import.meta.dir, "programs", "sim.ts")];
  await using fleet = await startServer([...sim, "--hosts", `${HOSTS}`, "--find-ms", `${READ_MS}`]);
  const port = new URL(fleet.url).port;
  using folder = temporaryFolder();
  const hosts = createFleet(HOSTS, "find", NO_FAULTS).hosts.map(({ nth }) => ({
    ...{ label: `sim-${nth}`, base_url: `http://${addressOf(nth)}:${port}`, token: TOKEN, tags: [] },
  }));
  writeFileSync(join(folder.path, "admin_hosts.json"), JSON.stringify({ hosts }), { mode: 0o600 });
  const rounds: Array<Awaited<ReturnType<typeof findOnAll>>> = [];
  for (let nth = 0; nth < ROUNDS; nth++) rounds.push(await findOnAll(folder.path));
  const slowest = Math.max(...rounds.map(({ tookMs }) => tookMs));
  const peak = Math.max(...rounds.map(({ peakBytes }) => peakBytes));
  return [
    {
      name: "svc find over 1,000 hosts, from start to end, against 2 s",
      ratio: rounds.map(({ tookMs }) => tookMs / ALLOWED_MS),
      goal: "<= 1",
      detail: `${(slowest / 1_000).toFixed(2)} / ${ALLOWED_MS / 1_000} s, the slowest of ${ROUNDS}; each host takes ${READ_MS} ms`,
    },
    {
      name: "peak memory of that",
      ratio: rounds.map(({ peakBytes }) => peakBytes / ALLOWED_BYTES),
      goal: "<= 1",
      detail: `${mebibytes(peak)} / ${mebibytes(ALLOWED_BYTES)} allowed`,
    },
  ];
}

/** As its users have it. @throws where not every host has answered. */
async function findOnAll(configDir: string) {
  const command = [BINARY, "find", "0x80070005", "--on", "all", "--since", "24h", "--json"];
  const started = performance.now();
  const child = Bun.spawn([...command, "--config-dir", configDir], { stdio: ["ignore", "pipe", "inherit"] });
  const lines = (await child.stdout.text()).trim().split("\n");
  const code = await child.exited;
  const tookMs = performance.now() - started;
  const finds = lines.reduce((sum, line) => sum + (JSON.parse(line).result?.count ?? Number.NaN), 0);
  if (code !== 0 || lines.length !== HOSTS || finds !== (HOSTS / 10) * 100)
    throw new Error(
      `expected ${HOSTS} hosts and ${HOSTS * 10} finds but found ${lines.length} and ${finds} (exit code ${code})`,
    );
  return { tookMs, peakBytes: child.resourceUsage()?.maxRSS ?? Number.NaN };
}
