/**
 * The operations of runs: executing lists, the reference of commands, the runs, the history; with flow commands and programs.
 */
import * as v from "valibot";
import { ACTION_LIST, field, NO_INPUT, path, secret } from "../core/fields";
import { operation } from "../core/operation";
import { allows, beyond, type Grant } from "../core/rights";
import { OUTCOME } from "../core/run";
import { MAX_SCRIPT_BYTES, parseScript, SCRIPT_FILE, withPlaces } from "../core/script";
import { badInput, Failure, forbidden, notFound } from "../lib/errors";
import { meant } from "../lib/nearest";
import { withMade } from "../lib/once";
import { printable } from "../lib/sanitize";
import type { Executor } from "./executor";
import { operations as flow } from "./flow";
import type { History } from "./history";
import { COMMAND_REFERENCE, describeCommand } from "./reference";
import type { Runs } from "./runs";
import { operations as shell } from "./shell";
import {
  HISTORY_QUERY,
  HISTORY_ROW,
  LOG_LINE,
  RUN_OPTIONS,
  RUN_REPORT,
  RUN_VIEW,
  withoutResults,
} from "./types";

interface Uses {
  executor(): Promise<Executor>;
  runs(): Promise<Runs>;
  history(): Promise<History>;
}

const LIST =
  'The list: each action is ["NAME"], ["NAME", {keyword arguments}] or ["NAME", [positional arguments]]';
const ACTIONS = field(ACTION_LIST, LIST);

const COVERED = "`svc execute` runs and checks lists and files";

export const executeActions = operation({
  name: "execute.actions",
  summary: "Check a list of actions, then run it",
  scope: "operate",
  changes: "announces",
  http: { method: "POST", path: "/execute", long: "run" },
  leftOut: { cli: COVERED, script: "lists inside a list belong to flow commands" },
  example: { actions: [["AC_screen_size"]] },
  input: v.strictObject({ actions: ACTIONS, ...RUN_OPTIONS.entries }),
  output: RUN_REPORT,
  async run(service: Uses, { actions, ...options }, caller) {
    const executor = await service.executor();
    return executor.run(executor.prepare(actions), caller, options);
  },
  brief: withoutResults,
});

export const executeFile = operation({
  name: "execute.file",
  summary: "Check the script in a file on the host, then run it",
  scope: "operate",
  changes: "announces",
  http: { method: "POST", path: "/execute_file", long: "run" },
  subcommand: "execute",
  leftOut: { script: "`AC_run_script` covers it" },
  example: { path: "/srv/scripts/nightly.json" },
  input: v.strictObject({
    path: field(path(v.pipe(v.string(), v.nonEmpty())), `Absolute path on the host, of ${SCRIPT_FILE}`),
    ...RUN_OPTIONS.entries,
  }),
  output: v.object({ ...RUN_REPORT.entries, result: v.array(RUN_REPORT.entries.result) }),
  async run(service: Uses, input, caller) {
    const executor = await service.executor();
    const report = await executor.run(await executor.prepareFile(input.path), caller, input);
    return { ...report, result: [report.result] };
  },
  brief: (report) => ({ ...withoutResults({ ...report, result: {} }), result: [{}] }),
});

export const checkActionList = operation({
  name: "execute.check",
  summary: "Check a list of actions as before a run, without running it",
  scope: "read",
  http: { method: "POST", path: "/execute/check" },
  leftOut: { cli: COVERED, script: "a list is checked as a whole before it runs" },
  example: { actions: [["AC_screen_size"]] },
  input: v.strictObject({
    actions: field(v.optional(ACTION_LIST), LIST),
    text: field(
      v.optional(v.pipe(v.string(), v.maxLength(MAX_SCRIPT_BYTES))),
      "In place of `actions`, a script as it is in a file: faults are named with their line and column",
    ),
    notation: field(v.optional(v.picklist(["json", "json5", "yaml"]), "json"), "How `text` is written"),
    path: field(
      v.optional(path(v.pipe(v.string(), v.maxLength(4_096)))),
      "Path of the script on the host: scripts that it calls are found from there on, and checked for a token with `operate`",
    ),
  }),
  output: v.object({
    ok: v.literal(true),
    commands: v.array(v.string()),
    count: v.number(),
    variables: v.object({
      /** Those that the list uses. */
      used: v.array(v.string()),
      /** Those of them that no action of the list sets. */
      unset: v.array(v.string()),
    }),
  }),
  async run(service: Uses, { actions, text, notation, path: from = "" }, { grant }) {
    if ((actions === undefined) === (text === undefined))
      throw badInput("actions, text: expected one of them");
    const executor = await service.executor();
    const script =
      text === undefined ? undefined : await parseScript(text, "script", "", notation, executor.yaml);
    // A token that runs nothing checks lists of others, and reads no file.
    const runs = allows(grant, "operate");
    const check = async (list: unknown) => {
      const checked = executor.prepare(list);
      return runs ? executor.link(checked, from) : checked;
    };
    const { commands, count, variables } = script
      ? await withPlaces(script, () => check(script.actions))
      : await check(actions);
    if (runs) executor.permit(commands, grant);
    return { ok: true as const, commands: commands.toSorted(), count, variables };
  },
});

