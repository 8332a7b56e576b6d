/**
 * The operations of runs: executing lists and checking them; with the reference of commands, the runs and their history, flow commands
 * and programs.
 */
import * as v from "valibot";
import { requesterOf } from "../../../core/caller";
import { ACTION_LIST, field, path } from "../../../core/fields";
import { operation } from "../../../core/operation";
import { allows } from "../../../core/rights";
import { MAX_SCRIPT_BYTES, parseScript, SCRIPT_FILE, withPlaces } from "../../../core/script";
import { withDefaults } from "../../../core/script-head";
import { badInput } from "../../../lib/errors";
import type { Executor } from "../executor";
import { operations as flow } from "../flow";
import { operations as shell } from "../shell";
import { FILE_RUN_OPTIONS, RUN_OPTIONS, RUN_REPORT, withoutResults } from "../types";
import { operations as commands } from "./commands";
import { operations as runs } from "./runs";

interface Uses {
  executor(): Promise<Executor>;
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
    return executor.run(await executor.prepare(actions), caller, options);
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
    ...FILE_RUN_OPTIONS.entries,
  }),
  output: v.object({ ...RUN_REPORT.entries, result: v.array(RUN_REPORT.entries.result) }),
  async run(service: Uses, input, caller) {
    const executor = await service.executor();
    const list = await executor.prepareFile(input.path, requesterOf(caller));
    const report = await executor.run(list, caller, withDefaults(list.defaults ?? {}, input));
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
      used: v.array(v.string()),
      /** Those of them that neither an action of the list sets, nor the script itself. */
      unset: v.array(v.string()),
    }),
    /** What `text` says of its own run, as `POST /execute` takes it. */
    options: v.exactOptional(v.record(v.string(), v.unknown())),
  }),
  async run(service: Uses, { actions, text, notation, path: from = "" }, caller) {
    const { grant } = caller;
    if ((actions === undefined) === (text === undefined))
      throw badInput("actions, text: expected one of them");
    const executor = await service.executor();
    const requester = requesterOf(caller);
    const reader = { yaml: executor.yaml, requester };
    const script = text === undefined ? undefined : await parseScript(text, "script", "", notation, reader);
    // A token that runs nothing checks lists of others, and reads no file.
    const runs = allows(grant, "operate");
    const check = async (list: unknown) => {
      const checked = await executor.prepare(list);
      if (!runs) return checked;
      const linked = await executor.link(checked, from, requester);
      await executor.precheck(linked, caller);
      return linked;
    };
    const { commands, count, variables, secrets } = script
      ? await withPlaces(script, () => check(script.actions))
      : await check(actions);
    if (runs) executor.permit(commands, grant, secrets);
    const { defaults = {} } = script ?? {};
    const set = new Set(Object.keys(defaults.variables ?? {}));
    const unset = variables.unset.filter((name) => !set.has(name));
    return {
      ok: true as const,
      commands: commands.toSorted(),
      count,
      variables: { ...variables, unset },
      ...(Object.keys(defaults).length > 0 && { options: { ...defaults } }),
    };
  },
});

export { missingFiles } from "../missing-files";
export { variableFaults } from "../variable-use";

export const operations = [
  executeActions,
  executeFile,
  checkActionList,
  ...commands,
  ...runs,
  ...flow,
  ...shell,
];
