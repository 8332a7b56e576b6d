/** The known name that a wrong one is near to. */
import { expect, test } from "bun:test";
import { usedMs } from "../../src/lib/clock";
import { byDistance, nearest } from "../../src/lib/nearest";

const KNOWN = ["AC_screen_size", "AC_screenshot", "AC_sleep", "AC_write"];

test("a name with letters left out, doubled, swapped or in other capitals has its nearest", () => {
  const typed = ["AC_scren_size", "AC_screeen_size", "AC_wrtie", "ac_sleep", "screen_size"];
  expect(typed.map((name) => nearest(name, KNOWN))).toEqual([
    "AC_screen_size",
    "AC_screen_size",
    "AC_write",
    "AC_sleep",
    "AC_screen_size",
  ]);
});

test("a name that is like none of them, or is too long to compare, has none", () => {
  expect(["nonsense", "", "x".repeat(1_000_000)].map((name) => nearest(name, KNOWN))).toEqual(
    Array(3).fill(undefined),
  );
});

test("a name that only one of them begins with has that one", () => {
  expect(nearest("AC_screens", KNOWN)).toBe("AC_screenshot");
  expect(["AC_scr", "AC_s"].map((name) => nearest(name, KNOWN))).toEqual([undefined, undefined]);
});

test("a name is compared with thousands for some milliseconds", () => {
  // All as near as can be, and none a name that is known.
  const like = (nth: number) => `${"ab".repeat(29)}${String(nth).padStart(6, "0")}`;
  const known = Array.from({ length: 20_000 }, (_, nth) => like(nth));
  const began = usedMs();
  nearest(`x${like(1).slice(1)}`, known);
  byDistance(like(30_000), known, (one) => one);
  expect(usedMs() - began).toBeLessThan(300);
});
