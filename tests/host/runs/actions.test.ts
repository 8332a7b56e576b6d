/** The check that a whole list passes before any of it runs. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import fc from "fast-check";
import type { Executor } from "../../../src/host/runs/executor";
import { Failure } from "../../../src/lib/errors";
import { post, testServer, testService } from "../../support";

const host = testService();
let executor: Executor;
beforeAll(async () => {
  executor = await host.service.executor();
});
afterAll(() => host[Symbol.asyncDispose]());

/** What is wrong with `list`: the failure, or undefined. */
async function refusal(list: unknown): Promise<Failure | undefined> {
  try {
    await executor.prepare(list);
    return undefined;
  } catch (error) {
    if (error instanceof Failure) return error;
    throw error;
  }
}

const good = fc.constantFrom<unknown>(
  ["AC_sleep", { seconds: 1 }],
  ["AC_sleep", [0]],
  ["AC_set_var", ["a", "${b}"]],
);
const bad = fc.constantFrom<unknown>(
  ["AC_nonsense"],
  ["AC_sleep", { seconds: -1 }],
  ["AC_sleep", {}],
  ["AC_sleep", { seconds: 1, more: 1 }],
  "AC_sleep",
  [],
  [1],
  ["AC_sleep", [0], []],
);
/** An action around `list`. */
const around = (list: readonly unknown[]) =>
  fc.constantFrom<unknown>(
    ["AC_loop", { times: 2, body: list }],
    ["AC_loop", [2, list]],
    ["AC_retry", { body: list }],
    ["AC_try", { body: [], catch: list }],
    ["AC_try", { body: [], finally: list }],
    ["AC_if_var", { name: "a", value: "${b}", then: list }],
    ["AC_if_var", { name: "a", value: 1, else: list }],
  );
/** `action` somewhere in nested lists, among `good` ones. */
const nested = (action: unknown) =>
  fc.tuple(fc.integer({ min: 0, max: 6 }), fc.array(good, { maxLength: 3 })).chain(([depth, beside]) => {
    let made: fc.Arbitrary<unknown> = fc.constant(action);
    for (let level = 0; level < depth; level++) made = made.chain((inner) => around([...beside, inner]));
    return made.map((whole) => [...beside, whole]);
  });

test("null for an argument that may be left out is as leaving it out, but not for one that is needed", async () => {
  const inputOf = async (...action: unknown[]) => (await executor.prepare([action])).actions[0]?.input;
  const plain = await inputOf("AC_click_mouse", { x: 1 });
  expect(await inputOf("AC_click_mouse", { mouse_keycode: null, x: 1, y: null })).toEqual(plain);
  expect(await inputOf("AC_click_mouse", [null, 1, null])).toEqual(plain);
  expect(await inputOf("AC_if_var", ["a", "eq", 1, null, null])).toEqual(
    await inputOf("AC_if_var", ["a", "eq", 1]),
  );
  expect(await inputOf("AC_if_var", { name: "a", value: null })).toMatchObject({ value: null });
  expect((await refusal([["AC_sleep", { seconds: null }]]))?.message).toContain("but found null");
});

test("a list of good actions passes, however nested", async () => {
  await fc.assert(
    fc.asyncProperty(good.chain(nested), async (list) => expect(await refusal(list)).toBeUndefined()),
  );
});

test("a bad action anywhere in it refuses the whole list", async () => {
  await fc.assert(
    fc.asyncProperty(bad.chain(nested), async (list) =>
      expect((await refusal(list))?.code).toBe("bad_input"),
    ),
  );
});

test("no JSON value makes the check crash", async () => {
  const name = fc.constantFrom("AC_loop", "AC_try", "AC_if_var", "AC_sleep", "AC_x");
  const anything = fc.oneof(
    fc.jsonValue(),
    fc.array(fc.tuple(name, fc.jsonValue())),
    fc.array(
      fc.tuple(name, fc.record({ body: fc.jsonValue(), then: fc.jsonValue(), times: fc.jsonValue() })),
    ),
  );
  await fc.assert(
    fc.asyncProperty(anything, async (list) => {
      const found = await refusal(list);
      expect(found === undefined || found.code === "bad_input").toBe(true);
    }),
  );
});

