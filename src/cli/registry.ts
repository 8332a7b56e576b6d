/**
 * Finding subcommands: those with a view of their own, each loaded when it is called, and for every other operation of the
 * table one that is generated.
 */
import type { Operation } from "../core/operation";
import type { Group, Subcommand } from "./subcommand";

interface Entry {
  readonly describe: string;
  /** Its views; without it, all subcommands of the noun are generated. */
  readonly load?: () => Promise<{ readonly default: Subcommand | Group }>;
}

/** What a command line can call. */
export interface Registry {
  /** Subcommands by the first word of a command line, in the order of the help. */
  readonly nouns: Readonly<Record<string, Entry>>;
  /** The table; asked for when a subcommand is needed that has no view. */
  operations(): Promise<readonly Operation[]>;
}

/** What the first word of a command line stands for. */
export interface Noun {
  readonly describe: string;
  /** What it does without a verb. */
  readonly own?: Subcommand | undefined;
  readonly verbs: Readonly<Record<string, Subcommand>>;
}

/**
 * The subcommands of `noun`, those with a view before the generated ones; undefined when there are none.
 *
 * @param verb the word that follows, where there is one: the table of operations, which takes time to load, is not read
 *   when a view has it.
 */
export async function findNoun(registry: Registry, noun: string, verb?: string): Promise<Noun | undefined> {
  const entry = Object.hasOwn(registry.nouns, noun) ? registry.nouns[noun] : undefined;
  const known = entry?.load && asNoun(entry.describe, (await entry.load()).default);
  // What follows a subcommand of one word is its arguments.
  const isWhole = known?.own && Object.keys(known.verbs).length === 0;
  if (isWhole || (verb !== undefined && known && Object.hasOwn(known.verbs, verb))) return known;
  const generated = (await nounsOf(await registry.operations())).get(noun);
  if (!known || !generated) return known ?? generated;
  return { ...known, verbs: { ...generated.verbs, ...known.verbs } };
}

function asNoun(describe: string, module: Subcommand | Group): Noun {
  if ("verbs" in module) return { describe, ...module };
  return { describe, own: { ...module, describe }, verbs: {} };
}

/** Every noun with a line of what it does. */
export async function everyNoun({
  nouns,
  operations,
}: Registry): Promise<Array<{ readonly name: string; readonly describe: string }>> {
  const generated = [...(await nounsOf(await operations()))].filter(([name]) => !Object.hasOwn(nouns, name));
  return [
    ...Object.entries(nouns).map(([name, { describe }]) => ({ name, describe })),
    ...generated.map(([name, { describe }]) => ({ name, describe })),
  ];
}

/** The words that call an operation: `["jobs", "pause"]`. */
export const wordsOf = ({ name, subcommand }: Operation): string[] =>
  subcommand?.split(" ") ?? name.replaceAll("_", "-").split(".");

/** The subcommands that follow from `operations` alone. */
export async function nounsOf(operations: readonly Operation[]): Promise<ReadonlyMap<string, Noun>> {
  const { view } = await import("./view");
  const found = new Map<string, { describe: string; own?: Subcommand; verbs: Record<string, Subcommand> }>();
  for (const operation of operations) {
    if (operation.leftOut?.cli !== undefined) continue;
    const [noun = "", ...rest] = wordsOf(operation);
    const verb = rest.join("-");
    const entry = found.get(noun) ?? { describe: "", verbs: {} };
    if (verb === "") entry.own = view(operation);
    else entry.verbs[verb] = view(operation);
    entry.describe = entry.own?.describe ?? Object.keys(entry.verbs).join(", ");
    found.set(noun, entry);
  }
  return found;
}