const FOR_AUTHORS = "the reference is for authors of scripts";

export const listCommands = operation({
  name: "commands.list",
  summary: "List the commands that an action may name",
  scope: "read",
  subcommand: "commands",
  http: { method: "GET", path: "/commands", settled: true },
  leftOut: { script: FOR_AUTHORS },
  input: NO_INPUT,
  output: v.object({ commands: v.array(v.string()), count: v.number() }),
  run: (service: Uses) => withMade(service.executor(), ({ listed }) => listed),
});

export const describeCommands = operation({
  name: "commands.reference",
  summary: "Describe the parameters and the result of every command",
  scope: "read",
  http: { method: "GET", path: "/commands/reference" },
  leftOut: { script: FOR_AUTHORS, cli: "`svc commands NAME` shows one entry, docs/actions.md has them all" },
  input: NO_INPUT,
  output: v.object({ commands: v.array(COMMAND_REFERENCE), count: v.number() }),
  async run(service: Uses) {
    const executor = await service.executor();
    const all = [...executor.commands.values()].map((command) =>
      describeCommand(command, executor.allows(command)),
    );
    return { commands: await Promise.all(all), count: all.length };
  },
});

export const showCommand = operation({
  name: "commands.show",
  summary: "Describe the parameters and the result of a command",
  scope: "read",
  http: { method: "GET", path: "/commands/{name}" },
  leftOut: { script: FOR_AUTHORS, cli: "`svc commands NAME` covers it" },
  input: v.strictObject({
    name: field(v.pipe(v.string(), v.maxLength(100)), "The command, with or without AC_"),
  }),
  output: COMMAND_REFERENCE,
  async run(service: Uses, { name }) {
    const executor = await service.executor();
    const found = executor.commands.get(name) ?? executor.commands.get(`AC_${name}`);
    if (!found) throw notFound(`no command ${printable(name, 100)}${meant(name, executor.commands.keys())}`);
    return describeCommand(found, executor.allows(found));
  },
});

export const showSchema = operation({
  name: "commands.schema",
  summary: "Give the JSON Schema of scripts, for editors",
  scope: "read",
  http: { method: "GET", path: "/commands/schema" },
  leftOut: { script: FOR_AUTHORS, cli: "`svc commands --schema` prints it" },
  input: NO_INPUT,
  output: v.record(v.string(), v.unknown()),
  async run(service: Uses) {
    const { scriptSchema } = await import("./script-schema");
    return scriptSchema((await service.executor()).commands);
  },
});

const ONE_RUN = v.strictObject({
  run_id: field(v.pipe(v.string(), v.minLength(4), v.maxLength(64)), "Run id, or its first characters"),
});

export const listRuns = operation({
  name: "runs.list",
  summary: "List active and recently ended runs of the server, newest first",
  scope: "read",
  command: "AC_runs_list",
  http: { method: "GET", path: "/runs" },
  answeredBy: "server",
  input: NO_INPUT,
  output: v.object({ runs: v.array(RUN_VIEW), count: v.number() }),
  async run(service: Uses) {
    const runs = (await service.runs()).list();
    return { runs, count: runs.length };
  },
});

/** Kept in another run, the outcomes would be shown to whoever may use its command. */
const SHOWN = v.object({
  ...RUN_VIEW.entries,
  outcomes: secret(v.array(OUTCOME)),
  /** False for a run whose outcomes are no longer kept, or are in another process. Hosts of before it do not send it. */
  outcomes_kept: v.optional(v.boolean(), true),
  /** What the script logged. Hosts of before it do not send it. */
  log: v.optional(secret(v.array(LOG_LINE)), []),
});

