/** What the pages tell an operator to type: the subcommands and flags are there. */
import { describe, expect, test } from "bun:test";
import yargs from "yargs";
import type { AnyCommand } from "../../src/cli/command";
import { commands } from "../../src/cli/registry";
import { blocksOf, inlineCodeOf, PAGES, readPage } from "./pages";
import { svcLines } from "./shell";

const pages = PAGES.filter((page) => page !== "CONTRIBUTING.md" && page !== "CHANGELOG.md");

describe("every command line of svc is understood, in the code blocks of", () => {
  for (const page of pages) {
    test(page, async () => {
      const lines = blocksOf(readPage(page))
        .filter(({ language }) => language === "sh")
        .flatMap(({ code }) => svcLines(code));
      expect(await faultsIn(lines)).toEqual([]);
    });
  }
});

describe("every subcommand and flag of svc that is mentioned is there, in the text of", () => {
  for (const page of pages) {
    test(page, async () => {
      const lines = inlineCodeOf(readPage(page))
        .filter((code) => /^(sudo )?svc [a-z-]/.test(code))
        .flatMap((code) => expanded(code.replaceAll(/[[\]]|…/g, " ")))
        .flatMap(svcLines)
        .filter(([name]) => !/^complete$|-child$/.test(name ?? ""));
      const faults = await faultsIn(lines);
      expect(faults.filter((fault) => !/: (Not enough|Missing required|Name )/.test(fault))).toEqual([]);
    });
  }
});

test("every flag that is mentioned alone is one of svc, or is said here to be another's", async () => {
  const others = /^--(user|now|target|cacert|storage|web|config\.file|shm)\b/;
  const known = await everyFlag();
  const strange = pages.flatMap((page) =>
    inlineCodeOf(readPage(page))
      .flatMap((code) => /^--[a-z][a-z.-]*/.exec(code)?.[0] ?? [])
      .filter((flag) => !known.has(flag) && !others.test(flag))
      .map((flag) => `${page}: ${flag}`),
  );
  expect(strange).toEqual([]);
});

/** `svc audit list|verify` as two lines. */
function expanded(line: string): string[] {
  const several = /(?<=^| )[a-z-]+(\|[a-z-]+)+(?= |$)/.exec(line)?.[0];
  return several?.split("|").flatMap((one) => expanded(line.replace(several, one))) ?? [line];
}

async function faultsIn(lines: ReadonlyArray<readonly string[]>): Promise<string[]> {
  const faults: string[] = [];
  for (const words of lines) {
    const fault = await faultOf(words);
    if (fault !== null) faults.push(`svc ${words.join(" ")}: ${fault}`);
  }
  return faults;
}

/** Why the parser does not take the words, or null; nothing is run. */
async function faultOf(words: readonly string[]): Promise<string | null> {
  const end = words.indexOf("--");
  const own = end < 0 ? words : words.slice(0, end);
  try {
    await (await createParser()).parseAsync(own.filter((word) => !["--help", "--version"].includes(word)));
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
  // What follows is for `svc serve` that the service runs.
  return end < 0 ? null : faultOf(["serve", ...words.slice(end + 1)]);
}

/** The parser of `src/command-line.ts`, with handlers that do nothing. */
async function createParser() {
  const parser = yargs()
    .option("config-dir", { type: "string" })
    .option("json", { type: "boolean" })
    .version(false)
    .help(false)
    .strict()
    .strictCommands()
    .exitProcess(false)
    .fail((message, error) => {
      throw error ?? new Error(message);
    });
  for (const { usage, describe, load } of commands) {
    const module = (await load()).default;
    parser.command(
      usage,
      describe,
      (argv) => {
        if (!("group" in module)) return void module.builder(argv as Parameters<AnyCommand["builder"]>[0]);
        argv.demandCommand(1, "Name what to do");
        for (const [name, one] of Object.entries(module.group)) {
          argv.command(
            name,
            one.describe,
            (below) => void one.builder(below as Parameters<AnyCommand["builder"]>[0]),
            () => {},
          );
        }
      },
      () => {},
    );
  }
  return parser;
}

/** The flags of all subcommands, those of booleans also with `no-`. */
async function everyFlag(): Promise<Set<string>> {
  const flags = new Set(["--config-dir", "--json", "--help", "--version"]);
  const writeDown: object = new Proxy(
    {},
    {
      get: (_target, method) => (name: unknown) => {
        if (method === "option") flags.add(`--${name}`).add(`--no-${name}`);
        return writeDown;
      },
    },
  );
  for (const { load } of commands) {
    const module = (await load()).default;
    for (const one of "group" in module ? Object.values(module.group) : [module]) {
      one.builder(writeDown as Parameters<AnyCommand["builder"]>[0]);
    }
  }
  return flags;
}
