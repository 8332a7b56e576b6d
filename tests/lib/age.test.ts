/** From when something is too old to be kept. */
import { describe, expect, test } from "bun:test";
import { oldestKept } from "../../src/lib/age";
import { movableClocks } from "../support";

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const BEGUN = Date.parse("2026-06-01T00:00:00Z");

/** From when what is kept for a day is too old, `passed` milliseconds after the start of a process, when its clock is `ahead` by so much. */
const oldest = (passed: number, ahead = 0, begun = BEGUN) =>
  oldestKept(DAY, { begun, steady: () => passed, now: () => BEGUN + passed + ahead });

describe("what is kept for a day", () => {
  test("is too old after a day", () => {
    expect(oldest(5 * HOUR)).toBe(BEGUN + 5 * HOUR - DAY);
  });

  test("is never too old in the first hour of a process", () => {
    expect([oldest(HOUR - 1), oldest(HOUR - 1, 400 * DAY)]).toEqual([0, 0]);
    expect(oldest(HOUR)).toBe(BEGUN + HOUR - DAY);
  });

  test("gets no older where the clock jumps ahead", () => {
    expect(oldest(5 * HOUR, 400 * DAY)).toBe(oldest(5 * HOUR));
  });

  test("is as old as the time says where the clock was ahead at the start, or is set back", () => {
    const ahead = BEGUN + 400 * DAY;
    expect(oldest(5 * HOUR, 0, ahead)).toBe(BEGUN + 5 * HOUR - DAY);
    expect(oldest(5 * HOUR, -2 * DAY)).toBe(BEGUN + 5 * HOUR - 3 * DAY);
  });

  test("counts by the clocks of this process", () => {
    using clocks = movableClocks();
    clocks.advance(2 * HOUR);
    const now = Date.now() - DAY;
    expect(Math.abs(oldestKept(DAY) - now)).toBeLessThan(10_000);
    clocks.set(400 * DAY);
    expect(Math.abs(oldestKept(DAY) - now)).toBeLessThan(10_000);
  });
});
