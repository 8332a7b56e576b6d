/**
 * Reading a command line by the inner parser of yargs alone, with the options that the whole of yargs gets too.
 *
 * The whole of yargs reads what has a fault, a list of positionals or a request for help. Reading every command line with it adds 7 to
 * 8 ms of processor time to a start of 16 ms (`svc version`, `svc token list`); with a command module of yargs for each subcommand of
 * the noun, which yargs would then dispatch, 14 to 20 ms. So `run.ts` finds the subcommand, and yargs reads what follows.
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
 * What yargs makes of `args`; undefined where it takes the whole of it: for a fault, a word too many or too few, and a request for help.
 *
 * @param flags all that are known. @param places what is given without a flag, in order.
 */
export async function readPlain(
  flags: readonly Flag[],
  places: readonly Flag[],
  args: readonly string[],
): Promise<Record<string, unknown> | undefined> {
  if (args.includes("--") || places.some(({ kind }) => kind === "list")) return undefined;
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
    words.length <= places.length &&
    // Of an empty word, the whole of yargs makes something else than a part of it.
    words.every((word) => typeof word === "string" && word !== "") &&
    Object.keys(given).every((name) => known.has(name)) &&
    flags.every(({ name, required }) => !required || given[name] !== undefined) &&
    places.every(({ required }, at) => !required || at < words.length);
  if (!isPlain) return undefined;
  return { ...given, ...Object.fromEntries(words.map((word, at) => [places[at]?.name ?? "", word])) };
}

const namesOf = (flags: readonly Flag[]): string[] => flags.map(({ name }) => name);
