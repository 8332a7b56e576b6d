/**
 * `bun bench/desktop-tasks/run.ts`: runs tasks by the compiled binary, each in a world of its own, and prints which passed. README.md beside it
 * has the flags. Exit code 1 where a run failed, 3 where runs are left when the time is over.
 */
import { rmSync } from "node:fs";
import { loadavg } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { messageOf } from "../../src/lib/errors";
import { median } from "../support";
import { writePage } from "./page";
import { commitOfBoth, isSameRun, keep, type Result, resultsIn } from "./results";
import { runOnce, whyNot } from "./runner";
import { takePictures } from "./take-pictures";
import { CHANGES, type Change, type Task, WAYS, type Way } from "./task";
import { TASKS } from "./tasks";

interface Series {
  readonly tasks: readonly Task[];
  readonly changes: ReadonlyArray<Change | undefined>;
  readonly way: Way;
  readonly runs: number;
  readonly atOnce: number;
  readonly idle: boolean;
  readonly kept: string;
  readonly pictures: string;
  /** What has run before at this commit. */
  readonly before: readonly Result[];
  readonly commit: string;
  /** When no other run begins, as `performance.now()` has it. */
  readonly end: number;
  ended(result: Result): void;
}

/** Runs a series. @returns its results, and how many runs are left. */
async function runSeries(series: Series): Promise<{ results: Result[]; left: number }> {
  const { tasks, changes, way, runs, atOnce, commit } = series;
  const results: Result[] = [];
  const todo = changes
    .flatMap((change) =>
      Array.from({ length: runs }, (_, nth) => tasks.map((task) => ({ task, run: nth + 1, change }))).flat(),
    )
    .filter(({ task, change }) => whyNot(task, change, way) === undefined)
    .map((one) => ({ ...one, key: keyOf(one.task, one.change, one.run) }))
    .filter(({ key }) => !series.before.some((one) => isSameRun(one, key)));
  function keyOf(task: Task, change: Change | undefined, run: number) {
    return { id: task.id, change: change ?? null, way, run, at_once: atOnce };
  }
  const work = async () => {
    while (performance.now() < series.end) {
      const one = todo.shift();
      if (!one) return;
      const { task, run, change, key } = one;
      const kept = join(series.kept, `${task.id}-${change ?? "plain"}-${way}-${run}`);
      const began = performance.now();
      const { failure, ms } = await runOnce(task, { ...series, change, kept }).catch((error) => ({
        failure: messageOf(error),
        ms: Number.NaN,
      }));
      const result: Result = {
        ...{ ...key, commit, failure: failure ?? null, ms: failure === undefined ? ms : null },
        ...{ whole_ms: performance.now() - began, load: loadavg()[0] ?? 0 },
      };
      results.push(result);
      series.ended(result);
      const name = `${task.id} ${task.program}${change ? `, ${change}` : ""}${way === "names" ? "" : `, by ${way}`}`;
      console.log(
        failure === undefined ? `pass ${name} ${(ms / 1_000).toFixed(1)} s` : `FAIL ${name}: ${failure}`,
      );
    }
  };
  await Promise.all(Array.from({ length: atOnce }, work));
  return { results, left: todo.length };
}

/** Takes the pictures of tasks. @returns of how many there are none. */
async function takeAll(tasks: readonly Task[], folder: string): Promise<number> {
  let missing = 0;
  for (const task of tasks) {
    const why = await takePictures(task, join(folder, task.id));
    console.log(why === undefined ? `taken ${task.id}` : `NONE  ${task.id}: ${why}`);
    if (why !== undefined) missing++;
  }
  return missing;
}

function changesOf(text: string): ReadonlyArray<Change | undefined> {
  const known = (name: string): Change | undefined => {
    if (name === "plain") return undefined;
    const change = CHANGES.find((one) => one === name);
    if (!change)
      throw new Error(`--change: expected all, or some of plain, ${CHANGES.join(", ")}; got ${name}`);
    return change;
  };
  const named = text.split(",").filter((part) => part !== "");
  return named.length === 0 ? [undefined] : named[0] === "all" ? CHANGES : named.map(known);
}

