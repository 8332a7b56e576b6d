/**
 * Parsing the flags of one subcommand, and the help of all, with yargs.
 */
import * as v from "valibot";
import type { Argv } from "yargs";
import { field, flag } from "../core/fields";
import { machineFolder } from "../lib/machine-service";
import { meant } from "../lib/nearest";
import { commit, version } from "../version";
import {
  type Flag,
  flagsOf,
  letterOf,
  ownWords,
  type TypedFlags,
  UsageError,
  VALUED,
  withLongNames,
} from "./flags";
import { terminalColumns } from "./output";
import { CONFIGURATION, readPlain } from "./plain";
import type { Registry } from "./registry";
import type { Description, Example, GlobalFlags, Subcommand } from "./subcommand";

/** The flags of every subcommand. */
export const GLOBAL_FLAGS: readonly Flag[] = flagsOf(
  v.strictObject({
    config_dir: field(v.optional(v.string()), "Configuration folder (~/.svc)"),
    desk: field(v.optional(v.string()), "Ask this desk elsewhere (`svc login`; else SVC_DESK)"),
    system: flag("Use the folder of the service of this machine, with sudo"),
    json: flag("Print the JSON of the HTTP API"),
  }),
);

/** The flags of every subcommand that `one` has not for itself, such as `--system` of `svc service install`. */
const globalsBeside = ({ flags, positionals }: Pick<Subcommand, "flags" | "positionals">) =>
  GLOBAL_FLAGS.filter(({ name }) => ![...flags, ...positionals].some((own) => own.name === name));

/** What was typed for a subcommand; undefined when help or the version was printed instead. */
export interface CommandLine {
  readonly typed: TypedFlags;
  readonly globals: GlobalFlags;
}

/**
 * Reads the flags and positionals of `one`.
 *
 * @param called its words, for help and errors: `svc audit verify`.
 * @param words what follows them.
 * @throws a {@link UsageError} for what it does not take.
 */
export async function parseFlags(
  called: string,
  one: Subcommand,
  words: readonly string[],
): Promise<CommandLine | undefined> {
  const shared = globalsBeside(one);
  const named = withChoices(withLongNames(words, [...one.flags, ...shared]), one.flags);
  const args = one.dashedWords ? withDashedWords(named) : named;
  const usage = [called, ...one.positionals.map(placeOf)].join(" ");
  const plain = await readPlain([...one.flags, ...shared], one.positionals, args);
  if (plain) return readTyped(one, plain, args);
  let parsed: CommandLine | undefined;
  const parser = (await createParser(called, one.examples)).command(
    ["$0", ...one.positionals.map(placeOf)].join(" "),
    one.describe,
    (argv: Argv) => {
      for (const flag of one.positionals) declarePlace(argv, flag);
      for (const flag of one.flags) declareFlag(argv, flag, "Options:");
      declareGlobals(argv, shared);
      if (one.epilogue) argv.epilogue(one.epilogue);
    },
    (given) => {
      parsed = readTyped(one, given, args);
    },
  );
  await run(parser, args, usage, [...one.flags, ...shared]);
  return parsed;
}

/** Prints the list of subcommands below `called`, with what each does. */
export async function printHelp(
  called: string,
  commands: readonly Description[],
  examples: readonly Example[],
): Promise<void> {
  const parser = await createParser(called, examples);
  parser.usage(`${called} <command>`);
  for (const [name, describe] of commands) parser.command(name, describe, () => {});
  declareGlobals(parser);
  await run(parser, ["--help"], called);
}

/** Prints the help of svc itself: the first words of its command lines, in groups. */
export async function printMainHelp(
  groups: Registry["groups"],
  examples: readonly Example[],
  epilogue: string,
): Promise<void> {
  const parser = await createParser("svc", examples);
  const sections = groups.map(
    ({ title, nouns }) => `${title}:\n${Object.entries(nouns).map(nounLine).join("\n")}`,
  );
  parser.usage(["svc <command>", ...sections].join("\n\n")).epilogue(epilogue);
  declareGlobals(parser);
  await run(parser, ["--help"], "svc");
}

/** Wide enough for the longest noun. */
const NOUN_WIDTH = 14;

const nounLine = ([noun, { describe }]: readonly [string, { readonly describe: string }]): string =>
  `  ${noun.padEnd(NOUN_WIDTH)}${describe}`;

async function createParser(called: string, examples: readonly Example[]): Promise<Argv> {
  const { default: yargs } = await import("yargs");
  const parser = yargs()
    .scriptName(called)
    .option(END_OF_FLAGS, { type: "boolean", hidden: true })
    .version(`svc ${version} (${commit})`)
    .help()
    .alias("help", "h")
    // The label of a flag that takes a value: each is parsed as a list, so that one given twice is noticed.
    .updateStrings({ array: "value", string: "value" })
    .parserConfiguration(CONFIGURATION)
    .strict()
    .wrap(Math.min(80, terminalColumns() ?? 80))
    .exitProcess(false);
  for (const [line, does] of examples) parser.example(line.replaceAll(/\$0(?= |$)/g, "svc"), does);
  return parser;
}

