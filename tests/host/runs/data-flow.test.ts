/** Results that reach the next actions, and loops over them. */
import { describe, expect, test } from "bun:test";
import * as v from "valibot";
import { localCaller } from "../../../src/core/caller";
import { field, secret } from "../../../src/core/fields";
import { operation } from "../../../src/core/operation";
import { operations } from "../../../src/operations";
import type { Service } from "../../../src/service/service";
import { runActions, testService } from "../../support";

/** What `name` stands for after `actions`, and the report. */
async function valueAfter(
  service: Service,
  actions: readonly unknown[],
  name: string,
  variables: Record<string, unknown> = {},
) {
  const report = await runActions(service, [...actions, ["AC_set_var", ["seen", `\${${name}}`]]], {
    variables,
  });
  return { value: report.outcomes.at(-1)?.result, report };
}

/** Answers with what it is given, as a program or a screen would. */
const look = operation({
  name: "test.look",
  summary: "Look",
  scope: "operate",
  command: "AC_test_look",
  leftOut: { http: "a test", cli: "a test" },
  input: v.strictObject({ at: field(v.unknown(), "What is there") }),
  output: v.unknown(),
  run: (_service, { at }) => at,
});

const unlock = operation({
  name: "test.unlock",
  summary: "Unlock",
  scope: "operate",
  leftOut: { http: "a test", cli: "a test" },
  command: "AC_test_unlock",
  input: v.strictObject({}),
  output: v.object({ token: secret(v.string()) }),
  run: () => ({ token: "hunter2-secret" }),
});

const seeing = () => testService({ operations: [...operations, look, unlock] });

describe("as", () => {
  test("gives the result of any action to those that follow, by its parts", async () => {
    await using host = seeing();
    const windows = [
      { title: "Report", at: [3, 4] },
      { title: "Invoice", "first name": "Ann" },
    ];
    const given = ["AC_test_look", { at: windows, as: "windows" }];
    const after = async (name: string) => (await valueAfter(host.service, [given], name)).value;
    expect(await after("windows[1].title")).toBe("Invoice");
    expect(await after("windows[0].at[1]")).toBe(4);
    expect(await after("windows[1]['first name']")).toBe("Ann");
    expect(await after("windows")).toEqual(windows);
  });

  test("is not set by an action that fails", async () => {
    await using host = seeing();
    const fails = ["AC_if_var", { name: "none", value: 1, as: "seen" }];
    const { value } = await valueAfter(host.service, [fails], "seen", { seen: "before" });
    expect(value).toBe("before");
  });

  test("a part that is not there is the action's error, which quotes no value", async () => {
    await using host = seeing();
    const errorOf = async (name: string) =>
      (await valueAfter(host.service, [], name, { row: { list: [1], text: "hunter2" } })).report.outcomes[0]
        ?.error;
    expect(await errorOf("row.list[1]")).toBe(
      "${row.list[1]}: expected an index below 1, the number of its items",
    );
    expect(await errorOf("row.nme")).toBe("${row.nme}: the object has no such field");
    expect(await errorOf("row.text.x")).toBe("${row.text.x}: expected an object but found a string");
    expect(await errorOf("row.toString")).toBe("${row.toString}: the object has no such field");
  });

  test("is the name of a variable, which is checked before anything runs", async () => {
    await using host = testService();
    const executor = await host.service.executor();
    await expect(executor.prepare([["AC_sleep", { seconds: 0, as: "a b" }]])).rejects.toThrow(
      "actions[0].as: expected the name of a variable",
    );
  });

  test("is no field of any command: it would mean two things", () => {
    expect(operations.filter(({ input }) => "as" in input.entries)).toEqual([]);
  });

  test("a result that is too large for the variables of a run is an error, not the end of the memory", async () => {
    await using host = seeing();
    const { outcomes } = await runActions(host.service, [
      ["AC_test_look", { at: "x".repeat(3_000_000), as: "one" }],
      ["AC_test_look", { at: "${one}", as: "two" }],
    ]);
    expect(outcomes).toMatchObject([
      { ok: true },
      { error: expect.stringContaining("variables: expected at most") },
    ]);
  });
});

