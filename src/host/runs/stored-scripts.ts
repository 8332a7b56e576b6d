/**
 * Scripts that a host keeps under a name: `{config_dir}/scripts.json`. A token with `run:<name>` runs that one and nothing else.
 *
 * The promise: what runs is what was stored. The digest of the list is noted when it is stored, and a list that does not have it
 * any more is not run; nobody but the owner of the host stores one.
 */
import * as v from "valibot";
import { DESKTOP_REQUEST } from "../../core/desktop-request";
import { between, field, judged, SHA256, seconds } from "../../core/fields";
import { NAME_TEXT } from "../../core/rights";
import { VARIABLE, VARIABLES } from "../../core/run";
import { busy, conflict, notFound, unavailable } from "../../lib/errors";
import { createJsonStore, parseBy } from "../../lib/json-store";
import type { Log } from "../../lib/log";
import { printable } from "../../lib/sanitize";
import { RUN_OPTIONS } from "./types";

/** The most scripts in the file: each change writes all of them. */
const MAX_SCRIPTS = 200;

/** What is fixed when a script is stored: whoever runs it says nothing else than the values of its parameters. */
export const SCRIPT_FIELDS = {
  parameters: field(
    v.optional(v.pipe(v.array(VARIABLE), v.maxLength(100)), []),
    "Variables that whoever runs it may set (default: none)",
  ),
  ...v.pick(RUN_OPTIONS, ["stop_on_error", "timeout_s"]).entries,
  pace: field(
    v.exactOptional(seconds(between(0, 10))),
    "Seconds that keys wait after the pointer has acted (default: 0.1)",
  ),
  desktop: field(
    v.exactOptional(DESKTOP_REQUEST),
    "The desktop to run on: `new` for one that ends with the run, or the name of one that is kept (default: that of the host)",
  ),
  variables: field(
    v.exactOptional(judged(VARIABLES)),
    "Values of variables, by name; whoever runs it may set those that are parameters",
  ),
};

const STORED_SCRIPT = v.object({
  name: NAME_TEXT,
  /** SHA-256 of what is stored, hexadecimal. */
  sha256: SHA256,
  /** When it was stored, ISO 8601. */
  added: v.pipe(v.string(), v.isoTimestamp()),
  ...SCRIPT_FIELDS,
  actions: v.array(v.unknown()),
});

export type StoredScript = v.InferOutput<typeof STORED_SCRIPT>;

/** A script that is to be stored. */
export type NewScript = Omit<StoredScript, "sha256" | "added">;

/** The digest that names exactly this script. JSON leaves out what it has not, so that of an earlier one stays as it was. */
export const digestOf = ({
  name,
  parameters,
  stop_on_error,
  timeout_s,
  actions,
  pace,
  variables,
  desktop,
}: NewScript): string =>
  Bun.SHA256.hash(
    JSON.stringify({ name, parameters, stop_on_error, timeout_s, actions, pace, variables, desktop }),
    "hex",
  );

/** The scripts of `{config_dir}`. */
export interface StoredScripts {
  /** @throws `unavailable` when the file is broken or cannot be read, as all below. */
  list(): readonly StoredScript[];
  has(name: string): boolean;
  /** Whether somebody has removed it. */
  isGone(wanted: string): boolean;
  /** @throws `not_found` for an unknown name; `unavailable` when the list is not the one that was stored. */
  get(name: string): StoredScript;
  /** @param replace whether it may take the place of another. @throws `conflict` for a name that is taken. */
  add(given: NewScript, replace: boolean): Promise<StoredScript>;
  /** @throws `not_found` for an unknown name. */
  remove(name: string): Promise<void>;
  /** Why there is no room where scripts of these names are stored and those `removed` are not, in words; undefined where there is. */
  shortage(names: readonly string[], removed: readonly string[]): string | undefined;
  /**
   * Stores scripts in the places of those that have their names, and takes those of the names `removed` away, where they are there. One
   * change of the file.
   *
   * @throws `conflict` where there is no room. Nothing has changed then.
   */
  change(given: readonly NewScript[], removed: readonly string[]): Promise<void>;
}

/** The scripts of `{config_dir}`, in the order of the file. */
export function createStoredScripts(
  place: { readonly file: string; readonly lock: string },
  log: Log,
): StoredScripts {
  const store = createJsonStore<StoredScript>(
    {
      ...place,
      what: "a list of stored scripts",
      list: "scripts",
      key: "name",
      parse: parseBy(STORED_SCRIPT),
    },
    log,
  );
  const named = (name: string) => store.entries().find((one) => one.name === name);
  return {
    list: () => store.entries(),
    has: (name) => named(name) !== undefined,
    isGone: store.isGone,
    get(name) {
      const found = named(name);
      if (!found) throw noSuchScript(name);
      if (digestOf(found) === found.sha256) return found;
      throw unavailable(`the script ${name} is not the one that was stored: store it again`);
    },
    add: (given, replace) =>
      store.change((list) => {
        const { name } = given;
        const taken = list.has(name);
        if (taken && !replace) {
          throw conflict(
            `name: ${name} is already taken: --replace stores this one in its place, for all that may run it`,
          );
        }
        if (!taken && list.entries.length >= MAX_SCRIPTS)
          throw busy(`there are already ${MAX_SCRIPTS} scripts`, "conflict");
        const script = storedNow(given);
        if (replace) list.replace(script);
        else list.add(script);
        return script;
      }),
    remove: (name) =>
      store.change((list) => {
        if (!list.remove(name)) throw noSuchScript(name);
      }),
    shortage: (names, removed) => shortageOf(store.entries(), names, removed),
    change: (given, removed) =>
      store.change((list) => {
        const names = given.map(({ name }) => name);
        const full = shortageOf(list.entries, names, removed);
        if (full !== undefined) throw busy(full, "conflict");
        list.removeAll(removed);
        for (const one of given) list.replace(storedNow(one));
      }),
  };
}

const storedNow = (given: NewScript): StoredScript => ({
  ...given,
  sha256: digestOf(given),
  added: new Date().toISOString(),
});

function shortageOf(
  there: readonly StoredScript[],
  names: readonly string[],
  removed: readonly string[],
): string | undefined {
  const after = new Set(there.map(({ name }) => name)).difference(new Set(removed)).union(new Set(names));
  return after.size > MAX_SCRIPTS
    ? `there would be ${after.size} scripts, and ${MAX_SCRIPTS} are the limit`
    : undefined;
}

const noSuchScript = (name: string) => notFound(`no script is named ${printable(name, 64)}`);
