/**
 * The variables of an action list that runs on hosts: for all of them, and for each its own.
 *
 * They travel as actions `AC_set_var` in front of the list, which every host takes. A value is a secret of the run.
 */
import * as v from "valibot";
import { field, secret } from "../../core/fields";
import { VARIABLES } from "../../core/run";
import { literal, VARIABLE_NAME } from "../../core/written";
import { badInput } from "../../lib/errors";
import { printable } from "../../lib/sanitize";

/** The most that all hosts together get, in bytes of JSON. */
const MAX_BYTES = 32 * 1_048_576;

/** The most hosts that a message names. */
const MAX_NAMED = 10;

/** What the input of a broadcast or a plan has of variables. */
export const VARIABLES_FOR_HOSTS = {
  variables: field(v.optional(secret(VARIABLES)), "Values of variables at all hosts, by name"),
  variables_by_host: field(
    v.optional(secret(v.pipe(v.record(v.string(), VARIABLES), v.maxEntries(100_000)))),
    "Values of variables at each host, by its label and by name: `{label: {name: value}}`; every selected host needs an entry",
  ),
};

interface VariableInput {
  readonly variables?: Readonly<Record<string, unknown>> | undefined;
  readonly variables_by_host?: Readonly<Record<string, Readonly<Record<string, unknown>>>> | undefined;
}

/** What goes in front of the list. */
export interface HostVariables {
  /** At each host. */
  readonly common: readonly unknown[];
  /** Before that at each host, as JSON without brackets, in the order of the hosts; undefined where no host has its own. */
  readonly own: readonly string[] | undefined;
  /** The names of those that hosts have of their own. */
  readonly names: readonly string[];
  /** How many actions the host of this place gets. */
  count(n: number): number;
}

/**
 * @param labels of the hosts of the list, in their order.
 * @throws `bad_input` for a host without an entry, for a name that is none, and for what cannot be a value.
 */
export function variablesFor(
  labels: readonly string[],
  { variables = {}, variables_by_host }: VariableInput,
): HostVariables {
  if (!variables_by_host) {
    const common = actionsFor(variables, "variables");
    return { common, own: undefined, names: [], count: () => common.length };
  }
  const missing = labels.filter((label) => !Object.hasOwn(variables_by_host, label));
  if (missing.length > 0) throw badInput(`variables_by_host: nothing for ${named(missing)}`);
  const ofHosts = new Set(labels.flatMap((label) => Object.keys(variables_by_host[label] ?? {})));
  const names = [...ofHosts];
  // What stands before the list of each host stands before what all hosts get.
  const ofSome = Object.entries(variables).filter(([name]) => ofHosts.has(name));
  const ofAll = Object.entries(variables).filter(([name]) => !ofHosts.has(name));
  const common = actionsFor(Object.fromEntries(ofAll), "variables");
  const own: string[] = [];
  const counts: number[] = [];
  let size = 0;
  for (const label of labels) {
    const values = { ...Object.fromEntries(ofSome), ...variables_by_host[label] };
    const actions = actionsFor(values, `variables_by_host.${printable(label, 130)}`);
    const text = JSON.stringify(actions).slice(1, -1);
    // Looked at before the next: what one host has of its own, all others may get in the value for all.
    size += text.length;
    if (size > MAX_BYTES)
      throw badInput(
        `variables_by_host: expected at most ${MAX_BYTES} bytes in all, but found more in the first ${own.length + 1} hosts`,
      );
    own.push(text);
    counts.push(actions.length);
  }
  return { common, own, names, count: (n) => common.length + (counts[n] ?? 0) };
}

/** Labels that `variables_by_host` has and no host of the address book, in words; undefined where there are none. */
export function unknownLabels(
  { variables_by_host = {} }: VariableInput,
  known: readonly string[],
): string | undefined {
  const labels = new Set(known);
  const unknown = Object.keys(variables_by_host).filter((label) => !labels.has(label));
  return unknown.length === 0 ? undefined : `variables_by_host: no host is labelled ${named(unknown)}`;
}

function named(labels: readonly string[]): string {
  const more = labels.length > MAX_NAMED ? ` and ${labels.length - MAX_NAMED} more` : "";
  return `${labels
    .slice(0, MAX_NAMED)
    .map((label) => printable(label, 130))
    .join(", ")}${more}`;
}

/** @param where for messages, which quote no value. */
function actionsFor(variables: Readonly<Record<string, unknown>>, where: string): unknown[] {
  return Object.entries(variables).map(([name, given]) => {
    if (!VARIABLE_NAME.test(name))
      throw badInput(
        `${where}: expected names of letters, digits and _, not beginning with a digit, but found ${printable(name, 80)}`,
      );
    const value = literal(given);
    if (value === undefined || value === null)
      throw badInput(`${where}.${name}: expected a value other than null, and no \${= without its }`);
    return ["AC_set_var", { name, value }];
  });
}

interface HostResult {
  readonly result?: Readonly<Record<string, unknown>>;
  readonly outcomes?: readonly Readonly<Record<string, unknown>>[];
}

/** What a host has returned, without the first `count` actions. */
export function withoutVariables<R extends HostResult>(delivery: R, count: number): R {
  if (count === 0) return delivery;
  const { result, outcomes } = delivery;
  const isSet = (key: string) => key.startsWith('execute: ["AC_set_var"');
  const entries = Object.entries(result ?? {});
  const first = entries.slice(0, count).filter(([key]) => !isSet(key));
  return {
    ...delivery,
    ...(result && { result: Object.fromEntries([...first, ...entries.slice(count)]) }),
    ...(outcomes && { outcomes: outcomes.slice(count) }),
  };
}