describe("a refused list", () => {
  test("names every unknown command, nested ones included", async () => {
    const list = [["AC_x"], ["AC_loop", { times: 1, body: [["AC_y"], ["AC_x"]] }]];
    expect((await refusal(list))?.more).toMatchObject({ unknown_commands: ["AC_x", "AC_y"] });
  });

  test("has the place of each offence as a JSON Pointer into the body of the request", async () => {
    const list = [["AC_x"], ["AC_loop", [1, [["AC_sleep", { secs: 1 }]]]]];
    expect((await refusal(list))?.more.problems).toEqual([
      { action: "actions[0]", pointer: "/actions/0/0", message: "unknown command AC_x" },
      {
        action: "actions[1].body[0].seconds",
        pointer: "/actions/1/1/1/0/1/seconds",
        message: "missing: expected a number",
      },
      {
        action: "actions[1].body[0].secs",
        pointer: "/actions/1/1/1/0/1/secs",
        message: "unknown field: AC_sleep takes seconds",
      },
    ]);
  });

  test("names the nearest command to one that is unknown", async () => {
    expect((await refusal([["AC_scren_size"]]))?.message).toBe(
      "actions[0]: unknown command AC_scren_size (did you mean AC_screen_size?)",
    );
  });

  test("says where each offence is", async () => {
    const list = [
      ["AC_try", { body: [["AC_sleep", {}]], finally: [["AC_sleep", [true]]] }],
      ["AC_set_var", ["name"]],
    ];
    expect((await refusal(list))?.message).toBe(
      "actions[0].body[0].seconds: missing: expected a number; actions[0].finally[0].seconds: expected a number but found true; actions[1].value: missing: expected any value",
    );
  });

  test("has no action; only a list inside an action may be empty", async () => {
    await using server = await testServer();
    const response = await server.call("/execute", post({ actions: [] }));
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({ error: "actions: expected at least one action" });
    expect(await refusal([["AC_if_var", { name: "a", value: 1, then: [], else: [] }]])).toBeUndefined();
  });

  test("is too deep, or too long, to be run", async () => {
    let deep: unknown[] = [["AC_sleep", [0]]];
    for (let level = 0; level < 40; level++) deep = [["AC_loop", { times: 1, body: deep }]];
    expect((await refusal(deep))?.message).toContain("levels of nested actions");
    const long = Array.from({ length: 1_001 }, () => ["AC_sleep", [0]]);
    expect((await refusal([["AC_loop", { times: 1, body: long }]]))?.message).toContain(
      "expected at most 1000 actions",
    );
    const heap = JSON.parse("[".repeat(5_000) + "]".repeat(5_000));
    expect((await refusal([["AC_set_var", { name: "a", value: heap }]]))?.message).toContain(
      "levels of arrays",
    );
  });
});

describe("a command whose one argument is a list", () => {
  const inputOf = async (action: unknown) => (await executor.prepare([action])).actions[0]?.input;

  test.each([[[["ctrl", "c"]]], [["ctrl", "c"]], [{ key_code_list: ["ctrl", "c"] }]])(
    "takes it as %j",
    async (given) => {
      expect(await inputOf(["AC_hotkey", given])).toEqual({ key_code_list: ["ctrl", "c"] });
    },
  );

  test("takes a list of one key, and a variable that is the list", async () => {
    expect(await inputOf(["AC_hotkey", ["enter"]])).toEqual({ key_code_list: ["enter"] });
    expect(await inputOf(["AC_hotkey", ["${keys}"]])).toEqual({ key_code_list: "${keys}" });
  });

  test("has its offences at the items", async () => {
    expect((await refusal([["AC_hotkey", ["ctrl", 5]]]))?.more.problems).toEqual([
      {
        action: "actions[0].key_code_list[1]",
        pointer: "/actions/0/1/1",
        message: "expected a text but found 5",
      },
    ]);
  });
});

