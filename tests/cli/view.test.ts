/** Subcommands that follow from an operation: flags, input, answer. */
import { describe, expect, test } from "bun:test";
import * as v from "valibot";
import { registry } from "../../commands";
import { asTyped, flagsOf, inputOf, messageAsTyped } from "../../src/cli/flags";
import { parseFlags } from "../../src/cli/parser";
import { nounsOf, wordsOf } from "../../src/cli/registry";
import { oneOf, subcommand } from "../../src/cli/subcommand";
import { view } from "../../src/cli/view";
import { bytes, field, seconds, secret, timestamp } from "../../src/core/fields";
import { operation } from "../../src/core/operation";
import { operations } from "../../src/operations";

const input = v.strictObject({
  label: field(v.string(), "Label"),
  poll_interval_s: field(v.optional(seconds(v.pipe(v.number(), v.minValue(1))), 3), "Interval"),
  max_bytes: field(v.optional(bytes(v.number())), "Size"),
  since: field(v.optional(timestamp(v.string())), "Since"),
  tags: field(v.optional(v.array(v.string()), []), "Tags"),
  mode: field(v.optional(v.picklist(["fast", "slow"]), "fast"), "Mode"),
  dry_run: field(v.optional(v.boolean(), false), "Dry run"),
  actions: field(v.optional(v.array(v.unknown())), "Actions"),
  token: field(v.optional(secret(v.string())), "Token"),
});

const flags = flagsOf(input);
const typed = (given: Record<string, boolean | string[]>) =>
  inputOf(input, flags, { label: ["a"], ...given });

describe("a flag", () => {
  test("has the name of its field, without its unit", () => {
    expect(flags.map(({ name }) => name)).toEqual([
      "label",
      "poll-interval",
      "max-bytes",
      "since",
      "tags",
      "mode",
      "dry-run",
      "actions",
      "token-file",
    ]);
  });

  test("has the default and the choices of its field", () => {
    expect(flags.find(({ name }) => name === "mode")).toMatchObject({
      default: "fast",
      choices: ["fast", "slow"],
      required: false,
    });
    expect(flags.find(({ name }) => name === "label")).toMatchObject({ required: true, kind: "value" });
  });

  test("takes a span of time, a size and a time ago as people write them", async () => {
    const read = await typed({ "poll-interval": ["15m"], "max-bytes": ["1.5MB"], since: ["1h"] });
    expect(read).toMatchObject({ poll_interval_s: 900, max_bytes: 1_500_000 });
    expect(Date.now() - Date.parse(String(read.since))).toBeWithin(3_599_000, 3_700_000);
  });

  test("that is a list may be repeated, or have commas", async () => {
    expect(await typed({ tags: ["a", "b,c"] })).toMatchObject({ tags: ["a", "b", "c"] });
  });

  test("of a list of anything takes JSON", async () => {
    expect(await typed({ actions: ['[["AC_sleep",[1]]]'] })).toMatchObject({ actions: [["AC_sleep", [1]]] });
    await expect(typed({ actions: ["[["] })).rejects.toThrow(/^--actions: expected JSON/);
  });

  test("that is on, off or a word has the word after an =", async () => {
    const stop = v.strictObject({
      stop: field(v.optional(v.union([v.boolean(), v.literal("focus")]), false), "Stop"),
    });
    const one = subcommand({ describe: "Run", input: stop, run: async () => 0 });
    const read = async (...words: string[]) => {
      const { typed = {} } = (await parseFlags("svc run", one, words)) ?? {};
      return (await inputOf(stop, one.flags, typed)).stop;
    };
    expect(await read("--stop")).toBe(true);
    expect(await read("--stop=focus")).toBe("focus");
    expect(await read("--stop=focus", "--stop=false")).toBe(false);
    expect(await read("--no-stop")).toBe(false);
    expect(await read()).toBeUndefined();
    expect(read("--stop=fokus")).rejects.toThrow("--stop: expected no value, focus, true or false");
  });

  test("out of bounds is refused by the name that was typed", async () => {
    await expect(typed({ "poll-interval": ["0s"] })).rejects.toThrow(/^--poll-interval: expected at least 1/);
    await expect(typed({ mode: ["other"] })).rejects.toThrow(/^--mode: expected/);
  });

  test("stands for its field in a message of the operation", () => {
    expect(messageAsTyped("tags, max_bytes: expected one of them", flags)).toBe(
      "--tags, --max-bytes: expected one of them",
    );
    expect(messageAsTyped("tags, colour: no", flags)).toBe("tags, colour: no");
    expect(messageAsTyped("label 7 is taken", flags)).toBe("label 7 is taken");
  });

  test("of a nested field is named with the rest of its path", () => {
    expect(asTyped([{ field: "max_bytes.low", message: "expected text" }], flags)).toEqual([
      { field: "--max-bytes.low", message: "expected text" },
    ]);
  });

  test("of an item of a list is named without its index", () => {
    expect(asTyped([{ field: "tags[1]", message: "expected text" }], flags)).toEqual([
      { field: "--tags", message: "expected text" },
    ]);
  });
});

