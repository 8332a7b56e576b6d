/**
 * The command line: global flags, the subcommand that it names, and errors to exit codes.
 *
 * Exit codes: 0 done and good; 1 done and the answer is bad; 2 the call itself was wrong.
 */
import type { Argv } from "yargs";
import { failureOf, messageOf, systemCode, unavailable } from "../lib/errors";
import { printable } from "../lib/sanitize";
import { commit, version } from "../version";
import type { AnyCommand, GlobalFlags } from "./command";
import { asWritten, END_OF_FLAGS, refuseOddFlags, UsageError, withEndOfFlags } from "./flags";
import { startOver, takeOver } from "./reexec";
import { commands } from "./registry";

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
    .option(END_OF_FLAGS, { type: "boolean", hidden: true })
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
    .middleware((flags) => {
      for (const [name, value] of Object.entries(flags)) flags[name] = asWritten(value);
    })
    .check((flags, declared) => refuseOddFlags(args, flags, declared))
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
  try {
    await parser.parseAsync(withEndOfFlags(args));
  } catch (error) {
    // Of a flag that lacks its value, the parser does not always hand over to `fail`.
    throw error instanceof Error && error.name === "YError"
      ? new UsageError(advised(error.message, called))
      : error;
  }
  return exitCode;
}

/** What the parser has to say, with what to do next where it does not say that. @param called the usage of the subcommand. */
function advised(told: string, called: string): string {
  // Of a word after `--`, marked as no flag.
  const message = told.replaceAll(/\0|\\u0000/g, "");
  if (message.startsWith("Not enough non-option arguments")) return `An argument is missing: svc ${called}`;
  const [, flag] = /^Not enough arguments following: (.+)$/.exec(message) ?? [];
  if (flag !== undefined) return `--${flag}: expected a value`;
  if (!message.startsWith("Unknown")) return message;
  const words = ["svc", ...called.split(" ").filter((word) => /^\w/.test(word)), "--help"];
  return `${message} (see \`${words.join(" ")}\`)`;
}

/** Enough for each offence of a file that has hundreds. */
const MAX_MESSAGE = 100_000;

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
