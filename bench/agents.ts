/**
 * What an agent costs, and what is left when it has gone. A scripted client (no model) does tasks of `desktop-tasks` through MCP, over stdio
 * with the compiled binary: by snapshots and `desktop_act`, beside the bytes of the same loop with a picture after each act, and for tasks in one
 * page beside Playwright MCP (`playwright-mcp.ts`). Then its session is kept as a script, which runs again without it, also under the changes of a desktop.
 *
 * `SVC_BENCH_TASKS` names the tasks, `SVC_BENCH_REPLAYS` how often each script runs again (20 for the real figure), `SVC_BENCH_CHANGES` the
 * changes (`all`, or none).
 */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import * as v from "valibot";
import { POPUP } from "./desktop-tasks/changes";
import { firstError, svc } from "./desktop-tasks/run-in";
import { isDone, prepare, whyNot } from "./desktop-tasks/runner";
import { type Action, CHANGES, type Change, type Task } from "./desktop-tasks/task";
import { TASKS } from "./desktop-tasks/tasks";
import { startWorld, type World } from "./desktop-tasks/world";
import { byPlaywright, type Cost, isForPlaywright, PLAYWRIGHT_MCP } from "./playwright-mcp";
import { BINARY, type Figure, median } from "./support";

/** Thirty of every family that names what it uses; by default some quick ones. */
export const THIRTY =
  "F01,F02,F04,F05,F06,F07,F08,M01,M02,M03,M05,M08,L01,L02,L05,L06,D01,D02,D03,D05,D06,T01,T03,T04,T07,T09,B01,B03,B04,G01";
const QUICK = "F01,F05,D02";

/** What the client does by one step of desktop_act, by the command of the script. */
const DEEDS: Readonly<Record<string, string>> = {
  AC_press_element: "press",
  AC_click_element: "press",
  AC_set_element_text: "set_text",
  AC_check_element: "check",
  AC_focus_element: "focus",
};

interface SessionCost extends Cost {
  readonly pictureBytes: number;
}

/** A task whose session was kept as a script. */
interface TaskScript {
  readonly task: Task;
  readonly script: string;
  readonly measured: SessionCost;
}

/** An agent that has started svc, and counts what it sends and reads. */
async function connect(world: World) {
  const flags = [
    "--toolsets",
    "desktop,jobs",
    "--write",
    "--changes-per-minute",
    "1000",
    "--changes-per-hour",
    "10000",
  ];
  const args = ["mcp", ...flags, "--config-dir", join(world.home, ".svc")];
  const client = new Client({ name: "bench", version: "1" });
  await client.connect(
    new StdioClientTransport({ command: BINARY, args, env: { ...world.env }, stderr: "ignore" }),
  );
  const count = { calls: 0, bytes: 0, pictureBytes: 0 };
  const call = async (name: string, given: Record<string, unknown>) => {
    const result = await client.callTool({ name, arguments: given });
    const size = Buffer.byteLength(JSON.stringify(given)) + Buffer.byteLength(JSON.stringify(result.content));
    const text = result.content.flatMap((one) => (one.type === "text" ? [one.text] : [])).join("\n");
    if (result.isError) throw new Error(`${name}: ${text.slice(0, 300)}`);
    return { text, size };
  };
  const counted = async (name: string, given: Record<string, unknown>) => {
    const { text, size } = await call(name, given);
    count.calls++;
    count.bytes += size;
    return text;
  };
  return {
    count,
    look: () => counted("desktop_snapshot", {}),
    /** Proposes and confirms. */
    async act(name: string, given: Record<string, unknown>) {
      const digest = /^Digest: (\w+)$/m.exec(await counted(name, given))?.[1];
      return counted("confirm", { digest });
    },
    /** What the loop would read in place of a snapshot. */
    async picture() {
      count.pictureBytes += (await call("desktop_screenshot", {})).size;
    },
    close: () => client.close(),
  };
}

const LINES = v.object({ lines: v.array(v.string()) });

/** The reference of what a locator names, where one line alone shows its role and name; else the locator. */
function referenceFor(text: string, element: string): string {
  const data = /^UNTRUSTED-(\w+) .*\n(.*)\nEND-\1$/m.exec(text)?.[2] ?? "{}";
  const read = v.safeParse(LINES, JSON.parse(data));
  const said = /^([a-z]+ "(?:[^"\\]|\\.)*")/.exec(element)?.[1];
  if (!read.success || said === undefined) return element;
  const [only, ...others] = read.output.lines.filter((line) => line.includes(`${said} `));
  return (others.length === 0 && /\[(e\d+)\]$/.exec(only ?? "")?.[1]) || element;
}