test("where a command takes more than a list, the message says how to write it", async () => {
  const message = (await refusal([["AC_admin_add_host", ["a", "https://a:1", "token", "lab"]]]))?.message;
  expect(message).toContain("(a list is one argument: [[…]])");
});

test("a list with AC_shell_command is refused as forbidden without --allow-shell", async () => {
  const list = [["AC_loop", { times: 1, body: [["AC_shell_command", { shell_command: "true" }]] }]];
  expect((await refusal(list))?.code).toBe("forbidden");
  await using open = testService({ allow_shell: true });
  expect((await (await open.service.executor()).prepare(list)).actions).toHaveLength(1);
});

test("POST /execute/check refuses a program where POST /execute would", async () => {
  await using host = await testServer();
  const actions = [["AC_shell_command", { shell_command: "true" }]];
  expect((await host.call("/execute/check", post({ actions }))).status).toBe(403);
  const good = await host.call(
    "/execute/check",
    post({
      actions: [
        ["AC_sleep", [0]],
        ["AC_sleep", [1]],
      ],
    }),
  );
  expect(await good.json()).toEqual({
    ok: true,
    commands: ["AC_sleep"],
    count: 2,
    variables: { used: [], unset: [] },
  });
});

test("a list has at most 10,000 references to variables, wherever they are", async () => {
  const withReferences = (count: number) => [
    ["AC_set_var", { name: "a", value: "${b}".repeat(count) }],
    ["AC_set_var", { name: "a", value: ["${b}", { c: "${b}" }] }],
  ];
  expect(await refusal(withReferences(9_998))).toBeUndefined();
  expect((await refusal(withReferences(9_999)))?.message).toContain(
    "at most 10,000 references to variables in all",
  );
});

test("the expressions of a list have at most 50,000 characters, also in its lists for other hosts", async () => {
  // Each counts 16 characters more.
  const when = (size: number) => "a".repeat(size - 16);
  const withExpressions = (more: string) => [
    ...Array.from({ length: 12 }, () => ["AC_if", { when: when(2_000) }]),
    ...Array.from({ length: 12 }, () => ["AC_set_var", { name: "a", value: [`x\${= ${when(2_000)} }`] }]),
    ["AC_admin_broadcast_execute", { on: "all", actions: [["AC_if", { when: when(1_983) }]] }],
    ["AC_if", { when: more }],
  ];
  expect(await refusal(withExpressions(when(17)))).toBeUndefined();
  expect((await refusal(withExpressions(when(18))))?.message).toContain("at most 50,000 characters in all");
});

test("of many unknown commands, the first 50 are compared with those that there are", async () => {
  const list = Array.from({ length: 51 }, (_, nth) => [`AC_sleep${String.fromCharCode(0x4e00 + nth)}`]);
  const lines = (await refusal([...list, ["AC_sleep\u4e00"]]))?.lines ?? [];
  const hinted = lines.map((line) => line.endsWith("(did you mean AC_sleep?)"));
  expect(hinted).toEqual([...Array(50).fill(true), false, true]);
});

test("the arguments of a command are named once where another one was given", async () => {
  const list = [
    ["AC_sleep", { seconds: 1, until: 2 }],
    ["AC_sleep", { seconds: 1, until: 2 }],
    ["AC_write", "hi"],
  ];
  expect((await refusal(list))?.lines).toEqual([
    "actions[0].until: unknown field: AC_sleep takes seconds",
    "actions[1].until: unknown field",
    'actions[2]: expected arguments as an object or a list: ["AC_write", {"write_string": …}]',
  ]);
});

test("of many unknown fields, the first 50 are compared with those that there are", async () => {
  const list = Array.from({ length: 51 }, () => ["AC_set_var", { name: "a", valu: 1, value: 1 }]);
  const lines = (await refusal(list))?.lines ?? [];
  expect(lines.map((line) => line.endsWith("(did you mean value?)"))).toEqual([
    ...Array(50).fill(true),
    false,
  ]);
});
