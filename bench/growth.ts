/**
 * How cost grows with what there is: hosts that are polled, rows that are verified, files that are looked at, streams that follow, and
 * viewers that look, and characters that are parsed. Each is measured at four sizes, each twice as large as the one before; the ratio is the exponent.
 */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { openAuditLog } from "../src/host/audit/log";
import { FolderSyncEngine } from "../src/host/sync/engine";
import { silentLog } from "../src/lib/log";
import { fillLog } from "./audit";
import { follow, tokensOf } from "./events";
import { costOf, grown, PARSERS, type Parser } from "./programs/parsers";
import { addressOf } from "./programs/sim-seed";
import { processorMs, startSvcScreen } from "./screens/rivals";
import { openSink } from "./screens/sink";
import { startStage } from "./screens/watch";
import { BINARY, type Figure, startDisplay, startServer, startSvc, TOKEN, temporaryFolder } from "./support";

/** The cost at a size. */
interface Point {
  readonly size: number;
  readonly cost: number;
}

const GOAL = "<= 1.15";

export async function bench(): Promise<Figure[]> {
  if (process.platform !== "linux") return [];
  return [await hosts(), await rows(), await files(), await streams(), await viewers(), ...(await parsers())];
}

/** Sizes, each twice the one before. */
const doubled = (least: number) => [1, 2, 4, 8].map((factor) => factor * least);

async function at(sizes: readonly number[], cost: (size: number) => Promise<number>): Promise<Point[]> {
  const points: Point[] = [];
  for (const size of sizes) points.push({ size, cost: await cost(size) });
  return points;
}

async function hosts(): Promise<Figure> {
  const sizes = doubled(500);
  const sim = join(import.meta.dir, "programs", "sim.ts");
  await using fleet = await startServer([
    process.execPath,
    sim,
    "--hosts",
    `${sizes.at(-1)}`,
    "--seed",
    "growth",
  ]);
  const { port } = new URL(fleet.url);
  const points = await at(sizes, async (size) => {
    using folder = temporaryFolder();
    const book = Array.from({ length: size }, (_, nth) => ({
      label: `host-${nth}`,
      base_url: `http://${addressOf(nth)}:${port}`,
      token: TOKEN,
      tags: [],
    }));
    writeFileSync(join(folder.path, "admin_hosts.json"), JSON.stringify({ hosts: book }), { mode: 0o600 });
    const command = [BINARY, "admin", "poll", "--json", "--config-dir", folder.path];
    const child = Bun.spawn(command, { stdio: ["ignore", "ignore", "inherit"] });
    if ((await child.exited) !== 0) throw new Error("expected that all hosts are healthy");
    return Number(child.resourceUsage()?.cpuTime.total ?? Number.NaN) / 1_000;
  });
  return figureOf("processor time of a poll, by hosts", points, "ms");
}

async function rows(): Promise<Figure> {
  const points = await at(doubled(125_000), async (size) => {
    using folder = temporaryFolder();
    const path = join(folder.path, "audit.db");
    await fillLog(path, size);
    const log = await openAuditLog({ path, log: silentLog });
    const started = performance.now();
    await log.verify();
    const took = performance.now() - started;
    await log.close();
    return took;
  });
  return figureOf("a verification of the audit log, by rows", points, "ms");
}

async function files(): Promise<Figure> {
  using home = temporaryFolder();
  const points: Point[] = [];
  for (const size of doubled(12_500)) {
    const folder = join(home.path, `${size}`);
    for (let nth = 0; nth < size; nth++) {
      const parent = join(folder, `folder-${Math.floor(nth / 1_000)}`);
      if (nth % 1_000 === 0) mkdirSync(parent, { recursive: true });
      writeFileSync(join(parent, `file-${nth}.txt`), "x");
    }
    const engine = new FolderSyncEngine({ watch_dir: folder, include_subdirs: true, sender: async () => {} });
    await engine.prepare();
    await engine.tick();
    const look = async () => {
      const started = performance.now();
      await engine.tick();
      return performance.now() - started;
    };
    points.push(...(await at([size], look)));
  }
  return figureOf("a look at a synchronised folder, by files", points, "ms");
}

async function streams(): Promise<Figure> {
  const points = await at(doubled(125), async (size) => {
    using folder = temporaryFolder();
    await using svc = await startSvc(folder.path);
    let took = Number.NaN;
    await follow(svc.url, tokensOf(folder.path), size, async (next) => {
      const before = processorMs(svc.pid);
      await next();
      took = processorMs(svc.pid) - before;
    });
    return took;
  });
  return figureOf("processor time of 30 events, by streams that follow", points, "ms");
}

