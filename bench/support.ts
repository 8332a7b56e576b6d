/**
 * What benches need: the figure they give, paired measuring, programs to compare with, and load.
 */
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { compile } from "../build/compile";
import { hostTarget, packagesFor, ROOT } from "../build/targets";
import { roundsOf } from "./measuring/brief";

/** What a ratio has to be. */
export type Goal = `>= ${number}` | `<= ${number}`;

/** One measured ratio beside what it has to be. */
export interface Figure {
  readonly name: string;
  /** What was measured over its baseline, measured in the same run, or of each round; NaN when it could not be measured. */
  readonly ratio: number | readonly number[];
  readonly goal: Goal;
  /** Both absolute values with their units, or why there are none. */
  readonly detail: string;
  /** A picture of it, in characters. */
  readonly plot?: string;
  /** Whether it is the same however often it is measured, as a size is: then once is enough. */
  readonly isExact?: boolean;
}

/** The compiled binary, as `bun run build` leaves it. */
export const BINARY = join(ROOT, "dist", "svc");

/** The middle value; the mean of the middle two of an even number. */
export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const [low, high] = [sorted[Math.floor((sorted.length - 1) / 2)], sorted[Math.floor(sorted.length / 2)]];
  return ((low ?? Number.NaN) + (high ?? Number.NaN)) / 2;
}

/**
 * Where the median of a ratio lies, with 95 % certainty: between two order statistics of its measurements, whatever their
 * distribution (the sign test). With fewer than six, which cannot give that certainty, between the least and the greatest.
 */
export function spreadOf(ratios: readonly number[]): { readonly low: number; readonly high: number } {
  const sorted = ratios.toSorted((a, b) => a - b);
  const count = sorted.length;
  let outside = 0;
  /** The chance that exactly `below` of the measurements are below the median. */
  let chance = 2 ** -count;
  let cut = 0;
  for (let below = 0; 2 * (outside + chance) <= 0.05 && 2 * below < count; below++) {
    outside += chance;
    chance *= (count - below) / (below + 1);
    cut = below;
  }
  return { low: sorted[cut] ?? Number.NaN, high: sorted[count - 1 - cut] ?? Number.NaN };
}

/** What {@link paired} found. */
export interface Pair {
  /** Of each round. */
  readonly ratio: readonly number[];
  /** The medians over the rounds. */
  readonly subject: number;
  readonly baseline: number;
}

/** The spread that is narrow enough, as a share of the median. */
const NARROW = 0.1;

/**
 * Measures both in turn, so that what slows the machine down slows both, until the ratio is known to a tenth.
 *
 * @param rounds the fewest that are counted, where it is not to be brief (`measuring/brief.ts`); one more goes before them to warm up, and
 *   there are at most three times as many.
 */
export async function paired(
  subject: () => Promise<number>,
  baseline: () => Promise<number>,
  rounds = 6,
): Promise<Pair> {
  await subject();
  await baseline();
  const found: Array<{ subject: number; baseline: number }> = [];
  const ratios = () => found.map((pair) => pair.subject / pair.baseline);
  const isKnown = () => {
    const { low, high } = spreadOf(ratios());
    return high - low <= NARROW * median(ratios());
  };
  const { least, most } = roundsOf(rounds);
  for (let round = 0; round < least || (round < most && !isKnown()); round++) {
    // Who goes first alternates: the second of two often finds caches warm.
    const first = round % 2 === 0 ? await subject() : await baseline();
    const second = round % 2 === 0 ? await baseline() : await subject();
    found.push(round % 2 === 0 ? { subject: first, baseline: second } : { subject: second, baseline: first });
  }
  return {
    ratio: ratios(),
    subject: median(found.map((pair) => pair.subject)),
    baseline: median(found.map((pair) => pair.baseline)),
  };
}

/** How many connections a server is loaded with. */
export const CONNECTIONS = [16, 64, 256];

/**
 * What `measure` found with as many connections as give the lowest ratio, of 16, 64 and 256: those are found first, with few rounds.
 */