describe("AC_for_each", () => {
  test("runs its body for each item, and counts from 1", async () => {
    await using host = testService();
    const body = [["AC_set_var", { name: "seen", op: "append", value: "${loop.index}:${row.name} " }]];
    const { value } = await valueAfter(
      host.service,
      [
        ["AC_set_var", ["seen", ""]],
        ["AC_for_each", { list: "${rows}", var: "row", body }],
      ],
      "seen",
      { rows: [{ name: "ann" }, { name: "bob" }] },
    );
    expect(value).toBe("1:ann 2:bob ");
  });

  test("is left by AC_break, and skips on AC_continue", async () => {
    await using host = testService();
    const body = [
      ["AC_if_var", { name: "n", value: 2, then: [["AC_continue"]] }],
      ["AC_if_var", { name: "n", value: 4, then: [["AC_break"]] }],
      ["AC_set_var", { name: "sum", op: "add", value: "${n}" }],
    ];
    const list = [1, 2, 3, 4, 5];
    const actions = [
      ["AC_set_var", ["sum", 0]],
      ["AC_for_each", { list, var: "n", body }],
    ];
    expect((await valueAfter(host.service, actions, "sum")).value).toBe(4);
  });

  test("refuses what is no list, without quoting it", async () => {
    await using host = testService();
    const { report } = await valueAfter(
      host.service,
      [["AC_for_each", { list: "${rows}", var: "row", body: [] }]],
      "rows",
      { rows: "hunter2" },
    );
    expect(report.outcomes[0]?.error).toBe("list: expected a list");
  });

  test("a loop inside a loop counts by itself, and the outer one goes on counting", async () => {
    await using host = testService();
    const count = ["AC_set_var", { name: "seen", op: "append", value: "${loop.index}" }];
    const body = [count, ["AC_loop", { times: 2, body: [["AC_try", { body: [count] }]] }], count];
    const actions = [
      ["AC_set_var", ["seen", ""]],
      ["AC_loop", { times: 2, body }],
    ];
    expect((await valueAfter(host.service, actions, "seen")).value).toBe("11212122");
  });

  test("what a loop does not have is said in place of an unknown variable", async () => {
    await using host = testService();
    const errorOf = async (action: unknown) => (await runActions(host.service, [action])).error_text;
    expect(await errorOf(["AC_loop", { times: 1, body: [["AC_log", ["${loop.idx}"]]] }])).toEndWith(
      "loop has only index, the turn: ${loop.index}",
    );
    expect(await errorOf(["AC_log", ["${loop.index}"]])).toEndWith("${loop.index}: expected inside a loop");
  });

  test("a variable that is called loop stays what it is, but for its index", async () => {
    await using host = testService();
    const body = [["AC_set_var", ["seen", "${loop}${loop.index}"]]];
    const { value } = await valueAfter(host.service, [["AC_loop", { times: 1, body }]], "seen", {
      loop: "L",
    });
    expect(value).toBe("L1");
  });
});

describe("AC_while", () => {
  test("runs its body as long as the comparison is true, also with a value that changes", async () => {
    await using host = testService();
    const body = [
      ["AC_set_var", { name: "n", op: "add", value: 1 }],
      ["AC_set_var", { name: "end", op: "sub", value: 1 }],
    ];
    const { value } = await valueAfter(
      host.service,
      [["AC_while", { name: "n", op: "lt", value: "${end}", body }]],
      "n",
      { n: 0, end: 10 },
    );
    expect(value).toBe(5);
  });

  test("fails where the comparison is true after so many turns", async () => {
    await using host = testService();
    const { report } = await valueAfter(
      host.service,
      [["AC_while", { name: "n", value: 0, max_turns: 3, body: [] }]],
      "n",
      { n: 0 },
    );
    expect(report.outcomes[0]?.error).toBe("n is still eq the value after 3 turns");
  });

  test("ends with the run: all of its turns count", async () => {
    await using host = testService();
    const inner = ["AC_while", { name: "n", value: 0, max_turns: 100_000, body: [] }];
    const report = await runActions(
      host.service,
      [["AC_loop", { times: 100_000, body: [["AC_try", { body: [inner] }]] }]],
      {
        variables: { n: 0 },
      },
    );
    expect(report.error_text).toBe("more than 200000 actions in one run");
  });
});

