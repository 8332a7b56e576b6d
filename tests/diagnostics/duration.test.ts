import { expect, test } from "bun:test";
import { durationText } from "../../src/diagnostics/duration";

test.each([
  [0.4, "0 s"],
  [119, "119 s"],
  [120, "2 min"],
  [7_199, "119 min"],
  [7_200, "2 h"],
  [172_800, "2 days"],
] as const)("%d s is %s", (seconds, text) => {
  expect(durationText(seconds)).toBe(text);
});
