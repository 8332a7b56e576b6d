/** Flow commands, as scripts use them. */
import { describe, expect, test } from "bun:test";
import * as v from "valibot";
import { localCaller } from "../../../src/core/caller";
import { NO_INPUT } from "../../../src/core/fields";
import { operation } from "../../../src/core/operation";
import type { Outcome } from "../../../src/core/run";
import { notFound } from "../../../src/lib/errors";
import { operations } from "../../../src/operations";
import type { Service } from "../../../src/service/service";
import { runActions, testService, until } from "../../support";

/** Sets `trail` to itself and `mark`: what ran, in order, can be read off it. */
const mark = (text: string) => ["AC_set_var", { name: "trail", value: `\${trail}${text}` }];
const broken = ["AC_if_var", { name: "nobody_set_this", value: 1 }];

/** The marks that `actions` leave, and what became of them. */
async function trailOf(service: Service, actions: readonly unknown[], variables = {}) {
  const report = await runActions(service, [...actions, mark("")], {
    variables: { trail: "", ...variables },
  });
  return { trail: report.outcomes.at(-1)?.result, report };
}

const firstOf = ({ outcomes }: { outcomes: readonly Outcome[] }) => outcomes[0];

describe("AC_loop", () => {
  test("runs its body so many times", async () => {
    await using host = testService();
    const { trail, report } = await trailOf(host.service, [
      ["AC_loop", { times: 3, body: [mark("a"), mark("b")] }],
    ]);
    expect(trail).toBe("ababab");
    expect(firstOf(report)?.result).toMatchObject({ iterations: 3, omitted: 0 });
  });

  test("is left by AC_break, also from lists inside", async () => {
    await using host = testService();
    const stop = [
      "AC_if_var",
      { name: "trail", value: "aa", then: [["AC_try", { body: [["AC_break"]] }], mark("!")] },
    ];
    const { trail } = await trailOf(host.service, [["AC_loop", { times: 9, body: [mark("a"), stop] }]]);
    expect(trail).toBe("aa");
  });

  test("continues with its next iteration at AC_continue", async () => {
    await using host = testService();
    const body = [
      mark("a"),
      ["AC_if_var", { name: "trail", value: "a", then: [["AC_continue"]] }],
      mark("b"),
    ];
    const { trail } = await trailOf(host.service, [["AC_loop", { times: 3, body }]]);
    expect(trail).toBe("aabab");
  });

  test("leaves only the innermost loop at AC_break", async () => {
    await using host = testService();
    const inner = ["AC_loop", { times: 5, body: [mark("i"), ["AC_break"]] }];
    const { trail } = await trailOf(host.service, [["AC_loop", { times: 2, body: [inner, mark("o")] }]]);
    expect(trail).toBe("ioio");
  });

  test("fails, and is over, when an action of its body fails", async () => {
    await using host = testService();
    const { trail, report } = await trailOf(host.service, [
      ["AC_loop", { times: 3, body: [mark("a"), broken] }],
    ]);
    expect(trail).toBe("a");
    expect(firstOf(report)).toMatchObject({
      ok: false,
      error: "iteration 1: AC_if_var: unknown variable: nobody_set_this",
      detail: { iterations: 1, outcomes: [{ ok: true }, { ok: false }] },
    });
  });
});

describe("AC_retry", () => {
  const untilThree = ["AC_if_var", { name: "trail", value: "aaa", else: [broken] }];

  test("runs its body again until nothing fails", async () => {
    await using host = testService();
    const actions = [["AC_retry", { max_attempts: 5, backoff: 0, body: [mark("a"), untilThree, mark("b")] }]];
    const { trail, report } = await trailOf(host.service, actions);
    expect(trail).toBe("aaab");
    expect(firstOf(report)?.result).toMatchObject({ attempts: 3 });
  });

  test("fails with the last attempt's error", async () => {
    await using host = testService();
    const { report } = await trailOf(host.service, [
      ["AC_retry", { max_attempts: 2, backoff: 0, body: [broken] }],
    ]);
    expect(firstOf(report)?.error).toBe("attempt 2: AC_if_var: unknown variable: nobody_set_this");
  });

  test("does not try again once the run was cancelled", async () => {
    await using host = testService();
    const body = [mark("a"), ["AC_sleep", { seconds: 60 }]];
    const running = runActions(host.service, [["AC_retry", { body }]], { variables: { trail: "" } });
    await cancelWhenRunning(host.service);
    const report = await running;
    expect(report.status).toBe("cancelled");
    expect(firstOf(report)?.detail).toMatchObject({ attempts: 1 });
  });
});

