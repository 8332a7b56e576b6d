/**
 * `bun run bench [name…] [--busy] [--missing] [--once] [--compare REF]`: runs every module of `bench/`, or those whose file name holds one
 * of the names, and prints one table: each ratio beside its goal, and between which values it lies. A module whose figures are of one
 * measurement each is run three times, with `--once` not.
 *
 * What was measured of a commit is kept, so that a run goes on in pieces: `--missing` runs what has no figures yet. When all modules have,
 * `docs/performance.md` is written anew. With `--busy`, each runs once while other work uses the machine; the page has those figures
 * beside the others. With `--compare`, the same benches of that commit run in turn with these, and the table shows what has changed since.
 * Exit code 1 when a goal was not met, which a busy run does not ask, or a bench failed.
 */
import { readdirSync } from "node:fs";
import { cpus, loadavg, totalmem } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { ROOT } from "../build/targets";
import { deadline } from "../src/lib/deadline";
import { messageOf, systemCode } from "../src/lib/errors";
import { compareWith } from "./compare";
import { BRIEF } from "./measuring/brief";
import { currentBuild, PAGE, versionOf } from "./measuring/build";
import { type BenchResult, joined, KEPT, needsMore, readKept, writeKept } from "./measuring/kept";
import { LOAD, startLoad } from "./measuring/load";
import { processesOf } from "./screens/rivals";
import type { Figure } from "./support";
import { type Busy, busyTableOf, pageOf, tableOf, verdictOf } from "./table";

const NOT_BENCHES = new Set([
  ...["run.ts", "one.ts", "support.ts", "table.ts", "reasons.ts", "compare.ts"],
  "playwright-mcp.ts",
]);
/** How long a bench may run once, in milliseconds, also beside other work: three times what the longest takes. */
const LIMIT_MS = 20 * 60_000;

const { values, positionals: wanted } = parseArgs({
  options: {
    busy: { type: "boolean", default: false },
    missing: { type: "boolean", default: false },
    once: { type: "boolean", default: false },
    compare: { type: "string" },
  },
  allowPositionals: true,
});
const all = readdirSync(import.meta.dir)
  .filter((name) => name.endsWith(".ts") && !NOT_BENCHES.has(name))
  .sort();
const files = all.filter((name) => wanted.length === 0 || wanted.some((part) => name.includes(part)));
if (files.length === 0) throw new Error(`no bench is named ${wanted.join(" or ")}`);

if (values.compare === undefined) await measure();
else if (values.busy) throw new Error("--compare measures two commits in turns; --busy is another run");
else {
  const table = await compareWith(values.compare, wanted);
  // Asked afterwards: the comparison has built this tree.
  console.log(`${machineOf(versionOf())}\n\n${table}`);
}

async function measure(): Promise<void> {
  const { build, why } = await currentBuild();
  if (why && !values.once) console.error(`No figure is kept: ${why}.`);
  const own = values.busy ? KEPT.busy : KEPT.quiet;
  const keeps = build !== undefined && !values.once;
  const isFresh = !keeps || (wanted.length === 0 && !values.missing);
  const measured = isFresh ? new Map<string, BenchResult>() : readKept(own, build).measured;
  const now = files.filter((file) => !values.missing || !measured.has(file));
  let failed = 0;
  for (const file of now) {
    measured.delete(file);
    try {
      measured.set(file, await inTime(file));
      if (keeps) await writeKept(own, build, { machine: machineOf(build), measured });
    } catch (error) {
      failed++;
      console.error(`bench/${file} failed: ${messageOf(error)}`);
    }
  }
  const figures = figuresOf(measured, now);
  const seconds = now.reduce((sum, file) => sum + (measured.get(file)?.seconds ?? 0), 0);
  console.error(`${now.length - failed} of ${now.length} benches took ${(seconds / 60).toFixed(0)} minutes.`);
  console.log(
    `${machineOf(build ?? versionOf())}\n\n${values.busy ? busyTableOf(figures) : tableOf(figures)}\n`,
  );
  if (keeps && (values.busy || failed === 0)) await writePage(build);
  const isMet = values.busy || figures.every((figure) => verdictOf(figure) === "met");
  process.exitCode = failed === 0 && isMet ? 0 : 1;
}

