/** How many hosts may fail before a plan pauses by itself. */
import { expect, test } from "bun:test";
import { specOf } from "../../../src/desk/plans/operations/make";
import { limitIn } from "../../../src/desk/plans/plan";

const limits = {
  ...{ on: "all", waves: ["1", "10%", "100%"], pause_s: 0, max_parallel: undefined, queue: false },
  ...{ expires_s: 60, delivery_timeout_s: 10, max_failures: undefined },
};

test("none in a wave that is smaller than the hosts after it, where nobody says how many", () => {
  const spec = specOf(limits, [], 30, 60);
  expect(spec.waves.map((_, wave) => limitIn(spec, wave))).toEqual([0, 0, 30]);
});

test("any number in a wave that is as large as the hosts after it", () => {
  const spec = specOf({ ...limits, waves: ["50%"] }, [], 30, 60);
  expect(limitIn(spec, 0)).toBe(30);
});

test("as many as somebody says, in every wave", () => {
  const spec = specOf({ ...limits, max_failures: "100%" }, [], 30, 60);
  expect(spec.waves.map((_, wave) => limitIn(spec, wave))).toEqual([30, 30, 30]);
});
