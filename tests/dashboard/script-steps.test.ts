/** The steps of a script as the page finds them in its text, and the step of a trace at which it opens. */
import { describe, expect, test } from "bun:test";
import { resolve } from "node:path";
import fc from "fast-check";

const {
  additionTo,
  argumentsOf,
  listTextIn,
  movedSteps,
  offsetAt,
  stepAt,
  stepOfPlace,
  stepOfPointer,
  stepsIn,
  wordsOf,
} = await import(resolve("dashboard/host/script-steps.js"));
const { failureIn } = await import(resolve("dashboard/host/trace-parts.js"));

interface Step {
  readonly number: string;
  readonly depth: number;
  readonly list: string;
  readonly pointer: string;
  readonly place: string;
  readonly start: number;
  readonly end: number;
}

/** What a JSON Pointer leads to. */
const valueAt = (root: unknown, pointer: string) =>
  pointer
    .split("/")
    .slice(1)
    .reduce(
      (value, key) => (value as Record<string, unknown>)[key.replaceAll("~1", "/").replaceAll("~0", "~")],
      root,
    );

const { list } = fc.letrec<{ list: unknown[]; action: unknown[] }>((tie) => ({
  list: fc.array(tie("action"), { minLength: 1, maxLength: 4 }),
  action: fc.oneof(
    { depthSize: "small", withCrossShrink: true },
    fc.tuple(
      fc.constant("AC_write"),
      fc.record({ write_string: fc.string({ unit: "binary" }), "a/b~c": fc.integer() }),
    ),
    fc.tuple(fc.constant("AC_loop"), fc.record({ "my/times": fc.integer(), body: tie("list") })),
    fc.tuple(fc.constant("AC_try"), fc.record({ body: tie("list"), catch: tie("list") })),
  ),
}));

/** How many actions a list has, with those inside. */
const countOf = (actions: readonly unknown[]): number =>
  actions.reduce((sum: number, action) => {
    const [, fields] = action as [string, Record<string, unknown>];
    const inner = Object.values(fields).filter(Array.isArray);
    return sum + 1 + inner.reduce((all, one) => all + countOf(one), 0);
  }, 0);