/** A function with a name: what runs above is older than a constant of this place. */
function figuresOf(measured: ReadonlyMap<string, BenchResult>, those: readonly string[]): Figure[] {
  return those.flatMap((file) => measured.get(file)?.figures ?? []);
}

/** Writes the page, where all benches have figures of this build. */
async function writePage(build: string): Promise<void> {
  const quiet = readKept(KEPT.quiet, build);
  if (!all.every((file) => quiet.measured.has(file))) return;
  const { machine, measured } = readKept(KEPT.busy, build);
  const busy: Busy = {
    machine,
    load: LOAD,
    figures: figuresOf(measured, all),
    missing: all.filter((file) => !measured.has(file)).map((file) => `bench/${file}`),
  };
  const page = pageOf(quiet.machine, figuresOf(quiet.measured, all), measured.size === 0 ? null : busy);
  await Bun.write(join(ROOT, PAGE), page);
}

/** What a bench finds, and how long that takes; beside other work where the run is a busy one. */
async function inTime(file: string): Promise<BenchResult> {
  const began = performance.now();
  const figures = values.busy ? await runBusy(file) : await run(file);
  const seconds = Math.round((performance.now() - began) / 1_000);
  // Their ratios would be taken for those of one.
  if (new Set(figures.map(({ name }) => name)).size < figures.length)
    throw new Error("two of its figures have one name");
  console.error(`bench/${file}: ${seconds} s`);
  return { figures, seconds };
}

async function runBusy(file: string): Promise<readonly Figure[]> {
  await using load = await startLoad();
  const figures = await runOnce(file, true);
  load.requireAll();
  return figures;
}

/** The figures of a bench, with all of the ratios that were measured. */
async function run(file: string): Promise<readonly Figure[]> {
  let figures: readonly Figure[] = [];
  do figures = joined(figures, await runOnce(file, figures.length > 0));
  while (!values.once && needsMore(figures));
  return figures;
}

/**
 * The figures of one run of a bench, in a process of its own: the highest memory of a process (`maxrss`) begins with that of the one
 * which started it, so that a bench would be charged for those before.
 *
 * @throws why there are none.
 */
async function runOnce(file: string, isBrief: boolean): Promise<Figure[]> {
  console.error(`bench/${file} …`);
  const { promise, resolve, reject } = Promise.withResolvers<Figure[]>();
  const child = Bun.spawn([process.execPath, join(import.meta.dir, "one.ts"), file], {
    stdio: ["ignore", "inherit", "inherit"],
    env: { ...process.env, ...(isBrief ? { [BRIEF]: "1" } : {}) },
    ipc: (figures: Figure[]) => resolve(figures),
    onExit: (_, code) => reject(new Error(`it ended with exit code ${code}`)),
  });
  try {
    return await deadline(promise, { ms: LIMIT_MS, late: tooLong });
  } finally {
    // What it has started would be measured along with the next one.
    for (const pid of processesOf(child.pid).reverse()) kill(pid);
    await child.exited;
  }
}

/** Ends a process, which may have ended by itself. */
function kill(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch (error) {
    if (systemCode(error) !== "ESRCH") throw error;
  }
}

function tooLong(): never {
  throw new Error(`it was not over after ${LIMIT_MS / 60_000} minutes`);
}

/** What the figures were measured with, and when. @param build the version, with its commit. */
function machineOf(build: string): string {
  const memory = `${Math.round(totalmem() / 2 ** 30)} GiB`;
  const [processor] = cpus();
  return [
    build,
    `Bun ${Bun.version}`,
    `${process.platform}-${process.arch}`,
    `${cpus().length} × ${processor?.model ?? "unknown"}`,
    memory,
    `load ${loadavg()[0]?.toFixed(1)}`,
    new Date().toISOString().slice(0, 10),
  ].join(" · ");
}
