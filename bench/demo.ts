/**
 * `svc demo`: how long a newcomer waits for a desk and three hosts with a program on a desktop each, and what is left after Ctrl-C.
 *
 * The time is divided by what it may be.
 */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { BINARY, type Figure, median } from "./support";

const PROGRAMS = ["Xvfb", "openbox", "xterm"];
const ROUNDS = 3;
const ALLOWED_MS = 5_000;

export async function bench(): Promise<Figure[]> {
  const missing = PROGRAMS.filter((name) => Bun.which(name) === null);
  if (missing.length > 0)
    return [{ name: "svc demo", ratio: Number.NaN, goal: "<= 1", detail: `needs ${missing.join(", ")}` }];
  const times: number[] = [];
  const left: number[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    const { readyMs, remains } = await shown();
    times.push(readyMs);
    left.push(remains);
  }
  return [
    {
      ...{ name: "svc demo is ready", ratio: times.map((ms) => ms / ALLOWED_MS), goal: "<= 1" },
      detail: `${(median(times) / 1_000).toFixed(1)} s, ${(Math.max(...times) / 1_000).toFixed(1)} s at most; allowed ${ALLOWED_MS / 1_000}`,
    },
    {
      ...{ name: "processes and folders that svc demo leaves", ratio: left, goal: "<= 0" },
      detail: `${left.reduce((sum, one) => sum + one, 0)} after ${ROUNDS} times`,
    },
  ];
}

/** One demo, from its start to Ctrl-C. @throws where it does not start. */
async function shown(): Promise<{ readonly readyMs: number; readonly remains: number }> {
  const began = performance.now();
  const child = Bun.spawn([BINARY, "demo", "--json"], { stdio: ["ignore", "pipe", "inherit"] });
  const { value } = await child.stdout.getReader().read();
  const readyMs = performance.now() - began;
  if (!value) throw new Error("svc demo ended before it was ready");
  const { folder }: { folder: string } = JSON.parse(new TextDecoder().decode(value));
  child.kill("SIGINT");
  await child.exited;
  return { readyMs, remains: processesIn(folder) + (existsSync(folder) ? 1 : 0) };
}

/** How many processes name the folder in their command line. */
const processesIn = (folder: string): number =>
  readdirSync("/proc").filter((pid) => {
    try {
      return readFileSync(`/proc/${pid}/cmdline`, "latin1").includes(folder);
    } catch {
      return false;
    }
  }).length;
