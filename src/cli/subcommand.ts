/**
 * What a subcommand is: data from which the parser, the help and completion follow, and a function that runs it.
 */
import type * as v from "valibot";
import type { InputSchema } from "../core/operation";
import { badInput, Failure } from "../lib/errors";
import { stderrLog } from "../lib/log";
import { once } from "../lib/once";
import { resolveConfigDir } from "../lib/paths";
import { jsonLine, printableLines } from "../lib/sanitize";
import type { Service, ServiceOptions } from "../service/service";
import { type Flag, type FlagOptions, flagsOf, inputOf, messageAsTyped, type TypedFlags } from "./flags";
import { writeOut } from "./output";
import { writeNow } from "./write-now";

/** The flags of every subcommand. */
export interface GlobalFlags {
  readonly configDir?: string | undefined;
  readonly json: boolean;
  /** The desk elsewhere that answers, by its name: `--desk`, else `SVC_DESK`. */
  readonly desk?: string | undefined;
}

/** A command line and what it does. */
export type Example = readonly [line: string, does: string];

/** A subcommand or a flag, and what it does. */
export type Description = readonly [name: string, describe: string];

export interface Subcommand {
  /** One line for the list of subcommands. */
  readonly describe: string;
  readonly positionals: readonly Flag[];
  readonly flags: readonly Flag[];
  readonly examples: readonly Example[];
  /** What stands below the flags in its help. */
  readonly epilogue?: string | undefined;
  /** Words that begin with one dash, after the first argument, are arguments: `-floor-8`. One-letter flags stay flags. */
  readonly dashedWords?: true | undefined;
  /** Runs until it is asked to end: its process starts over without the parser (`reexec.ts`). */
  readonly resident?: true | undefined;
  /** Whether it needs root where root runs it, and so cannot become the owner of `{config_dir}` (default: never). */
  readonly asRoot?: ((typed: TypedFlags) => boolean) | undefined;
  /** @returns the exit code: 0 done and good, 1 done and the answer is bad. */
  run(typed: TypedFlags, globals: GlobalFlags): Promise<number>;
}

/** Subcommands under one noun: `svc audit verify`. */
export interface Group {
  /** What `svc <noun>` does without a verb, if it does anything. */
  readonly own?: Subcommand | undefined;
  readonly verbs: Readonly<Record<string, Subcommand>>;
}

/** A subcommand by the schema of its flags. */
export interface SubcommandOptions<I extends InputSchema>
  extends FlagOptions,
    Partial<Pick<Subcommand, "examples" | "epilogue" | "dashedWords" | "resident" | "asRoot">> {
  readonly describe: string;
  readonly input: I;
  /** With `--desk`: that desk is asked, or none, as there is nothing to ask. Else such a command line is refused. */
  readonly desk?: "asks" | "ignores" | undefined;
  /** The fields that are given without a flag, in order. */
  readonly positionals?: readonly string[];
  /** @param given the fields that were typed: checked, without defaults. @returns the exit code. */
  run(given: v.InferInput<I>, globals: GlobalFlags): Promise<number>;
}

/** What is said of a command that a desk elsewhere cannot answer. */
export const HERE_ONLY = "this command works on this machine only: leave --desk out, and unset SVC_DESK";

/** A subcommand whose flags and positionals are the fields of a schema. */
export function subcommand<I extends InputSchema>(options: SubcommandOptions<I>): Subcommand {
  const {
    describe,
    input,
    positionals = [],
    examples = [],
    epilogue,
    dashedWords,
    resident,
    asRoot,
  } = options;
  const all = flagsOf(input, options).map((flag): Flag => {
    return positionals.includes(flag.field) ? { ...flag, positional: true } : flag;
  });
  const places = positionals.flatMap((name) => all.find((flag) => flag.field === name) ?? []);
  const last = places.findLastIndex(({ required }) => required);
  return {
    describe,
    // Words fill places in order: one before a place that must be given must be given too.
    positionals: places.map((place, at) => (at < last ? { ...place, required: true } : place)),
    flags: all.filter((flag) => !flag.positional),
    examples,
    epilogue,
    dashedWords,
    resident,
    asRoot,
    async run(typed, globals) {
      if (globals.desk !== undefined && options.desk === undefined) throw badInput(HERE_ONLY);
      try {
        return await options.run(await inputOf(input, all, typed, options), globals);
      } catch (error) {
        throw asTyped(error, all);
      }
    },
  };
}

