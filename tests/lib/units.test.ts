import { expect, test } from "bun:test";
import {
  durationText,
  limitAsTyped,
  parseAgo,
  parseDuration,
  sizeText,
  sizeTextUp,
  typedDuration,
} from "../../src/lib/units";

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

test("a time is named by what it is from now", () => {
  const now = new Date(2026, 5, 15, 13, 30).getTime();
  const at = (text: string) => parseAgo(text, now);
  expect(at("2h ago")).toBe(new Date(now - 7_200_000).toISOString());
  expect([at("2h"), at("now")]).toEqual([at("2h ago"), new Date(now).toISOString()]);
  expect([at("today"), at("yesterday")]).toEqual([
    new Date(2026, 5, 15).toISOString(),
    new Date(2026, 5, 14).toISOString(),
  ]);
  expect([at("ago"), at("2h agony"), at("tomorrow"), at("2026-06-15")]).toEqual(Array(4).fill(undefined));
  expect([at("999999999d"), at("99999999d ago")]).toEqual(Array(2).fill(undefined));
});

test("a time of the day is the last one", () => {
  const now = new Date(2026, 5, 15, 13, 30).getTime();
  const at = (text: string) => parseAgo(text, now);
  expect([at("02:13"), at("13:30"), at("13:31"), at("9:05:30")]).toEqual([
    new Date(2026, 5, 15, 2, 13).toISOString(),
    new Date(2026, 5, 15, 13, 30).toISOString(),
    new Date(2026, 5, 14, 13, 31).toISOString(),
    new Date(2026, 5, 15, 9, 5, 30).toISOString(),
  ]);
  expect([at("24:00"), at("12:60"), at("12"), at("12:3")]).toEqual(Array(4).fill(undefined));
});

test("a limit is said in the unit that was typed, or as a time that is a whole number", () => {
  expect(limitAsTyped(2_592_000, "40d")).toBe("30d");
  expect(limitAsTyped(2_592_000, "1000h")).toBe("720h");
  expect(limitAsTyped(3_600, "2d")).toBe("1h");
  expect(limitAsTyped(2 ** 30, "2 GiB")).toBe("1GiB");
  expect(limitAsTyped(60, "90")).toBeUndefined();
});

test.each([
  [0, "0 B"],
  [1_023, "1023 B"],
  [1_536, "1.5 KiB"],
  [16 * 2 ** 20, "16 MiB"],
  [2 ** 31, "2 GiB"],
  [3 * 2 ** 40, "3 TiB"],
  [2 ** 20 - 1, "1 MiB"],
  [2 ** 30 - 1, "1 GiB"],
  [2 ** 50, "1024 TiB"],
])("%p bytes are %p", (size, text) => {
  expect(sizeText(size)).toBe(text);
});

test("what is more than a limit is not written as the limit", () => {
  expect(sizeTextUp(16 * 2 ** 20 + 4_096)).toBe("16.1 MiB");
  expect(sizeTextUp(16 * 2 ** 20)).toBe("16 MiB");
});