type ShownRun = v.InferOutput<typeof SHOWN>;

export const showRun = operation({
  name: "runs.show",
  summary: "Show a run and the outcomes of its actions",
  // A token that may start one sees how it ended; runs of others need `operate`.
  scope: "any",
  reveals: true,
  command: "AC_runs_show",
  example: { run_id: "9f1c2e4a" },
  http: { method: "GET", path: "/runs/{run_id}" },
  answeredBy: "server",
  input: ONE_RUN,
  output: SHOWN,
  async run(service: Uses, { run_id }, { grant }) {
    const run = await foundRun(service, run_id, allows(grant, "operate") ? undefined : grant);
    // The history does not say what its commands were.
    if (!run.outcomes_kept && !isOf(run, grant) && !allows(grant, "admin"))
      throw forbidden(beyond(grant, "a run of others that only the history has needs admin"));
    // The outcomes of a run are the answers of its commands.
    if (!isOfScript(run, grant)) (await service.executor()).permit(run.commands, grant);
    return run;
  },
});

/** Whether it ran a stored script that `grant` allows by its name. */
const isOfScript = ({ script_path, token }: ShownRun, { name, scopes }: Grant) =>
  token === name && scopes.some((scope) => scope === `run:${script_path.replace("script:", "")}`);

/**
 * The run as it is in memory, else as the history has it, without its outcomes.
 *
 * @param owner who may see runs of its own alone; undefined for all.
 * @throws `not_found`; `forbidden` for another run than the owner's, whether there is one or not.
 */
async function foundRun(service: Uses, id: string, owner: Grant | undefined): Promise<ShownRun> {
  try {
    const run = await inMemory(service, id);
    if (owner === undefined || isOf(run, owner)) return run;
  } catch (error) {
    if (owner === undefined || !(error instanceof Failure)) throw error;
  }
  throw forbidden(beyond(owner, "runs of others need operate"));
}

/** A token that has the name of one before it has none of its runs. */
const isOf = ({ token, started_at }: ShownRun, { name, owner, since = 0 }: Grant) =>
  (name !== null || owner === true) && token === name && Date.parse(started_at) >= since;

async function inMemory(service: Uses, id: string): Promise<ShownRun> {
  try {
    return { ...(await service.runs()).show(id), outcomes_kept: true };
  } catch (error) {
    if (!(error instanceof Failure) || error.code !== "not_found") throw error;
    const row = await (await service.history()).find(id);
    // Rows of another tool may be of no run.
    const run = v.safeParse(SHOWN, { ...row, commands: [], outcomes: [], outcomes_kept: false, log: [] });
    if (!run.success) throw error;
    return run.output;
  }
}

export const cancelRun = operation({
  name: "runs.cancel",
  summary: "Cancel an active run",
  scope: "operate",
  changes: "announces",
  command: "AC_runs_cancel",
  example: { run_id: "9f1c2e4a" },
  http: { method: "POST", path: "/runs/cancel" },
  answeredBy: "server",
  input: ONE_RUN,
  output: RUN_VIEW,
  async run(service: Uses, input, caller) {
    const runs = await service.runs();
    // The row has the whole id, also when the caller gave its beginning.
    const { run_id } = runs.show(input.run_id);
    await caller.announce(`runs.cancel run=${run_id}`);
    return runs.cancel(run_id, `cancelled by ${caller.client ?? caller.kind}`);
  },
});

export const listHistory = operation({
  name: "history.list",
  summary: "List the past and active runs of this host, newest first",
  scope: "read",
  subcommand: "history",
  command: "AC_history_list",
  http: { method: "GET", path: "/history" },
  input: HISTORY_QUERY,
  output: v.object({ runs: v.array(HISTORY_ROW) }),
  run: async (service: Uses, query) => ({
    runs: await (await service.history()).list(query),
  }),
});

export { missingFiles } from "./missing-files";
export { variableFaults } from "./variable-use";

export const operations = [
  executeActions,
  executeFile,
  checkActionList,
  listCommands,
  describeCommands,
  // Before the route that has a name in its place.
  showSchema,
  showCommand,
  listRuns,
  showRun,
  cancelRun,
  listHistory,
  ...flow,
  ...shell,
];
