/**
 * `bun run bench [name…] [--once] [--compare REF]`: runs every module of `bench/`, or those whose file name holds one of the names,
 * and prints one table: each ratio beside its goal, and between which values it lies. A module whose figures are of one measurement
 * each is run three times, with `--once` not. When all modules ran so, `docs/performance.md` is written anew; where one has failed, once
 * it has run by its name, with the same build. With `--compare`, the same benches of that commit run in turn with these, and the table
 * shows what has changed since. Exit code 1 when a goal was not met or a bench failed.
 */
import { readdirSync, readFileSync } from "node:fs";
import { cpus, loadavg, totalmem } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { ROOT } from "../build/targets";
import { deadline } from "../src/lib/deadline";
import { messageOf, systemCode } from "../src/lib/errors";
import { compareWith } from "./compare";
import { processesOf } from "./screen/rivals";
import { BINARY, type Figure } from "./support";
import { pageOf, ratiosOf, tableOf, verdictOf } from "./table";

const NOT_BENCHES = new Set([
  ...["run.ts", "one.ts", "support.ts", "table.ts", "reasons.ts", "compare.ts"],
  "playwright-mcp.ts",
]);
/** How often a figure is measured, at least. */
const TIMES = 3;
/** How long a bench may run once, in milliseconds: three times what the longest takes. */
const LIMIT_MS = 20 * 60_000;

/** The figures that were measured last, so that a bench that failed can be run again alone. */
const KEPT = join(ROOT, "dist", "bench.json");

const { values, positionals: wanted } = parseArgs({
  options: { once: { type: "boolean", default: false }, compare: { type: "string" } },
  allowPositionals: true,
});
const all = readdirSync(import.meta.dir)
  .filter((name) => name.endsWith(".ts") && !NOT_BENCHES.has(name))
  .sort();
const files = all.filter((name) => wanted.length === 0 || wanted.some((part) => name.includes(part)));
if (files.length === 0) throw new Error(`no bench is named ${wanted.join(" or ")}`);

if (values.compare === undefined) await measure();
else {
  const table = await compareWith(values.compare, wanted);
  // Asked afterwards: the comparison has built this tree.
  console.log(`${machine()}\n\n${table}`);
}

async function measure(): Promise<void> {
  const measured = new Map<string, Figure[]>(wanted.length === 0 ? [] : keptOf(build()));
  let broken = 0;
  for (const file of files) {
    measured.delete(file);
    try {
      measured.set(file, await run(file));
      if (!values.once) await Bun.write(KEPT, JSON.stringify({ build: build(), measured: [...measured] }));
    } catch (error) {
      broken++;
      console.error(`bench/${file} failed: ${messageOf(error)}`);
    }
  }
  const figuresOf = (those: readonly string[]) => those.flatMap((file) => measured.get(file) ?? []);
  const reportOf = (figures: readonly Figure[]) => `${machine()}\n\n${tableOf(figures)}\n`;
  const figures = figuresOf(files);
  console.log(reportOf(figures));
  if (all.every((file) => measured.has(file)) && broken === 0 && !values.once) {
    await Bun.write(join(ROOT, "docs", "performance.md"), pageOf(reportOf(figuresOf(all)), figuresOf(all)));
  }
  process.exitCode = broken === 0 && figures.every((figure) => verdictOf(figure) === "met") ? 0 : 1;
}

/** What was measured of this build, by the file of the bench. */
function keptOf(current: string): Array<[string, Figure[]]> {
  try {
    // JSON has no NaN, the ratio of what was not measured.
    const { build, measured } = JSON.parse(readFileSync(KEPT, "utf8"), (_, value) => value ?? Number.NaN);
    return build === current ? measured : [];
  } catch (error) {
    if (systemCode(error) === "ENOENT") return [];
    throw error;
  }
}

/** The version of what is measured, with its commit. */
function build(): string {
  return Bun.spawnSync([BINARY, "--version"]).stdout.toString().trim();
}

/** The figures of a bench, with all of the ratios that were measured. */
async function run(file: string): Promise<Figure[]> {
  let figures: Figure[] = [];
  do {
    console.error(`bench/${file} …`);
    const again = await runOnce(file);
    figures = again.map((figure) => {
      const before = figures.find(({ name }) => name === figure.name);
      return { ...figure, ratio: [...(before ? ratiosOf(before) : []), ...ratiosOf(figure)] };
    });
  } while (!values.once && figures.some((figure) => ratiosOf(figure).length < TIMES));
  return figures;
}

/**
 * The figures of one run of a bench, in a process of its own: the highest memory of a process (`maxrss`) begins with that of the one
 * which started it, so that a bench would be charged for those before.
 *
 * @throws why there are none.
 */
async function runOnce(file: string): Promise<Figure[]> {
  const { promise, resolve, reject } = Promise.withResolvers<Figure[]>();
  const child = Bun.spawn([process.execPath, join(import.meta.dir, "one.ts"), file], {
    stdio: ["ignore", "inherit", "inherit"],
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

/** What the figures were measured with. */
function machine(): string {
  const memory = `${Math.round(totalmem() / 2 ** 30)} GiB`;
  const [processor] = cpus();
  return [
    build(),
    `Bun ${Bun.version}`,
    `${process.platform}-${process.arch}`,
    `${cpus().length} × ${processor?.model ?? "unknown"}`,
    memory,
    `load ${loadavg()[0]?.toFixed(1)}`,
    new Date().toISOString().slice(0, 10),
  ].join(" · ");
}
