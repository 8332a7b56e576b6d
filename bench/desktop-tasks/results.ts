/** What runs came to, as a page of the documentation. */
import { writeFileSync } from "node:fs";
import { cpus, totalmem } from "node:os";
import { join } from "node:path";
import { ROOT } from "../../build/targets";
import { median } from "../support";
import { CHANGES, type Change, type Task } from "./task";

export interface Result {
  readonly id: string;
  readonly change: Change | null;
  /** How long the script took, NaN where it failed. */
  readonly ms: number;
  readonly failure: string | null;
}

const passed = ({ failure }: Result) => failure === null;
const share = (of: readonly Result[]) =>
  of.length === 0 ? "not run" : `${of.filter(passed).length} of ${of.length}`;

const rowOf = (task: Task, results: readonly Result[]) => {
  const own = results.filter(({ id, change }) => id === task.id && change === null);
  const times = own.filter(passed).map(({ ms }) => ms / 1_000);
  const seconds = times.length === 0 ? "" : median(times).toFixed(1);
  const hard = task.hard ? " (hard)" : "";
  return `| ${task.id} | ${task.program} | ${task.toolkit} | ${task.what}${hard} | ${share(own)} | ${seconds} |`;
};

/** The page of the results; `commit` is that of the tree, and the machine is this one. */
export function pageOf(tasks: readonly Task[], results: readonly Result[], commit: string): string {
  const plain = results.filter(({ change }) => change === null);
  const run = tasks.filter(({ id }) => plain.some((one) => one.id === id));
  const always = run.filter((task) => plain.every((one) => one.id !== task.id || passed(one)));
  const programs = new Set(tasks.flatMap(({ program }) => program.split(" + ")));
  const changed = CHANGES.map((change) => results.filter((one) => one.change === change));
  const rows = CHANGES.map((change, nth) => `| ${change} | ${share(changed[nth] ?? [])} |`);
  const memory = (totalmem() / 2 ** 30).toFixed(0);
  return `# Tasks on a desktop

Written by \`npx bun bench/desktop-tasks/run.ts --write\`; its [README](../bench/desktop-tasks/README.md) says how it runs and how to run it.

Commit ${commit}; ${cpus().length} × ${cpus()[0]?.model.trim() ?? "unknown"}, ${memory} GiB, shared with other work. ${tasks.length} tasks in ${programs.size} programs of Debian 12.
${always.length} of ${run.length} tasks passed in each of their runs; ${share(plain)} runs passed.

| task | program | toolkit | what | passed | seconds |
|---|---|---|---|---|---|
${tasks.map((task) => rowOf(task, results)).join("\n")}

The seconds are those of the script (median of the runs that passed), with a trace, from the start of \`svc execute\` to its end.

## Changes of the desktop

| change | passed |
|---|---|
${rows.join("\n")}
`;
}

/** Writes the page. */
export function keepResults(tasks: readonly Task[], results: readonly Result[]): void {
  const commit = Bun.spawnSync(["git", "rev-parse", "--short=12", "HEAD"], { cwd: ROOT })
    .stdout.toString()
    .trim();
  writeFileSync(join(ROOT, "docs", "desktop-tasks.md"), pageOf(tasks, results, commit));
}