describe("AC_try", () => {
  test("runs catch when the body fails, then finally, with the error in its variable", async () => {
    await using host = testService();
    const given = {
      body: [mark("b"), broken, mark("x")],
      catch: [mark("c"), ["AC_set_var", ["seen", "${problem}"]]],
    };
    const { trail, report } = await trailOf(host.service, [
      ["AC_try", { ...given, finally: [mark("f")], error_var: "problem" }],
    ]);
    expect(trail).toBe("bcf");
    expect(firstOf(report)).toMatchObject({
      ok: true,
      result: { error: "AC_if_var: unknown variable: nobody_set_this" },
    });
  });

  test("leaves the record of what went wrong readable when its variable was used", async () => {
    await using host = testService();
    const use = ["AC_if_var", { name: "problem", value: "${problem}" }];
    const { report } = await trailOf(host.service, [
      ["AC_try", { body: [broken], catch: [use], error_var: "problem", reraise: true }],
    ]);
    expect(report.error_text).toBe("AC_try: AC_if_var: unknown variable: nobody_set_this");
  });

  test("runs finally, and not catch, when the body is good", async () => {
    await using host = testService();
    const { trail, report } = await trailOf(host.service, [
      ["AC_try", { body: [mark("b")], catch: [mark("c")], finally: [mark("f")] }],
    ]);
    expect({ trail, ok: report.ok }).toEqual({ trail: "bf", ok: true });
  });

  test("fails after catch and finally with reraise", async () => {
    await using host = testService();
    const { trail, report } = await trailOf(host.service, [
      ["AC_try", { body: [broken], catch: [mark("c")], finally: [mark("f")], reraise: true }],
    ]);
    expect(trail).toBe("cf");
    expect(firstOf(report)?.error).toContain("unknown variable");
  });

  test("fails when catch fails, after finally", async () => {
    await using host = testService();
    const { trail, report } = await trailOf(host.service, [
      ["AC_try", { body: [broken], catch: [broken], finally: [mark("f")] }],
    ]);
    expect({ trail, ok: firstOf(report)?.ok }).toEqual({ trail: "f", ok: false });
  });

  test("runs finally in full on the way out of a loop", async () => {
    await using host = testService();
    const body = [["AC_try", { body: [["AC_break"]], finally: [mark("f"), mark("g")] }], mark("x")];
    const { trail } = await trailOf(host.service, [["AC_loop", { times: 3, body }]]);
    expect(trail).toBe("fg");
  });

  test("fails when finally fails on the way out of a loop, and nothing after it is left out", async () => {
    await using host = testService();
    const inner = ["AC_try", { body: [["AC_break"]], finally: [broken] }];
    const loop = ["AC_loop", { times: 3, body: [mark("a"), inner, mark("x")] }];
    const { trail, report } = await trailOf(host.service, [
      ["AC_try", { body: [loop], catch: [mark("c")] }],
      mark("z"),
    ]);
    expect({ trail, ok: report.ok }).toEqual({ trail: "acz", ok: true });
  });

  test("fails with reraise also when catch wanted to leave the loop", async () => {
    await using host = testService();
    const inner = ["AC_try", { body: [broken], catch: [["AC_break"]], reraise: true }];
    const { trail, report } = await trailOf(host.service, [
      ["AC_loop", { times: 3, body: [mark("a"), inner] }],
      mark("z"),
    ]);
    expect({ trail, ok: firstOf(report)?.ok }).toEqual({ trail: "az", ok: false });
  });

  test("runs finally when the run has executed all that it may", async () => {
    await using host = testService();
    const endless = ["AC_loop", { times: 100_000, body: [["AC_loop", { times: 100_000, body: [] }]] }];
    const report = await runActions(host.service, [["AC_try", { body: [endless], finally: [mark("f")] }]], {
      variables: { trail: "" },
    });
    expect(report.error_text).toBe("more than 200000 actions in one run");
    expect(firstOf(report)?.detail?.outcomes).toContainEqual(
      expect.objectContaining({ command: "AC_set_var", ok: true, result: "f" }),
    );
  });

  test("runs finally, and not catch, when the run is cancelled", async () => {
    await using host = testService();
    const body = [["AC_sleep", { seconds: 60 }]];
    const running = runActions(
      host.service,
      [["AC_try", { body, catch: [mark("c")], finally: [mark("f")] }], mark("x")],
      { variables: { trail: "" } },
    );
    await cancelWhenRunning(host.service);
    const report = await running;
    expect(report.status).toBe("cancelled");
    expect(firstOf(report)?.detail?.outcomes).toEqual([
      expect.objectContaining({ command: "AC_sleep", ok: false }),
      expect.objectContaining({ command: "AC_set_var", ok: true, result: "f" }),
    ]);
  });

  test("has 5 seconds in all for one finally inside another when the run is cancelled", async () => {
    await using host = testService();
    const long = ["AC_sleep", { seconds: 60 }];
    const last = [mark("too late")];
    const inner = ["AC_try", { body: [long], finally: [["AC_try", { body: [long], finally: last }]] }];
    const running = runActions(host.service, [["AC_try", { body: [long], finally: [mark("f"), inner] }]], {
      variables: { trail: "" },
    });
    await cancelWhenRunning(host.service);
    const report = await running;
    expect(report.status).toBe("cancelled");
    expect(JSON.stringify(firstOf(report))).toContain('"result":"f"');
    expect(JSON.stringify(firstOf(report))).not.toContain("too late");
    // One began, and was cut off; none of the lists after it began.
    expect(JSON.stringify(firstOf(report)).match(/"AC_sleep"/g)).toHaveLength(2);
  });
});

