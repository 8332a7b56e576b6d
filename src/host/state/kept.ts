/**
 * The states that desks have applied to this host, a file each: what each of them manages here, and what it wanted.
 *
 * The promise: before a state changes anything, the file says that what it adds is its own. So whatever a crash leaves can be removed by it.
 */
import { existsSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import * as v from "valibot";
import { SHA256 } from "../../core/fields";
import { NAME_TEXT } from "../../core/rights";
import { busy, messageOf, unavailable } from "../../lib/errors";
import { ensurePrivateFolder, writeFileAtomic } from "../../lib/files";
import { jsonIn } from "../../lib/json-in";

/** The most states of one host: comparing one reads them all. */
const MAX_STATES = 50;

const NAMES = v.array(v.string());

/** What a state manages here, by kind. */
const MANAGED = v.object({ scripts: NAMES, jobs: NAMES, settings: NAMES });

export type Managed = v.InferOutput<typeof MANAGED>;

const KEPT = v.object({
  name: NAME_TEXT,
  sha256: SHA256,
  /** When it was applied, ISO 8601; null while that is not over. */
  applied: v.nullable(v.string()),
  managed: MANAGED,
  /** As it was sent, base64. */
  state: v.string(),
});

/** A state of this host. */
export type KeptState = v.InferOutput<typeof KEPT>;

/** The states of this host. */
export interface KeptStates {
  /** All of them, by name. @throws `unavailable` where one is broken. */
  all(): KeptState[];
  find(name: string): KeptState | undefined;
  /** One that manages nothing makes room where there are too many. @throws `busy` where none does; the system error. */
  put(state: KeptState): void;
}

/** @param folder of the files; nothing makes it but `put`. */
export function createKeptStates(folder: string): KeptStates {
  const pathOf = (name: string) => join(folder, `${name}.json`);
  const names = () =>
    existsSync(folder)
      ? readdirSync(folder)
          .flatMap((file) => (file.endsWith(".json") ? [file.slice(0, -".json".length)] : []))
          .filter((name) => v.is(NAME_TEXT, name))
          .toSorted()
      : [];
  const read = (name: string): KeptState => {
    let text: string;
    try {
      text = readFileSync(pathOf(name), "utf8");
    } catch (error) {
      throw unavailable(`state/${name}.json cannot be read (${messageOf(error)})`);
    }
    const read = v.safeParse(KEPT, jsonIn(text));
    if (!read.success || read.output.name !== name)
      throw unavailable(
        `state/${name}.json is not a state of this host: delete it, and apply the state again`,
      );
    return read.output;
  };
  return {
    all: () => names().map(read),
    find: (name) => (existsSync(pathOf(name)) ? read(name) : undefined),
    put(state) {
      const known = names();
      if (!known.includes(state.name) && known.length >= MAX_STATES) {
        const idle = known.map(read).find(({ managed }) => Object.values(managed).flat().length === 0);
        if (!idle) throw busy(`there are already ${MAX_STATES} states here`, "conflict");
        rmSync(pathOf(idle.name), { force: true });
      }
      ensurePrivateFolder(folder);
      writeFileAtomic(pathOf(state.name), JSON.stringify(state));
    },
  };
}
