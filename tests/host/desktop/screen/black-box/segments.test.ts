/** The segments of the black box: bounded in time and bytes. */
import { expect, test } from "bun:test";
import { existsSync, utimesSync, writeFileSync } from "node:fs";
import {
  dropSegments,
  filesOf,
  keepSegments,
  keptRuns,
  newSegmentPath,
  segmentsIn,
} from "../../../../../src/host/desktop/screen/black-box/segments";
import { temporaryFolder } from "../../../../support";

const NOON = 1_790_000_000_000;
const MINUTE = 60_000;

/** A segment of a minute and of `bytes`, half of them texts. */
function add(folder: string, start: number, bytes = 1_000): string {
  const path = newSegmentPath(folder, start);
  for (const file of [filesOf(path).tiles, filesOf(path).texts]) {
    writeFileSync(file, Buffer.alloc(bytes / 2));
    const end = new Date(start + MINUTE);
    utimesSync(file, end, end);
  }
  return path;
}

const runOf = (run_id: string, from: number, to: number) => ({
  ...{ run_id, source_type: "scheduler", source_id: "job" },
  ...{ from: new Date(from).toISOString(), to: new Date(to).toISOString() },
});

const startsIn = (folder: string) => segmentsIn(folder).map(({ start }) => (start - NOON) / MINUTE);

test("segments are listed from the oldest, with their times and sizes", () => {
  using folder = temporaryFolder();
  add(folder.path, NOON + MINUTE);
  const path = add(folder.path, NOON);
  expect(segmentsIn(folder.path)[0]).toEqual({
    ...{ path, start: NOON, end: NOON + MINUTE, bytes: 1_000, isKept: false },
  });
  expect(startsIn(folder.path)).toEqual([0, 1]);
  expect(segmentsIn(`${folder.path}/none`)).toEqual([]);
});

test("what ended before a time is removed whole", () => {
  using folder = temporaryFolder();
  const path = add(folder.path, NOON);
  add(folder.path, NOON + 5 * MINUTE);
  dropSegments(folder.path, { oldest: NOON + MINUTE, maxBytes: 1e9 });
  expect(startsIn(folder.path)).toEqual([0, 5]);
  dropSegments(folder.path, { oldest: NOON + MINUTE + 1, maxBytes: 1e9 });
  expect(startsIn(folder.path)).toEqual([5]);
  expect(existsSync(filesOf(path).texts)).toBe(false);
});

test("the oldest go first where there is no room, and the one that is written stays", () => {
  using folder = temporaryFolder();
  const [first] = [0, 1, 2, 3].map((minute) => add(folder.path, NOON + minute * MINUTE));
  dropSegments(folder.path, { oldest: 0, maxBytes: 3_000 });
  expect(startsIn(folder.path)).toEqual([1, 2, 3]);
  expect(first && existsSync(filesOf(first).tiles)).toBe(false);
  const [writing] = segmentsIn(folder.path);
  dropSegments(folder.path, { oldest: NOON * 2, maxBytes: 1_000, writing: writing?.path });
  expect(startsIn(folder.path)).toEqual([1]);
});

test("what is kept for a failure stays beyond its time, in half of the room", () => {
  using folder = temporaryFolder();
  for (const minute of [0, 1, 2, 3, 4, 5]) add(folder.path, NOON + minute * MINUTE);
  expect(keepSegments(folder.path, runOf("a", NOON + MINUTE + 1, NOON + 2 * MINUTE - 1))).toBe(1);
  expect(segmentsIn(folder.path).filter(({ isKept }) => isKept)).toHaveLength(1);
  dropSegments(folder.path, { oldest: NOON * 2, maxBytes: 4_000 });
  expect(startsIn(folder.path)).toEqual([1]);
  for (const minute of [2, 3]) add(folder.path, NOON + minute * MINUTE);
  expect(keepSegments(folder.path, runOf("b", NOON, NOON + 4 * MINUTE))).toBe(3);
  expect(keptRuns(folder.path).map(({ run_id }) => run_id)).toEqual(["b", "a"]);
  dropSegments(folder.path, { oldest: NOON * 2, maxBytes: 4_000 });
  expect(startsIn(folder.path)).toEqual([2, 3]);
});

test("what is kept for a failure goes after a time of its own, where there is one", () => {
  using folder = temporaryFolder();
  for (const minute of [0, 1, 2]) add(folder.path, NOON + minute * MINUTE);
  keepSegments(folder.path, runOf("a", NOON, NOON + 2 * MINUTE - 1));
  dropSegments(folder.path, { oldest: NOON * 2, oldestKept: NOON + MINUTE + 1, maxBytes: 100_000 });
  expect(startsIn(folder.path)).toEqual([1]);
  dropSegments(folder.path, { oldest: NOON * 2, oldestKept: NOON * 2, maxBytes: 100_000 });
  expect(startsIn(folder.path)).toEqual([]);
});

test("nothing else of the folder is removed", () => {
  using folder = temporaryFolder();
  add(folder.path, NOON);
  const other = `${folder.path}/notes.txt`;
  writeFileSync(other, "");
  dropSegments(folder.path, { oldest: NOON * 2, maxBytes: 0 });
  expect(segmentsIn(folder.path)).toEqual([]);
  expect(existsSync(other)).toBe(true);
});
