/**
 * `bun run bench [name…]`: runs every module of `bench/`, or those whose file name holds one of the names, one after the
 * other, and prints one table: each ratio beside its goal. Exit code 1 when a goal was missed or a bench failed.
 */
import { readdirSync } from "node:fs";
import { cpus } from "node:os";
import { join } from "node:path";
import { messageOf } from "../src/lib/errors";
import type { Figure, Goal } from "./support";

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
print(figures);
process.exitCode = broken === 0 && figures.every(meets) ? 0 : 1;

/** A ratio that could not be measured meets nothing. */
function meets({ ratio, goal }: Figure): boolean {
  const bound = Number(goal.slice(3));
  return goal.startsWith(">=") ? ratio >= bound : ratio <= bound;
}

/** The table, as Markdown: `docs/performance.md` keeps the last one. */
function print(figures: readonly Figure[]): void {
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
  const machine = `${cpus().length} × ${cpus()[0]?.model ?? "unknown"}, ${process.platform}-${process.arch}`;
  console.log(`${machine}, Bun ${Bun.version}\n`);
  console.log([line(head), line(widths.map((width) => "-".repeat(width))), ...body.map(line)].join("\n"));
}

function shown(goal: Goal): string {
  return goal.replace(">=", "≥").replace("<=", "≤");
}
