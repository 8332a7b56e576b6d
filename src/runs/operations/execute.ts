import * as v from "valibot";
import { ACTION_LIST, field, NO_INPUT, secret } from "../../core/fields";
import { operation } from "../../core/operation";
import { DEFAULT_TIMEOUT_S, MAX_TIMEOUT_S, OUTCOME, RUN_STATUS } from "../../core/run";
import { notFound } from "../../lib/errors";
import { printable } from "../../lib/sanitize";
import type { Service } from "../../service";
import { COMMAND_REFERENCE } from "../command-reference";

const RESULT = v.record(v.string(), v.unknown());
const REPORT = {
  run_id: v.string(),
  ok: v.boolean(),
  status: v.picklist(RUN_STATUS),
  error_text: v.nullable(v.string()),
  outcomes: v.array(OUTCOME),
};

const RUN_FIELDS = {
  stop_on_error: field(
    v.optional(v.boolean(), false),
    "Leave the rest of the list once an action has failed",
  ),
  timeout_seconds: field(
    v.optional(v.pipe(v.number(), v.minValue(0.001), v.maxValue(MAX_TIMEOUT_S)), DEFAULT_TIMEOUT_S),
    "Seconds after which the run is ended",
  ),
  variables: field(
    v.optional(secret(v.record(v.string(), v.unknown())), {}),
    "What `${name}` in arguments stands for at the start, by name",
  ),
};

/** What the fields that both ways of running share mean to the executor. */
const runOptions = (input: {
  readonly stop_on_error: boolean;
  readonly timeout_seconds: number;
  readonly variables: Record<string, unknown>;
}) => ({
  stopOnError: input.stop_on_error,
  timeoutSeconds: input.timeout_seconds,
  variables: input.variables,
});

export const executeActions = operation({
  name: "execute.actions",
  summary: "Check a list of actions, then run it",
  scope: "operate",
  changes: "announces",
  http: { method: "POST", path: "/execute" },
  input: v.strictObject({
    actions: field(
      ACTION_LIST,
      'The list: each action is ["NAME"], ["NAME", {keyword arguments}] or ["NAME", [positional arguments]]',
    ),
    ...RUN_FIELDS,
  }),
  output: v.object({ result: RESULT, ...REPORT }),
  async run(service: Service, input, caller) {
    const executor = await service.executor();
    return executor.run(executor.prepare(input.actions), caller, runOptions(input));
  },
});

export const executeFile = operation({
  name: "execute.file",
  summary: "Check the script in a file on the host, then run it",
  scope: "operate",
  changes: "announces",
  http: { method: "POST", path: "/execute_file" },
  input: v.strictObject({
    path: field(v.pipe(v.string(), v.nonEmpty()), "Absolute path of a .json file on the host"),
    ...RUN_FIELDS,
  }),
  output: v.object({ result: v.array(RESULT), ...REPORT }),
  async run(service: Service, input, caller) {
    const executor = await service.executor();
    const prepared = await executor.prepareFile(input.path);
    const report = await executor.run(prepared, caller, { ...runOptions(input), path: input.path });
    return { ...report, result: [report.result] };
  },
});

export const listCommands = operation({
  name: "commands.list",
  summary: "List the commands that an action may name",
  scope: "read",
  http: { method: "GET", path: "/commands" },
  input: NO_INPUT,
  output: v.object({ commands: v.array(v.string()), count: v.number() }),
  async run(service: Service) {
    const { commands, allows } = await service.executor();
    const names = [...commands.values()].filter(allows).map(({ command }) => command);
    return { commands: names, count: names.length };
  },
});

export const describeCommands = operation({
  name: "commands.reference",
  summary: "Describe the commands that an action may name: what each takes and gives",
  scope: "read",
  http: { method: "GET", path: "/commands/reference" },
  input: NO_INPUT,
  output: v.object({ commands: v.array(COMMAND_REFERENCE), count: v.number() }),
  async run(service: Service) {
    const [{ commands, allows }, { describeCommand }] = await Promise.all([
      service.executor(),
      import("../reference"),
    ]);
    const described = [...commands.values()].map((command) => describeCommand(command, allows(command)));
    return { commands: described, count: described.length };
  },
});

export const checkActionList = operation({
  name: "execute.check",
  summary: "Check a list of actions as it is checked before it runs, and do not run it",
  scope: "read",
  http: { method: "POST", path: "/execute/check" },
  input: v.strictObject({ actions: executeActions.input.entries.actions }),
  output: v.object({ ok: v.literal(true), commands: v.array(v.string()), count: v.number() }),
  async run(service: Service, { actions }) {
    const [executor, { flatten }] = await Promise.all([service.executor(), import("../actions")]);
    const prepared = flatten(executor.prepare(actions).actions);
    const commands = [...new Set(prepared.map(({ operation }) => operation.command))].sort();
    return { ok: true as const, commands, count: prepared.length };
  },
});

export const showCommand = operation({
  name: "commands.show",
  summary: "Describe a command",
  scope: "read",
  http: { method: "GET", path: "/commands/{name}" },
  input: v.strictObject({
    name: field(v.pipe(v.string(), v.maxLength(100)), "The command; its AC_ may be left out"),
  }),
  output: COMMAND_REFERENCE,
  async run(service: Service, { name }) {
    const [{ commands, allows }, { describeCommand }] = await Promise.all([
      service.executor(),
      import("../reference"),
    ]);
    const found = commands.get(name) ?? commands.get(`AC_${name}`);
    if (!found) throw notFound(`no command ${printable(name, 100)}`);
    return describeCommand(found, allows(found));
  },
});

export const operations = [
  executeActions,
  executeFile,
  checkActionList,
  listCommands,
  describeCommands,
  showCommand,
];
