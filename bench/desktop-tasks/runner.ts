/** One run of one task by the compiled binary, in a world of its own. */
import { copyFileSync, existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { POPUP } from "./changes";
import { byDogtail, isForDogtail } from "./dogtail";
import { byPictures } from "./pictures";
import { type Exit, firstError, svc } from "./run-in";
import type { Action, Change, Task, Way } from "./task";
import { startWorld, type World } from "./world";

/** How long programs may take to show what a task needs, in seconds. */
const READY_S = 60;
/** How long a checker is asked after the script, in milliseconds. */
const CHECK_MS = 8_000;

/** The names that the locators of a task have under a change. */
function translated(task: Task, actions: readonly Action[], change: Change | undefined): readonly Action[] {
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

/** Why the task is not run so; undefined where it is. */
export function whyNot(task: Task, change: Change | undefined, way: Way): string | undefined {
  if (way === "dogtail" && !isForDogtail(task)) return "it is none of those that dogtail does";
  if (change === undefined) return undefined;
  const reason = task.leftOut?.[change];
  if (reason !== undefined) return reason;
  if (change !== "german") return undefined;
  if (task.german === undefined) return "its names are English";
  return hasGerman() ? undefined : "needs the locale de_DE.UTF-8 (localedef -i de_DE -f UTF-8 de_DE.UTF-8)";
}

/** Programs speak English in a locale that the system has not. */
let hasGerman = () => {
  const has = /^de_DE\.utf-?8$/im.test(Bun.spawnSync(["locale", "-a"]).stdout.toString());
  hasGerman = () => has;
  return has;
};

/** Whether the result is there within {@link CHECK_MS}. */
export async function isDone(task: Task, world: World): Promise<boolean> {
  const end = performance.now() + CHECK_MS;
  for (;;) {
    if (await task.check(world)) return true;
    if (performance.now() >= end) return false;
    await Bun.sleep(100);
  }
}

export interface Options {
  readonly change: Change | undefined;
  /** What finds things: the names of the script, pictures in place of them, or dogtail by the same names. */
  readonly way: Way;
  /** Where what is left of a failure goes. */
  readonly kept: string;
  /** Where the pictures of the tasks are. */
  readonly pictures: string;
  /** Runs no script: the checker must then say that nothing was done. */
  readonly idle: boolean;
}

/** Starts the programs of a task, and waits until they can be used. @returns why not, where they cannot. */
export async function prepare(task: Task, world: World): Promise<{ why: string; said: string } | undefined> {
  await task.files?.(world);
  // Asked once before programs start: Qt 5 looks for the bus then.
  await svc(world, ["tree"], 20);
  for (const command of task.start(world)) world.launch(command);
  const wait: Action = ["AC_wait_element", { element: task.ready, timeout: READY_S }];
  const ready = JSON.stringify(translated(task, [wait], world.change));
  const began = await svc(world, ["execute", ready, "--stop-on-error"], READY_S + 20);
  if (began.code !== 0) return { why: `the program was not ready: ${firstError(began)}`, said: began.said };
  if (await task.check(world))
    return { why: "the checker says that it was done before the script ran", said: "" };
  return undefined;
}

/** Runs the script of a task. @returns what ran it; that of pictures fails where a step has none. */
async function perform(task: Task, world: World, { way, pictures }: Options): Promise<Exit> {
  const actions = translated(task, task.script(world), world.change);
  const seconds = task.seconds ?? 60;
  if (way === "dogtail") return byDogtail(world, actions, seconds);
  const script = join(world.folder, "..", "script.json");
  const made = way === "pictures" ? byPictures(actions, join(pictures, task.id)) : { actions };
  if ("why" in made) return { code: 1, out: made.why, said: "" };
  writeFileSync(script, JSON.stringify(made.actions));
  const flags = ["--stop-on-error", "--trace", join(world.folder, "..", "trace.zip")];
  return svc(world, ["execute", script, ...flags], seconds);
}

/** One run of one task: `failure` says why it did not pass, `ms` how long the script took. */
export async function runOnce(
  task: Task,
  options: Options,
): Promise<{ failure: string | undefined; ms: number }> {
  const { change, kept, idle } = options;
  await using world = await startWorld(change);
  const fail = async (failure: string, said = "") => {
    await keepRemains(world, kept, `${failure}\n${said}`);
    return { failure, ms: Number.NaN };
  };
  const notReady = await prepare(task, world);
  if (notReady) return await fail(notReady.why, notReady.said);
  if (idle) {
    await Bun.sleep(2_000);
    const isWrong = await task.check(world);
    return { failure: isWrong ? "the checker says that it was done, and no script ran" : undefined, ms: 0 };
  }
  if (change === "popup") world.launch(POPUP);
  const begin = performance.now();
  const ran = await perform(task, world, options);
  const ms = performance.now() - begin;
  if (ran.code !== 0) return await fail(firstError(ran), ran.said + ran.out);
  if (!(await isDone(task, world)))
    return await fail("the script ran, and its result is not there", ran.said);
  return { failure: undefined, ms };
}

/** Keeps what tells why a run failed: the reason, a picture, the tree of the programs, the trace. */
async function keepRemains(world: World, kept: string, reason: string): Promise<void> {
  mkdirSync(kept, { recursive: true });
  const shot = await svc(world, ["screenshot", "--output", join(kept, "screen.png")], 20);
  writeFileSync(join(kept, "tree.txt"), (await svc(world, ["tree", "--most", "3000"], 30)).out);
  const trace = join(world.folder, "..", "trace.zip");
  if (existsSync(trace)) copyFileSync(trace, join(kept, "trace.zip"));
  const lines = [reason, shot.said, ...world.requests, ...world.outputs];
  writeFileSync(join(kept, "why.txt"), lines.join("\n"));
}