async function run(
  parser: Argv,
  args: readonly string[],
  usage: string,
  flags: readonly Flag[] = [],
): Promise<void> {
  const advisedOn = (said: string) => advised(withUnknown(said, ownWords(args), flags), usage);
  parser.fail((message, error) => {
    throw error ?? new UsageError(advisedOn(message));
  });
  try {
    await parser.parseAsync(withEndOfFlags(args));
  } catch (error) {
    // For a flag without its value, yargs does not always call `fail`.
    throw error instanceof Error && error.name === "YError"
      ? new UsageError(advisedOn(error.message))
      : error;
  }
}

/** `<script>`, `[name]` or `[tags..]` of a usage line. */
export function placeOf({ name, required, kind }: Flag): string {
  const shown = kind === "list" ? `${name}..` : name;
  return required ? `<${shown}>` : `[${shown}]`;
}

/** The help of a flag, with what stands in brackets after it. */
export const noted = (describe: string, note: string | undefined) =>
  note ? `${describe} (${note})` : describe;

/** The help of a flag, with its choices. */
export function flagHelp({ name, kind, describe, choices, default: preset }: Flag): string {
  const isOn = kind === "boolean" && preset === "true";
  const values = kind === "boolean" ? choices?.map((choice) => `--${name}=${choice}`) : choices;
  return noted(describe, isOn ? `--no-${name}: off` : values?.join(", "));
}

function declarePlace(argv: Argv, { name, kind, describe, choices, required }: Flag): void {
  const help = noted(describe, choices?.join(", "));
  argv.positional(name, { type: "string", array: kind === "list", describe: help, demandOption: required });
  // Otherwise yargs takes `-` for the empty text.
  if (kind !== "list") argv.nargs(name, 1);
}

function declareFlag(argv: Argv, flag: Flag, group: string): void {
  const { name, kind, required } = flag;
  const letter = letterOf(name);
  const preset = flag.default === undefined ? {} : { defaultDescription: flag.default };
  const type =
    kind === "boolean"
      ? { type: "boolean" as const }
      : { type: "string" as const, array: kind === "list", nargs: 1 };
  argv.option(name, {
    ...type,
    describe: flagHelp(flag),
    demandOption: required,
    group,
    ...(letter && { alias: letter }),
    ...preset,
  });
}

/** Below a subcommand's own flags: groups are printed in the order in which they were made. */
function declareGlobals(argv: Argv, flags = GLOBAL_FLAGS): void {
  for (const flag of flags) declareFlag(argv, flag, "Global options:");
  argv.group(["help", "version"], "Global options:");
}

/** @throws a {@link UsageError} for a value that yargs makes of a flag and that nobody typed. */
function readTyped(one: Subcommand, given: Record<string, unknown>, args: readonly string[]): CommandLine {
  const words = ownWords(args);
  const typed: Record<string, boolean | readonly string[]> = {};
  const shared = globalsBeside(one);
  const flags = [...one.flags, ...shared];
  for (const flag of flags) {
    const value = given[flag.name];
    if (value === undefined) continue;
    const assigned = flag.kind === "boolean" ? assignedIn(words, flag.name) : undefined;
    if (assigned !== undefined && flag.choices?.includes(assigned)) {
      typed[flag.name] = [assigned];
      continue;
    }
    if (assigned !== undefined && !/^(true|false)$/.test(assigned)) {
      const others = (flag.choices ?? []).map((choice) => `${choice}, `).join("");
      throw new UsageError(`--${flag.name}: expected no value, ${others}true or false`);
    }
    typed[flag.name] = flag.kind === "boolean" ? value === true : textsOf(flag, value);
  }
  for (const { name } of one.positionals) {
    const texts = [asWritten(given[name]) ?? []].flat().map(String);
    // Of a list without a word, the parser makes an empty one.
    if (texts.length > 0) typed[name] = texts;
  }
  const own = Object.fromEntries(
    Object.entries(typed).filter(([name]) => !shared.some((flag) => flag.name === name)),
  );
  const textIn = (name: string) => {
    const given = own[name] === undefined ? typed[name] : undefined;
    return Array.isArray(given) ? `${given[0]}` : undefined;
  };
  const isMachine = typed.system === true && own.system === undefined;
  if (isMachine && (textIn("config-dir") ?? textIn("desk")) !== undefined)
    throw new UsageError("--system: expected without --config-dir and --desk");
  const configDir = isMachine ? machineFolder() : textIn("config-dir");
  const desk = textIn("desk") ?? (isMachine ? undefined : process.env.SVC_DESK || undefined);
  return { typed: own, globals: { configDir, json: typed.json === true, desk } };
}