/** Steps that follow each other are one call; any other action is a list of its own. */
function callsOf(actions: readonly Action[]): Array<readonly Action[]> {
  const calls: Action[][] = [];
  for (const action of actions) {
    const isStep = (one: Action | undefined) => one !== undefined && Object.hasOwn(DEEDS, one[0]);
    const last = calls.at(-1);
    // What a press brings is looked at before the next step.
    const goesOn = isStep(action) && isStep(last?.at(-1)) && last?.at(-1)?.[0] !== "AC_press_element";
    if (last && (goesOn || (!isStep(action) && !isStep(last.at(-1))))) last.push(action);
    else calls.push([action]);
  }
  return calls;
}

const stepOf = (seen: string, [command, given = {}]: Action) => ({
  do: given.on === false ? "uncheck" : DEEDS[command],
  element: referenceFor(seen, `${given.element}`),
  ...(command === "AC_set_element_text" && { text: given.text }),
});

/** Acts on what a snapshot shows; where a step has changed that, on what a new one shows. */
async function actOn(
  agent: Awaited<ReturnType<typeof connect>>,
  call: readonly Action[],
  seen: string,
): Promise<void> {
  try {
    await agent.act("desktop_act", { steps: call.map((one) => stepOf(seen, one)), timeout: 20 });
  } catch (error) {
    const done = Number(/take a new snapshot \(the (\d+) before it (?:is|are) done\)/.exec(`${error}`)?.[1]);
    if (!(done > 0)) throw error;
    await actOn(agent, call.slice(done), await agent.look());
  }
}

/** Does a task as an agent, and keeps what it did. @throws why it did not pass. */
async function doOnce(task: Task): Promise<TaskScript> {
  await using world = await startWorld(undefined);
  const notReady = await prepare(task, world);
  if (notReady) throw new Error(notReady.why);
  const agent = await connect(world);
  let pictures = 0;
  const began = performance.now();
  const picture = async () => {
    const at = performance.now();
    await agent.picture();
    pictures += performance.now() - at;
  };
  try {
    await picture();
    let seen = await agent.look();
    for (const call of callsOf(task.script(world))) {
      const isStep = Object.hasOwn(DEEDS, call[0]?.[0] ?? "");
      if (isStep) await actOn(agent, call, seen);
      else await agent.act("execute_actions", { actions: call, stop_on_error: true });
      await picture();
      if (call !== callsOf(task.script(world)).at(-1)) seen = await agent.look();
    }
    const ms = performance.now() - began - pictures;
    if (!(await isDone(task, world))) throw new Error("the agent did all of it, and the result is not there");
    const kept = await svc(world, ["mcp", "keep", "last", "kept", "--yes"], 30);
    if (kept.code !== 0) throw new Error(`nothing is kept: ${kept.said}`);
    const { scripts } = JSON.parse(readFileSync(join(world.home, ".svc", "scripts.json"), "utf8"));
    const { stop_on_error, variables, parameters, actions } = scripts[0];
    // What went into secret fields is not kept: whoever runs the script gives it.
    const missing = (parameters as string[]).filter((name) => !Object.hasOwn(variables, name));
    const given = Object.fromEntries(missing.map((name) => [name, typedInto(name, task.script(world))]));
    const script = JSON.stringify({ stop_on_error, variables: { ...variables, ...given }, actions });
    return { task, script, measured: { ...agent.count, ms } };
  } finally {
    await agent.close();
  }
}

/** What the script of a task puts into the field of a parameter. */
const typedInto = (parameter: string, actions: readonly Action[]): unknown =>
  actions.find(([, given]) =>
    `${given?.element}`.toLowerCase().includes(`"${parameter.replaceAll("_", " ")}"`),
  )?.[1]?.text;

type Ending = "passed" | "mend request" | "failed";

/** Runs a kept script in a new world: paths of the old one are those of this one. */
async function replay({ task, script }: TaskScript, change: Change | undefined): Promise<Ending> {
  await using world = await startWorld(change);
  if (await prepare(task, world)) return "failed";
  if (change === "popup") world.launch(POPUP);
  const file = join(world.folder, "..", "kept.json");
  writeFileSync(file, script.replaceAll(/\/tmp\/desktop-task-\w+/g, join(world.folder, "..")));
  const ran = await svc(world, ["execute", file, "--json"], (task.seconds ?? 60) * 2);
  if (ran.code === 0) return (await isDone(task, world)) ? "passed" : "failed";
  const isAsking = ran.out.includes('"mend":{');
  if (!isAsking) console.error(`${task.id}: ${firstError(ran)}`);
  return isAsking ? "mend request" : "failed";
}

