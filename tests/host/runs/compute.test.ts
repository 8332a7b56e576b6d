/** What AC_set_var computes. */
import { describe, expect, spyOn, test } from "bun:test";
import fc from "fast-check";
import { ALONE, type Computation, compute, WITH_VALUE } from "../../../src/host/runs/compute";
import { MAX_FILLED } from "../../../src/host/runs/variables";
import { runActions, testService, usedMs } from "../../support";

test.each([
  ["add", 2, 3, 5],
  ["sub", 2, 3, -1],
  ["mul", 2, 3, 6],
  ["div", 3, 2, 1.5],
  ["mod", 7, 4, 3],
  ["min", 2, 3, 2],
  ["max", 2, 3, 3],
  ["round", 2.5, undefined, 3],
  ["append", "a", "b", "ab"],
  ["append", "a", 1, "a1"],
  ["upper", "straße", undefined, "STRASSE"],
  ["lower", "ABC", undefined, "abc"],
  ["trim", " a\n", undefined, "a"],
  ["length", "abc", undefined, 3],
  ["length", [1, 2], undefined, 2],
  ["number", " -12.5e1 ", undefined, -125],
  ["text", { a: 1 }, undefined, '{"a":1}'],
  ["text", "a", undefined, "a"],
  ["json", '{"a": [1]}', undefined, { a: [1] }],
  ["split", "a,b,c", ",", ["a", "b", "c"]],
  ["join", ["a", 1, null], "-", "a-1-null"],
  ["replace", "a.b.c", [".", "$&"], "a$&b$&c"],
  ["slice", "abcdef", [1, 3], "bc"],
  ["slice", [1, 2, 3], [-2], [2, 3]],
  ["push", [1], [2], [1, [2]]],
] as const)("%s of %j and %j", (op, current, value, result) => {
  expect(compute(op, current, value)).toEqual(result);
});

test.each([
  ["add", "2", 3, "the variable: expected a number but found a string"],
  ["add", 2, "3", "value: expected a number but found a string"],
  ["div", 1, 0, "the result is not a number: a division by zero, or too large"],
  ["mul", 1e200, 1e200, "the result is not a number: a division by zero, or too large"],
  ["number", "0x10", undefined, "the variable: expected a text that is a number, such as -12.5"],
  ["number", "", undefined, "the variable: expected a text that is a number, such as -12.5"],
  ["json", "hunter2", undefined, "the variable: expected a text that is JSON"],
  ["split", "abc", "", "value: expected a text that is not empty"],
  ["replace", "abc", ["", "x"], 'value: expected ["text to replace", "text in its place"]'],
  [
    "slice",
    "abc",
    [0.5],
    "value: expected [start] or [start, end], whole numbers; below 0 they count from the end",
  ],
  ["push", "abc", 1, "the variable: expected a list but found a string"],
] as const)("%s refuses %j and %j", (op, current, value, message) => {
  expect(() => compute(op, current, value)).toThrow(message);
});

test.each([
  ["split", (sought: string) => sought],
  ["replace", (sought: string) => [sought, ""]],
] as const)("%s looks for a long text in a time that grows with both texts", (op, value) => {
  const [half, text] = ["b".repeat(150_000), "b".repeat(600_000)];
  const before = usedMs();
  expect([compute(op, text, value(`${half}ac${half}`))].flat()).toEqual([text]);
  expect(usedMs() - before).toBeLessThan(500);
});

describe("whatever it is given,", () => {
  const functions = Object.keys({ ...WITH_VALUE, ...ALONE }) as Computation[];

  test("it has a result in JSON or says what it expected", () => {
    const any = fc
      .oneof(fc.jsonValue(), fc.string(), fc.double(), fc.array(fc.string()))
      .map((value) => JSON.parse(JSON.stringify(value)));
    fc.assert(
      fc.property(fc.constantFrom(...functions), any, any, (op, current, value) => {
        try {
          const result = compute(op, current, value);
          expect(JSON.parse(JSON.stringify(result))).toEqual(result);
        } catch (error) {
          expect(error).toMatchObject({ code: "bad_input" });
        }
      }),
    );
  });

  test("it makes nothing larger than a variable", () => {
    const large = "x".repeat(MAX_FILLED.bytes);
    const most = `expected a result of at most ${MAX_FILLED.bytes} bytes`;
    expect(() => compute("replace", large, ["x", large])).toThrow(most);
    expect(() => compute("join", Array(100_000).fill("x"), large)).toThrow(most);
    expect(() => compute("append", large, "x")).toThrow(most);
    using split = spyOn(String.prototype, "split");
    expect(() => compute("split", ",".repeat(MAX_FILLED.bytes / 2), ",")).toThrow(most);
    expect(split).not.toHaveBeenCalled();
  });
});

test("what needs a value is refused without it before anything runs, and the other way round", async () => {
  await using host = testService();
  const executor = await host.service.executor();
  const refusal = async (input: object) => {
    try {
      await executor.prepare([["AC_set_var", { name: "n", ...input }]]);
      return "";
    } catch (error) {
      return error instanceof Error ? error.message : "";
    }
  };
  expect(await refusal({})).toBe("actions[0].value: missing: expected any value");
  expect(await refusal({ op: "add" })).toBe("actions[0].value: missing: expected any value");
  expect(await refusal({ op: "trim", value: 1 })).toBe("actions[0].value: expected none with trim");
  expect(await refusal({ op: "pow", value: 1 })).toContain("actions[0].op: expected add, sub");
  expect(await refusal({ op: "trim" })).toBe("");
});

test("it is checked again when a variable says which", async () => {
  await using host = testService();
  const run = (op: string) =>
    runActions(host.service, [["AC_set_var", { name: "n", op: "${op}" }]], { variables: { n: "a", op } });
  expect((await run("upper")).outcomes[0]?.result).toBe("A");
  expect((await run("append")).outcomes[0]?.error).toBe("value: missing: expected any value");
});
