/** The results as a page of the documentation. */
import { readFileSync, writeFileSync } from "node:fs";
import { cpus, totalmem } from "node:os";
import { join } from "node:path";
import { ROOT } from "../../build/targets";
import { median } from "../support";
import { isForDogtail } from "./dogtail";
import type { Piece, Result } from "./results";
import { CHANGES, type Change, type Task, type Way } from "./task";

const PAGE = join(ROOT, "docs", "desktop-tasks.md");
/** What stands below this line is written by hand, and stays. */
const BY_HAND = "<!-- Written by hand from here on. -->";

const passed = ({ failure }: Result) => failure === null;
const share = (of: readonly Result[]) =>
  of.length === 0 ? "not run" : `${of.filter(passed).length} of ${of.length}`;

/** What a series came to. */
interface Series {
  readonly tasks: readonly Task[];
  readonly results: readonly Result[];
  readonly pieces: readonly Piece[];
}

const of = (results: readonly Result[], way: Way, change: Change | null, id?: string) =>
  results.filter(
    (one) =>
      one.way === way && one.change === change && one.at_once === 1 && (id === undefined || one.id === id),
  );

function rowOf(task: Task, results: readonly Result[]): string {
  const own = of(results, "names", null, task.id);
  const times = own.flatMap(({ ms }) => (ms === null ? [] : [ms / 1_000]));
  const seconds = times.length === 0 ? "" : median(times).toFixed(1);
  const hard = task.hard ? " (hard)" : "";
  const pictures = share(of(results, "pictures", null, task.id));
  const dogtail = isForDogtail(task) ? share(of(results, "dogtail", null, task.id)) : "";
  return `| ${task.id} | ${task.program} | ${task.toolkit} | ${task.what}${hard} | ${share(own)} | ${seconds} | ${pictures} | ${dogtail} |`;
}

const names = (results: readonly Result[]) => [...new Set(results.map(({ id }) => id))].join(" ");

function changeRow(change: Change, results: readonly Result[]): string {
  const own = of(results, "names", change);
  const failed = own.filter((one) => !passed(one));
  return `| ${change} | ${share(own)} | ${names(failed)} | ${share(of(results, "pictures", change))} |`;
}

/** How long the tasks took one after the other, and so many at once; empty where they did not run so. */
function atOnce({ results, pieces }: Series): string {
  const many = pieces.filter(({ at_once }) => at_once > 1);
  const most = Math.max(0, ...many.map(({ at_once }) => at_once));
  const own = results.filter(({ at_once, way, change }) => at_once === most && way === "names" && !change);
  if (own.length === 0) return "";
  const took = many.filter(({ at_once }) => at_once === most).reduce((sum, one) => sum + one.piece_ms, 0);
  const alone = own.flatMap(({ id, run }) =>
    of(results, "names", null, id)
      .filter((one) => one.run === run)
      .map(({ whole_ms }) => whole_ms),
  );
  const before = alone.reduce((sum, one) => sum + one, 0);
  const load = median(own.map((one) => one.load)).toFixed(0);
  const minutes = (ms: number) => `${(ms / 60_000).toFixed(1)} min`;
  return `
## Several at once

${own.length} runs with ${most} at once, each on a desktop of its own: ${share(own)} passed, in ${minutes(took)}; ${alone.length} of them one after the other: ${minutes(before)}
(${(took / before).toFixed(2)} of it; the load was ${load}).
`;
}

/** The page; `commit` is that of all results, and the machine is this one. */
export function pageOf({ tasks, results, pieces }: Series, commit: string, byHand: string): string {
  const plain = of(results, "names", null);
  const run = tasks.filter(({ id }) => plain.some((one) => one.id === id));
  const always = run.filter((task) => plain.every((one) => one.id !== task.id || passed(one)));
  const programs = new Set(tasks.flatMap(({ program }) => program.split(" + ")));
  const memory = (totalmem() / 2 ** 30).toFixed(0);
  const loads = plain.map(({ load }) => load);
  return `# Tasks on a desktop

Written by \`npx bun bench/desktop-tasks/run.ts --write\`; its [README](../bench/desktop-tasks/README.md) says how it runs and how to run it.

All results are of commit ${commit}. ${cpus().length} × ${cpus()[0]?.model.trim() ?? "unknown"}, ${memory} GiB, load ${median(loads).toFixed(1)} (median; it was up to ${Math.max(...loads).toFixed(1)}).
${tasks.length} tasks in ${programs.size} programs of Debian 12; ${always.length} of the ${run.length} that ran passed in each of their runs; ${share(plain)} runs passed.

| task | program | toolkit | what | by name | seconds | by picture | by dogtail |
|---|---|---|---|---|---|---|---|
${tasks.map((task) => rowOf(task, results)).join("\n")}

The seconds are those of the script by name (median of the runs that passed), with a trace, from the start of \`svc execute\` to its end. *By picture*: each thing that the
script names is a picture, taken in an unchanged run. *By dogtail*: Debian's python3-dogtail runs the same steps, in 20 tasks of GTK 3.

## Changes of the desktop

| change | by name | what failed | by picture |
|---|---|---|---|
${CHANGES.map((change) => changeRow(change, results)).join("\n")}
${atOnce({ tasks, results, pieces })}
${BY_HAND}
${byHand}`;
}

/** Writes the page from the results of the newest commit. @returns the commit, and how many results of others were left out. */
export function writePage(tasks: readonly Task[], all: { results: Result[]; pieces: Piece[] }) {
  const commit = all.results.at(-1)?.commit;
  if (commit === undefined) throw new Error("there are no results: --results names their file");
  const results = all.results.filter((one) => one.commit === commit);
  const pieces = all.pieces.filter((one) => one.commit === commit);
  const [, byHand = "\n"] = readFileSync(PAGE, "utf8").split(`${BY_HAND}\n`);
  writeFileSync(PAGE, pageOf({ tasks, results, pieces }, commit, byHand));
  return { commit, leftOut: all.results.length - results.length };
}
