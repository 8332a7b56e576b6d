/**
 * `bun bench/desktop-tasks/run.ts [--only F01,L] [--runs 20] [--change dark,popup] [--jobs 2] [--idle] [--write]`: runs tasks by the compiled
 * binary, each in a world of its own, and prints which passed. Exit code 1 where a run failed. README.md beside it says more.
 */
import { copyFileSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { ROOT } from "../../build/targets";
import { messageOf } from "../../src/lib/errors";
import { median } from "../support";
import { POPUP } from "./changes";
import { keepResults, type Result } from "./results";
import { type Action, CHANGES, type Change, type Task } from "./task";
import { TASKS } from "./tasks";
import { startWorld, type World } from "./world";

const SVC = join(ROOT, "dist", "svc");
/** How long programs may take to show what a task needs, in seconds. */
const READY_S = 40;
/** How long a checker is asked after the script, in milliseconds. */
const CHECK_MS = 4_000;

/** The names that the locators of a task have under a change. */
function translated(task: Task, actions: readonly Action[], change: Change | undefined): unknown {
  if (change !== "german") return actions;
  const names = task.german ?? {};
  const text = JSON.stringify(actions, (key, value) =>
    key === "element" && typeof value === "string"
      ? value.replaceAll(/"((?:[^"\\]|\\.)*)"/g, (all, name) => (name in names ? `"${names[name]}"` : all))
      : key === "title_substring" && typeof value === "string"
        ? (names[value] ?? value)
        : value,
  );
  return JSON.parse(text);
}

/** Why the task is not run under the change; undefined where it is. */
export function whyNot(task: Task, change: Change | undefined): string | undefined {
  if (change === undefined) return undefined;
  const reason = task.leftOut?.[change];
  if (reason !== undefined) return reason;
  return change === "german" && task.german === undefined ? "its names are English" : undefined;
}

