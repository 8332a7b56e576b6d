/**
 * The manual: a page (man(7)) for svc, for each noun and for each subcommand, from what the help of the command line is
 * derived from. `bun build/manual.ts [folder]` writes them (default: `dist/man`).
 */
import { mkdir, rm } from "node:fs/promises";
import { join, resolve } from "node:path";
import { registry } from "../commands";
import type { Flag } from "../src/cli/flags";
import { flagHelp, GLOBAL_FLAGS, noted, placeOf } from "../src/cli/parser";
import { findNoun, wordsOf } from "../src/cli/registry";
import { findSubcommand, GRAMMAR } from "../src/cli/run";
import type { Description, Example, Subcommand } from "../src/cli/subcommand";
import type { Operation } from "../src/core/operation";
import { ROOT } from "./targets";

/** A page: `svc-audit-verify.1` and its text. */
export interface ManualPage {
  readonly name: string;
  readonly text: string;
}

/** What every page has in its head. */
interface Edition {
  readonly version: string;
  /** Of the sources: `2026-11-23`. */
  readonly date: string;
}

/** All pages, by name. */
export async function manualPages(edition: Edition): Promise<ManualPage[]> {
  const operations = new Map((await registry.operations()).map((one) => [wordsOf(one).join(" "), one]));
  const pages = [await mainPage(edition)];
  for (const [noun, { describe }] of Object.entries(registry.nouns)) {
    const group = await findNoun(registry, noun);
    const verbs = Object.entries(group?.verbs ?? {});
    const below = verbs.map(([verb, one]): Description => [verb, one.describe]);
    pages.push(
      pageOf(edition, [noun], {
        describe,
        one: group?.own,
        below,
        operation: operations.get(noun),
        examples: verbs.flatMap(([, { examples }]) => examples.slice(0, 1)),
      }),
    );
    for (const [verb, one] of verbs) {
      const operation = operations.get(`${noun} ${verb}`);
      pages.push(pageOf(edition, [noun, verb], { describe: one.describe, one, operation }));
    }
  }
  return pages.sort((a, b) => (a.name < b.name ? -1 : 1));
}

/** What a page is about: a subcommand, those below it, or both. */
interface Subject {
  readonly describe: string;
  readonly one?: Subcommand | undefined;
  readonly below?: readonly Description[];
  readonly operation?: Operation | undefined;
  /** Where there is no subcommand to have its own. */
  readonly examples?: readonly Example[];
}

function pageOf(edition: Edition, words: readonly string[], subject: Subject): ManualPage {
  const { describe, one, below = [], operation } = subject;
  const called = ["svc", ...words].join(" ");
  const others = words.slice(0, -1);
  return page(edition, ["svc", ...words].join("-"), describe, [
    section("SYNOPSIS", [
      ...(one ? [synopsis(called, one)] : []),
      ...(below.length > 0 ? [`${bold(called)} ${italic("command")} [${italic("flag")} ...]`] : []),
    ]),
    section("DESCRIPTION", paragraphs([`${describe}.`, one?.epilogue, operation && surfacesOf(operation)])),
    section("COMMANDS", below.flatMap(item)),
    section("ARGUMENTS", one?.positionals.flatMap(place) ?? []),
    section("OPTIONS", one?.flags.flatMap(option) ?? []),
    globalOptions(),
    exitStatus(),
    examplesOf(one ? one.examples : (subject.examples ?? [])),
    seeAlso([
      "svc",
      ...(others.length > 0 ? [["svc", ...others].join("-")] : []),
      ...below.map(([verb]) => ["svc", ...words, verb].join("-")),
    ]),
  ]);
}

async function mainPage(edition: Edition): Promise<ManualPage> {
  const found = await findSubcommand(registry, []);
  if (!("help" in found)) throw new Error("svc without a word names no subcommand");
  const grammar = GRAMMAR.split("\n").filter((line) => !line.startsWith("Exit codes"));
  return page(edition, "svc", "operate a desktop-automation host from afar", [
    section("SYNOPSIS", [`${bold("svc")} ${italic("command")} [${italic("flag")} ...]`]),
    section(
      "DESCRIPTION",
      paragraphs([
        "svc is a REST server with bearer tokens, rate limits and TLS, action scripts, Prometheus metrics and an API document, in one executable.",
        "Each command has a page of its own, and so has each of its subcommands, such as svc-audit-verify(1).",
        ...grammar,
      ]),
    ),
    section(
      "COMMANDS",
      registry.groups.flatMap(({ title, nouns }) => [
        `.SS ${title}`,
        ...Object.entries(nouns).flatMap(([noun, { describe }]) => item([noun, describe])),
      ]),
    ),
    globalOptions(),
    section(
      "ENVIRONMENT",
      item(["SVC_CONFIG_DIR", "The configuration folder, where --config-dir does not name one."]),
    ),
    section("FILES", [
      ...item(["~/.svc", "The configuration folder: token, keys, audit log, jobs, runs."]),
      ...item(["/var/lib/svc", "That of the service of the machine, as the packages install it."]),
    ]),
    exitStatus(),
    examplesOf(found.examples),
    seeAlso(found.help.map(([noun]) => `svc-${noun}`)),
  ]);
}

function page(
  { version, date }: Edition,
  name: string,
  describe: string,
  sections: readonly string[][],
): ManualPage {
  const lines = [
    `.TH "${escaped(name.toUpperCase())}" "1" "${date}" "svc ${version}" "svc manual"`,
    ".nh",
    ".ad l",
    ...section("NAME", [line(`${name} - ${lowerFirst(describe)}`)]),
    ...sections.flat(),
  ];
  return { name: `${name}.1`, text: `${lines.join("\n")}\n` };
}