describe("the steps of a script", () => {
  test("are all of its actions, each at its place in the text, however it is written", () => {
    fc.assert(
      fc.property(list, fc.integer({ min: 0, max: 4 }), fc.boolean(), (actions, indent, isWrapped) => {
        const script = isWrapped ? { timeout: "5m", actions } : actions;
        const text = JSON.stringify(script, null, indent);
        const steps: Step[] = stepsIn(text);
        expect(steps).toHaveLength(countOf(actions));
        for (const [nth, { start, end, pointer, place }] of steps.entries()) {
          expect(JSON.parse(text.slice(start, end))).toEqual(valueAt(script, pointer));
          expect([stepAt(steps, start), stepOfPointer(steps, pointer), stepOfPlace(steps, place)]).toEqual([
            nth,
            nth,
            nth,
          ]);
        }
        expect(JSON.parse(listTextIn(text))).toEqual(actions);
      }),
    );
  });

  test("have numbers as reports have, and places as traces have, also in branches and positional arguments", () => {
    const on = ["AC_on", { host: "lab-1", body: [["AC_log", ["hello"]]] }];
    const script = [
      ["AC_together", { branches: [[on], [on, on]] }],
      ["AC_loop", [2, [["AC_sleep"], 7]]],
      ["AC_try", { body: [["AC_sleep"]], catch: [["AC_sleep"]] }],
    ];
    const parametersOf = (command: string) => (command === "AC_loop" ? ["times", "body"] : []);
    const steps: Step[] = stepsIn(JSON.stringify(script), parametersOf);
    expect(steps.map(({ number, place, list, depth }) => [number, place, list, depth])).toEqual([
      ["1", "[0]", "", 0],
      ["1.1", "[0].branches[0][0]", "branches 1", 1],
      ["1.1.1", "[0].branches[0][0].body[0]", "body", 2],
      ["1.2", "[0].branches[1][0]", "branches 2", 1],
      ["1.2.1", "[0].branches[1][0].body[0]", "body", 2],
      ["1.3", "[0].branches[1][1]", "branches 2", 1],
      ["1.3.1", "[0].branches[1][1].body[0]", "body", 2],
      ["2", "[1]", "", 0],
      ["2.1", "[1].body[0]", "body", 1],
      // What is no action is listed, too: it is at fault.
      ["2.2", "[1].body[1]", "body", 1],
      ["3", "[2]", "", 0],
      ["3.1", "[2].body[0]", "body", 1],
      ["3.2", "[2].catch[0]", "catch", 1],
    ]);
    // What a called script has done is of the action that called it.
    expect(stepOfPlace(steps, "[2].body[0].called[3]")).toBe(11);
    expect(stepOfPlace(steps, "[3]")).toBe(-1);
    expect(stepOfPointer(steps, "/1/1/0")).toBe(7);
    expect(stepOfPointer(steps, "/timeout")).toBe(-1);
  });

  test("say in a few words what they act on, and their arguments by name", () => {
    const steps: Step[] = stepsIn(
      JSON.stringify([
        ["AC_click_element", { element: 'button "Save"', timeout: "5s", as: "it" }],
        ["AC_click_mouse", { x: 5, y: 6 }],
        ["AC_write", ["a\n b".repeat(40)]],
        ["AC_loop", [2, [["AC_sleep"]]]],
        ["AC_sleep"],
        "no action",
      ]),
    );
    expect(steps.map(wordsOf)).toEqual(['button "Save"', "x 5 y 6", `${"a b".repeat(20)}…`, "2", "", "", ""]);
    expect(argumentsOf(steps[3], ["times", "body"])).toEqual([
      { name: "times", value: 2, steps: 0 },
      { name: "body", value: null, steps: 1 },
    ]);
    expect(argumentsOf(steps[0], [])[1]).toEqual({ name: "timeout", value: "5s", steps: 0 });
  });

  test("are none of a text that is no list, and stay where they are while it is half written", () => {
    for (const text of ["[oops", "7", '{"a": []}', '{"actions": 7}', ""]) expect(stepsIn(text)).toBeNull();
    const before = '[["AC_sleep"], ["AC_log", ["a"]]]';
    const after = before.replace('"AC_sleep"', '"AC_sleep", {"sec');
    const moved: Step[] = movedSteps(stepsIn(before), before, after);
    expect(moved.map(({ start, end }) => after.slice(start, end))).toEqual([
      '["AC_sleep", {"sec]',
      '["AC_log", ["a"]]',
    ]);
  });

  test("get another one at their end, and the rest of the text stays as it is written", () => {
    const added = (text: string) => {
      const { from, to, words, at } = additionTo(text, ["AC_log", { message: "m" }]);
      const next = text.slice(0, from) + words + text.slice(to);
      expect(next.slice(at, at + 9)).toBe('["AC_log"');
      return next;
    };
    const action = '["AC_log",{"message":"m"}]';
    expect(added("")).toBe(`[\n  ${action}\n]\n`);
    expect(added("[ ]\n")).toBe(`[\n  ${action}\n]\n`);
    expect(added('[["AC_sleep"] ]')).toBe(`[["AC_sleep"], ${action} ]`);
    expect(added('{"pace": 1,\n "actions": [\n\t["AC_sleep",   [1]]\n ]}')).toBe(
      `{"pace": 1,\n "actions": [\n\t["AC_sleep",   [1]],\n\t${action}\n ]}`,
    );
    expect(additionTo("[oops", ["AC_log"])).toBeNull();
  });

  test("a place of a fault is an offset in the text, and stays within it", () => {
    const text = "ab\ncd";
    expect([offsetAt(text, 1, 2), offsetAt(text, 2, 1), offsetAt(text, 9, 9)]).toEqual([1, 3, 5]);
  });
});

test("a trace opens at the step that made the run fail, not at one that was made good or at the loop around it", () => {
  const at = (...steps: Array<readonly [string, boolean | null]>) => {
    const found = failureIn(steps.map(([place, ok]) => ({ place, ok })));
    return steps[found]?.[0];
  };
  expect(at(["[0]", true], ["[1]", true])).toBeUndefined();
  expect(at(["[0]", true], ["[1]", false], ["[2]", false])).toBe("[1]");
  // A loop, whose last turn failed in an action inside another.
  expect(
    at(["[0]", false], ["[0].body[0]", true], ["[0].body[0]", false], ["[0].body[0].then[0]", false]),
  ).toBe("[0].body[0].then[0]");
  // Made good by AC_try, and then another.
  expect(at(["[0]", true], ["[0].body[0]", false], ["[0].body[0].body[0]", false], ["[1]", false])).toBe(
    "[1]",
  );
  expect(
    at(["[0]", false], ["[0].body[0]", true], ["[0].body[0].body[0]", false], ["[0].body[1]", false]),
  ).toBe("[0].body[1]");
  expect(at(["[1]", true], ["[10]", false], ["[10].called[0]", false], ["[11]", null])).toBe(
    "[10].called[0]",
  );
});