const greet = operation({
  name: "greeting.say_hello",
  summary: "Greet",
  scope: "read",
  leftOut: { http: "a test", script: "a test" },
  input: v.strictObject({ name: field(v.string(), "Who") }),
  output: v.object({ text: v.string() }),
  run: (_service: object, { name }) => ({ text: `hello ${name}` }),
});

describe("an operation without a view", () => {
  test("is a subcommand by its name", async () => {
    const noun = (await nounsOf([greet])).get("greeting");
    expect(Object.keys(noun?.verbs ?? {})).toEqual(["say-hello"]);
    expect(noun?.verbs["say-hello"]?.flags.map(({ name }) => name)).toEqual(["name"]);
  });

  test("that leaves the command line out is none", async () => {
    const hidden = { ...greet, leftOut: { cli: "a test" } };
    expect((await nounsOf([hidden])).size).toBe(0);
  });
});

test("svc --help lists the noun of every operation", async () => {
  const nouns = [...(await nounsOf(operations)).keys()];
  expect(nouns.filter((noun) => !Object.hasOwn(registry.nouns, noun))).toEqual([]);
});

test("no two operations claim the same words", () => {
  const words = operations
    .filter(({ leftOut }) => leftOut?.cli === undefined)
    .map((one) => wordsOf(one).join(" "));
  expect(words).toEqual([...new Set(words)]);
});

test("one of several subcommands refuses the flags of the others", async () => {
  const make = (name: string) =>
    subcommand({
      describe: name,
      input: v.strictObject({ [name]: field(v.optional(v.boolean()), name) }),
      run: async () => 0,
    });
  const [first, second] = [make("first"), make("second")];
  const both = oneOf([], [first, second], (given) => (given.first ? first : second));
  expect(await both.run({ first: true }, { json: false })).toBe(0);
  await expect(both.run({ first: true, second: true }, { json: false })).rejects.toThrow(
    /^--second: does not go/,
  );
  expect(oneOf([], [first, { ...second, epilogue: "Below." }], () => first).epilogue).toBe("Below.");
});

describe("the parser", () => {
  const one = view(greet, { positionals: ["name"] });
  test("takes what follows -- as arguments", async () => {
    expect(await parseFlags("svc greet", one, ["--", "--x"])).toEqual({
      typed: { name: ["--x"] },
      globals: { configDir: undefined, json: false },
    });
  });

  test("names what is missing or unknown", async () => {
    await expect(parseFlags("svc greet", one, [])).rejects.toThrow(
      "An argument is missing: svc greet <name>",
    );
    await expect(parseFlags("svc greet", one, ["x", "--y"])).rejects.toThrow(
      "Unknown argument: --y (see `svc greet --help`)",
    );
  });
});

test("a description that names another field names its flag in the help", () => {
  const schema = v.strictObject({
    max_rows: field(v.optional(v.number()), "Rows"),
    keep: field(v.optional(v.boolean()), "With `max_rows`: keep the rest; `other` stays"),
  });
  expect(flagsOf(schema)[1]?.describe).toBe("With --max-rows: keep the rest; `other` stays");
});

test("each sentence of a message names the flag of its field", () => {
  expect(messageAsTyped("label: missing; max_bytes, mode: expected both; text", flags)).toBe(
    "--label: missing; --max-bytes, --mode: expected both; text",
  );
});