/** A section, or nothing where it has no lines. */
const section = (title: string, lines: readonly string[]): string[] =>
  lines.length > 0 ? [`.SH ${title}`, ...lines] : [];

/** Paragraphs of text, those that are undefined left out. */
const paragraphs = (texts: ReadonlyArray<string | undefined>): string[] =>
  texts
    .flatMap((text) => (text ? [text] : []))
    .flatMap((text, at) => [...(at > 0 ? [".PP"] : []), line(text)]);

const synopsis = (called: string, { positionals, flags }: Subcommand): string => {
  const required = flags.filter((flag) => flag.required).map((flag) => `${label(flag)} `);
  const places = positionals.map((flag) => ` ${italic(placeOf(flag))}`).join("");
  return `${bold(called)} ${required.join("")}[${italic("flag")} ...]${places}`;
};

/** `--limit value`, as one types it. */
const label = ({ name, kind }: Flag): string =>
  kind === "boolean" ? bold(`--${name}`) : `${bold(`--${name}`)} ${italic("value")}`;

const option = (flag: Flag): string[] => [".TP", label(flag), line(withDefault(flag, flagHelp(flag)))];

const place = (flag: Flag): string[] => [
  ".TP",
  italic(placeOf(flag)),
  line(withDefault(flag, noted(flag.describe, flag.choices?.join(", ")))),
];

function withDefault({ kind, required, default: preset }: Flag, help: string): string {
  if (required) return `${help}. Required.`;
  return preset === undefined || kind === "boolean" ? `${help}.` : `${help}. Default: ${preset}.`;
}

const item = ([name, describe]: Description): string[] => [".TP", bold(name), line(describe)];

/** The same over HTTP and in scripts. */
function surfacesOf({ http, command, scope }: Operation): string | undefined {
  const ways = [http && `${http.method} ${http.path} over HTTP`, command && `${command} in action scripts`];
  const named = ways.filter((way) => way !== undefined);
  if (named.length === 0) return undefined;
  const need = scope === "any" ? "any token may" : `a token needs ${scope}`;
  return `The same as ${named.join(", and as ")}; ${need}.`;
}

const globalOptions = (): string[] =>
  section("GLOBAL OPTIONS", [
    ...GLOBAL_FLAGS.flatMap(option),
    ...item(["--help", "Show the help."]),
    ...item(["--version", "Show the version."]),
  ]);

const exitStatus = (): string[] =>
  section("EXIT STATUS", [
    ...item(["0", "Success."]),
    ...item(["1", "Failure, or a bad result."]),
    ...item(["2", "Wrong usage."]),
    ...item([
      "3",
      "A check found something to do (svc version --check, svc config import --dry-run --exit-code).",
    ]),
  ]);

const examplesOf = (examples: readonly Example[]): string[] =>
  section(
    "EXAMPLES",
    examples.flatMap(([command, does]) => {
      const typed = command.replaceAll(/\$0(?= |$)/g, "svc");
      return [".TP", bold(typed), line(does)];
    }),
  );

const seeAlso = (names: readonly string[]): string[] =>
  section("SEE ALSO", [
    [...new Set(names)]
      .sort()
      .map((name) => `${bold(name)}(1)`)
      .join(",\n"),
  ]);

const bold = (text: string) => `\\fB${escaped(text)}\\fR`;
const italic = (text: string) => `\\fI${escaped(text)}\\fR`;

/** The longest line of a page, in characters, where a word is no longer. */
const MAX_LINE = 78;

/** Text in lines of its own, none of which is a request. */
function line(text: string): string {
  const lines = [""];
  for (const word of escaped(text.replaceAll(/`([^`]*)`/g, "$1")).split(" ")) {
    const last = lines.at(-1) ?? "";
    if (last === "") lines[lines.length - 1] = word;
    else if (last.length + 1 + word.length > MAX_LINE) lines.push(word);
    else lines[lines.length - 1] = `${last} ${word}`;
  }
  return lines.map((each) => (each.startsWith(".") ? `\\&${each}` : each)).join("\n");
}

/** groff_char(7): an ASCII character is printed as itself, not as the typographic one. */
function escaped(text: string): string {
  const names: Record<string, string> = {
    "\\": "\\e",
    "-": "\\-",
    "'": "\\(aq",
    '"': "\\(dq",
    "`": "\\(ga",
    "^": "\\(ha",
    "~": "\\(ti",
    "…": "...",
  };
  return text
    .replaceAll(/\s+/g, " ")
    .replaceAll(/[\\\-'"`^~…]/g, (sign) => names[sign] ?? sign)
    .replaceAll(
      /[^ -~]/g,
      (sign) => `\\[u${(sign.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}]`,
    );
}

/** As whatis(1) lists it; a word such as `HTTP` or `TLS` stays. */
const lowerFirst = (text: string): string =>
  /^[A-Z][a-z]/.test(text) ? text.charAt(0).toLowerCase() + text.slice(1) : text;

/** Writes all pages into `folder`, which is emptied first. @returns their paths. */
export async function writeManual(folder: string, edition: Edition): Promise<string[]> {
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder, { recursive: true });
  const pages = await manualPages(edition);
  for (const { name, text } of pages) await Bun.write(join(folder, name), text);
  return pages.map(({ name }) => join(folder, name));
}

if (import.meta.main) {
  const { release } = await import("./package/release");
  const { version, date } = await release();
  const folder = resolve(process.argv[2] ?? join(ROOT, "dist", "man"));
  const paths = await writeManual(folder, { version, date });
  console.log(`${folder}  ${paths.length} pages`);
}
