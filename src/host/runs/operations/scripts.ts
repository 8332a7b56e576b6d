/**
 * The operations of stored scripts: storing, listing and removing them is the owner's; running one needs the scope of each of
 * its commands, or `run:` and its name.
 */
import * as v from "valibot";
import { type Caller, requesterOf } from "../../../core/caller";
import { ACTION_LIST, field, flag, NO_INPUT } from "../../../core/fields";
import { operation } from "../../../core/operation";
import { allows, beyond, type Grant, isSecretScope, NAME_TEXT } from "../../../core/rights";
import { VARIABLE_NAME } from "../../../core/written";
import { badInput, forbidden } from "../../../lib/errors";
import { meant } from "../../../lib/nearest";
import type { CheckedList } from "../checked-list";
import type { Executor } from "../executor";
import { type NewScript, SCRIPT_FIELDS, type StoredScript, type StoredScripts } from "../stored-scripts";
import { RUN_OPTIONS, RUN_REPORT, withoutResults } from "../types";
import { variableFaults } from "../variable-use";

interface Uses {
  executor(): Promise<Executor>;
  storedScripts(): Promise<StoredScripts>;
}

interface RemoveUses extends Uses {
  endJobsOfScript(script: string): Promise<number>;
  tokens(): Promise<{ list(): ReadonlyArray<{ readonly name: string; readonly scopes: readonly string[] }> }>;
}

const NAME = field(NAME_TEXT, "Name of the script");

const OWNERS = "a script that stores scripts could store itself";

/** A stored script in a listing: not its list, which may hold secrets. */
const LISTED_SCRIPT = v.object({
  name: v.string(),
  sha256: v.string(),
  added: v.string(),
  parameters: v.array(v.string()),
  stop_on_error: v.union([v.boolean(), v.literal("focus")]),
  timeout_s: v.number(),
  pace: v.exactOptional(v.number()),
});

const listed = ({ actions: _, variables: __, ...script }: StoredScript) => script;

export const addScript = operation({
  name: "scripts.add",
  summary: "Store a list of actions under a name",
  answeredBy: "owner",
  scope: "admin",
  changes: "announces",
  leftOut: { script: OWNERS },
  http: { method: "POST", path: "/scripts/add" },
  input: v.strictObject({
    name: NAME,
    actions: field(ACTION_LIST, "The list of actions, as `POST /execute` takes it"),
    ...SCRIPT_FIELDS,
    replace: flag("Put it in the place of the script that has the name"),
  }),
  output: LISTED_SCRIPT,
  run: async (service: Uses, { replace, ...script }, caller) =>
    listed(await storeScript(service, script, replace, caller, "scripts.add")),
});

/**
 * Checks a script, puts on record that it is stored, and stores it.
 *
 * @param operation the name of the one that does it.
 * @throws as the check of a list and {@link StoredScripts.add}.
 */
export async function storeScript(
  service: Uses,
  script: NewScript,
  replace: boolean,
  caller: Caller,
  operation: string,
): Promise<StoredScript> {
  const check = await scriptChecks(service, [script], [], caller);
  await caller.announce(storedRow(operation, script.name, replace, await check(script)));
  return (await service.storedScripts()).add(script, replace);
}

/**
 * What checks scripts before they are stored together, with what they call: each other as they will be, and what is stored already. Whether this
 * process may run them does not matter.
 *
 * @param gone the names of those that will be stored no more.
 * @returns a function from one of the scripts to what is on record about it; it tells the caller what is odd in it, and throws as the check of a list.
 */
export async function scriptChecks(
  service: Pick<Uses, "executor">,
  scripts: readonly NewScript[],
  gone: readonly string[],
  caller: Caller,
): Promise<(script: NewScript) => Promise<string>> {
  const link = (await service.executor()).linkStored(scripts, gone, requesterOf(caller));
  return async (script) => {
    const { described, variables } = await link(script);
    const set = [...script.parameters, ...Object.keys(script.variables ?? {})];
    for (const fault of variableFaults(variables, set, "--parameter")) caller.warn?.(fault);
    return described;
  };
}

/** What is on record where a script is stored. An argument may be secret: `described` has none. */
export const storedRow = (operation: string, name: string, replace: boolean, described: string): string =>
  `${operation} script=${name} replace=${replace} ${described}`;