function wholeOf(name: string, text: string): number {
  const number = Number(text);
  if (!(Number.isInteger(number) && number >= 1))
    throw new Error(`--${name}: expected 1 or more, got ${text}`);
  return number;
}

/** How often each task passed, where there was more than one run. */
function tableOf(results: readonly Result[]): string[] {
  const rows = [...Map.groupBy(results, ({ id, change, way }) => `${id} ${change ?? ""} ${way}`)];
  return rows.flatMap(([name, own]) => {
    const passes = own.filter(({ failure }) => failure === null).length;
    return own.length < 2 ? [] : [`${name.padEnd(24)} ${passes} of ${own.length}`];
  });
}

async function main(): Promise<number> {
  const { values } = parseArgs({
    options: {
      only: { type: "string", default: "" },
      runs: { type: "string", default: "1" },
      change: { type: "string", default: "" },
      by: { type: "string", default: "names" },
      "at-once": { type: "string", default: "1" },
      minutes: { type: "string", default: "" },
      idle: { type: "boolean", default: false },
      take: { type: "boolean", default: false },
      write: { type: "boolean", default: false },
      results: { type: "string", default: "" },
      pictures: { type: "string", default: "/tmp/desktop-tasks-pictures" },
      kept: { type: "string", default: "/tmp/desktop-tasks" },
    },
  });
  const only = values.only.split(",").filter((part) => part !== "");
  const tasks = TASKS.filter(({ id }) => only.length === 0 || only.some((part) => id.startsWith(part)));
  if (tasks.length === 0) throw new Error(`no task is named ${values.only}`);
  if (values.take) return (await takeAll(tasks, values.pictures)) === 0 ? 0 : 1;
  if (values.write) {
    const results = resultsIn(values.results);
    if (results.length === 0) throw new Error("there are no results: --results names their file");
    console.log(`docs/desktop-tasks.md: ${writePage(TASKS, results)} series are of ${values.results}`);
    return 0;
  }
  const way = WAYS.find((one) => one === values.by);
  if (!way) throw new Error(`--by: expected one of ${WAYS.join(", ")}, got ${values.by}`);
  const isKept = values.results !== "" && !values.idle;
  const commit = isKept ? commitOfBoth() : "";
  const before = isKept ? resultsIn(values.results).filter((one) => one.commit === commit) : [];
  const atOnce = wholeOf("at-once", values["at-once"]);
  const minutes = values.minutes === "" ? Number.POSITIVE_INFINITY : wholeOf("minutes", values.minutes);
  rmSync(values.kept, { recursive: true, force: true });
  const began = performance.now();
  const { results, left } = await runSeries({
    ...{ tasks, changes: changesOf(values.change), way, runs: wholeOf("runs", values.runs), atOnce },
    ...{ idle: values.idle, kept: values.kept, pictures: values.pictures, before, commit },
    end: began + minutes * 60_000,
    ended: (result) => isKept && keep(values.results, result),
  });
  const took = performance.now() - began;
  const load = loadavg()[0] ?? 0;
  for (const line of tableOf([...before, ...results])) console.log(line);
  const failed = results.filter(({ failure }) => failure !== null);
  const times = results.flatMap(({ ms }) => (ms === null ? [] : [ms]));
  console.log(
    `${results.length - failed.length} of ${results.length} runs passed in ${(took / 60_000).toFixed(1)} min (load ${load.toFixed(1)}); the median of a script: ${(median(times) / 1_000).toFixed(1)} s`,
  );
  if (failed.length > 0) console.log(`what is left of failures: ${values.kept}`);
  if (left > 0) console.log(`${left} runs are left: the same call goes on with them`);
  return failed.length > 0 ? 1 : left > 0 ? 3 : 0;
}

if (import.meta.main) process.exit(await main());
