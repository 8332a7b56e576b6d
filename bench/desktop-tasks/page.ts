/** The series as a page of the documentation. */
import { readFileSync, writeFileSync } from "node:fs";
import { cpus, totalmem } from "node:os";
import { join } from "node:path";
import { ROOT } from "../../build/targets";
import { isForDogtail } from "./dogtail";
import type { Result } from "./results";
import { type Passes, replaced, type Series, seriesIn, seriesOf, summarize } from "./series";
import { CHANGES, type Change, type Task } from "./task";

const PAGE = join(ROOT, "docs", "desktop-tasks.md");
const KEPT = join(import.meta.dir, "series.json");
/** What stands below this line is written by hand, and stays. */
const BY_HAND = "<!-- Written by hand from here on. -->";

const share = (own: Passes | undefined) => (own ? `${own.passed} of ${own.runs}` : "not run");
const failedIn = (series: Series) =>
  Object.entries(series.tasks).filter(([, { passed, runs }]) => passed < runs);

/** All runs of a series together. */
function sumOf(series: Series | undefined): Passes | undefined {
  const all = Object.values(series?.tasks ?? {});
  if (all.length === 0) return undefined;
  const sum = (key: "passed" | "runs") => all.reduce((before, one) => before + one[key], 0);
  return { passed: sum("passed"), runs: sum("runs"), ms: null };
}

function rowOf(task: Task, all: readonly Series[]): string {
  const [names, pictures, dogtail] = (["names", "pictures", "dogtail"] as const).map(
    (way) => seriesOf(all, way, null)?.tasks[task.id],
  );
  const seconds = names?.ms ? (names.ms / 1_000).toFixed(1) : "";
  const hard = task.hard ? " (hard)" : "";
  const third = isForDogtail(task) ? share(dogtail) : "";
  return `| ${task.id} | ${task.program} | ${task.toolkit} | ${task.what}${hard} | ${share(names)} | ${seconds} | ${share(pictures)} | ${third} |`;
}

function changeRow(change: Change, all: readonly Series[]): string {
  const names = seriesOf(all, "names", change);
  const failed = names ? failedIn(names).map(([id]) => id) : [];
  const pictures = sumOf(seriesOf(all, "pictures", change));
  return `| ${change} | ${share(sumOf(names))} | ${failed.join(" ")} | ${share(pictures)} |`;
}

const seriesRow = ({ way, change, commit, machine, at_once, load, tasks }: Series) =>
  `| by ${way}${change ? `, ${change}` : ""} | ${Object.keys(tasks).length} | ${commit} | ${machine} | ${at_once} | ${load.median} (${load.most}) |`;

/** The page of these series. */
export function pageOf(tasks: readonly Task[], all: readonly Series[], byHand: string): string {
  const plain = seriesOf(all, "names", null);
  const run = Object.keys(plain?.tasks ?? {}).length;
  const always = run - (plain ? failedIn(plain).length : 0);
  const programs = new Set(tasks.flatMap(({ program }) => program.split(" + ")));
  return `# Tasks on a desktop

Written by \`npx bun bench/desktop-tasks/run.ts --write\`; its [README](../bench/desktop-tasks/README.md) says how it runs and how to run it.

${tasks.length} tasks in ${programs.size} programs of Debian 12. By name, ${always} of the ${run} that ran passed in each of their runs; ${share(sumOf(plain))} runs passed.

| task | program | toolkit | what | by name | seconds | by picture | by dogtail |
|---|---|---|---|---|---|---|---|
${tasks.map((task) => rowOf(task, all)).join("\n")}

The seconds are those of the script by name (median of the runs that passed), with a trace, from the start of \`svc execute\` to its end. *By picture*: each thing that the
script names is a picture, taken in an unchanged run. *By dogtail*: Debian's python3-dogtail runs the same steps, in 20 tasks of GTK 3.

## Changes of the desktop

| change | by name | what failed | by picture |
|---|---|---|---|
${CHANGES.map((change) => changeRow(change, all)).join("\n")}

## Where and when

| series | tasks | commit | machine | at once | load (most) |
|---|---|---|---|---|---|
${all.map(seriesRow).join("\n")}

${BY_HAND}
${byHand}`;
}

/** Keeps what the results came to, and writes the page. @returns how many series are of these results. */
export function writePage(tasks: readonly Task[], results: readonly Result[]): number {
  const machine = `${cpus().length} × ${cpus()[0]?.model.trim() ?? "unknown"}, ${(totalmem() / 2 ** 30).toFixed(0)} GiB`;
  const now = summarize(results, machine);
  const all = replaced(seriesIn(KEPT), now);
  writeFileSync(KEPT, `${JSON.stringify(all, null, 2)}\n`);
  const [, byHand = "\n"] = readFileSync(PAGE, "utf8").split(`${BY_HAND}\n`);
  writeFileSync(PAGE, pageOf(tasks, all, byHand));
  return now.length;
}