export const listScripts = operation({
  name: "scripts.list",
  summary: "List the stored scripts",
  scope: "read",
  leftOut: { script: "an action has no use for the list" },
  http: { method: "GET", path: "/scripts" },
  input: NO_INPUT,
  output: v.object({ scripts: v.array(LISTED_SCRIPT), count: v.number() }),
  async run(service: Uses) {
    const scripts = (await service.storedScripts()).list().map(listed);
    return { scripts, count: scripts.length };
  },
});

export const removeScript = operation({
  name: "scripts.remove",
  summary: "Remove a stored script",
  answeredBy: "owner",
  scope: "admin",
  changes: true,
  leftOut: { script: OWNERS },
  http: { method: "POST", path: "/scripts/remove" },
  input: v.strictObject({ name: NAME }),
  /** `jobs`: how many jobs it had added, which are disabled now. `tokens`: those that allow a script of that name. */
  output: v.object({ removed: v.string(), jobs: v.number(), tokens: v.array(v.string()) }),
  async run(service: RemoveUses, { name }) {
    await (await service.storedScripts()).remove(name);
    const jobs = await service.endJobsOfScript(name);
    const named = (await service.tokens()).list().filter(({ scopes }) => scopes.includes(`run:${name}`));
    return { removed: name, jobs, tokens: named.map((token) => token.name) };
  },
});

export const runScript = operation({
  name: "scripts.run",
  summary: "Run a stored script",
  scope: "any",
  changes: "announces",
  leftOut: { script: "`AC_run_script` covers it" },
  http: { method: "POST", path: "/scripts/{name}/run", long: "run" },
  input: v.strictObject({
    name: NAME,
    variables: RUN_OPTIONS.entries.variables,
    trace: RUN_OPTIONS.entries.trace,
    desktop: RUN_OPTIONS.entries.desktop,
  }),
  output: RUN_REPORT,
  async run(service: Uses, { name, variables, trace, desktop: wanted }, caller) {
    const isGiven = caller.grant.scopes.includes(`run:${name}`);
    // Nobody else learns which scripts there are.
    if (!isGiven && !allows(caller.grant, "operate")) {
      throw forbidden(beyond(caller.grant, `this needs run:${name}`));
    }
    // What the script itself may see is not for whoever may run it.
    if (trace && !allows(caller.grant, "screen")) throw forbidden(beyond(caller.grant, "trace needs screen"));
    // A desktop that is kept is somebody's.
    if (wanted !== undefined && !allows(caller.grant, "operate"))
      throw forbidden(beyond(caller.grant, "desktop needs operate"));
    const stored = (await service.storedScripts()).get(name);
    const { actions, parameters, sha256, stop_on_error, timeout_s, pace } = stored;
    const odd = Object.keys(variables).find((variable) => !parameters.includes(variable));
    if (odd !== undefined && parameters.length > 0) {
      throw badInput(`variables: ${name} takes ${parameters.join(", ")}${meant(odd, parameters)}`);
    }
    if (odd !== undefined) throw badInput(noParameters(name, odd));
    const executor = await service.executor();
    const path = `script:${name}`;
    const checked = await executor.link(await executor.prepare(actions, false), path, requesterOf(caller));
    const list = { ...checked, described: `script=${name} stored=sha256:${sha256} ${checked.described}` };
    const grant = isGiven ? grantOf(caller.grant, name, executor, checked, trace) : caller.grant;
    const desktop = wanted ?? stored.desktop;
    const options = {
      stop_on_error,
      timeout_s,
      path,
      trace,
      ...(pace !== undefined && { pace }),
      ...(desktop !== undefined && { desktop }),
    };
    const all = { ...stored.variables, ...variables };
    return executor.run(list, { ...caller, grant }, { ...options, variables: all });
  },
  brief: withoutResults,
});

function noParameters(script: string, odd: string): string {
  const parameter = VARIABLE_NAME.test(odd) ? odd : "NAME";
  return `variables: ${script} declares no parameters: \`svc scripts add ${script} … --replace --parameter ${parameter}\` does`;
}

/**
 * What a run of this list may do that was allowed by its name: what its commands need, under the name of the token. Who stored it decided
 * about the looks at the screen in it: no person is asked for each.
 */
const grantOf = (
  { asks: _, ...grant }: Grant,
  script: string,
  executor: Executor,
  { commands }: CheckedList,
  trace: boolean,
): Grant => ({
  ...grant,
  // Its own word about secrets stays: what a parameter is filled into may show one.
  scopes: [
    ...executor.scopesOf(commands),
    ...(trace ? (["screen"] as const) : []),
    ...grant.scopes.filter(isSecretScope),
  ],
  script,
});

export const operations = [addScript, listScripts, removeScript, runScript];
