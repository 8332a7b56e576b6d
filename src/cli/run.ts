/**
 * The command line: finds the subcommand that it names, runs it, and turns errors into exit codes.
 *
 * Exit codes: 0 done and good; 1 done and the answer is bad; 2 the call itself was wrong; 3 a check found something new. With `--json` a failure is one
 * line on stdout, as the HTTP API has it: `{"error": …}`.
 */
import { join } from "node:path";
import { explained, failureOf, messageOf, unavailable } from "../lib/errors";
import { machineFolder, mayEnter } from "../lib/machine-service";
import { meant } from "../lib/nearest";
import { accountOf, becomeOwner, foreignOwner } from "../lib/owner";
import { resolveConfigDir } from "../lib/paths";
import { jsonLine, printable } from "../lib/sanitize";
import { ownWords, UsageError, VALUED } from "./flags";
import { hasNoReader } from "./no-reader";
import { untaken } from "./output";
import type { CommandLine } from "./parser";
import { type HandedOver, startOver, takeOver } from "./reexec";
import { findNoun, type Registry } from "./registry";
import type { Description, Example, Subcommand } from "./subcommand";

/** How long what a command has given up, such as a look-up of a name that no server answers, may keep the process, in milliseconds. */
const LEFT_BEHIND_MS = 500;

/** Ends the process soon, also where something hangs in the system. What was printed is read first, however slow its reader is. */
function endSoon(): void {
  setInterval(() => untaken() === 0 && process.exit(), LEFT_BEHIND_MS).unref();
}

/** Parses `args`, runs the subcommand, sets the exit code, and ends the process. Never throws. */
export async function runCommandLine(registry: Registry, args: readonly string[]): Promise<void> {
  const json = ownWords(args).some((word) => word === "--json" || word === "-j");
  const handed = takeOver();
  try {
    process.exitCode = (await resume(registry, handed)) ?? (await dispatch(registry, args));
  } catch (error) {
    process.exitCode = report(error, json, await adviceOn(error));
  }
  endSoon();
}

/** Runs the subcommand that this process has started over for; undefined when it has not. */
async function resume({ nouns }: Registry, handed: HandedOver | null): Promise<number | undefined> {
  const module = handed && (await nouns[handed.noun]?.load?.())?.default;
  return handed && module && "run" in module ? module.run(handed.typed, handed.globals) : undefined;
}

const EXAMPLES: readonly Example[] = [
  ["svc serve", "Run the REST server on http://127.0.0.1:9939"],
  ["svc token show", "Print the token that clients send"],
  [`svc execute '[["AC_screen_size"]]'`, "Run one action here"],
  ["svc diagnose", "Check this host"],
];

/** What holds for the words of every command line, a line each. */
export const GRAMMAR = `Durations: 90s, 15m, 2h, 1d; a bare number counts seconds.
Sizes: 512MB, 1GiB; a bare number counts bytes.
Times: ISO 8601 in UTC, such as 2026-04-01; or 1h for one hour ago.
Lists: repeat the flag, or separate values with commas.
Exit codes: 0 success; 1 failure, or a bad result; 2 wrong usage; 3 a check found something to do.
Pages: svc help README lists them; svc help PAGE prints one; svc help --search WORDS looks in all.`;

/** A process that has started over does not load it. */
const parser = () => import("./parser");

/** `svc help token add` for `svc token add --help`; the pages of the documentation are the command `help` itself. */
function helpOf({ nouns }: Registry, args: readonly string[]): readonly string[] {
  const [first, ...rest] = args;
  if (first !== "help") return args;
  const isNoun = rest[0] !== undefined && Object.hasOwn(nouns, rest[0]);
  return isNoun || rest.length === 0 ? [...rest, "--help"] : args;
}

/** Runs the subcommand that `typed` names. @returns its exit code. @throws what it throws, and a {@link UsageError} for what it does not take. */
export async function dispatch(registry: Registry, typed: readonly string[]): Promise<number> {
  const args = helpOf(registry, typed);
  const code = await dispatchWords(registry, args);
  if (args !== typed) await namePage(typed);
  return code;
}

/** Names the page that has the name of a command: `svc help audit` shows the command. */
async function namePage([, noun = "svc"]: readonly string[]): Promise<void> {
  const page = (await import("../help/pages")).pageNamed(noun);
  if (page) console.log(`\nThere is a page, too: svc help ${page}.md`);
}

async function dispatchWords(registry: Registry, args: readonly string[]): Promise<number> {
  const found = await findSubcommand(registry, args);
  if ("help" in found) {
    const asksHelp = ownWords(args).some((word) => word === "--help" || word === "-h");
    if (!asksHelp && args.length > 0) throw new UsageError(found.fault);
    const { printHelp, printMainHelp } = await parser();
    if (found.called === "svc") await printMainHelp(registry.groups, found.examples, GRAMMAR);
    else await printHelp(found.called, found.help, found.examples);
    return 0;
  }
  const { called, noun, one, rest, verbs } = found;
  const more = verbs.map(([verb]) => `${called} ${verb}`).join(", ");
  const parsed = await (await parser()).parseFlags(
    called,
    more ? { ...one, epilogue: `See also: ${more}.` } : one,
    rest,
  );
  if (!parsed) return 0;
  requireMachineFolder(parsed);
  await takeOwnersPlace(one, parsed, args);
  if (one.resident) startOver({ noun, ...parsed }, args);
  return one.run(parsed.typed, parsed.globals);
}

