import { expect, test } from "bun:test";
import { jsonLine } from "../../src/lib/sanitize";
import { table } from "../../src/lib/table";

test("columns are aligned by what a terminal shows", () => {
  expect(
    table(
      ["A", "B"],
      [
        ["日本", "x"],
        ["", "y"],
      ],
    ),
  ).toBe("A     B\n日本  x\n-     y");
});

test("a long cell is cut, the last one of a row at twice the length", () => {
  const long = "x".repeat(200);
  const [, row = ""] = table(["A", "B"], [[long, long]]).split("\n");
  expect(row).toBe(`${"x".repeat(60)}…  ${"x".repeat(120)}…`);
});

test("escape sequences are shown, not sent", () => {
  expect(table(["A"], [["\u001b[2J\u009bm\u202e\u061c"]])).toBe("A\n\\x1b[2J\\x9bm\\u202e\\u061c");
});

test("a line of JSON sends no control character and reads back as it was", () => {
  const data = { text: '\u001b\u007f\u009b\u202e"\\é' };
  expect(jsonLine(data)).not.toMatch(/[\u0000-\u001f\u007f-\u009f\u202e]/);
  expect(JSON.parse(jsonLine(data))).toEqual(data);
});