async function svc(world: World, words: readonly string[], seconds: number) {
  const child = Bun.spawn([SVC, ...words, "--config-dir", join(world.home, ".svc")], {
    ...{ env: world.env, cwd: world.folder, timeout: seconds * 1_000 },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const [out, said] = await Promise.all([child.stdout.text(), child.stderr.text()]);
  return { code: await child.exited, out, said };
}

async function isDone(task: Task, world: World, limit: number): Promise<boolean> {
  const end = performance.now() + limit;
  for (;;) {
    if (await task.check(world)) return true;
    if (performance.now() >= end) return false;
    await Bun.sleep(100);
  }
}

interface Options {
  readonly change: Change | undefined;
  /** Where what is left of a failure goes. */
  readonly kept: string;
  /** Runs no script: the checker must then say that nothing was done. */
  readonly idle: boolean;
}

/** One run of one task: undefined where it passed, else why not. */
export async function runOnce(
  task: Task,
  { change, kept, idle }: Options,
): Promise<{ failure: string | undefined; ms: number }> {
  await using world = await startWorld(change);
  await task.files?.(world);
  // Asked once before programs start: Qt 5 looks for the bus then.
  await svc(world, ["tree"], 20);
  for (const command of task.start(world)) world.launch(command);
  const ready = translated(task, [["AC_wait_element", { element: task.ready, timeout: READY_S }]], change);
  const fail = async (failure: string, said = "") => {
    mkdirSync(kept, { recursive: true });
    const shot = await svc(world, ["screenshot", "--output", join(kept, "screen.png")], 20);
    writeFileSync(join(kept, "tree.txt"), (await svc(world, ["tree", "--most", "3000"], 30)).out);
    const trace = join(world.folder, "..", "trace.zip");
    try {
      copyFileSync(trace, join(kept, "trace.zip"));
    } catch {
      // The run did not come so far.
    }
    writeFileSync(
      join(kept, "why.txt"),
      `${failure}\n${said}\n${shot.said}\n${world.requests.join("\n")}\n${world.outputs.join("\n")}`,
    );
    return { failure, ms: Number.NaN };
  };
  const began = await svc(world, ["execute", JSON.stringify(ready), "--stop-on-error"], READY_S + 20);
  if (began.code !== 0) return await fail(`the program was not ready: ${firstError(began)}`, began.said);
  if (await task.check(world)) return await fail("the checker says that it was done before the script ran");
  if (idle) {
    await Bun.sleep(2_000);
    const failure = (await task.check(world))
      ? "the checker says that it was done, and no script ran"
      : undefined;
    return { failure, ms: 0 };
  }
  if (change === "popup") world.launch(POPUP);
  const script = join(world.folder, "..", "script.json");
  writeFileSync(script, JSON.stringify(translated(task, task.script(world), change)));
  const begin = performance.now();
  const flags = ["--stop-on-error", "--trace", join(world.folder, "..", "trace.zip")];
  const ran = await svc(world, ["execute", script, ...flags], task.seconds ?? 60);
  const ms = performance.now() - begin;
  if (ran.code !== 0) return await fail(firstError(ran), ran.said + ran.out);
  if (!(await isDone(task, world, CHECK_MS)))
    return await fail("the script ran, and its result is not there", ran.said);
  return { failure: undefined, ms };
}

const firstError = ({ out, said, code }: { out: string; said: string; code: number | null }) =>
  `${out}\n${said}`
    .split("\n")
    .find((line) => /error|fail|there is no|names \d|not /i.test(line))
    ?.trim() ?? `exit code ${code}`;

/** All of the tasks, so many times, `jobs` at once. */
export async function runAll(
  tasks: readonly Task[],
  options: {
    runs: number;
    jobs: number;
    changes: ReadonlyArray<Change | undefined>;
    idle: boolean;
    kept: string;
  },
): Promise<Result[]> {
  const results: Result[] = [];
  const todo = options.changes.flatMap((change) =>
    Array.from({ length: options.runs }, (_, run) => tasks.map((task) => ({ task, run, change }))).flat(),
  );
  const work = async () => {
    for (let one = todo.shift(); one; one = todo.shift()) {
      const { task, run, change } = one;
      if (whyNot(task, change) !== undefined) continue;
      const kept = join(options.kept, `${task.id}-${change ?? "plain"}-${run + 1}`);
      const { failure, ms } = await runOnce(task, { change, kept, idle: options.idle }).catch((error) => ({
        failure: messageOf(error),
        ms: Number.NaN,
      }));
      results.push({ id: task.id, change: change ?? null, ms, failure: failure ?? null });
      const name = `${task.id} ${task.program}${change ? `, ${change}` : ""}`;
      console.log(
        failure === undefined ? `pass ${name} ${(ms / 1_000).toFixed(1)} s` : `FAIL ${name}: ${failure}`,
      );
    }
  };
  await Promise.all(Array.from({ length: options.jobs }, work));
  return results;
}

if (import.meta.main) {
  const { values } = parseArgs({
    options: {
      only: { type: "string", default: "" },
      runs: { type: "string", default: "1" },
      change: { type: "string", default: "" },
      jobs: { type: "string", default: "1" },
      idle: { type: "boolean", default: false },
      write: { type: "boolean", default: false },
      results: { type: "string", default: "" },
      kept: { type: "string", default: "/tmp/desktop-tasks" },
    },
  });
  const only = values.only.split(",").filter((part) => part !== "");
  const tasks = TASKS.filter(({ id }) => only.length === 0 || only.some((part) => id.startsWith(part)));
  if (tasks.length === 0) throw new Error(`no task is named ${values.only}`);
  const before: Result[] = existsSync(values.results) ? JSON.parse(readFileSync(values.results, "utf8")) : [];
  const known = (name: string): Change | undefined => {
    if (name === "plain") return undefined;
    const change = CHANGES.find((one) => one === name);
    if (!change)
      throw new Error(`--change: expected all, or some of plain, ${CHANGES.join(", ")}; got ${name}`);
    return change;
  };
  const named = values.change.split(",").filter((part) => part !== "");
  const changes = named.length === 0 ? [undefined] : named[0] === "all" ? CHANGES : named.map(known);
  rmSync(values.kept, { recursive: true, force: true });
  const results = await runAll(tasks, {
    ...{
      runs: Number(values.runs),
      jobs: Number(values.jobs),
      changes,
      idle: values.idle,
      kept: values.kept,
    },
  });
  const failed = results.filter(({ failure }) => failure !== null);
  const times = results.filter(({ failure }) => failure === null).map(({ ms }) => ms);
  console.log(
    `${results.length - failed.length} of ${results.length} runs passed; the median of a script: ${(median(times) / 1_000).toFixed(1)} s`,
  );
  if (failed.length > 0) console.log(`what is left of failures: ${values.kept}`);
  if (values.write && !values.idle) keepResults(TASKS, [...before, ...results]);
  if (values.results !== "" && !values.idle)
    writeFileSync(values.results, JSON.stringify([...before, ...results]));
  process.exit(failed.length === 0 ? 0 : 1);
}
