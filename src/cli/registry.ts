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
  /** Subcommands by the first word of a command line, in the groups and the order of the help. */
  readonly groups: ReadonlyArray<{ readonly title: string; readonly nouns: Readonly<Record<string, Entry>> }>;
  /** Those of all groups. */
  readonly nouns: Readonly<Record<string, Entry>>;
  /** The table; asked for when a subcommand is needed that has no view. */
  operations(): Promise<readonly Operation[]>;
}

/**
 * The subcommands of `noun`, those with a view before the generated ones; undefined when there are none.
 *
 * @param verb the word that follows, where there is one: the table of operations, which takes time to load, is not read
 *   when a view has it.
 */
export async function findNoun(registry: Registry, noun: string, verb?: string): Promise<Group | undefined> {
  const entry = Object.hasOwn(registry.nouns, noun) ? registry.nouns[noun] : undefined;
  const module = (await entry?.load?.())?.default;
  // What follows a subcommand of one word is its arguments.
  if (module && !("verbs" in module)) {
    return { own: { ...module, describe: entry?.describe ?? "" }, verbs: {} };
  }
  if (module && verb !== undefined && Object.hasOwn(module.verbs, verb)) return module;
  // Those of other nouns are not looked at, which would load them.
  const own = (await registry.operations()).filter((one) => wordsOf(one)[0] === noun);
  const generated = (await nounsOf(own)).get(noun);
  return module ? { ...module, verbs: { ...generated?.verbs, ...module.verbs } } : generated;
}

/** The words that call an operation: `["jobs", "pause"]`. */
export const wordsOf = ({ name, subcommand }: Operation): string[] =>
  subcommand?.split(" ") ?? name.replaceAll("_", "-").split(".");

/** The subcommands that follow from `operations` alone, by their noun. */
export async function nounsOf(operations: readonly Operation[]): Promise<ReadonlyMap<string, Group>> {
  const { view } = await import("./view");
  const offered = operations.filter(({ leftOut }) => leftOut?.cli === undefined);
  const groups = Map.groupBy(offered, (operation) => wordsOf(operation)[0] ?? "");
  return new Map(
    Array.from(groups, ([noun, members]) => {
      const views = members.map((one) => [wordsOf(one).slice(1).join("-"), view(one)] as const);
      const { "": own, ...verbs } = Object.fromEntries(views);
      return [noun, { own, verbs }];
    }),
  );
}