async function viewers(): Promise<Figure> {
  await using display = await startDisplay("1920x1080", false);
  await using stage = await startStage(display.name);
  using folder = temporaryFolder();
  await using svc = await startSvcScreen(display.name, folder.path);
  await stage.show("small");
  const points = await at(doubled(2), async (size) => {
    const sinks = await Promise.all(
      Array.from({ length: size }, async () => openSink(await svc.enter(false))),
    );
    await Bun.sleep(2_000);
    const [before, started] = [processorMs(svc.pid), performance.now()];
    await Bun.sleep(4_000);
    const share = (processorMs(svc.pid) - before) / (performance.now() - started);
    for (const sink of sinks) sink[Symbol.dispose]();
    await Bun.sleep(500);
    return share * 100;
  });
  return figureOf("processor time of a film of 640x360, by viewers", points, "%");
}

/** A text is read so long that its processor time is well above what the clock can tell, in milliseconds. */
const LEAST_MS = 60;

/** Each parser with the text that takes it the longest. */
async function parsers(): Promise<Figure[]> {
  const figures: Figure[] = [];
  for (const parser of PARSERS) {
    const points = async (piece: string) =>
      at(doubled(Math.floor(parser.most / 8)), (size) => costOfReading(parser, grown(piece, size)));
    const all: Point[][] = [];
    for (const piece of parser.worst) all.push(await points(piece));
    const costOfLargest = (one: readonly Point[]) => one.at(-1)?.cost ?? 0;
    const slowest = all.toSorted((a, b) => costOfLargest(b) - costOfLargest(a))[0] ?? [];
    figures.push(figureOf(`${parser.name}, by characters`, slowest, "ms"));
  }
  return figures;
}

/** Processor time of one reading, in milliseconds. */
async function costOfReading(parser: Parser, text: string): Promise<number> {
  await costOf(parser, text);
  const began = performance.now();
  let count = 0;
  let total = 0;
  while (performance.now() - began < LEAST_MS) {
    total += await costOf(parser, text);
    count++;
  }
  return Math.max(total / count, SHORTEST_MS);
}

/** What is quicker grows with nothing that can be measured. */
const SHORTEST_MS = 0.01;

function figureOf(name: string, points: readonly Point[], unit: string): Figure {
  const detail = points
    .map(({ size, cost }) => `${size.toLocaleString("en")}: ${short(cost)} ${unit}`)
    .join(", ");
  return {
    name: `${name}: exponent`,
    ratio: exponentOf(points),
    goal: GOAL,
    detail,
    plot: plotOf(points, unit),
  };
}

/** The slope of the line through the logarithms (least squares). */
export function exponentOf(points: readonly Point[]): number {
  const logs = points.map(({ size, cost }) => [Math.log(size), Math.log(cost)] as const);
  const mean = (side: 0 | 1) => logs.reduce((sum, log) => sum + log[side], 0) / logs.length;
  const [x, y] = [mean(0), mean(1)];
  const shared = logs.reduce((sum, [a, b]) => sum + (a - x) * (b - y), 0);
  return shared / logs.reduce((sum, [a]) => sum + (a - x) ** 2, 0);
}

const [PLOT_WIDTH, PLOT_HEIGHT] = [48, 9];

/** The points on two logarithmic axes, with a dotted line for a cost in proportion to the size. */
export function plotOf(points: readonly Point[], unit: string): string {
  const [first, last] = [points[0], points.at(-1)];
  if (!first || !last) return "";
  const span = Math.log(last.size / first.size);
  const line = (size: number) => (first.cost * size) / first.size;
  const costs = [...points.map(({ cost }) => cost), line(last.size)];
  const [low, high] = [Math.log(Math.min(...costs)), Math.log(Math.max(...costs))];
  const cells = Array.from({ length: PLOT_HEIGHT }, () => Array.from({ length: PLOT_WIDTH }, () => " "));
  const put = (size: number, cost: number, mark: string) => {
    const x = Math.round((Math.log(size / first.size) / span) * (PLOT_WIDTH - 1));
    const y = Math.round(((Math.log(cost) - low) / (high - low || 1)) * (PLOT_HEIGHT - 1));
    const row = cells[PLOT_HEIGHT - 1 - y];
    if (row) row[x] = mark;
  };
  for (let step = 0; step < PLOT_WIDTH; step += 2) {
    const size = first.size * Math.exp((span * step) / (PLOT_WIDTH - 1));
    put(size, line(size), "·");
  }
  for (const { size, cost } of points) put(size, cost, "●");
  const labels = cells.map((_, row) => {
    const cost = Math.exp(high - ((high - low) * row) / (PLOT_HEIGHT - 1));
    return row % 4 === 0 ? `${short(cost)} ${unit}` : "";
  });
  const width = Math.max(...labels.map(({ length }) => length));
  const body = cells.map((row, nth) => `${(labels[nth] ?? "").padStart(width)} │${row.join("").trimEnd()}`);
  const from = first.size.toLocaleString("en");
  const axis = `${" ".repeat(width)} └${"─".repeat(PLOT_WIDTH)}`;
  const ends = `${" ".repeat(width + 2)}${from}${last.size.toLocaleString("en").padStart(PLOT_WIDTH - from.length)}`;
  return [...body, axis, ends].join("\n");
}

const short = (value: number) => (value >= 100 ? value.toFixed(0) : value.toPrecision(2));
