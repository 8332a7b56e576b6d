/** What is kept of benches, and what comes of one that runs again. */
import { expect, test } from "bun:test";
import { join } from "node:path";
import { roundsOf } from "../../../bench/measuring/brief";
import { joined, needsMore, readKept, writeKept } from "../../../bench/measuring/kept";
import type { Figure } from "../../../bench/support";
import { temporaryFolder } from "../../support";

const figure = (name: string, ratio: Figure["ratio"], detail = "1 / 2 ms"): Figure => ({
  ...{ name, ratio, detail },
  goal: "<= 1",
});

test("figures are read back of the same build, and of no other", async () => {
  using folder = temporaryFolder();
  const path = join(folder.path, "bench.json");
  expect(readKept(path, "svc 1").measured.size).toBe(0);
  const measured = new Map([["a.ts", { figures: [figure("a", [0.5, Number.NaN])], seconds: 12 }]]);
  await writeKept(path, "svc 1", { machine: "here", measured });
  expect(readKept(path, "svc 1")).toEqual({ machine: "here", measured });
  expect(readKept(path, "svc 2")).toEqual({ machine: "", measured: new Map() });
});

test("a bench runs again until each ratio is there three times, but for one that stays the same", () => {
  expect(needsMore([figure("a", [1, 1, 1]), figure("b", 1)])).toBeTrue();
  expect(needsMore([figure("a", [1, 1, 1]), { ...figure("size", 1), isExact: true }])).toBeFalse();
});

test("a figure of several runs has all ratios, and the values of the run in which it was measured often enough", () => {
  const first = [figure("a", [1, 2, 3], "of many"), figure("b", 7, "first")];
  const second = joined(first, [figure("a", [4], "of few"), figure("b", 8, "second")]);
  expect(second).toEqual([figure("a", [1, 2, 3, 4], "of many"), figure("b", [7, 8], "second")]);
  expect(joined([], first)).toEqual([figure("a", [1, 2, 3], "of many"), figure("b", [7], "first")]);
});

test("a bench that is brief has a third of its rounds, and at least one", () => {
  expect(roundsOf(6, false)).toEqual({ least: 6, most: 18 });
  expect([1, 6, 41].map((asked) => roundsOf(asked, true))).toEqual([
    { least: 1, most: 1 },
    { least: 2, most: 2 },
    { least: 14, most: 14 },
  ]);
});
