import { expect, test } from "bun:test";
import fc from "fast-check";
import { createGuesses, LOCKOUT_GUESSES, LOCKOUT_WINDOW_MS } from "../../src/http/guesses";

test("a client is locked out for a minute by the guesses of a minute, whoever else guesses in between", () => {
  const pause = fc.oneof(
    fc.nat({ max: 9_000 }),
    fc.constantFrom(0, LOCKOUT_WINDOW_MS / 2, LOCKOUT_WINDOW_MS),
  );
  const step = fc.record({ client: fc.nat({ max: 3 }).map(String), pause });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 300, size: "max" }), (steps) => {
      const guesses = createGuesses();
      const known = new Map<string, number[]>();
      const locked = new Map<string, number>();
      let now = 0;
      for (const { client, pause } of steps) {
        now += pause;
        expect(Math.max(now, guesses.lockedUntil(client))).toBe(Math.max(now, locked.get(client) ?? 0));
        if ((locked.get(client) ?? 0) > now) continue;
        expect(guesses.count(client, now)).toBeUndefined();
        const recent = [...(known.get(client) ?? []).filter((at) => at > now - LOCKOUT_WINDOW_MS), now];
        const isLast = recent.length === LOCKOUT_GUESSES;
        known.set(client, isLast ? [] : recent);
        if (isLast) locked.set(client, now + LOCKOUT_WINDOW_MS);
      }
    }),
    { numRuns: 50 },
  );
});

test("of as many locks as there may be, those that have ended make room, and no other", () => {
  const guesses = createGuesses();
  const lock = (client: string, now: number) => {
    for (let nth = 0; nth < LOCKOUT_GUESSES; nth++) guesses.count(client, now);
  };
  const LOCKS = 131_072;
  for (let nth = 0; nth < LOCKS; nth++) lock(`${nth}`, nth / 1_000);
  const now = LOCKOUT_WINDOW_MS + 2 / 1_000;
  for (const client of ["a", "b", "c"]) lock(client, now);
  expect(["0", "1", "2"].map(guesses.lockedUntil)).toEqual([0, 0, 0]);
  expect(
    ["3", `${LOCKS - 1}`, "a", "b", "c"].map(guesses.lockedUntil).filter((until) => until <= now),
  ).toEqual([]);
  lock("d", now);
  expect(guesses.lockedUntil("d")).toBe(0);
  expect(guesses.count("e", now)).toBe(now + LOCKOUT_WINDOW_MS);
});
