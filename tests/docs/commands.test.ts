/** The subcommands and flags that the pages show exist. */
import { describe, expect, test } from "bun:test";
import { withoutCommand } from "../../build/without-command";
import { registry } from "../../commands";
import { parseFlags } from "../../src/cli/parser";
import { findNoun } from "../../src/cli/registry";
import { findSubcommand } from "../../src/cli/run";
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
      expect(
        faults.filter(
          (fault) =>
            !/: (An argument is missing|Missing required|A subcommand is missing|--[a-z-]+: expected a value)/.test(
              fault,
            ),
        ),
      ).toEqual([]);
    });
  }
});

test("every flag that is mentioned alone is a flag of svc, or listed here as another program's", async () => {
  const others =
    /^--(user|now|target|cacert|pinnedpubkey|storage|web|config\.file|shm|force-renderer-accessibility)\b/;
  const known = await everyFlag();
  const strange = pages.flatMap((page) =>
    inlineCodeOf(readPage(page))
      .flatMap((code) => /^--[a-z][a-z.-]*/.exec(code)?.[0] ?? [])
      .filter((flag) => !known.has(flag) && !others.test(flag))
      .map((flag) => `${page}: ${flag}`),
  );
  expect(strange).toEqual([]);
});

test("docs/README.md lists every operation that is no command: as `npm run docs` writes it", () => {
  const page = readPage("docs/README.md");
  expect(page).toBe(withoutCommand(page));
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

/** Why the command line does not take the words, or null; nothing is run. */
async function faultOf(words: readonly string[]): Promise<string | null> {
  const end = words.indexOf("--");
  const own = (end < 0 ? words : words.slice(0, end)).filter((word) => !/^--(help|version)$/.test(word));
  if (own.length === 0) return null;
  const found = await findSubcommand(registry, own);
  if (!("one" in found)) return found.fault;
  try {
    await parseFlags(found.called, found.one, found.rest);
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
  // What follows is for `svc serve` that the service runs.
  return end < 0 ? null : faultOf(["serve", ...words.slice(end + 1)]);
}

/** The flags of all subcommands, those of booleans also with `no-`. */
async function everyFlag(): Promise<Set<string>> {
  const flags = new Set(["--config-dir", "--json", "--help", "--version"]);
  for (const name of Object.keys(registry.nouns)) {
    const noun = await findNoun(registry, name);
    for (const one of [noun?.own ?? [], Object.values(noun?.verbs ?? {})].flat()) {
      for (const flag of one.flags) flags.add(`--${flag.name}`).add(`--no-${flag.name}`);
    }
  }
  return flags;
}