export async function worst(
  measure: (connections: number, rounds?: number) => Promise<Pair>,
): Promise<Pair & { readonly connections: number }> {
  let lowest = { connections: 0, ratio: Number.POSITIVE_INFINITY };
  for (const connections of CONNECTIONS) {
    const ratio = median((await measure(connections, 1)).ratio);
    if (ratio < lowest.ratio) lowest = { connections, ratio };
  }
  const { connections } = lowest;
  return { connections, ...(await measure(connections)) };
}

/** `work` as a side of {@link paired}: the milliseconds that it takes. */
export function timed(work: () => void): () => Promise<number> {
  return async () => {
    const started = performance.now();
    work();
    return performance.now() - started;
  };
}

/** A new folder that goes when the scope ends: `using folder = temporaryFolder()`. */
export function temporaryFolder(): Disposable & { readonly path: string } {
  const path = mkdtempSync(join(tmpdir(), "svc-bench-"));
  return { path, [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true }) };
}

/** Compiles `bench/programs/<name>.ts` into `folder` with svc's own settings; the path of the binary. */
export async function compileProgram(name: string, folder: string): Promise<string> {
  await using packages = await packagesFor(hostTarget());
  return await compile(packages, { folder, name, entry: join(import.meta.dir, "programs", `${name}.ts`) });
}

/** A program that answers over HTTP, ended when the scope ends: `await using`. */
export interface Server extends AsyncDisposable {
  readonly url: string;
  readonly pid: number;
}

/**
 * Starts a program whose first line on stdout is JSON with a `url`.
 *
 * @throws when it ends before.
 */
export async function startServer(
  command: readonly string[],
  env: Record<string, string> = {},
): Promise<Server> {
  const child = Bun.spawn([...command], {
    stdio: ["ignore", "pipe", "inherit"],
    env: { ...process.env, ...env },
  });
  let text = "";
  for await (const chunk of child.stdout.pipeThrough(new TextDecoderStream())) {
    text += chunk;
    if (text.includes("\n")) break;
  }
  const line: unknown = JSON.parse(text || "null");
  if (typeof line !== "object" || line === null || !("url" in line) || typeof line.url !== "string") {
    throw new Error(`${command.join(" ")}: expected a line with its url but found ${JSON.stringify(text)}`);
  }
  return {
    url: line.url,
    pid: child.pid,
    async [Symbol.asyncDispose]() {
      child.kill();
      await child.exited;
    },
  };
}

/** A port of loopback that nobody uses. */
export function freePort(): number {
  const probe = Bun.listen({ hostname: "127.0.0.1", port: 0, socket: { data() {} } });
  probe.stop();
  return probe.port;
}

/** @throws when they are not the same. */
export function check(
  what: string,
  found: Readonly<Record<string, number>>,
  expected: Readonly<Record<string, number>>,
): void {
  if (Bun.deepEquals(found, expected)) return;
  throw new Error(`${what}: expected ${JSON.stringify(expected)} but found ${JSON.stringify(found)}`);
}

/** The token of {@link startSvc}. */
export const TOKEN = "bench-token-0123456789";

/** `svc serve` compiled, on a free port and `configDir`, with no limit that one client of a bench would meet; `flags` come after. */
export function startSvc(configDir: string, ...flags: string[]): Promise<Server> {
  const serve = [BINARY, "serve", "--json", "--port", "0", "--config-dir", configDir];
  const unlimited = ["--rate-limit", "0", "--max-client-connections", "1000"];
  return startServer([...serve, ...unlimited, ...flags], { SVC_TOKEN: TOKEN });
}

/** Resident memory of a process in bytes (proc_pid_status(5), VmRSS); NaN where there is no /proc. */
export function residentBytes(pid: number): number {
  if (process.platform !== "linux") return Number.NaN;
  const status = readFileSync(`/proc/${pid}/status`, "utf8");
  return Number(/^VmRSS:\s+(\d+) kB/m.exec(status)?.[1]) * 1_024;
}

/** What a process has written to in memory, in bytes (proc_pid_smaps(5), Private_Dirty); NaN where there is no /proc. */
export function ownBytes(pid: number): number {
  if (process.platform !== "linux") return Number.NaN;
  const sums = readFileSync(`/proc/${pid}/smaps_rollup`, "utf8");
  return Number(/^Private_Dirty:\s+(\d+) kB/m.exec(sums)?.[1]) * 1_024;
}

