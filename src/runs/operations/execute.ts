import * as v from "valibot";
import { ACTION_LIST, field, path, seconds, secret } from "../../core/fields";
import { operation } from "../../core/operation";
import { DEFAULT_TIMEOUT_S, MAX_TIMEOUT_S } from "../../core/run";
import type { Executor } from "../executor";
import { RUN_REPORT } from "../types";

interface Uses {
  executor(): Promise<Executor>;
}

const RUN_FIELDS = {
  stop_on_error: field(v.optional(v.boolean(), false), "Skip the rest of the list when an action fails"),
  timeout_seconds: field(
    v.optional(seconds(v.pipe(v.number(), v.minValue(0.001), v.maxValue(MAX_TIMEOUT_S))), DEFAULT_TIMEOUT_S),
    "Seconds after which the run is ended",
  ),
  variables: field(
    v.optional(secret(v.record(v.string(), v.unknown())), {}),
    "Initial variables, by name (`${name}` in arguments)",
  ),
};

const ACTIONS = field(
  ACTION_LIST,
  'The list: each action is ["NAME"], ["NAME", {keyword arguments}] or ["NAME", [positional arguments]]',
);

const COVERED = "`svc execute` runs and checks lists and files";

export const executeActions = operation({
  name: "execute.actions",
  summary: "Check a list of actions, then run it",
  scope: "operate",
  changes: "announces",
  http: { method: "POST", path: "/execute" },
  leftOut: { cli: COVERED, script: "lists inside a list belong to flow commands" },
  input: v.strictObject({ actions: ACTIONS, ...RUN_FIELDS }),
  output: RUN_REPORT,
  async run(service: Uses, { actions, ...options }, caller) {
    const executor = await service.executor();
    return executor.run(executor.prepare(actions), caller, options);
  },
});

export const executeFile = operation({
  name: "execute.file",
  summary: "Check the script in a file on the host, then run it",
  scope: "operate",
  changes: "announces",
  http: { method: "POST", path: "/execute_file" },
  subcommand: "execute",
  leftOut: { script: "a script that runs scripts could run itself" },
  input: v.strictObject({
    path: field(path(v.pipe(v.string(), v.nonEmpty())), "Absolute path of a .json file on the host"),
    ...RUN_FIELDS,
  }),
  output: v.object({ ...RUN_REPORT.entries, result: v.array(RUN_REPORT.entries.result) }),
  async run(service: Uses, input, caller) {
    const executor = await service.executor();
    const report = await executor.run(await executor.prepareFile(input.path), caller, input);
    return { ...report, result: [report.result] };
  },
});

export const checkActionList = operation({
  name: "execute.check",
  summary: "Check a list of actions as before a run, without running it",
  scope: "read",
  http: { method: "POST", path: "/execute/check" },
  leftOut: { cli: COVERED, script: "a list is checked as a whole before it runs" },
  input: v.strictObject({ actions: ACTIONS }),
  output: v.object({ ok: v.literal(true), commands: v.array(v.string()), count: v.number() }),
  async run(service: Uses, { actions }) {
    const { commands, count } = (await service.executor()).prepare(actions);
    return { ok: true as const, commands: commands.toSorted(), count };
  },
});

export const operations = [executeActions, executeFile, checkActionList];
