/**
 * Lists that passed the check: what is known of them before they run, and how they are shown without their secrets.
 */
import { redact } from "../../core/operation";
import type { RunDefaults } from "../../core/script-head";
import { asWritten, listFields } from "./action-fields";
import { type Action, type Command, flatten } from "./actions";
import type { CalledScripts } from "./called-scripts";
import { secretUse, type VariableUse, variablesSet, variableUse } from "./variable-use";

/** A list that passed the check. */
export interface CheckedList {
  /** Of its run, which has not begun. */
  readonly id: string;
  readonly actions: readonly Action[];
  /** The number of actions, nested ones included. */
  readonly count: number;
  /** The names in it, nested ones included, each once. */
  readonly commands: Array<Command["command"]>;
  readonly variables: VariableUse;
  /** The variables that it may set, each once; undefined where only its run says which. */
  readonly sets: string[] | undefined;
  /** The secrets of the host that it names, each once, sorted. */
  readonly secrets: string[];
  /** For an audit row: the commands, the names of secrets, and a digest of the arguments without secrets. */
  readonly described: string;
  /** The scripts that it calls, once they have been read and checked. */
  readonly called?: CalledScripts;
  /** What its file says of its run. */
  readonly defaults?: RunDefaults;
  /** The variables that whoever runs it may set, where it is a stored script. */
  readonly parameters?: readonly string[];
}

/** `list` with the commands and the names of secrets of the scripts that it calls. */
export function withCalled(list: CheckedList, called: CalledScripts): CheckedList {
  const all = [list, ...called.values()];
  const commands = [...new Set(all.flatMap((one) => one.commands))];
  const secrets = [...new Set(all.flatMap((one) => one.secrets))];
  return { ...list, commands, secrets };
}

/** `actions` as a list that passed the check. */
export function checkedList(actions: readonly Action[]): CheckedList {
  const names = flatten(actions).map(({ operation }) => operation.command);
  const commands = [...new Set(names)];
  const digest = Bun.SHA256.hash(JSON.stringify(actions.map(redacted)), "hex");
  const secrets = secretUse(actions);
  const named = secrets.length > 0 ? ` secrets=${secrets.join(",")}` : "";
  return {
    id: crypto.randomUUID(),
    actions,
    count: names.length,
    commands,
    variables: variableUse(actions),
    sets: variablesSet(actions),
    secrets,
    described: `commands=${commands.join(",")}${named} args=sha256:${digest}`,
  };
}

/** An action as it was written; secrets are `"***"`. */
export function shownAction({ operation, source, as, lists }: Action): unknown {
  const inner = Object.entries(lists).map(([field, list]) => [field, list.map(shownAction)]);
  const fields = {
    ...asWritten(operation.input, source[1]),
    ...Object.fromEntries(inner),
    ...(as !== undefined && { as }),
  };
  return Object.keys(fields).length > 0 ? [operation.command, fields] : [operation.command];
}

function redacted({ operation, input, as, lists }: Action): unknown {
  const plain = redact(operation.input, input);
  for (const field of listFields(operation.input)) {
    if (plain[field] !== undefined) plain[field] = (lists[field] ?? []).map(redacted);
  }
  return as === undefined ? [operation.command, plain] : [operation.command, plain, as];
}
