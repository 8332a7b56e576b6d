import * as v from "valibot";
import type { Caller } from "../caller";
import { ACTION_LIST, field, NO_INPUT, operation, redact } from "../operation";
import type { Service } from "../service";
import type { PreparedRun } from "./executor";

const OUTCOME = v.object({
  command: v.string(),
  ok: v.boolean(),
  result: v.exactOptional(v.unknown()),
  error: v.exactOptional(v.string()),
  duration_ms: v.number(),
});
const RESULT = v.record(v.string(), v.unknown());
const REPORT = { run_id: v.string(), ok: v.boolean(), outcomes: v.array(OUTCOME) };

const stopOnError = field(
  v.optional(v.boolean(), false),
  "Leave the rest of the list once an action has failed",
);

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
    stop_on_error: stopOnError,
  }),
  output: v.object({ result: RESULT, ...REPORT }),
  async run(service, input, caller) {
    return runPrepared(
      service,
      (await service.executor()).prepare(input.actions),
      input.stop_on_error,
      caller,
    );
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
    stop_on_error: stopOnError,
  }),
  output: v.object({ result: v.array(RESULT), ...REPORT }),
  async run(service, input, caller) {
    const [executor, { readScript }] = await Promise.all([service.executor(), import("./script")]);
    const prepared = executor.prepare(await readScript(input.path));
    const report = await runPrepared(service, prepared, input.stop_on_error, caller);
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
  async run(service) {
    const { commands } = await service.executor();
    return { commands: [...commands], count: commands.length };
  },
});

export const operations = [executeActions, executeFile, listCommands];

async function runPrepared(service: Service, prepared: PreparedRun, stopOnError: boolean, caller: Caller) {
  await caller.announce(describeRun(prepared));
  return (await service.executor()).run(prepared, caller, { stopOnError });
}

/** Who ran what with which arguments, without telling a secret one: the digest covers what `redact` leaves. */
function describeRun({ id, actions }: PreparedRun): string {
  const names = [...new Set(actions.map(({ operation }) => operation.command))].join(",");
  const told = actions.map(({ operation, input }) => [operation.command, redact(operation.input, input)]);
  const digest = Bun.SHA256.hash(JSON.stringify(told), "hex");
  return `run=${id} commands=${names} args=sha256:${digest}`;
}
