import { expect, test } from "bun:test";
import { jsonLine } from "../../src/lib/sanitize";
import { table } from "../../src/lib/table";
import { timeText } from "../../src/lib/time-text";

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

test("a long cell is cut, the last one of a row much later", () => {
  const long = "x".repeat(600);
  const [, row = ""] = table(["A", "B"], [[long, long]]).split("\n");
  expect(row).toBe(`${"x".repeat(60)}…  ${"x".repeat(500)}…`);
});

test("no cell is cut for a program that reads the table", () => {
  const long = "x".repeat(600);
  expect(table(["A", "B"], [[long, long]], undefined, undefined, true)).toContain(`${long}  ${long}`);
});

test("no line is wider than the terminal: the widest columns give way", () => {
  const rows = [["lab-01", "a reason of many words ".repeat(10).trim(), "x".repeat(30)]];
  const lines = table(["LABEL", "REASON", "FILE"], rows, undefined, 60).split("\n");
  expect(lines[1]).toBe(`lab-01  a reason of many words a…  ${"x".repeat(24)}…`);
  expect(Math.max(...lines.map((line) => Bun.stringWidth(line)))).toBeLessThanOrEqual(60);
  for (let width = 42; width < 300; width++)
    for (const line of table(["LABEL", "REASON", "FILE"], rows, undefined, width).split("\n"))
      expect(Bun.stringWidth(line)).toBeLessThanOrEqual(width);
  expect(table(["A"], [["日本語の長い名前です".repeat(3)]], undefined, 21)).toBe("A\n日本語の長い名前です…");
});

test("a time is cut last: its end says most", () => {
  const rows = [["plan of many words that say little", "2026-04-27T10:30:00.123Z", "x".repeat(30)]];
  const [, row = ""] = table(["PLAN", "AT", "WHY"], rows, undefined, 60).split("\n");
  expect(row).toContain("2026-04-27T10:30:00Z");
  expect(Bun.stringWidth(row)).toBeLessThanOrEqual(60);
  const [, narrow = ""] = table(["PLAN", "AT", "WHY"], rows, undefined, 42).split("\n");
  expect(Bun.stringWidth(narrow)).toBeLessThanOrEqual(42);
});

test("a terminal that is too narrow for any table gets one that it breaks", () => {
  expect(table(["A", "B"], [["x".repeat(20), "y".repeat(20)]], undefined, 10)).toBe(
    `A             B\n${"x".repeat(11)}…  ${"y".repeat(11)}…`,
  );
});

test("a time is shown to the second, whoever wrote it", () => {
  const times = ["2026-04-27T10:30:00.123456+00:00", "2026-04-27T10:30:00.123Z", "2026-04-27T10:30:00Z"];
  const [, ...shown] = table(
    ["AT"],
    times.map((time) => [time]),
  ).split("\n");
  expect(shown).toEqual(Array(3).fill("2026-04-27T10:30:00Z"));
  expect(timeText("at 2026-04-27T10:30:00.123Z")).toBe("at 2026-04-27T10:30:00.123Z");
});

test("escape sequences are shown, not sent", () => {
  expect(table(["A"], [["\u001b[2J\u009bm\u202e\u061c"]])).toBe("A\n\\x1b[2J\\x9bm\\u202e\\u061c");
});

test("a line of JSON sends no control character and reads back as it was", () => {
  const data = { text: '\u001b\u007f\u009b\u202e"\\é' };
  expect(jsonLine(data)).not.toMatch(/[\u0000-\u001f\u007f-\u009f\u202e]/);
  expect(JSON.parse(jsonLine(data))).toEqual(data);
});
