import { expect, test } from "bun:test";
import { parseDuration } from "../../src/lib/duration";

test.each([
  ["90s", 90],
  ["15m", 900],
  ["1.5h", 5_400],
  ["7d", 604_800],
  ["90", undefined],
  ["s", undefined],
  ["-1s", undefined],
  ["1 h", undefined],
  ["1hour", undefined],
] as const)("%p is %p seconds", (text, seconds) => {
  expect(parseDuration(text)).toBe(seconds);
});
