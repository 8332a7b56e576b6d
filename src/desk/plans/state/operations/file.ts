/**
 * The file that says what hosts should have: JSON, JSON5 or YAML, with scripts beside it or in it, and where the release of its version is.
 *
 * The promise: what is wrong in it is named with its place, before any host is asked.
 */
import { dirname, resolve } from "node:path";
import type { Offence } from "../../../../core/input";
import { ListFault, parseScript, readScript, type Script, withPlaces } from "../../../../core/script";
import { badInput, Failure } from "../../../../lib/errors";
import { isObject } from "../../../../lib/is-object";
import { pointerTo } from "../../../../lib/json-places";
import { checkWanted, type WantedState } from "../../../../wire/state/wanted";

/** Checks a list of actions. @throws a `bad_input` failure. */
type CheckList = (actions: unknown) => Promise<unknown>;

type Fields = Readonly<Record<string, unknown>>;

/** What a file says. */
export interface FleetFile {
  readonly wanted: WantedState;
  /** Where the release of its version is, as `svc admin upgrade` takes it: absolute paths; empty where the file does not say. */
  readonly release: readonly string[];
}

/** The most paths of a release: one for each target. */
const MAX_PATHS = 16;

/**
 * What the file at `path` says; in standard input for `-`, with scripts beside the working folder.
 *
 * @param check default: lists are not checked.
 * @throws `bad_input` as `FILE:LINE:COLUMN: PLACE: what was expected`.
 */
export async function readStateFile(path: string, check?: CheckList): Promise<FleetFile> {
  const file =
    path === "-"
      ? await parseScript(await Bun.stdin.bytes(), "stdin", "file: expected UTF-8 on stdin", "any")
      : await readScript(path);
  const { actions: value, root } = file;
  if (root !== "" || !isObject(value))
    throw badInput(
      `${file.name}: expected what hosts should have, an object with name, scripts, jobs and so on, but found ${root === "" ? "something else" : "a script"}`,
    );
  const folder = path === "-" ? process.cwd() : dirname(path);
  const { release: named, ...said } = value;
  const release = await releaseIn(file, named, folder);
  const state = isObject(said.scripts)
    ? { ...said, scripts: await scriptsIn(file, said.scripts, folder, check) }
    : said;
  const checked = checkWanted(state);
  if ("offences" in checked) return refuse(file, checked.offences);
  const { wanted } = checked;
  if (release.length > 0 && wanted.version === undefined)
    return refuse(file, [releaseOffence("expected version beside it: that of the release")]);
  return { wanted, release };
}

const releaseOffence = (message: string): Offence => ({ field: "release", path: ["release"], message });

/** The paths of the release, absolute; none where the file names none. */
async function releaseIn(file: Script, named: unknown, folder: string): Promise<readonly string[]> {
  if (named === undefined) return [];
  const paths = [named].flat();
  const texts = paths.filter((path) => typeof path === "string");
  const isEach = texts.length === paths.length && texts.every((path) => path !== "");
  if (!isEach || texts.length === 0 || texts.length > MAX_PATHS)
    return refuse(file, [
      releaseOffence(
        `expected the path of a release or its binary beside this file, or a list of up to ${MAX_PATHS}`,
      ),
    ]);
  return texts.map((path) => resolve(folder, path));
}

/** @throws `bad_input` that names each place. */
async function refuse(file: Script, offences: readonly Offence[]): Promise<never> {
  throw await new ListFault(offences, []).in(file);
}

/** The scripts with their actions, wherever these are. */
async function scriptsIn(
  file: Script,
  scripts: Fields,
  folder: string,
  check: CheckList | undefined,
): Promise<Fields> {
  const all: Record<string, unknown> = {};
  for (const [name, entry] of Object.entries(scripts)) {
    const given = typeof entry === "string" ? { file: entry } : entry;
    all[name] = isObject(given)
      ? await scriptIn(file, ["scripts", name], given, folder, check)
      : // What it is in place of an object is said with the rest.
        given;
  }
  return all;
}

async function scriptIn(
  file: Script,
  place: readonly string[],
  { file: beside, ...entry }: Fields,
  folder: string,
  check: CheckList | undefined,
): Promise<Fields> {
  const at = (message: string, ...keys: string[]) =>
    refuse(file, [{ field: [...place, ...keys].join("."), path: [...place, ...keys], message }]);
  if (beside === undefined) {
    // Places in the list are those in this file.
    const own = { ...file, root: pointerTo([...place, "actions"]) };
    if (check && Array.isArray(entry.actions)) await withPlaces(own, () => check(entry.actions));
    return entry;
  }
  if (entry.actions !== undefined) return at("expected one of file and actions");
  if (typeof beside !== "string") return at("expected the path of a script beside this file", "file");
  const script = await readScript(resolve(folder, beside)).catch((error) => {
    if (!(error instanceof Failure)) throw error;
    return at(error.message.replace(/^path: /, ""), "file");
  });
  if (!Array.isArray(script.actions)) return at("expected the file to have a list of actions", "file");
  if (check) await withPlaces(script, () => check(script.actions));
  const { needs = [], ...defaults } = script.defaults;
  const parameters = Array.isArray(entry.parameters) ? [...needs, ...entry.parameters] : needs;
  return {
    ...defaults,
    ...entry,
    ...(parameters.length > 0 && { parameters: [...new Set(parameters)] }),
    actions: script.actions,
  };
}