describe("AC_assert, AC_fail", () => {
  test("pass and fail as the comparison does, with the message of the script", async () => {
    await using host = testService();
    const assert = (value: unknown, message?: string) => ["AC_assert", { name: "row.n", value, message }];
    const { outcomes } = await runActions(
      host.service,
      [assert(3), assert(4), assert(4, "row ${row.name} is wrong"), ["AC_fail", ["no more of ${row.name}"]]],
      { variables: { row: { n: 3, name: "ann" } } },
    );
    expect(outcomes.map(({ error }) => error)).toEqual([
      undefined,
      "row.n is not eq the value (one of them is secret: neither is shown)",
      "row ann is wrong",
      "no more of ann",
    ]);
  });
});

describe("what AC_assert says of values that are no secret", () => {
  const set = (value: unknown, secret = false) => ["AC_set_var", { name: "n", value, secret }];
  const assert = (value: unknown, more = {}) => ["AC_assert", { name: "n", value, ...more }];

  test("is both of them, with their kinds where those differ", async () => {
    await using host = testService();
    const report = await runActions(host.service, [
      ...[set("5"), assert(5), assert("ACME Ltd", { message: "no such customer" })],
      ...[set(3), assert(5, { op: "gt" }), assert(3, { op: "ne" })],
      ...[set(["a"]), assert("b", { op: "contains" })],
    ]);
    expect(report.outcomes.flatMap(({ error }) => error ?? [])).toEqual([
      'n is "5" (text), not 5 (number)',
      'no such customer: n is "5", not "ACME Ltd"',
      "n is 3: expected more than 5",
      "n is 3: expected anything but 3",
      'n is ["a"]: expected to contain "b"',
    ]);
    // The history has it too.
    expect(JSON.stringify((await host.service.runs()).show(report.run_id))).toContain("ACME Ltd");
  });

  test("is neither where one of them is secret, but that their kinds differ", async () => {
    await using host = testService();
    const report = await runActions(
      host.service,
      [set("5", true), assert(5), set("5"), assert("${given}"), set("S3cret", true), assert("hunter2")],
      { variables: { given: "passphrase" } },
    );
    expect(report.outcomes.flatMap(({ error }) => error ?? [])).toEqual([
      "n is not eq the value: a text is never equal to a number (one of them is secret: neither is shown)",
      "n is not eq the value (one of them is secret: neither is shown)",
      "n is not eq the value (one of them is secret: neither is shown)",
    ]);
    const kept = JSON.stringify((await host.service.runs()).show(report.run_id));
    expect(kept).not.toMatch(/S3cret|hunter2|passphrase/);
  });
});

describe("what is kept of a run", () => {
  /** The texts of what `svc runs show` has of a run of `actions`, and the run's own report. */
  async function keptOf(service: Service, actions: readonly unknown[], variables = {}) {
    const report = await runActions(service, actions, { variables });
    return { report, kept: JSON.stringify((await service.runs()).show(report.run_id)) };
  }

  test("has a result that reached another action, which is no secret", async () => {
    await using host = seeing();
    const { kept } = await keptOf(host.service, [
      ["AC_test_look", { at: ["Invoice 4711"], as: "titles" }],
      ["AC_for_each", { list: "${titles}", var: "title", body: [["AC_fail", ["found ${title}"]]] }],
    ]);
    expect(kept).toContain("found Invoice 4711");
  });

  test.each([
    ["a part of a given variable", [["AC_fail", ["${row.deep[0].password}"]]]],
    [
      "an item of a given list",
      [["AC_for_each", { list: "${rows}", var: "one", body: [["AC_fail", ["${one.password}"]]] }]],
    ],
    [
      "an item of a list in the script",
      [["AC_for_each", { list: ["hunter2-secret"], var: "one", body: [["AC_fail", ["${one}"]]] }]],
    ],
    [
      "what was computed of it",
      [
        ["AC_set_var", ["x", "hunter2"]],
        ["AC_set_var", { name: "x", op: "append", value: "-secret" }],
        ["AC_fail", ["${x}"]],
      ],
    ],
    [
      "what a secret was appended to",
      [
        ["AC_test_look", { at: "", as: "x" }],
        ["AC_set_var", { name: "x", op: "append", value: "${row.deep[0].password}" }],
        ["AC_fail", ["${x}"]],
      ],
    ],
    [
      "the result of what sets a variable",
      [
        ["AC_set_var", { name: "x", value: "hunter2-secret", as: "y" }],
        ["AC_fail", ["${y}"]],
      ],
    ],
    [
      "a result that is a secret",
      [
        ["AC_test_unlock", { as: "door" }],
        ["AC_fail", ["${door.token}"]],
      ],
    ],
    [
      "the result of an action around it",
      [
        ["AC_try", { body: [["AC_test_unlock"]], as: "tried" }],
        ["AC_fail", ["${tried.outcomes[0].result.token}"]],
      ],
    ],
    [
      "a result that quotes it",
      [
        ["AC_test_look", { at: "got ${row.deep[0].password}", as: "x" }],
        ["AC_fail", ["${x}"]],
      ],
    ],
  ] as const)("has no secret: %s", async (_what, actions) => {
    await using host = seeing();
    const row = { deep: [{ password: "hunter2-secret" }] };
    const { report, kept } = await keptOf(host.service, actions, {
      row,
      rows: [{ password: "hunter2-secret" }],
    });
    expect(JSON.stringify(report.outcomes)).toContain("hunter2-secret");
    expect(kept).not.toContain("hunter2");
  });

  test("has no secret of any turn, however many there are", async () => {
    await using host = seeing();
    const rows = Array.from({ length: 6_000 }, (_, nth) => `password-${nth}`);
    const use = ["AC_for_each", { list: "${rows}", var: "row", body: [["AC_test_look", { at: "${row}" }]] }];
    const look = ["AC_test_look", { at: "${first}" }];
    for (const most of [3_000, 6_000]) {
      const variables = { rows: rows.slice(0, most), first: "the-first-secret" };
      const last = ["AC_fail", ["${first} ${rows[7]}"]];
      const { kept } = await keptOf(host.service, [look, use, last], variables);
      expect(kept).not.toMatch(/password-|the-first/);
    }
  });

  test("has what the script says is no secret", async () => {
    await using host = testService();
    const { kept } = await keptOf(host.service, [
      ["AC_set_var", { name: "step", value: "the first step", secret: false }],
      ["AC_fail", ["in ${step}"]],
    ]);
    expect(kept).toContain("in the first step");
  });
});