/** `args` with `--stop-on-error=focus` for `--stop-on-error focus`. */
function withChoices(args: readonly string[], flags: readonly Flag[]): string[] {
  const isChoice = (word: string, before: string | undefined) =>
    flags.some(
      ({ name, kind, choices }) => kind === "boolean" && before === `--${name}` && choices?.includes(word),
    );
  const own = ownWords(args);
  return args.flatMap((word, at) => {
    const next = at + 1 < own.length ? args[at + 1] : undefined;
    if (at < own.length && isChoice(word, args[at - 1])) return [];
    return next !== undefined && isChoice(next, word) ? [`${word}=${next}`] : [word];
  });
}

/** What stands after the `=` of the last `--name=…`. */
const assignedIn = (words: readonly string[], name: string): string | undefined =>
  words.findLast((word) => word.startsWith(`--${name}=`))?.slice(name.length + 3);

function textsOf({ name, kind }: Pick<Flag, "name" | "kind">, value: unknown): readonly string[] {
  const texts = [value].flat();
  const isText = (text: unknown): text is string => typeof text === "string" && text !== "";
  if (texts.length === 0 || !texts.every(isText)) throw new UsageError(`--${name}: expected a value`);
  if (kind === "value" && texts.length > 1) throw new UsageError(`--${name}: given more than once`);
  return texts;
}

/** `said`, whose unknown arguments are named without their dashes, with each as it was typed and the nearest flag. */
function withUnknown(said: string, words: readonly string[], flags: readonly Flag[]): string {
  const [, start, names = ""] = /^(Unknown arguments?: )(.+)$/s.exec(said) ?? [];
  if (start === undefined) return said;
  const typed = words.map((word) => word.replace(/=.*$/s, ""));
  const named = names.split(", ").map((name) => {
    // A secret that was typed is not said again.
    if (name.startsWith("svcj1.")) return "svcj1.… (a join string is a secret: `svc join` asks for it)";
    const word = [`--${name}`, `--no-${name}`, `-${name}`].find((one) => typed.includes(one)) ?? name;
    const known = flags.map((flag) => `--${flag.name}`);
    return word.startsWith("--") ? word + meant(word, known) : word;
  });
  return start + named.join(", ");
}

/** What the parser says, with what to do next where it does not say that. */
function advised(said: string, usage: string): string {
  const message = said.replaceAll(/\0|\\u0000/g, "");
  if (message.startsWith("Not enough non-option arguments")) return `An argument is missing: ${usage}`;
  const [, flag] = /^Not enough arguments following: (.+)$/.exec(message) ?? [];
  if (flag !== undefined) return `--${flag}: expected a value`;
  const [, required, names = ""] = /^(Missing required arguments?): (.+)$/.exec(message) ?? [];
  if (required !== undefined) return `${required}: ${names.split(", ").map(dashed).join(", ")}`;
  if (!message.startsWith("Unknown")) return message;
  return `${message} (see \`${usage.replace(/ [<[].*$/, "")} --help\`)`;
}

const dashed = (flag: string) => (flag.length === 1 ? `-${flag}` : `--${flag}`);

/** In the place of `--`, after which the parser would fill in no positional. */
const END_OF_FLAGS = "end-of-flags";

/** Keeps a word after `--` from being read as a flag. No argument of a process holds it (execve(2)). */
const NO_FLAG = "\0";

/** `args` for the parser: all that follows a `--` is positional (POSIX.1-2024, XBD 12.2, guideline 10). */
function withEndOfFlags(args: readonly string[]): string[] {
  const own = ownWords(args);
  if (own.length === args.length) return [...args];
  const rest = args.slice(own.length + 1).map((word) => (word.startsWith("-") ? NO_FLAG + word : word));
  return [...own, `--${END_OF_FLAGS}=true`, ...rest];
}

/** `args` with what follows the first argument and begins with one dash as an argument; {@link withLongNames} has read letters. */
function withDashedWords(args: readonly string[]): string[] {
  const own = ownWords(args);
  const first = own.findIndex((word, at) => !word.startsWith("-") && !VALUED.includes(own[at - 1]));
  return args.map((word, at) =>
    first >= 0 && at > first && at < own.length && /^-[^-]/.test(word) ? NO_FLAG + word : word,
  );
}

/** What the parser made of {@link withEndOfFlags}, with the words as they were typed. */
function asWritten(value: unknown): unknown {
  if (typeof value === "string") return value.startsWith(NO_FLAG) ? value.slice(NO_FLAG.length) : value;
  return Array.isArray(value) ? value.map(asWritten) : value;
}
