/**
 * `bun run bench [name…]`: runs every module of `bench/`, or those whose file name holds one of the names, one after the
 * other, and prints one table: each ratio beside its goal. When all of them ran, `docs/performance.md` is written anew.
 * Exit code 1 when a goal was missed or a bench failed.
 */
import { readdirSync } from "node:fs";
import { cpus, totalmem } from "node:os";
import { join } from "node:path";
import { ROOT } from "../build/targets";
import { messageOf } from "../src/lib/errors";
import { BINARY, type Figure, type Goal } from "./support";

type Bench = { readonly bench: () => Promise<Figure[]> };

const NOT_BENCHES = new Set(["run.ts", "support.ts"]);

const wanted = process.argv.slice(2);
const files = readdirSync(import.meta.dir)
  .filter((name) => name.endsWith(".ts") && !NOT_BENCHES.has(name))
  .filter((name) => wanted.length === 0 || wanted.some((part) => name.includes(part)))
  .sort();
if (files.length === 0) throw new Error(`no bench is named ${wanted.join(" or ")}`);

const figures: Figure[] = [];
let broken = 0;
for (const file of files) {
  console.error(`bench/${file} …`);
  try {
    const { bench }: Bench = await import(join(import.meta.dir, file));
    figures.push(...(await bench()));
  } catch (error) {
    broken++;
    console.error(`bench/${file} failed: ${messageOf(error)}`);
  }
}
const report = `${machine()}\n\n${tableOf(figures)}\n`;
console.log(report);
if (wanted.length === 0 && broken === 0) await Bun.write(join(ROOT, "docs", "performance.md"), page(report));
process.exitCode = broken === 0 && figures.every(meets) ? 0 : 1;

/** A ratio that could not be measured meets nothing. */
function meets({ ratio, goal }: Figure): boolean {
  const bound = Number(goal.slice(3));
  return goal.startsWith(">=") ? ratio >= bound : ratio <= bound;
}

/** What the figures were measured with. */
function machine(): string {
  const memory = `${Math.round(totalmem() / 2 ** 30)} GiB`;
  const [processor] = cpus();
  return [
    Bun.spawnSync([BINARY, "--version"]).stdout.toString().trim(),
    `Bun ${Bun.version}`,
    `${process.platform}-${process.arch}`,
    `${cpus().length} × ${processor?.model ?? "unknown"}`,
    memory,
    new Date().toISOString().slice(0, 10),
  ].join(" · ");
}

/** The figures as a table in Markdown. */
function tableOf(figures: readonly Figure[]): string {
  const rows = figures.map((figure) => [
    figure.name,
    figure.ratio.toFixed(2),
    shown(figure.goal),
    meets(figure) ? "met" : "MISSED",
    figure.detail,
  ]);
  const table = [["figure", "ratio", "goal", "", "measured / baseline"], ...rows];
  const widths = [0, 1, 2, 3, 4].map((column) => Math.max(...table.map((row) => row[column]?.length ?? 0)));
  const line = (row: readonly string[]) =>
    `| ${row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join(" | ")} |`;
  const [head = [], ...body] = table;
  return [line(head), line(widths.map((width) => "-".repeat(width))), ...body.map(line)].join("\n");
}

/** The page that keeps the last report. */
function page(report: string): string {
  return `# Performance

Written by \`npm run bench\`, which runs every bench. Each figure is a ratio between svc and a baseline measured in the same
run, on the same machine and in turns, so that a slow or busy machine slows both; the last column has both sides. What a
baseline is, and how it is measured, stands at the top of the file in \`bench/\` that measures it.

${report}`;
}

function shown(goal: Goal): string {
  return goal.replace(">=", "≥").replace("<=", "≤");
}
