/**
 * The command line: global flags, one module a subcommand, and errors to exit codes.
 *
 * Exit codes: 0 done and good; 1 done and the answer is bad; 2 the call itself was wrong.
 */
import type { ArgumentsCamelCase, Argv } from "yargs";
import { failureOf, messageOf, systemCode, unavailable } from "./lib/errors";
import { stderrLog } from "./lib/log";
import { resolveConfigDir } from "./lib/paths";
import { jsonLine, printable } from "./lib/text";
import { startOver, takeOver } from "./resident";
import { createService, type Service, type ServiceOptions } from "./service";
import { commit, version } from "./version";

/** What every subcommand is given. */
export interface GlobalFlags {
  readonly "config-dir": string | undefined;
  readonly json: boolean;
}

/** A subcommand as `commands/<name>.ts` exports it (`export default command({…})`). */
export interface CommandModule<Flags> {
  /** Declares the flags; also where `.example()` goes. */
  readonly builder: (argv: Argv<GlobalFlags>) => Argv<Flags>;
  /** Decides nothing: calls the feature and prints. Returns the exit code. */
  readonly handler: (flags: ArgumentsCamelCase<Flags>) => Promise<number>;
}

/** A subcommand whose flags are its own business. */
export type AnyCommand = {
  readonly builder: (argv: Argv<GlobalFlags>) => unknown;
  readonly handler: (flags: never) => Promise<number>;
};

/** Gives a subcommand its types and forgets them, so that a list of subcommands has one type. */
export const command = <Flags>(module: CommandModule<Flags>): AnyCommand => module;

/** A subcommand that has subcommands of its own (`svc audit verify`), by their usage. */
export interface CommandGroup {
  /** Command lines and what they do, for its `--help`. */
  readonly examples: ReadonlyArray<readonly [line: string, does: string]>;
  readonly group: Readonly<Record<string, AnyCommand & { readonly describe: string }>>;
}

interface CommandEntry {
  readonly usage: string;
  readonly describe: string;
  readonly load: () => Promise<{ default: AnyCommand | CommandGroup }>;
  /** Runs until it is told to end: see `resident.ts`. */
  readonly resident?: true;
}

/** Every subcommand. */
export const commands: readonly CommandEntry[] = [
  {
    usage: "serve",
    describe: "Run the REST server",
    load: () => import("../commands/serve"),
    resident: true,
  },
  { usage: "execute <script>", describe: "Run a list of actions", load: () => import("../commands/execute") },
  { usage: "runs", describe: "See and cancel what runs", load: () => import("../commands/runs") },
  { usage: "jobs", describe: "Run scripts at their times", load: () => import("../commands/jobs") },
  { usage: "history", describe: "List what ran here", load: () => import("../commands/history") },
  {
    usage: "commands [name]",
    describe: "List or explain the commands of actions",
    load: () => import("../commands/commands"),
  },
  { usage: "audit", describe: "Read, check and keep the audit log", load: () => import("../commands/audit") },
  {
    usage: "token",
    describe: "Show, replace, add and remove bearer tokens",
    load: () => import("../commands/token"),
  },
  {
    usage: "diagnose",
    describe: "Check whether this host is fit",
    load: () => import("../commands/diagnose"),
  },
  { usage: "inspect", describe: "Show how the links are", load: () => import("../commands/inspect") },
  {
    usage: "admin",
    describe: "Manage many hosts: an address book, polls and broadcasts",
    load: () => import("../commands/admin"),
  },
  { usage: "usb <action>", describe: "List and watch USB devices", load: () => import("../commands/usb") },
  {
    usage: "screenshot",
    describe: "Take a picture of the desktop",
    load: () => import("../commands/screenshot"),
  },
  {
    usage: "config",
    describe: "Export or import the configuration of a host as one bundle",
    load: () => import("../commands/config"),
  },
  {
    usage: "turn [action] [url]",
    describe: "Make a TURN relay of another machine, or test one",
    load: () => import("../commands/turn"),
  },
  {
    usage: "sessions <action> [id]",
    describe: "List and close peer sessions",
    load: () => import("../commands/sessions"),
  },
  {
    usage: "sync <dir>",
    describe: "Send the files of a folder to another host",
    load: () => import("../commands/sync"),
  },
  {
    usage: "service",
    describe: "Run the REST server as a daemon of this machine",
    load: () => import("../commands/service"),
  },
  {
    usage: "licenses",
    describe: "List what is embedded in svc, and under which licences",
    load: () => import("../commands/licenses"),
  },
  {
    usage: "completion <shell>",
    describe: "Print what makes a shell complete svc's command lines",
    load: () => import("../commands/completion"),
  },
];

