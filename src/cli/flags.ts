/**
 * Values of flags that the parser takes and nobody meant.
 */

/** The command line could not be understood. */
export class UsageError extends Error {}

/**
 * @param args as the user wrote them.
 * @param declared names of flags by their type, as yargs hands them over.
 * @throws a {@link UsageError} for a value that yargs makes of a flag and that is not of its type: NaN, a list of those that
 *   were given where one is meant, `undefined` for none, `false` of `--no-…`, and of `--dry-run=yes`.
 */
export function refuseOddFlags(
  args: readonly string[],
  flags: Readonly<Record<string, unknown>>,
  declared: Readonly<Record<string, unknown>>,
): true {
  const words = ownWords(args);
  const named = (type: string) => new Set([declared[type]].flat());
  const [lists, texts, numbers] = [named("array"), named("string"), named("number")];
  for (const name of named("boolean")) {
    const given = words.find((word) => word.startsWith(`--${name}=`));
    if (given && !/=(true|false)$/.test(given))
      throw new UsageError(`--${name}: expected no value, true or false`);
  }
  for (const [name, value] of Object.entries(flags)) {
    // Of an empty value, as of a variable that is not set, the parser makes 0.
    const odd = [value].flat().some((one) => typeof one === "number" && !Number.isFinite(one));
    if (odd || (numbers.has(name) && isEmpty(words, name))) {
      throw new UsageError(`--${name}: expected a number`);
    }
    if (Array.isArray(value) && /^[a-z][a-z-]*$/.test(name) && !lists.has(name)) {
      throw new UsageError(`--${name}: given more than once`);
    }
    const valued = lists.has(name) || texts.has(name) || numbers.has(name);
    if (value === undefined || (valued && (value === false || isBare(words, name) || isEmpty(words, name)))) {
      throw new UsageError(`--${name}: expected a value`);
    }
  }
  return true;
}

/** What stands before a `--`. */
const ownWords = (args: readonly string[]) =>
  args.includes("--") ? args.slice(0, args.indexOf("--")) : args;

const isEmpty = (words: readonly string[], name: string) =>
  words.some((word, at) => word === `--${name}=` || (word === `--${name}` && words[at + 1] === ""));

/** Whether the flag `name` stands without a value after it; of a number, the parser makes its default then. */
function isBare(words: readonly string[], name: string): boolean {
  const next = words[words.lastIndexOf(`--${name}`) + 1];
  return words.includes(`--${name}`) && (next === undefined || next.startsWith("--"));
}

/** What stands in the place of `--`, after which the parser would fill in no positional; it also ends the values of a list. */
export const END_OF_FLAGS = "end-of-flags";

/** Keeps a word after `--` from being read as a flag. No argument of a process holds it (execve(2)). */
const NO_FLAG = "\0";

/** `args` for the parser: all that follows a `--` is positional (POSIX.1-2024, XBD 12.2, guideline 10). */
export function withEndOfFlags(args: readonly string[]): string[] {
  const own = ownWords(args);
  if (own.length === args.length) return [...args];
  const positionals = args
    .slice(own.length + 1)
    .map((word) => (word.startsWith("-") ? NO_FLAG + word : word));
  return [...own, `--${END_OF_FLAGS}=true`, ...positionals];
}

/** What the parser made of {@link withEndOfFlags}, with the words as the user wrote them. */
export function asWritten(value: unknown): unknown {
  if (typeof value === "string") return value.startsWith(NO_FLAG) ? value.slice(NO_FLAG.length) : value;
  return Array.isArray(value) ? value.map(asWritten) : value;
}
