/** The JSON Schema of scripts against the check: what the schema refuses, the check refuses. */
import { afterAll, describe, expect, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import Ajv from "ajv/dist/2020";
import fc from "fast-check";
import { parse as parseYaml } from "yaml";
import { readHead } from "../../../src/core/script-head";
import { checkActions } from "../../../src/host/runs/check-actions";
import { describeCommand } from "../../../src/host/runs/reference";
import { scriptSchema } from "../../../src/host/runs/script-schema";
import { Failure } from "../../../src/lib/errors";
import { SVC, testServer, testService } from "../../support";

const host = testService();
afterAll(() => host[Symbol.asyncDispose]());
const { commands } = await host.service.executor();
const schema = scriptSchema(commands);
// `x-svc-…` and what only editors read.
const matches = new Ajv({ strict: false, formats: {} }).compile(schema);

/** Whether the check accepts the list: nothing that the list alone shows is wrong. */
async function passes(list: unknown): Promise<boolean> {
  try {
    await checkActions(commands, list);
    return true;
  } catch (error) {
    if (error instanceof Failure) return false;
    throw error;
  }
}

/** The action inside what must enclose it. */
const enclosed = (action: readonly unknown[]) => {
  const isInside = commands.get(`${action[0]}`)?.within !== undefined;
  return isInside ? [["AC_loop", { times: 1, body: [action] }]] : [action];
};

const examples = await Promise.all(
  [...commands.values()].map(async (command) => {
    const { example, parameters } = await describeCommand(command, true);
    return { command, example, names: parameters.map(({ name }) => name) };
  }),
);

/** What the schema says of each, where the check accepts it; with the list for the message. */
/** Those that the check accepts, or refuses. */
async function checked<T>(lists: readonly T[], isGood = true): Promise<T[]> {
  const good = await Promise.all(lists.map(passes));
  return lists.filter((_, nth) => good[nth] === isGood);
}

const refused = async (lists: readonly unknown[]) => (await checked(lists)).filter((list) => !matches(list));

test("the example of every command matches, by keyword, by position, and in an object", async () => {
  const lists = examples.flatMap(({ example, names }) => {
    const keywords = (example[1] ?? {}) as Record<string, unknown>;
    const last = names.findLastIndex((name) => Object.hasOwn(keywords, name));
    const values = names.slice(0, last + 1).map((name) => keywords[name]);
    // By position none can be left out.
    const byPosition = values.includes(undefined) ? [] : [enclosed([example[0], values])];
    return [enclosed(example), enclosed([example[0], { ...keywords, as: "result" }]), ...byPosition];
  });
  expect(lists.length).toBeGreaterThan(200);
  expect(await checked(lists, false)).toEqual([]);
  expect(lists.filter((list) => !matches(list) || !matches({ auto_control: list }))).toEqual([]);
});

test("a variable may be in the place of every value but a list of actions", async () => {
  const lists = examples.flatMap(({ command, example }) =>
    Object.keys(command.input.entries).map((name) =>
      enclosed([command.command, { ...(example[1] as object), [name]: "${some.part[0]}" }]),
    ),
  );
  const accepted = await checked(lists);
  expect(accepted.length).toBeGreaterThan(200);
  expect(accepted.filter((list) => !matches(list))).toEqual([]);
  for (const list of await checked(lists, false)) expect([list, matches(list)]).toEqual([list, false]);
});

test("an object with actions may say how it is run, as the check reads it", () => {
  const actions = [["AC_screen_size"]];
  const head = { $schema: "x", stop_on_error: "focus", timeout: "5m", pace: 0.2, variables: { a: 1 } };
  const scripts = [{ actions }, { ...head, actions }, { timeout: 60, pace: "0.3s", actions }];
  const odd = [
    ...[{ timeout: "soon" }, { timeout: 0 }, { pace: 11 }, { stop: true }, { stop_on_error: "on" }],
    { variables: [1] },
  ].map((one) => ({ ...one, actions }));
  expect([...scripts, ...odd].map((one) => "defaults" in readHead(one))).toEqual([
    ...scripts.map(() => true),
    ...odd.map(() => false),
  ]);
  expect([...scripts, ...odd].map((one) => matches(one))).toEqual([
    ...scripts.map(() => true),
    ...odd.map(() => false),
  ]);
  expect(matches({ actions: [["AC_scren_size"], "odd"] })).toBe(false);
});

describe("both refuse", () => {
  const wrong: ReadonlyArray<readonly [string, unknown]> = [
    ["no list", "AC_sleep"],
    ["a list without actions", []],
    ["an object without a list", { steps: [["AC_screen_size"]] }],
    ["an action that is no list", ["AC_screen_size"]],
    ["an action without a name", [[]]],
    ["an action whose name is an object", [[{}]]],
    ["three things in an action", [["AC_sleep", { seconds: 1 }, {}]]],
    ["an unknown command", [["AC_slep", { seconds: 1 }]]],
    ["an unknown command in an inner list", [["AC_loop", [1, [["AC_slep"]]]]]],
    ["arguments that are a text", [["AC_write", "hello"]]],
    ["a parameter that is missing", [["AC_sleep", {}]]],
    ["arguments that are missing", [["AC_sleep"]]],
    ["an unknown parameter", [["AC_sleep", { seconds: 1, minutes: 2 }]]],
    ["too few values", [["AC_set_mouse_position", [1]]]],
    ["too many values", [["AC_sleep", [1, 2]]]],
    ["a value of another type", [["AC_sleep", { seconds: "1" }]]],
    ["a number that is too large", [["AC_sleep", { seconds: 1e9 }]]],
    ["a number that is not whole", [["AC_loop", { times: 1.5, body: [] }]]],
    ["a word that is none of the choices", [["AC_if_var", { name: "n", op: "is", value: 1 }]]],
    ["a name that is none", [["AC_set_var", { name: "2nd", value: 1 }]]],
    ["`as` that is no name", [["AC_screen_size", { as: "a b" }]]],
    ["`as` with a variable", [["AC_screen_size", { as: "${name}" }]]],
    ["a variable in the place of a list of actions", [["AC_loop", { times: 1, body: "${list}" }]]],
    ["a variable that is not written as one", [["AC_sleep", { seconds: "${a b}" }]]],
    ["a color that is none", [["AC_wait_pixel", { x: 1, y: 1, color: "red" }]]],
    ["a tuple that is too short", [["AC_screenshot", { screen_region: [0, 0, 1] }]]],
    ["keys that are no texts", [["AC_hotkey", ["ctrl", 1]]]],
    ["a list for variables", [["AC_run_script", { path: "a.json", variables: [] }]]],
    ["a sample that is a list", [["AC_inspector_record", { samples: [[]] }]]],
  ];

  test.each(wrong)("%s", async (_what, script) => {
    const list =
      typeof script === "object" && "auto_control" in (script as object)
        ? Object(script).auto_control
        : script;
    expect([await passes(list), matches(script)]).toEqual([false, false]);
  });
});

test("whatever the check accepts matches", async () => {
  const value = fc.oneof(
    { withCrossShrink: true },
    fc.constantFrom<unknown>(
      "${x}",
      "a ${x.y}",
      "$${x}",
      "#FF8800",
      "a.PNG",
      "",
      "10s",
      "never",
      [],
      {},
      null,
      true,
    ),
    fc.constantFrom<unknown>(["${x}"], { a: "${x}" }, [0, 0, 9, 9], ["a"], [["AC_screen_size"]], [[]]),
    fc.integer({ min: -3, max: 70_000 }),
    fc.double({ noNaN: true, noDefaultInfinity: true }),
    fc.jsonValue({ maxDepth: 2 }),
  );
  const action = fc.constantFrom(...examples).chain(({ command, example, names }) => {
    const changed = fc.dictionary(fc.constantFrom(...names, "as", "odd"), value, { maxKeys: 2 });
    return fc.oneof(
      changed.map((some) => [command.command, { ...(example[1] as object), ...some }]),
      changed.map((some) => [command.command, some]),
      fc.array(value, { maxLength: names.length + 1 }).map((some) => [command.command, some]),
    );
  });
  let accepted = 0;
  const agree = async (one: unknown[]) => {
    const list = enclosed(one);
    if (await passes(list)) accepted++;
    expect(await refused([list])).toEqual([]);
  };
  await fc.assert(fc.asyncProperty(action, agree), { numRuns: 2_000 });
  expect(accepted).toBeGreaterThan(200);
});

test("what the pages show and the fuzzer begins with matches, where the check accepts it", async () => {
  const folder = join(import.meta.dir, "../../../docs");
  const texts = readdirSync(folder)
    .filter((name) => name.endsWith(".md"))
    .flatMap((name) => [
      ...readFileSync(join(folder, name), "utf8").matchAll(/^```(json|yaml)\n([\s\S]*?)^```/gm),
    ])
    .map(([, notation, text = ""]) => (notation === "json" ? parsed(text) : parseYaml(text)));
  const corpus = join(import.meta.dir, "../../fuzz/corpus/json");
  const seeds = readdirSync(corpus).map((name) => parsed(readFileSync(join(corpus, name), "utf8")));
  const lists = [...texts, ...seeds].filter(Array.isArray);
  expect((await checked(lists)).length).toBeGreaterThan(2);
  expect(await refused(lists)).toEqual([]);
});

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

test("GET /commands/schema and `svc commands --schema` give it", async () => {
  await using server = await testServer();
  const answer = await server.call("/commands/schema");
  expect(Bun.deepEquals(await answer.json(), schema)).toBe(true);
  const printed = Bun.spawnSync([...SVC, "commands", "--schema", "--config-dir", server.configDir]);
  expect(Bun.deepEquals(JSON.parse(printed.stdout.toString()), schema)).toBe(true);
});
