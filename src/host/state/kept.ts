/**
 * The states that desks have applied to this host, a file each: what each of them manages here, what it wanted, and whose it is.
 *
 * The promise: before a state changes anything, the file says that what it adds is its own. So whatever a crash leaves can be removed by it.
 */
import { readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import * as v from "valibot";
import { SHA256 } from "../../core/fields";
import { NAME_TEXT } from "../../core/rights";
import { busy, messageOf, notFound, systemCode, unavailable } from "../../lib/errors";
import { ensurePrivateFolder, fileStamp, namesInFolder, writeFileAtomic } from "../../lib/files";
import { lookThrough } from "../../lib/look";
import { shortage } from "../../lib/quota";
import { nextSlice } from "../../lib/turn";
import { valueIn } from "../../lib/value-in";

/** How many states a host has; those of a named token leave some to others. */
const STATES = { what: "states", most: 50, times: 1 };

const NAMES = v.array(v.string());

/** What a state manages here, by kind. */
const MANAGED_NAMES = v.object({ scripts: NAMES, jobs: NAMES, settings: NAMES });

export type ManagedNames = v.InferOutput<typeof MANAGED_NAMES>;

const ENTRY = v.object({
  name: NAME_TEXT,
  sha256: SHA256,
  /** When it was applied, ISO 8601; null while that is not over. */
  applied: v.nullable(v.string()),
  managed: MANAGED_NAMES,
  /** Whether it wants the black box to keep what the screen shows. One that says nothing about it, and a file of before, does not have it. */
  black_box: v.exactOptional(v.boolean()),
  /** Who applied it: the name of a token, null for the owner of the host. A file of before does not say. */
  by: v.exactOptional(v.nullable(v.string())),
});

export type StateEntry = v.InferOutput<typeof ENTRY>;

const KEPT = v.object({
  ...ENTRY.entries,
  /** As it was sent, base64. */
  state: v.string(),
});

/** A state of this host with what it wanted. */
export type KeptState = v.InferOutput<typeof KEPT>;

/** The states of this host. */
export interface KeptStates {
  /** All of them, by name. Those that have changed are read, in slices. @throws `unavailable` where one is broken. */
  all(): Promise<StateEntry[]>;
  /** @throws `unavailable` where it is broken. */
  find(name: string): KeptState | undefined;
  /** @throws `conflict` where there is no room for one of that name, of a token. */
  requireRoom(name: string, by: string | null): Promise<void>;
  /** One that manages nothing makes room where there are too many. @throws as `requireRoom`; the system error. */
  put(state: KeptState): Promise<void>;
  /** Forgets one, be it broken: what it manages stays. @throws `not_found`; `unavailable` for a folder in its place; the system error. */
  forget(name: string): void;
}

/** @param folder of the files; nothing makes it but `put`. */
export function createKeptStates(folder: string): KeptStates {
  const pathOf = (name: string) => join(folder, `${name}.json`);
  /** What files say that are as they were, without what is large in them. */
  const known = new Map<string, { readonly stamp: string; readonly entry: StateEntry }>();
  const names = () =>
    namesInFolder(folder)
      .flatMap((file) => (file.endsWith(".json") ? [file.slice(0, -".json".length)] : []))
      .filter((name) => v.is(NAME_TEXT, name))
      .toSorted();
  const read = (name: string): KeptState | undefined => {
    let text: string;
    try {
      text = readFileSync(pathOf(name), "utf8");
    } catch (error) {
      if (systemCode(error) === "ENOENT") return undefined;
      throw unavailable(`state/${name}.json cannot be read (${messageOf(error)})`);
    }
    const state = valueIn(KEPT, text);
    if (state?.name !== name)
      throw unavailable(
        `state/${name}.json is not a state of this host: \`svc states forget ${name}\`, and apply the state again`,
      );
    return state;
  };
  const entryOf = (name: string): StateEntry | undefined => {
    const stamp = fileStamp(pathOf(name));
    const found = known.get(name);
    if (found?.stamp === stamp) return found.entry;
    known.delete(name);
    const kept = read(name);
    if (!kept) return undefined;
    const { state: _, ...entry } = kept;
    known.set(name, { stamp, entry });
    return entry;
  };
  const all = async () => {
    const entries: StateEntry[] = [];
    const there = names();
    for (const name of known.keys()) if (!there.includes(name)) known.delete(name);
    for (const name of there) {
      const waits = nextSlice();
      if (waits) await waits;
      const entry = entryOf(name);
      if (entry) entries.push(entry);
    }
    return entries;
  };
  /** The name of the state that makes room for another; undefined where there is room. @throws `conflict`. */
  const inTheWay = async (name: string, by: string | null): Promise<string | undefined> => {
    const entries = await all();
    if (entries.some((one) => one.name === name)) return undefined;
    const fullWithout = (left?: StateEntry) =>
      shortage(
        STATES,
        entries.filter((one) => one !== left).map((one) => one.by ?? null),
        by,
      );
    const full = fullWithout();
    if (full === undefined) return undefined;
    const idle = entries.filter(
      ({ managed, black_box }) => Object.values(managed).flat().length === 0 && black_box === undefined,
    );
    const going = idle.find((one) => fullWithout(one) === undefined);
    if (going) return going.name;
    throw busy(`${full}: \`svc states forget NAME\` on this host makes room`, "conflict");
  };
  return {
    all,
    find: read,
    requireRoom: async (name, by) => void (await inTheWay(name, by)),
    async put(state) {
      const going = await inTheWay(state.name, state.by ?? null);
      if (going !== undefined) rmSync(pathOf(going), { force: true });
      ensurePrivateFolder(folder);
      writeFileAtomic(pathOf(state.name), JSON.stringify(state));
    },
    forget(name) {
      if (!names().includes(name)) throw notFound(`no state is named ${name} here`);
      // What else somebody has put there is not svc's to remove.
      if (lookThrough(pathOf(name))?.isDirectory())
        throw unavailable(`state/${name}.json is a folder: move it away`);
      rmSync(pathOf(name), { force: true });
    },
  };
}