/** The flags of the subcommands that connect to peers. */
export const withIceFlags = <Flags>(argv: Argv<Flags>) =>
  argv
    .option("ice-server", {
      type: "string",
      array: true,
      default: [] as string[],
      describe: "stun:HOST or turn:HOST, instead of those in ice.json",
    })
    .option("ice-user", { type: "string", describe: "User of the turn: servers" })
    .option("ice-secret-file", { type: "string", describe: "File that holds that user's secret" })
    .option("relay-only", {
      type: "boolean",
      default: false,
      describe: "Tell peers of relayed addresses only",
    });

/**
 * What the flags of {@link withIceFlags} say.
 *
 * @throws a `bad_input` failure, before a peer would be the first to be told.
 */
export const iceOptions = async (flags: {
  readonly iceServer: readonly string[];
  readonly iceUser: string | undefined;
  readonly iceSecretFile: string | undefined;
  readonly relayOnly: boolean;
}) =>
  (await import("./sessions/ice")).iceOfFlags({
    servers: flags.iceServer,
    user: flags.iceUser,
    secretFile: flags.iceSecretFile,
    relayOnly: flags.relayOnly,
  });

/** Parses `args`, runs the subcommand, sets the exit code. Never throws. */
export async function runCommandLine(args: readonly string[]): Promise<void> {
  process.stdout.on("error", (error) => {
    // A reader that has gone (`| head`) is no error of ours; a full disk is.
    if (systemCode(error) !== "EPIPE") process.exit(report(unavailable(`stdout: ${messageOf(error)}`)));
  });
  // What cannot be logged (a full disk, a reader that has gone) is lost, and the work goes on.
  process.stderr.on("error", () => {});
  try {
    process.exitCode = (await resume()) ?? (await parse(args));
  } catch (error) {
    process.exitCode = report(error);
  }
}

/** Runs the subcommand that this process has started over for; undefined when it has not. */
async function resume(): Promise<number | undefined> {
  const handed = takeOver();
  const entry = commands.find(({ usage, resident }) => resident && usage === handed?.usage);
  if (!handed || !entry) return undefined;
  const module = (await entry.load()).default;
  return "group" in module ? undefined : await module.handler(handed.flags as never);
}

async function parse(args: readonly string[]): Promise<number> {
  const { default: yargs } = await import("yargs");
  let exitCode = 0;
  let called = "";
  const parser = yargs()
    .scriptName("svc")
    .usage("$0 <command>\n\nOperate a desktop-automation host from afar.")
    .option("config-dir", { type: "string", describe: "Folder that holds everything svc keeps (~/.svc)" })
    .option("json", { type: "boolean", default: false, describe: "Print what the HTTP API would answer" })
    .version(`svc ${version} (${commit})`)
    .help()
    .group(["config-dir", "json", "help", "version"], "Global options:")
    .example("$0 serve", "Run the REST server on http://127.0.0.1:9939")
    .example("$0 token show", "Print the token its clients must send")
    .example(`$0 execute '[["AC_screen_size"]]'`, "Run one action here")
    .example("$0 diagnose", "Check whether this host is fit")
    // `--on.x` would be an object in `on`.
    .parserConfiguration({ "dot-notation": false })
    .strict()
    .strictCommands()
    .demandCommand(1, "Name a command; `svc --help` lists them.")
    .wrap(Math.min(80, process.stdout.columns ?? 80))
    .exitProcess(false)
    .check((flags, declared) => refuseOddFlags(ownWords(args), flags, declared))
    .fail((message, error) => {
      throw error ?? new UsageError(advised(message, called));
    });
  const run = (one: AnyCommand) => async (flags: unknown) => {
    exitCode = await one.handler(flags as never);
  };
  for (const { usage, describe, load, resident } of commands) {
    parser.command(
      usage,
      describe,
      async (argv: Argv) => {
        called = usage;
        const module = (await load()).default;
        if (!("group" in module)) return void module.builder(argv as Argv<GlobalFlags>);
        for (const [line, does] of module.examples) argv.example(line, does);
        argv.demandCommand(1, `Name what to do; \`svc ${usage} --help\` lists it.`);
        for (const [name, one] of Object.entries(module.group)) {
          const builder = (own: Argv) => {
            called = `${usage} ${name}`;
            one.builder(own as Argv<GlobalFlags>);
          };
          argv.command(name, one.describe, builder, run(one));
        }
      },
      async (flags) => {
        const module = (await load()).default;
        if ("group" in module) return;
        if (resident) startOver({ usage, flags }, args);
        await run(module)(flags);
      },
    );
  }
  await parser.parseAsync(args);
  return exitCode;
}