test("a list that carries data warns of no variable that it sets itself", async () => {
  await using host = testService();
  const { variables } = await (await host.service.executor()).check([
    ["AC_screen_size", { as: "screen" }],
    [
      "AC_for_each",
      { list: "${rows}", var: "row", body: [["AC_write", ["${row.name} ${loop.index} ${screen.width}"]]] },
    ],
    ["AC_assert", { name: "row.name", value: "${nobody.name}" }],
  ]);
  expect(variables).toEqual({ used: ["nobody", "row", "rows", "screen"], unset: ["nobody", "rows"] });
});

test("AC_log leaves messages in the record of the run and as events, without secrets, and 200 at most", async () => {
  await using host = testService();
  const actions = [
    ["AC_log", ["with ${pw}"]],
    ["AC_loop", { times: 300, body: [["AC_log", ["turn ${loop.index}"]]] }],
  ];
  const logged: string[] = [];
  const caller = localCaller(host.service, "api", { logged: (message) => void logged.push(message) });
  const report = await runActions(host.service, actions, { variables: { pw: "hunter2-secret" } }, caller);
  expect(report.outcomes[0]?.result).toEqual({ message: "with hunter2-secret", kept: true });
  expect(logged).toHaveLength(301);
  expect(logged.slice(0, 2)).toEqual(["with ***", "turn 1"]);
  expect(report.log).toHaveLength(200);
  expect(report.log?.[0]?.message).toBe("with ***");
  const { log, outcomes } = (await host.service.runs()).show(report.run_id);
  expect(log).toHaveLength(200);
  expect(log.slice(0, 2).map(({ message }) => message)).toEqual(["with ***", "turn 1"]);
  expect(JSON.stringify([log, outcomes])).not.toContain("hunter2");
});

test("a result is secret as soon as a secret was filled into the parameters of its action", async () => {
  await using host = testService({ allow_shell: true });
  const actions = (value: string) => [
    ["AC_shell_command", { shell_command: ["printf", "%s", value], as: "sh" }],
    ["AC_set_var", { name: "up", value: "${sh.stdout}" }],
    ["AC_set_var", { name: "up", op: "upper" }],
    ["AC_log", ["it is ${up}"]],
  ];
  const logged = async (value: string) => {
    const { run_id } = await runActions(host.service, actions(value), {
      variables: { pw: "hunter2-secret" },
    });
    return (await host.service.runs()).show(run_id).log.map(({ message }) => message);
  };
  expect(await logged("${pw}")).toEqual(["it is ***"]);
  expect(await logged("plain")).toEqual(["it is PLAIN"]);
});
