/**
 * The scripts that a list calls by `AC_run_script`: found, read and checked before the list runs, where their paths are
 * literal.
 *
 * The promise: what runs is what was checked, however the file changes in the meantime. A stored script calls stored scripts
 * only, so that what it does is what the owner of the host has stored.
 */
import { dirname, isAbsolute, resolve } from "node:path";
import { ListFault, readScript, type ScriptReader, withPlaces } from "../../core/script";
import { badInput, Failure } from "../../lib/errors";
import { meant } from "../../lib/nearest";
import { printable } from "../../lib/sanitize";
import { type Action, type Command, flatten } from "./actions";

/** The command that calls a script, and its field with the path. */
export const CALLS = { command: "AC_run_script", field: "path" } as const;

/** How deep scripts may call each other. */
export const MAX_CALLS = 16;

/** The most scripts that a list may call, those that they call included. */
const MAX_SCRIPTS = 100;

/** What the path of a stored script begins with, before its name. */
export const STORED = "script:";

/** A script that may be called. */
export interface CalledScript {
  /** Its absolute path; `script:` and its name where it is a stored one. */
  readonly path: string;
  readonly actions: readonly Action[];
  readonly commands: ReadonlyArray<Command["command"]>;
  /** The secrets of the host that it names. */
  readonly secrets: readonly string[];
  readonly described: string;
  /** The variables that a stored script takes; undefined for a file, which takes any. */
  readonly parameters: readonly string[] | undefined;
  /** Those that it has where nobody gives them. */
  readonly variables: Readonly<Record<string, unknown>>;
  /** Those that whoever calls it has to give. */
  readonly needs?: readonly string[] | undefined;
}

/** The called scripts of a run, by their paths. */
export type CalledScripts = Map<string, CalledScript>;

interface ScriptCheck extends Pick<CalledScript, "actions" | "commands" | "secrets" | "described"> {
  readonly count: number;
}

interface Parts {
  readonly reader: ScriptReader;
  /** @throws `not_found` for an unknown name; `unavailable` for one that was edited. */
  stored(name: string): Promise<{
    readonly actions: unknown;
    readonly parameters: readonly string[];
    readonly variables?: Readonly<Record<string, unknown>>;
  }>;
  /** Checks the list of a called script. */
  check(list: unknown): Promise<ScriptCheck>;
  /** Whether messages may quote a path. */
  readonly quote: boolean;
  /** Whether a script with this path is left out: by default, none is. */
  readonly skips?: (path: string) => boolean;
}

/**
 * The absolute path of the script that `path` names in the script `from`.
 *
 * @param from the path of the calling script; empty for a list that was sent.
 * @throws a `bad_input` failure for a path that leads nowhere from there.
 */
export function calledPath(path: string, from: string): string {
  if (path.startsWith(STORED)) return path;
  if (from.startsWith(STORED)) {
    throw badInput("path: expected script: and the name of a stored script, in a stored script");
  }
  if (from === "" && !isAbsolute(path)) {
    throw badInput("path: expected an absolute path: the list that calls it is in no file");
  }
  return resolve(dirname(from), path);
}

/**
 * Adds the scripts that `actions` call, and those that they call, to `called`.
 *
 * @param around the scripts that are sure to call this one, outermost first, and this one.
 * @throws a `bad_input` failure that says where.
 */
export async function linkCalled(
  parts: Parts,
  actions: readonly Action[],
  from: string,
  called: CalledScripts,
  around: readonly string[],
): Promise<void> {
  for (const action of flatten(actions)) {
    const { operation, input, deferred, at, pathTo } = action;
    if (operation.command !== CALLS.command || parts.skips?.(`${input.path}`)) continue;
    try {
      if (!deferred.includes(CALLS.field)) {
        // A call in an inner list may depend on something: scripts that call themselves so come to an end.
        const callers = actions.includes(action) ? around : [];
        await link(parts, calledPath(`${input.path}`, from), called, callers);
      } else if (from.startsWith(STORED)) calledPath("", from);
    } catch (error) {
      if (!(error instanceof Failure)) throw error;
      const [path, message] = [pathTo(CALLS.field), error.message.replace(/^path: /, "")];
      throw new ListFault([{ field: `${at}.${CALLS.field}`, path, message }], []);
    }
  }
}

/** The script at `path`, read and checked unless it was before; those that it calls too. @param around as {@link linkCalled}. */
export async function link(
  parts: Parts,
  path: string,
  called: CalledScripts,
  around: readonly string[] = [],
): Promise<CalledScript> {
  if (around.includes(path)) throw circle([...around.slice(around.indexOf(path)), path], parts.quote);
  const known = called.get(path);
  if (known) return known;
  if (called.size >= MAX_SCRIPTS) throw badInput(`path: expected at most ${MAX_SCRIPTS} scripts in all`);
  const script = await read(parts, path);
  // Before those that it calls: one may be itself.
  called.set(path, script);
  await script.linked(() => linkCalled(parts, script.actions, path, called, [...around, path]));
  return script;
}

function circle(paths: readonly string[], quote: boolean): Failure {
  const which = paths.length === 2 ? "the script calls itself" : "the scripts call each other in a circle";
  return badInput(`path: ${which}, without end${quote ? `: ${printable(paths.join(" -> "), 1_000)}` : ""}`);
}

type InPlaces = <T>(work: () => T | Promise<T>) => Promise<T>;

async function read(parts: Parts, path: string): Promise<CalledScript & { readonly linked: InPlaces }> {
  if (path.startsWith(STORED)) {
    const { actions, parameters, variables = {} } = await parts.stored(path.slice(STORED.length));
    return { ...(await parts.check(actions)), path, parameters, variables, linked: async (work) => work() };
  }
  const script = await readScript(path, parts.reader, { quote: parts.quote });
  const named = parts.quote ? script : { ...script, name: "the called script" };
  const linked: InPlaces = (work) => withPlaces(named, work);
  const { actions, commands, secrets, described } = await linked(() => parts.check(script.actions));
  const { variables = {}, needs } = script.defaults;
  return { path, actions, commands, secrets, described, parameters: undefined, variables, needs, linked };
}

/** @throws a `bad_input` failure for a variable that the script does not take. */
export function checkParameters(
  { path, parameters }: Pick<CalledScript, "path" | "parameters">,
  names: readonly string[],
): void {
  const odd = names.find((name) => parameters && !parameters.includes(name));
  if (odd === undefined) return;
  const takes = parameters?.length ? `takes ${parameters.join(", ")}` : "declares no parameters";
  throw badInput(`variables: ${path} ${takes}${meant(odd, parameters ?? [])}`);
}

/** Whether some script is called whose path is known when the list runs. */
export const callsUnknown = (actions: readonly Action[]): boolean =>
  flatten(actions).some(
    ({ operation, deferred }) => operation.command === CALLS.command && deferred.includes(CALLS.field),
  );
