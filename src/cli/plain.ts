/**
 * Reading a command line by the inner parser of yargs alone: the whole of it, with its help and its words for faults, takes a
 * quarter of the time to a server.
 */
import type { Flag } from "./flags";

/** How yargs reads words, for both. */
export const CONFIGURATION = {
  "boolean-negation": true,
  "camel-case-expansion": false,
  // `--on.x` would be an object in `on`.
  "dot-notation": false,
  "greedy-arrays": false,
  "parse-numbers": false,
  "parse-positional-numbers": false,
};

/**
 * What yargs makes of `args`; undefined where it takes the whole of it: for a fault, a word that is no flag, and a request for help.
 *
 * @param flags all that are known.
 */
export async function readPlain(
  flags: readonly Flag[],
  args: readonly string[],
): Promise<Record<string, unknown> | undefined> {
  if (args.includes("--")) return undefined;
  const { Parser } = await import("yargs/helpers");
  const values = flags.filter(({ kind }) => kind !== "boolean");
  const { argv, error } = Parser.detailed([...args], {
    boolean: namesOf(flags.filter(({ kind }) => kind === "boolean")),
    string: namesOf(values),
    array: namesOf(flags.filter(({ kind }) => kind === "list")),
    narg: Object.fromEntries(values.map(({ name }) => [name, 1])),
    configuration: CONFIGURATION,
  });
  const { _: words, ...given } = argv;
  const known = new Set(namesOf(flags));
  const isPlain =
    !error &&
    words.length === 0 &&
    Object.keys(given).every((name) => known.has(name)) &&
    flags.every(({ name, required }) => !required || given[name] !== undefined);
  return isPlain ? given : undefined;
}

const namesOf = (flags: readonly Flag[]): string[] => flags.map(({ name }) => name);