describe("AC_if_var", () => {
  const cases: Array<[unknown, string, unknown, boolean]> = [
    [5, "eq", 5, true],
    ["5", "eq", 5, false],
    [{ a: [1] }, "eq", { a: [1] }, true],
    [5, "ne", 6, true],
    [5, "lt", 6, true],
    [5, "le", 5, true],
    ["b", "gt", "a", true],
    [4, "ge", 5, false],
    ["haystack", "contains", "st", true],
    [[1, { a: 1 }], "contains", { a: 1 }, true],
    [{ key: 1 }, "contains", "key", true],
    [{ key: 1 }, "contains", "toString", false],
  ];
  for (const [left, op, right, matched] of cases) {
    test(`takes ${JSON.stringify(left)} ${op} ${JSON.stringify(right)} for ${matched}`, async () => {
      await using host = testService();
      const { trail } = await trailOf(
        host.service,
        [["AC_if_var", { name: "it", op, value: right, then: [mark("then")], else: [mark("else")] }]],
        { it: left },
      );
      expect(trail).toBe(matched ? "then" : "else");
    });
  }

  test("fails where there is no order, without showing the values", async () => {
    await using host = testService();
    const { report } = await trailOf(host.service, [["AC_if_var", { name: "it", op: "lt", value: 7 }]], {
      it: "s3cret",
    });
    expect(firstOf(report)?.error).toBe("lt, le, gt, ge: expected two numbers or two texts");
  });
});

describe('"stop_on_error": "focus"', () => {
  const aim = operation({
    name: "test.aim",
    summary: "Find no window",
    scope: "operate",
    aims: true,
    command: "AC_test_aim",
    input: NO_INPUT,
    output: v.null(),
    run() {
      throw notFound("no window");
    },
  });
  const missing = ["AC_test_aim"];
  const failing = ["AC_sleep", ["${nobody}"]];
  const next = ["AC_sleep", [0]];
  /** How many of the actions have run. */
  async function ran(...actions: unknown[]) {
    await using host = testService({ operations: [...operations, aim] });
    const { outcomes, ok } = await runActions(host.service, actions, { stop_on_error: "focus" });
    expect(ok).toBe(false);
    return outcomes.length;
  }

  test("ends a list where a window is not found or focused, and nowhere else", async () => {
    expect(await ran(failing, missing, next)).toBe(2);
    expect(await ran(failing, next, failing)).toBe(3);
  });

  test("ends it also where that happened inside an action that failed", async () => {
    expect(await ran(["AC_loop", [2, [missing]]], next)).toBe(1);
    expect(await ran(["AC_retry", { max_attempts: 2, backoff: 0, body: [missing] }], next)).toBe(1);
    expect(await ran(["AC_loop", [2, [failing]]], next)).toBe(2);
  });

  test("goes on where AC_try has caught it", async () => {
    expect(await ran(["AC_try", { body: [missing] }], failing, next)).toBe(3);
  });
});

test("AC_break outside a loop is refused before anything runs", async () => {
  await using host = testService();
  const executor = await host.service.executor();
  await expect(executor.prepare([["AC_try", { body: [["AC_break"]] }]])).rejects.toThrow(
    "actions[0].body[0]: expected AC_break inside AC_for_each, AC_loop or AC_while only",
  );
});

test("flow commands are no use outside a script", async () => {
  await using host = testService();
  const executor = await host.service.executor();
  const loop = executor.commands.get("AC_loop");
  expect(async () =>
    loop?.run(host.service, { times: 1, body: [] }, localCaller(host.service, "api")),
  ).toThrow("expected as an action of a script");
});

async function cancelWhenRunning(service: Service): Promise<void> {
  const runs = await service.runs();
  const { run_id } = await until("a run", () => runs.list()[0]);
  runs.cancel(run_id, "cancelled");
}
