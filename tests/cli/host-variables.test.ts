import { expect, test } from "bun:test";
import fc from "fast-check";
import { withHostVariables } from "../../src/cli/host-variables";
import { literal } from "../../src/core/written";
import { fillIn, variablesOf } from "../../src/host/runs/variables";

type Given = { variables?: Record<string, unknown>; variables_by_host?: unknown };
const read = (text: string, more: object = {}) =>
  withHostVariables<Given>({}, { variables_by_host: text, ...more });

test("a table gives each host its variables, typed as --var types them", async () => {
  const csv = 'label,seat,note,on\nlab-01,7,"a, b",true\n\nlab 02,007,,{}\n';
  expect(await read(csv, { var: ["site=Berlin", "floor=8"], var_file: { site: "x", more: 1 } })).toEqual({
    variables: { site: "Berlin", floor: 8, more: 1 },
    variables_by_host: {
      "lab-01": { seat: 7, note: "a, b", on: true },
      "lab 02": { seat: "007", note: "", on: {} },
    },
  });
  expect(await read('{"a":{"seat":"7"},"b":{}}')).toEqual({ variables_by_host: { a: { seat: "7" }, b: {} } });
  expect(await withHostVariables<Given>({}, {})).toEqual({});
});

test("a number that would be written otherwise stays the text that was typed", async () => {
  const typed = ["1.10", "12345678901234567890", "1e5", "-0", "0.10000000000000000001", "5.0"];
  const kept = await read("label,a", { var: typed.map((text, nth) => `v${nth}=${text}`) });
  expect(Object.values(kept.variables ?? {})).toEqual(typed);
  const plain = await read("label,version\nx,1.10\ny,1.5", {
    var: ["n=-7", "f=1.25", "large=9007199254740991"],
  });
  expect(plain).toEqual({
    variables: { n: -7, f: 1.25, large: 9_007_199_254_740_991 },
    variables_by_host: { x: { version: "1.10" }, y: { version: 1.5 } },
  });
});

test.each([
  ["seat,note\n1,2", "variables_by_host: expected a column label in the first line"],
  ["label,se at\na,1", "column 2 of the first line: expected label, or a name of a variable"],
  ["label,a,a\nx,1,2", "the column a is there twice"],
  ["label,a\nx,1\nx,2", "line 3: x is there twice"],
  ["label,a\n,hunter2", "line 2: expected a label"],
  ["label,a\nx,hunter2,3", "expected CSV at line 2 (CSV_RECORD_INCONSISTENT_COLUMNS)"],
  ['["hunter2"]', "expected JSON such as"],
  ['{"a":"hunter2"}', "expected JSON such as"],
  ["{", "expected JSON such as"],
])("%j is no table of variables, and no value is quoted", async (text, message) => {
  const error = await read(text).catch((thrown) => thrown);
  expect(error.message).toContain(message);
  expect(error.message).not.toContain("hunter2");
});

test("a value that travels stands for itself, whatever looks like a variable in it", () => {
  const piece = fc.constantFrom(
    "${a}",
    "$${a}",
    "$",
    "${",
    "}",
    "${a.b[0]}",
    "${= 1 + 1}",
    "$${= 1}",
    "x",
    "$${",
    "\\",
  );
  const text = fc.array(piece, { maxLength: 8 }).map((pieces) => pieces.join(""));
  const value = fc.oneof(text, fc.array(text), fc.dictionary(fc.constantFrom("k", "l"), text), fc.integer());
  fc.assert(
    fc.property(value, (given) => {
      const written = literal(given);
      if (written === undefined) return;
      expect(fillIn(written, variablesOf({ a: "no" }))).toEqual(given);
    }),
    { numRuns: 2_000 },
  );
  expect(literal("a ${= b")).toBeUndefined();
  expect(literal("a $${a} ${b}")).toBe("a $$${a} $${b}");
});