/** What the tasks in a page cost by Playwright MCP, beside what they cost here, in words; empty where there are none. */
async function besidePlaywright(all: readonly TaskScript[]): Promise<string> {
  const said: string[] = [];
  for (const { task, measured } of all.filter((one) => isForPlaywright(one.task))) {
    const words = ({ calls, bytes, ms }: Cost) =>
      `${calls} calls, ${bytes} bytes, ${(ms / 1_000).toFixed(1)} s`;
    const its = await byPlaywright(task).then(words, (error) => `not measured (${error})`);
    said.push(`${task.id}: ${words(measured)}, by ${PLAYWRIGHT_MCP} ${its}`);
    console.error(said.at(-1));
  }
  return said.length === 0 ? "" : `; in a page: ${said.join("; ")}`;
}

const changesFor = (wanted: string): readonly Change[] => (wanted === "all" ? CHANGES : []);

export async function bench(): Promise<Figure[]> {
  const { SVC_BENCH_TASKS = QUICK, SVC_BENCH_REPLAYS = "2", SVC_BENCH_CHANGES = "" } = process.env;
  const ids = (SVC_BENCH_TASKS === "thirty" ? THIRTY : SVC_BENCH_TASKS).split(",");
  const all: TaskScript[] = [];
  const missed: string[] = [];
  for (const task of TASKS.filter(({ id }) => ids.includes(id))) {
    try {
      const kept = await doOnce(task);
      all.push(kept);
      const { calls, bytes, pictureBytes, ms } = kept.measured;
      console.error(
        `${task.id}: ${calls} calls, ${bytes} bytes (pictures: ${pictureBytes}), ${(ms / 1_000).toFixed(1)} s`,
      );
    } catch (error) {
      missed.push(task.id);
      console.error(`${task.id}: ${error}`);
    }
  }
  const beside = await besidePlaywright(all);
  const again: Ending[] = [];
  const changed: Ending[] = [];
  for (const kept of all) {
    const run = async (change: Change | undefined, into: Ending[]) => {
      const ending = await replay(kept, change);
      into.push(ending);
      console.error(`${kept.task.id}${change ? `, ${change}` : ""}: ${ending}`);
    };
    for (let nth = 0; nth < Number(SVC_BENCH_REPLAYS); nth++) await run(undefined, again);
    for (const change of changesFor(SVC_BENCH_CHANGES))
      if (whyNot(kept.task, change, "names") === undefined) await run(change, changed);
  }
  const share = (endings: readonly Ending[], ...wanted: Ending[]) =>
    endings.filter((one) => wanted.includes(one)).length / endings.length;
  const left = changed.filter((one) => one !== "passed");
  const of = (pick: (one: SessionCost) => number) =>
    Math.round(median(all.map(({ measured }) => pick(measured))));
  const detail = `${of(({ bytes }) => bytes)} bytes / ${of(({ pictureBytes }) => pictureBytes)} bytes of pictures, ${of(({ calls }) => calls)} calls, ${of(({ ms }) => ms)} ms a task; of ${ids.length} tasks not done: ${missed.join(", ") || "none"}${beside}`;
  return [
    {
      name: "an agent's bytes by name / by pictures alone",
      ratio: all.map(({ measured: { bytes, pictureBytes } }) => bytes / pictureBytes),
      goal: "<= 0.2",
      detail,
    },
    {
      name: "kept sessions that run again without an agent",
      ratio: share(again, "passed"),
      goal: ">= 1",
      detail: `${again.length} runs of ${all.length} scripts, 0 calls of tools`,
    },
    ...(changed.length === 0
      ? []
      : ([
          {
            name: "kept scripts that pass under a change of the desktop",
            ratio: share(changed, "passed"),
            goal: ">= 0.8",
            detail: `${changed.length} runs under ${CHANGES.length} changes`,
          },
          {
            name: "of the others, those that end with a mend request",
            ratio: left.length === 0 ? 1 : share(left, "mend request"),
            goal: ">= 1",
            detail: `${left.length} runs did not pass`,
          },
        ] satisfies Figure[])),
  ];
}

if (import.meta.main) console.log(await bench());
