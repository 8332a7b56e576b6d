/** Pauses and retries of plans, whatever the time of the desk is set to. */
import { describe, expect, test } from "bun:test";
import { movableClocks, nextTurn, until } from "../../support";
import { plannedHosts, testFleet, testLedger, testRunner } from "./support";

const HOUR_MS = 3_600_000;

/** The runner looks, and does what is due. */
async function looks({ runner }: ReturnType<typeof testRunner>) {
  await runner.wake();
  for (let turn = 0; turn < 5; turn++) await nextTurn();
}

describe("the pause between two waves", () => {
  /** A plan that has done its first wave, and pauses for ten minutes. */
  async function pausing() {
    const clocks = movableClocks();
    const made = testLedger();
    const fleet = testFleet();
    const running = testRunner(made, fleet);
    const { seq } = running.run(plannedHosts(2), { waves: [1, 2], pause_s: 600 });
    await until("the pause", () => made.ledger.plan(seq).wave_at);
    return {
      ...{ clocks, made, fleet, running, seq },
      [Symbol.dispose]() {
        for (const one of [running, made, clocks]) one[Symbol.dispose]();
      },
    };
  }

  test("takes as long as the plan says where the time is set back", async () => {
    using plan = await pausing();
    plan.clocks.set(-HOUR_MS);
    plan.clocks.advance(601_000);
    await looks(plan.running);
    await plan.running.runner.over(plan.seq);
    expect(plan.fleet.begun).toEqual(["h0", "h1"]);
  });

  test("takes no less where the time is set ahead", async () => {
    using plan = await pausing();
    plan.clocks.set(HOUR_MS / 2);
    plan.clocks.advance(500_000);
    await looks(plan.running);
    expect(plan.made.ledger.plan(plan.seq).state).toBe("running");
    expect(plan.fleet.begun).toEqual(["h0"]);
  });

  test("takes no longer than the plan says where the time was set back before a restart", async () => {
    using plan = await pausing();
    plan.running.runner.stop();
    plan.clocks.set(-HOUR_MS);
    using next = testRunner(plan.made, plan.fleet);
    next.runner.takeOver();
    await looks(next);
    expect(plan.fleet.begun).toEqual(["h0"]);
    plan.clocks.advance(601_000);
    await looks(next);
    await next.runner.over(plan.seq);
    expect(plan.fleet.begun).toEqual(["h0", "h1"]);
  });

  test("goes on after a restart where it was", async () => {
    using plan = await pausing();
    plan.clocks.advance(500_000);
    plan.running.runner.stop();
    using next = testRunner(plan.made, plan.fleet);
    next.runner.takeOver();
    await looks(next);
    plan.clocks.advance(101_000);
    await looks(next);
    await next.runner.over(plan.seq);
    expect(plan.fleet.begun).toEqual(["h0", "h1"]);
  });
});

describe("a host whose answer was lost", () => {
  /** A plan of one host, whose answers are lost until `state.isLost` is false. */
  function losing() {
    const clocks = movableClocks();
    const made = testLedger();
    const state = { isLost: true };
    const fleet = testFleet(() => (state.isLost ? "lost" : "ok"));
    const running = testRunner(made, fleet);
    const { seq } = running.run(plannedHosts(1));
    return {
      ...{ clocks, made, fleet, running, seq, state },
      asked: (times: number) => until("the question", () => fleet.begun.length === times),
      [Symbol.dispose]() {
        for (const one of [running, made, clocks]) one[Symbol.dispose]();
      },
    };
  }

  test("is asked again where the time is set back", async () => {
    using plan = losing();
    await plan.asked(1);
    plan.state.isLost = false;
    await looks(plan.running);
    plan.clocks.set(-HOUR_MS);
    plan.clocks.advance(2_001);
    await looks(plan.running);
    await plan.running.runner.over(plan.seq);
    expect(plan.made.ledger.counts(plan.seq)).toEqual({ ok: 1 });
  });

  test("is not given up where the time is set ahead, and is after its time limits", async () => {
    using plan = losing();
    await plan.asked(1);
    await looks(plan.running);
    plan.clocks.set(HOUR_MS / 2);
    plan.clocks.advance(2_001);
    await looks(plan.running);
    await plan.asked(2);
    await looks(plan.running);
    expect(plan.made.ledger.counts(plan.seq)).not.toHaveProperty("unknown");
    plan.clocks.advance(341_000);
    await looks(plan.running);
    await plan.running.runner.over(plan.seq);
    expect(plan.made.ledger.counts(plan.seq)).toEqual({ unknown: 1 });
  });

  test("is given up after its time limits where the time was set back before a restart", async () => {
    using plan = losing();
    await plan.asked(1);
    await looks(plan.running);
    plan.running.runner.stop();
    plan.clocks.set(-HOUR_MS);
    using next = testRunner(plan.made, plan.fleet);
    next.runner.takeOver();
    await looks(next);
    plan.clocks.advance(341_000);
    await looks(next);
    await next.runner.over(plan.seq);
    expect(plan.made.ledger.counts(plan.seq)).toEqual({ unknown: 1 });
  });
});