/** @throws `unavailable` where a user names the folder of the service of the machine, which only root and that service may enter. */
function requireMachineFolder({ globals }: CommandLine): void {
  const machine = machineFolder();
  if (globals.configDir !== machine || mayEnter(machine)) return;
  throw unavailable(
    `only root may use ${machine}, where the service of this machine keeps its state: sudo svc --system …`,
  );
}

/** Root does not touch somebody's folder as root: `sudo svc … --config-dir ~ann/.svc` runs as ann (`lib/owner.ts`). */
async function takeOwnersPlace(one: Subcommand, { typed, globals }: CommandLine, args: readonly string[]) {
  const configDir = resolveConfigDir(globals.configDir);
  const owner = foreignOwner(configDir);
  if (!owner) return;
  if (!one.asRoot?.(typed)) return becomeOwner(owner, configDir, args);
  // `sudo` can leave the HOME of its user: what root has to do itself is on record in root's own folder.
  const { home = "/" } = (await accountOf(0)) ?? {};
  process.env.SVC_CONFIG_DIR = join(home, ".svc");
}

/** The subcommand that a command line names, or the list to choose from. */
type NamedSubcommand =
  | {
      readonly called: string;
      readonly noun: string;
      readonly one: Subcommand;
      /** The words after those that call it. */
      readonly rest: string[];
      /** What may follow its noun in the place of arguments. */
      readonly verbs: readonly Description[];
    }
  | {
      readonly called: string;
      readonly help: readonly Description[];
      readonly examples: readonly Example[];
      /** Why no subcommand was found. */
      readonly fault: string;
      /** Whether the words so far are right, and one is missing. */
      readonly isKnown: boolean;
    };

/** Finds the subcommand that `args` name. Nothing runs. */
export async function findSubcommand(registry: Registry, args: readonly string[]): Promise<NamedSubcommand> {
  const places = placesOfWords(args);
  const [name, verb] = places.map((at) => args[at]);
  const noun = name === undefined ? undefined : await findNoun(registry, name, verb);
  if (name === undefined || !noun) {
    const isKnown = name === undefined;
    const fault = isKnown ? "Name a command; `svc --help` lists them." : unknown(name, "svc", registry.nouns);
    return { called: "svc", help: listOf(registry.nouns), examples: EXAMPLES, fault, isKnown };
  }
  const called = `svc ${name}`;
  const restAfter = (words: number) => args.filter((_, at) => !places.slice(0, words).includes(at));
  const one = verb !== undefined && Object.hasOwn(noun.verbs, verb) ? noun.verbs[verb] : undefined;
  if (one) return { called: `${called} ${verb}`, noun: name, one, rest: restAfter(2), verbs: [] };
  const verbs = listOf(noun.verbs);
  // A word that follows at once is no value of a flag.
  const isMistyped =
    noun.own?.positionals.length === 0 && verbs.length > 0 && places[1] === (places[0] ?? 0) + 1;
  if (noun.own && !isMistyped) return { called, noun: name, one: noun.own, rest: restAfter(1), verbs };
  const isKnown = verb === undefined;
  const fault = isKnown
    ? `A subcommand is missing (see \`${called} --help\`)`
    : unknown(verb, called, noun.verbs);
  const examples = Object.values(noun.verbs).flatMap((each) => each.examples.slice(0, 1));
  return { called, help: verbs, examples, fault, isKnown };
}

const listOf = (named: Readonly<Record<string, { readonly describe: string }>>): Description[] =>
  Object.entries(named).map(([name, { describe }]) => [name, describe]);

const unknown = (word: string, called: string, known: object) =>
  `Unknown command: ${printable(word, 80)}${meant(word, Object.keys(known))} (see \`${called} --help\`)`;

/** Where the words stand that are no flags, and no value of a flag of every subcommand. */
function placesOfWords(args: readonly string[]): number[] {
  return ownWords(args).flatMap((word, at, all) =>
    word.startsWith("-") || VALUED.includes(all[at - 1]) ? [] : [at],
  );
}

/** Enough for each offence of a file that has hundreds. */
const MAX_MESSAGE = 100_000;

/** Where the documentation explains `error`, in brackets after a blank; empty where it does not. Of a bug, nothing is known. */
async function adviceOn(error: unknown): Promise<string> {
  const known = hasNoReader(error) || error instanceof UsageError ? undefined : failureOf(error);
  if (!known) return "";
  try {
    const entry = (await import("../help/entries")).createEntries().entryOf(explained(known));
    return entry === undefined ? "" : ` (svc help ${entry})`;
  } catch {
    // The host lacks what reading a page takes (files, memory): what went wrong first is said all the same.
    return "";
  }
}

/** Says what went wrong, and gives the exit code for it. @param advice follows what is said to a person. */
function report(error: unknown, json: boolean, advice = ""): number {
  if (hasNoReader(error)) return 0;
  const known = error instanceof UsageError ? error : failureOf(error);
  if (!known) {
    console.error(error instanceof Error ? error.stack : `svc: ${messageOf(error)}`);
    if (json) console.log(jsonLine({ error: "internal error" }));
    return 1;
  }
  // A command line is its user's own: it may name the path that the host said something about.
  const text = explained(known);
  if (json) console.log(jsonLine({ error: text, ...("more" in known && known.more) }));
  else {
    const lines = ("lines" in known && known.lines) || [text];
    for (const [at, line] of lines.entries()) {
      const said = printable(line.replaceAll(/\s+/g, " "), MAX_MESSAGE);
      console.error(`svc: ${said}${at === lines.length - 1 ? advice : ""}`);
    }
  }
  return known instanceof UsageError || known.code === "bad_input" ? 2 : 1;
}
