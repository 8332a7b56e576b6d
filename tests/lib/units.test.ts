import { expect, test } from "bun:test";
import { durationText, parseDuration, typedDuration } from "../../src/lib/units";

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

test.each([
  [0.4, "0 s"],
  [119, "119 s"],
  [120, "2 min"],
  [7_199, "119 min"],
  [7_200, "2 h"],
  [172_800, "2 days"],
] as const)("%d s is shown as %s", (seconds, text) => {
  expect(durationText(seconds)).toBe(text);
});

test.each([90, 900, 7_200, 604_800, 3_661, 0.5, 0])(
  "%d seconds as they are typed are as many again",
  (seconds) => {
    expect(parseDuration(typedDuration(seconds))).toBe(seconds);
  },
);
