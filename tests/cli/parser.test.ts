import { expect, test } from "bun:test";
import fc from "fast-check";
import { registry } from "../../commands";
import { parseFlags } from "../../src/cli/parser";
import { findNoun } from "../../src/cli/registry";
import type { Subcommand } from "../../src/cli/subcommand";
import { isThorough } from "../support";

/** Words that somebody may type in the place of a flag or its value. */
const WORDS = [
  "",
  "-",
  "x",
  "5",
  "-5",
  "-p",
  "-json",
  "true",
  "false",
  "a,b",
  "a=b",
  "null",
  "[]",
  "\0",
  "é",
];
const FLAGS = [
  "--_",
  "--_=1",
  "--$0",
  "--__proto__",
  "--constructor=1",
  "--unknown",
  "--no-unknown",
  "---json",
];

/** Every subcommand: the line is parsed by a part of yargs, where that is enough. */
async function subcommands(): Promise<ReadonlyArray<readonly [string, Subcommand]>> {
  const all = Object.keys(registry.nouns).map(async (noun) => {
    const { own, verbs } = (await findNoun(registry, noun)) ?? { verbs: {} };
    const named = Object.entries(verbs).map(([verb, one]) => [`svc ${noun} ${verb}`, one] as const);
    return own ? [[`svc ${noun}`, own] as const, ...named] : named;
  });
  return (await Promise.all(all)).flat();
}

/** What `words` were taken for; that they have a fault, which the whole of yargs words in any case. */
const taken = (called: string, one: Subcommand, words: readonly string[]) =>
  parseFlags(called, one, words).catch(() => "a fault");

test("a letter stands for its flag, with its value apart or joined, where the command has that flag", async () => {
  const of = async (noun: string, verb: string, words: readonly string[]) => {
    const one = (await findNoun(registry, noun))?.verbs[verb];
    if (!one) throw new Error(`no svc ${noun} ${verb}`);
    return parseFlags(`svc ${noun} ${verb}`, one, words);
  };
  const long = await of("audit", "list", ["--limit", "20", "--on", "lab-1", "--json"]);
  expect(long?.typed).toEqual({ limit: ["20"], on: ["lab-1"] });
  for (const limit of [["-n", "20"], ["-n20"], ["-n=20"]])
    expect(await of("audit", "list", [...limit, "-H", "lab-1", "-j"])).toEqual(long);
  await expect(of("audit", "log", ["x", "-n", "3"])).rejects.toThrow("Unknown argument: -n");
});

/** How many lines are compared. */
const RUNS = isThorough ? 1_000 : 300;

test("a line means the same to the part of yargs that a start loads as to the whole of it", async () => {
  const known = await subcommands();
  let plain = 0;
  const line = fc.constantFrom(...known).chain(([called, one]) => {
    const names = [...one.flags.map(({ name }) => name), "json", "config-dir"];
    const values = [...WORDS, ...one.flags.flatMap(({ choices }) => choices ?? [])];
    const [name, value] = [fc.constantFrom(...names), fc.constantFrom(...values)];
    const part = fc.oneof(
      { weight: 3, arbitrary: fc.tuple(name, value).map(([flag, given]) => [`--${flag}`, given]) },
      { weight: 3, arbitrary: fc.tuple(name, value).map(([flag, given]) => [`--${flag}=${given}`]) },
      { weight: 3, arbitrary: name.map((flag) => [`--${flag}`]) },
      name.map((flag) => [`--no-${flag}`]),
      name.map((flag) => [`--${flag}.x=1`]),
      fc.constantFrom(...FLAGS).map((flag) => [flag]),
      { weight: 1 + 3 * one.positionals.length, arbitrary: value.map((given) => [given]) },
    );
    return fc.record({
      called: fc.constant(called),
      one: fc.constant(one),
      words: fc.array(part, { maxLength: 4 }).map((parts) => parts.flat()),
    });
  });
  const property = fc.asyncProperty(line, async ({ called, one, words }) => {
    const found = await taken(called, one, words);
    // An end of the flags says nothing here, and needs the whole parser.
    expect(found).toEqual(await taken(called, one, [...words, "--"]));
    if (typeof found !== "string") plain++;
  });
  await fc.assert(property, { numRuns: RUNS });
  // Enough of the lines were without a fault.
  expect(plain).toBeGreaterThan(RUNS / 10);
});

test("words fill the places of a subcommand in order, also where the first may be left out", async () => {
  const { verbs } = (await findNoun(registry, "elements")) ?? { verbs: {} };
  const readCell = verbs["read-cell"];
  if (!readCell) throw new Error("there is no svc elements read-cell");
  const parsed = await parseFlags("svc elements read-cell", readCell, ['table "a"', "2", "Price"]);
  expect(parsed?.typed).toEqual({ element: ['table "a"'], row: ["2"], column: ["Price"] });
});

test("of `svc admin tag`, words that begin with one dash are tags, and letters of flags are flags", async () => {
  const noun = await findNoun(registry, "admin", "tag");
  const one = noun?.verbs.tag;
  if (!one) throw new Error("no tag");
  const read = async (...words: string[]) => {
    const line = await parseFlags("svc admin tag", one, words);
    return { hosts: line?.typed.hosts, tags: line?.typed.tags, json: line?.globals.json };
  };
  expect(await read("lab-*", "+floor-9", "-floor-8", "-j", "=only", "-json")).toEqual({
    ...{ hosts: ["lab-*"], tags: ["+floor-9", "-floor-8", "=only", "-json"], json: true },
  });
  expect(await read("--config-dir", "d", "lab", "-x", "--", "-j")).toMatchObject({
    tags: ["-x", "-j"],
    json: false,
  });
  expect(read("lab", "--floor")).rejects.toThrow("Unknown argument: --floor");
});
