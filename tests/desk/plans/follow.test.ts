/** Following a plan that another process runs. */
import { describe, expect, test } from "bun:test";
import type { Progress } from "../../../src/core/caller";
import { followPlan } from "../../../src/desk/plans/operations/follow";
import type { Review } from "../../../src/desk/plans/operations/text";
import { cancelled, conflict, unavailable } from "../../../src/lib/errors";

/** What one look finds: the state of the plan, or why there is no answer. */
type Sight = Review["state"] | Error;

/** A plan that each look finds as the next of `sights`, the last again and again, and who follows it. */
function following(sights: readonly Sight[], isServed = () => true, last: object = { ok: 1 }) {
  const leaving = new AbortController();
  const seen: Progress[] = [];
  const asked: Array<readonly string[] | undefined> = [];
  const left = sights.values();
  let now = sights[0] ?? "running";
  const show = async (only?: ["none"]): Promise<Review> => {
    asked.push(only);
    if (only) now = left.next().value ?? now;
    if (now instanceof Error) throw now;
    const counts = now === "done" ? last : { running: 1 };
    const ended = ["running", "paused"].includes(now) ? null : "2026-01-01T00:00:00Z";
    return { id: "p", state: now, ended, counts, total: 1, wave: 1, waves: [1] } as unknown as Review;
  };
  const progress = (step: Progress) => void seen.push(step);
  const { signal } = leaving;
  const ended = followPlan("p", { show, isServed }, { signal, progress }, { firstMs: 1, longestMs: 1 });
  return { ended, seen, asked, leave: () => leaving.abort() };
}

describe("following a plan ends", () => {
  for (const state of ["done", "cancelled", "expired"] as const) {
    test(`when it is ${state}, with its hosts`, async () => {
      const { ended, asked, seen } = following(["running", "running", state]);
      expect(await ended).toMatchObject({ state });
      expect(asked).toEqual([["none"], ["none"], ["none"], undefined]);
      expect(seen).toMatchObject([
        { done: 0, total: 1 },
        { done: 0, total: 1 },
      ]);
    });
  }

  test("when a host has failed and nothing is left to do", async () => {
    const { ended } = following(["running", "done"], () => true, { failed: 1 });
    expect(await ended).toMatchObject({ state: "done", counts: { failed: 1 } });
  });

  test("when it is paused, which has no end", async () => {
    expect(await following(["running", "paused"]).ended).toMatchObject({ state: "paused", ended: null });
  });

  test("when who follows it leaves, also in the middle of a pause", async () => {
    const { ended, leave } = following(["running"]);
    leave();
    await expect(ended).rejects.toMatchObject({ name: "AbortError" });
  });

  test("with what the server refuses", async () => {
    const gone = conflict("another desk has taken the plan over");
    await expect(following(["running", gone]).ended).rejects.toBe(gone);
  });
});

describe("a server that is restarted meanwhile", () => {
  const ends = [cancelled("the process is stopping"), unavailable("nothing answers")];

  test("goes on with it, and so does who follows it", async () => {
    const { ended } = following(["running", ...ends, ...ends, ...ends, "running", "done"]);
    expect(await ended).toMatchObject({ state: "done" });
  });

  test("may take as long each time", async () => {
    const away = Array.from({ length: 10 }, () => unavailable("nothing answers"));
    const { ended } = following(["running", ...away, "running", ...away, "running", "done"]);
    expect(await ended).toMatchObject({ state: "done" });
  });

  test("is waited for no longer after eleven looks", async () => {
    const { ended, asked } = following(["running", unavailable("nothing answers")]);
    await expect(ended).rejects.toThrow("`svc serve` goes on with the plan p");
    expect(asked.length).toBe(12);
  });

  test("is missed too where its files can be read and nobody runs it", async () => {
    const { ended, asked } = following(["running"], () => false);
    await expect(ended).rejects.toThrow("the server that ran the plan has ended");
    expect(asked.length).toBe(11);
  });
});