/**
 * One subcommand over several that share its words, such as `svc jobs add` with `--every` or `--cron`: it takes the flags of
 * all of them.
 *
 * @param choose gives the one that was meant, from what was typed.
 */
export function oneOf(
  examples: readonly Example[],
  several: readonly [Subcommand, ...Subcommand[]],
  choose: (typed: TypedFlags, globals: GlobalFlags) => Subcommand,
): Subcommand {
  const merged = (key: "flags" | "positionals"): Flag[] => {
    const all = new Map(several.flatMap((one) => one[key]).map((flag) => [flag.name, flag]));
    const isShared = ({ name }: Flag) => several.every((one) => one[key].some((flag) => flag.name === name));
    return [...all.values()].map((flag) => ({ ...flag, required: flag.required && isShared(flag) }));
  };
  return {
    describe: several[0].describe,
    examples,
    epilogue: several.find(({ epilogue }) => epilogue)?.epilogue,
    dashedWords: several.find(({ dashedWords }) => dashedWords)?.dashedWords,
    positionals: merged("positionals"),
    flags: merged("flags"),
    async run(typed, globals) {
      const one = choose(typed, globals);
      const known = [...one.flags, ...one.positionals];
      const stray = Object.keys(typed).find((name) => !known.some((flag) => flag.name === name));
      if (stray === undefined) return one.run(typed, globals);
      throw badInput(`--${stray}: does not go with the other flags (see --help)`);
    },
  };
}

/** A failure whose message begins with a field, with what was typed in its place. */
function asTyped(error: unknown, flags: readonly Flag[]): unknown {
  if (!(error instanceof Failure)) return error;
  const message = messageAsTyped(error.message, flags);
  if (message === error.message) return error;
  return Object.assign(new Failure(error.code, message, error.more), { cause: error.cause });
}

/** The log of a command, on stderr. Its lines name their entries; the page of those is read with the first. */
export function commandLog() {
  const entries = once(async () => (await import("../help/entries")).createEntries());
  return stderrLog(async (text) => (await entries()).entryOf(text));
}

/** A service on the folder that the flags name. */
export async function newService(
  { configDir }: GlobalFlags,
  options: Partial<ServiceOptions> = {},
): Promise<Service> {
  // Not loaded by who only parses, nor by who only asks the server there.
  const { createService } = await import("../service/service");
  return createService({
    configDir: resolveConfigDir(configDir),
    log: commandLog(),
    // The command itself fails with it.
    logsAuditFailures: false,
    handsOver: true,
    ...options,
  });
}

/** Makes a service on the folder that the flags name, lets `work` use it, and stops it. */
export async function withService<T>(
  globals: GlobalFlags,
  work: (service: Service) => Promise<T>,
  options: Partial<ServiceOptions> = {},
): Promise<T> {
  const { configDir, desk } = globals;
  if (desk !== undefined) {
    const { withDesk } = await import("./elsewhere/desk");
    return withDesk(resolveConfigDir(configDir), desk, commandLog(), work);
  }
  const service = await newService(globals, options);
  try {
    return await work(service);
  } finally {
    await service.stop();
  }
}

/**
 * Prints data on stdout: as one line of JSON with `--json`, else as `text` says. Whoever the data comes from, a desk elsewhere too, it
 * gives the terminal no orders.
 *
 * @returns and throws as {@link writeOut}.
 */
export const print = ({ json }: { readonly json: boolean }, data: unknown, text: () => string): boolean =>
  writeOut(`${json ? jsonLine(data) : printableLines(text())}\n`);

/**
 * As {@link print}, for a process that is at its work already: it waits for no reader. What is not taken at once goes through a stream, and
 * is lost as lines of the log are where that cannot be.
 *
 * @throws an `unavailable` failure where it cannot be written.
 */
export function printOnce({ json }: { readonly json: boolean }, data: unknown, text: () => string): void {
  const rest = writeNow(Buffer.from(`${json ? jsonLine(data) : printableLines(text())}\n`));
  if (rest.length === 0) return;
  // Not the stream of `output.ts`: no end of a server waits until this is read.
  process.stdout.on("error", () => {});
  process.stdout.write(rest);
}
