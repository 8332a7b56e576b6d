/**
 * Reading a command line by the inner parser of yargs alone, with the options that the whole of yargs gets too.
 *
 * The whole of yargs reads what has a fault, a positional or a request for help. Reading every command line with it adds 7 to 8 ms
 * of processor time to a start of 16 ms (`svc version`, `svc token list`); with a command module of yargs for each subcommand of the
 * noun, which yargs would then dispatch, 14 to 20 ms. So `run.ts` finds the subcommand, and yargs reads what follows.
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
