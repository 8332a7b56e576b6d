/** The series of desktop tasks: what is kept of runs, and the page that is made of it. */
import { expect, test } from "bun:test";
import { appendFileSync } from "node:fs";
import { join } from "node:path";
import { pageOf } from "../../bench/desktop-tasks/page";
import { byPictures } from "../../bench/desktop-tasks/pictures";
import { isSameRun, keep, type Result, resultsIn } from "../../bench/desktop-tasks/results";
import { replaced, summarize } from "../../bench/desktop-tasks/series";
import { press, setText } from "../../bench/desktop-tasks/task";
import { TASKS } from "../../bench/desktop-tasks/tasks";
import { temporaryFolder } from "../support";

const passed = (over: Partial<Result>): Result => ({
  ...{ commit: "abc", id: "F01", change: null, way: "names", run: 1, at_once: 1 },
  ...{ failure: null, ms: 1_500, whole_ms: 4_000, load: 2 },
  ...over,
});
const failed = { failure: "there is no button", ms: null } as const;

test("results are read back, and a line that is none is named", () => {
  using folder = temporaryFolder();
  const file = join(folder.path, "results.jsonl");
  keep(file, passed({}));
  keep(file, passed({ run: 2 }));
  expect(resultsIn(file).map(({ run }) => run)).toEqual([1, 2]);
  appendFileSync(file, '{"id":"F01"}\n');
  expect(() => resultsIn(file)).toThrow();
});

test("a run is the same only under the same change, in the same way and beside as many others", () => {
  const one = passed({});
  expect(isSameRun(one, passed({ ms: 2 }))).toBeTrue();
  for (const other of [
    { change: "dark" },
    { way: "pictures" },
    { run: 2 },
    { at_once: 8 },
    { id: "F02" },
  ] as const)
    expect(isSameRun(one, passed(other))).toBeFalse();
});

test("a series is what runs of the newest commit came to, with as many at once as most of them", () => {
  const [plain, dark, ...others] = summarize(
    [
      ...[
        passed({ commit: "old" }),
        passed({ at_once: 3, load: 1 }),
        passed({ at_once: 3, run: 2, load: 4 }),
      ],
      ...[passed({ at_once: 3, run: 3, ms: 500, load: 2 }), passed({ at_once: 3, run: 4, ...failed })],
      ...[passed({ at_once: 1, id: "F02" }), passed({ change: "dark", ...failed })],
    ],
    "a machine",
  );
  expect(others).toEqual([]);
  expect(plain).toEqual({
    ...{ way: "names", change: null, commit: "abc", machine: "a machine", at_once: 3 },
    load: { median: 2, most: 4 },
    tasks: { F01: { passed: 3, runs: 4, ms: 1_500 } },
  });
  expect(dark?.tasks).toEqual({ F01: { passed: 0, runs: 1, ms: null } });
});

test("a new series takes the place of that of the same way and change, and the others stay", () => {
  const before = summarize([passed({}), passed({ way: "dogtail" }), passed({ change: "dark" })], "before");
  const now = summarize([passed({ change: "dark", ...failed })], "now");
  expect(replaced(before, now).map(({ way, change, machine }) => [way, change, machine])).toEqual([
    ["names", null, "before"],
    ["names", "dark", "now"],
    ["dogtail", null, "before"],
  ]);
});

test("the page counts the runs of each task, names what failed under a change, and says where each series ran", () => {
  const results = [
    ...[passed({}), passed({ run: 2, ...failed })],
    ...[passed({ way: "pictures" }), passed({ way: "dogtail", ...failed })],
    ...[passed({ change: "dark" }), passed({ change: "dark", id: "F02", ...failed })],
  ];
  const page = pageOf(TASKS, summarize(results, "a machine"), "By hand.\n");
  expect(page).toContain(
    "| F01 | zenity | GTK 3 | fill in a form and accept it | 1 of 2 | 1.5 | 1 of 1 | 0 of 1 |",
  );
  expect(page).toContain("0 of the 1 that ran passed in each of their runs; 1 of 2 runs passed.");
  expect(page).toContain("| dark | 1 of 2 | F02 | not run |");
  expect(page).toContain("| font | not run |  | not run |");
  expect(page).toContain("| by names, dark | 2 | abc | a machine | 1 | 2 (2) |");
  expect(page).toEndWith("By hand.\n");
});

test("a script by pictures has clicks and keys in place of names, and no steps where there are no pictures", async () => {
  using folder = temporaryFolder();
  const actions = [setText('textbox "Customer"', "ACME"), press('menuitem "Save"')];
  expect(byPictures(actions, folder.path)).toEqual({
    why: expect.stringContaining("no pictures were taken"),
  });
  const shot = (file: string) => ({ file, dx: 60, dy: 0 });
  const steps = {
    0: { before: [], shot: shot("0.png") },
    1: { before: [shot("1-0.png")], shot: shot("1.png") },
  };
  await Bun.write(join(folder.path, "plan.json"), JSON.stringify({ steps, why: null }));
  const made = byPictures(actions, folder.path);
  expect("actions" in made && made.actions.map(([command]) => command)).toEqual([
    ...["AC_locate_and_click", "AC_hotkey", "AC_write", "AC_locate_and_click", "AC_locate_and_click"],
  ]);
});