/** What the parser has to say, with what to do next where it does not say that. @param called the usage of the subcommand. */
function advised(message: string, called: string): string {
  if (message.startsWith("Not enough non-option arguments")) return `An argument is missing: svc ${called}`;
  if (!message.startsWith("Unknown")) return message;
  const words = ["svc", ...called.split(" ").filter((word) => /^\w/.test(word)), "--help"];
  return `${message} (see \`${words.join(" ")}\`)`;
}

/**
 * @param words as the user wrote them.
 * @param declared names of flags by their type, as yargs hands them over.
 * @throws a {@link UsageError} for a value that yargs makes of a flag and that is not of its type: NaN, a list of those that
 *   were given where one is meant, `undefined` for none, `false` of `--no-…`, and of `--dry-run=yes`.
 */
function refuseOddFlags(
  words: readonly string[],
  flags: Readonly<Record<string, unknown>>,
  declared: Readonly<Record<string, unknown>>,
): true {
  const named = (type: string) => new Set([declared[type]].flat());
  const [lists, texts, numbers] = [named("array"), named("string"), named("number")];
  for (const name of named("boolean")) {
    const given = words.find((word) => word.startsWith(`--${name}=`));
    if (given && !/=(true|false)$/.test(given))
      throw new UsageError(`--${name}: expected no value, true or false`);
  }
  for (const [name, value] of Object.entries(flags)) {
    if ([value].flat().some(Number.isNaN)) throw new UsageError(`--${name}: expected a number`);
    if (Array.isArray(value) && /^[a-z][a-z-]*$/.test(name) && !lists.has(name)) {
      throw new UsageError(`--${name}: given more than once`);
    }
    const valued = lists.has(name) || texts.has(name) || numbers.has(name);
    if (value === undefined || (valued && (value === false || isBare(words, name)))) {
      throw new UsageError(`--${name}: expected a value`);
    }
  }
  return true;
}

/** What stands before a `--`. */
const ownWords = (args: readonly string[]) =>
  args.includes("--") ? args.slice(0, args.indexOf("--")) : args;

/** Whether the flag `name` stands without a value after it; of a number, the parser makes its default then. */
function isBare(words: readonly string[], name: string): boolean {
  const next = words[words.lastIndexOf(`--${name}`) + 1];
  return words.includes(`--${name}`) && (next === undefined || next.startsWith("--"));
}

/** Enough for each offence of a file that has hundreds. */
const MAX_MESSAGE = 100_000;

/** The command line could not be understood. */
class UsageError extends Error {}

/** Says on stderr what went wrong, and gives the exit code for it. */
function report(error: unknown): number {
  // Whoever read stdout has what it wanted (`… | head`).
  if (systemCode(error) === "EPIPE") return 0;
  const known = error instanceof UsageError ? error : failureOf(error);
  if (known) {
    // A command line is its user's own: it may name the path that the host said something about.
    const text = known.cause === undefined ? known.message : `${known.message}: ${messageOf(known.cause)}`;
    console.error(`svc: ${printable(text.replaceAll(/\s+/g, " "), MAX_MESSAGE)}`);
    return known instanceof UsageError || known.code === "bad_input" ? 2 : 1;
  }
  console.error(error instanceof Error ? error.stack : `svc: ${messageOf(error)}`);
  return 1;
}

/** Makes the service that the flags ask for, lets `work` use it, and stops it. */
export async function withService<T>(
  flags: { readonly configDir?: string | undefined },
  work: (service: Service) => Promise<T>,
  options: Partial<ServiceOptions> = {},
): Promise<T> {
  const service = createService({
    configDir: resolveConfigDir(flags.configDir),
    log: stderrLog(),
    ...options,
  });
  try {
    return await work(service);
  } finally {
    await service.stop();
  }
}

/** Prints data on stdout: as one line of JSON with `--json`, else as `text` says. */
export function print(flags: { readonly json: boolean }, data: unknown, text: () => string): void {
  // Unlike console.log, this tells when nobody reads it any more: see `unread`.
  process.stdout.write(`${flags.json ? jsonLine(data) : text()}\n`);
}

/** Resolves when the process is asked to end (Ctrl-C, `kill`). */
export function terminated(): Promise<void> {
  return new Promise((resolve) => {
    process.once("SIGTERM", () => resolve());
    process.once("SIGINT", () => resolve());
  });
}

/** Resolves when nobody reads what this process prints any more. */
export function unread(): Promise<void> {
  return new Promise((resolve) => process.stdout.once("error", () => resolve()));
}