/** How to load a server. */
export interface Load {
  readonly seconds?: number;
  readonly connections?: number;
  readonly headers?: Readonly<Record<string, string>>;
}

/**
 * Requests a second that `url` answers with 200 to a GET, measured with wrk, or without it by a loop of fetches.
 *
 * @throws when anything else than 200 comes back.
 */
export async function requestsPerSecond(url: string, load: Load = {}): Promise<number> {
  return Bun.which("wrk") ? wrk(url, load) : fetchLoop(url, load);
}

async function wrk(url: string, { seconds = 2, connections = 64, headers = {} }: Load): Promise<number> {
  const flags = Object.entries(headers).flatMap(([name, value]) => ["-H", `${name}: ${value}`]);
  const child = Bun.spawn(["wrk", "-t1", `-c${connections}`, `-d${seconds}s`, ...flags, url], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const report = await new Response(child.stdout).text();
  if (/Non-2xx|Socket errors/.test(report)) throw new Error(`wrk ${url}: expected only 200:\n${report}`);
  return Number(/^Requests\/sec:\s+([\d.]+)/m.exec(report)?.[1]);
}

async function fetchLoop(
  url: string,
  { seconds = 2, connections = 64, headers = {} }: Load,
): Promise<number> {
  const started = performance.now();
  const end = started + seconds * 1_000;
  let answered = 0;
  const client = async () => {
    while (performance.now() < end) {
      const response = await fetch(url, { headers: { ...headers } });
      await response.arrayBuffer();
      if (response.status !== 200) throw new Error(`${url}: expected 200 but found ${response.status}`);
      answered++;
    }
  };
  await Promise.all(Array.from({ length: connections }, client));
  return answered / ((performance.now() - started) / 1_000);
}

/** The time in milliseconds of each request for /health, made one after the other until `work` is done. @throws for anything but 200. */
export async function healthDuring({ url }: Server, work: Promise<unknown>): Promise<number[]> {
  const times: number[] = [];
  let going = true;
  const done = work.finally(() => {
    going = false;
  });
  while (going) {
    const started = performance.now();
    const response = await fetch(`${url}/health`);
    await response.arrayBuffer();
    times.push(performance.now() - started);
    if (response.status !== 200) throw new Error(`/health: expected 200 but found ${response.status}`);
    await Bun.sleep(1);
  }
  await done;
  return times;
}

/** The 99th percentile. */
export const p99 = (times: readonly number[]): number =>
  times.toSorted((a, b) => a - b)[Math.ceil(times.length * 0.99) - 1] ?? Number.NaN;

/** `bytes` for a person. */
export const mebibytes = (bytes: number): string => `${(bytes / 1_048_576).toFixed(1)} MiB`;

/** A display of its own. @param size such as `1920x1080`, in pixels. @param isFull whether it is full of text. */
export async function startDisplay(
  size: string,
  isFull = true,
): Promise<AsyncDisposable & { readonly name: string }> {
  const server = Bun.spawn(["Xvfb", "-displayfd", "1", "-screen", "0", `${size}x24`, "-nolisten", "tcp"], {
    stdio: ["ignore", "pipe", "ignore"],
  });
  const { value } = await server.stdout.getReader().read();
  const name = `:${new TextDecoder().decode(value).trim()}`;
  const text = "head -c 200000 /dev/urandom | base64 -w 600; exec sleep 600";
  const fill = ["xterm", "-geometry", "640x160+0+0", "-e", "sh", "-c", text];
  const window = Bun.spawn(isFull ? fill : ["sleep", "infinity"], {
    env: { ...process.env, DISPLAY: name },
    stdio: ["ignore", "ignore", "ignore"],
  });
  await Bun.sleep(2_000);
  return {
    name,
    async [Symbol.asyncDispose]() {
      window.kill();
      server.kill("SIGKILL");
      await Promise.all([window.exited, server.exited]);
    },
  };
}
