/** The runner of plans, against hosts that run each job once. */
import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import type { BroadcastCaller } from "../../../src/desk/plans/broadcast";
import { aboutPlan } from "../../../src/desk/plans/events";
import { MAX_SLOW, PATIENCE_MS } from "../../../src/desk/plans/host-slots";
import { type Ledger, openLedger } from "../../../src/desk/plans/ledger/ledger";
import { END_STATES, jobId, type Spec } from "../../../src/desk/plans/plan";
import { unattended } from "../../../src/desk/plans/policy";
import { type Entry, Run } from "../../../src/desk/plans/run";
import { createRunnerParts, type RunnerUses } from "../../../src/desk/plans/runner-parts";
import type { CancelJob, DeliverJob, DeliverOptions, JobResult } from "../../../src/wire/job/job";
import { nextTurn, until } from "../../support";
import { type Fate, newPlan, plannedHosts, testFleet, testLedger, testRunner, testUses } from "./support";

type ServerAt = NonNullable<RunnerUses["serverAt"]>;

const labelsOf = (hosts: ReturnType<typeof plannedHosts>) => hosts.map(({ label }) => label);
const timesRun = (fleet: ReturnType<typeof testFleet>, label: string) =>
  [...fleet.ran.values()].filter((one) => one.label === label).reduce((sum, { times }) => sum + times, 0);

describe("a plan that runs", () => {
  test("ends at each of its hosts, whatever they do", async () => {
    using made = testLedger();
    const fates: Record<string, Fate> = { h1: "offline", h2: "failed", h3: "offline" };
    const fleet = testFleet((label) => fates[label] ?? "ok");
    using running = testRunner(made, fleet);
    const plan = running.run(plannedHosts(2_000));
    const { seq } = plan;
    await running.runner.over(seq);
    expect(made.ledger.counts(seq)).toEqual({ ok: 1_997, failed: 1, unreachable: 2 });
    expect(made.ledger.plan(seq)).toMatchObject({ state: "done", ended: expect.any(Number) });
    expect(made.ledger.targets(seq)[1]).toMatchObject({ state: "unreachable", error: "connection refused" });
    const counts = { ok: 1_997, failed: 1, unreachable: 2 };
    expect(running.published.at(-1)).toEqual({
      name: "plan.ended",
      data: { ...aboutPlan(plan), state: "done", reason: null, counts },
    });
    expect(running.published.length).toBeLessThan(50);
  });

  test("goes on at a host that was renamed while its job waited behind another", async () => {
    using made = testLedger();
    const fleet = testFleet((label) => (label === "h0" ? "slow" : "ok"));
    const hosts = plannedHosts(1);
    using running = testRunner(made, fleet);
    const [first, second] = [running.run(hosts), running.run(hosts)];
    await until("the first job runs", () => fleet.slow.has("h0"));
    running.runner.rename("id-h0", "h0", "berlin");
    made.ledger.rename("id-h0", "h0", "berlin");
    const third = running.run([{ label: "berlin", identity: "id-berlin" }]);
    expect(fleet.begun).toEqual(["h0"]);
    fleet.slow.get("h0")?.();
    for (const { seq } of [first, second, third]) await running.runner.over(seq);
    // The address book of this test has another host of that label: it gets none of their jobs.
    expect(made.ledger.targets(first.seq)).toMatchObject([{ label: "berlin", state: "ok" }]);
    expect(made.ledger.targets(second.seq)).toMatchObject([{ label: "berlin", state: "refused" }]);
    expect(fleet.begun).toEqual(["h0", "berlin"]);
  });

  test("is at some hundreds of its hosts at once", async () => {
    using made = testLedger();
    const fleet = testFleet();
    let now = 0;
    let most = 0;
    const deliver: DeliverJob = async (...given) => {
      most = Math.max(most, ++now);
      const result = await fleet.deliver(...given);
      now--;
      return result;
    };
    using running = testRunner(made, { deliver });
    const { seq } = running.run(plannedHosts(4_000));
    await running.runner.over(seq);
    expect(made.ledger.counts(seq)).toEqual({ ok: 4_000 });
    expect(most).toBeLessThan(2_000);
  });

  test("begins a wave when the one before is over", async () => {
    using made = testLedger();
    const fleet = testFleet((label) => (label === "h0" || label === "h2" ? "slow" : "ok"));
    using running = testRunner(made, fleet);
    const hosts = plannedHosts(6);
    const { seq } = running.run(hosts, { waves: [1, 3, 6] });
    (await until("the plan", () => fleet.slow.get("h0")))();
    (await until("the plan", () => fleet.slow.get("h2")))();
    expect(fleet.begun).toEqual(["h0", "h1", "h2"]);
    await running.runner.over(seq);
    expect(fleet.begun).toEqual(labelsOf(hosts));
    expect(
      running.published.filter(({ name }) => name === "plan.wave").map(({ data }) => data),
    ).toMatchObject([
      { wave: 2, waves: 3, hosts: 2 },
      { wave: 3, waves: 3, hosts: 3 },
    ]);
  });

  test("waits between waves, also when another process goes on with it", async () => {
    using made = testLedger();
    const fleet = testFleet();
    using running = testRunner(made, fleet);
    const { seq } = running.run(plannedHosts(2), { waves: [1, 2], pause_s: 1_000 });
    const at = await until("the plan", () => made.ledger.plan(seq).wave_at ?? undefined);
    expect(at).toBeGreaterThan(Date.now() + 900_000);
    running.runner.stop();
    made.ledger.update(seq, made.ledger.plan(seq).revision, { wave_at: Date.now() });
    using next = testRunner(made, fleet);
    next.runner.takeOver();
    await next.runner.over(seq);
    expect(fleet.begun).toEqual(["h0", "h1"]);
  });

  test("tells whoever goes on with it what a host has said, and which records it had", async () => {
    using made = testLedger();
    const given: DeliverOptions[] = [];
    const deliver: DeliverJob = async ({ label }, _job, options) => {
      given.push(options);
      if (!options.before) await options.sent("job", "records");
      options.running();
      const [, second] = given;
      if (!second) await new Promise((resolve) => options.signal.addEventListener("abort", resolve));
      const result = { label, ok: false, status: "failed", delivered: true, duration_ms: 1 } as const;
      return { state: second ? "unknown" : "lost", result };
    };
    using running = testRunner(made, { deliver });
    const { seq } = running.run(plannedHosts(1));
    await until("the job", () => made.ledger.targets(seq)[0]?.state === "running");
    running.runner.stop();
    using next = testRunner(made, { deliver });
    next.runner.takeOver();
    await next.runner.over(seq);
    expect(given[0]).toMatchObject({ before: null, hasBegun: false, records: null });
    expect(given[1]).toMatchObject({ before: "job", hasBegun: true, records: "records" });
    expect(made.ledger.counts(seq)).toEqual({ unknown: 1 });
  });

  test("pauses after too many failures, and goes on when it is resumed", async () => {
    using made = testLedger();
    const fleet = testFleet((label) => (/^h[1-3]$/.test(label) ? "failed" : "ok"));
    using running = testRunner(made, fleet);
    const plan = running.run(plannedHosts(8), { max_failures: 1, max_parallel: 1 });
    const { seq } = plan;
    await until("the plan", () => made.ledger.plan(seq).state === "paused");
    const reason = "2 failed, more than 1";
    expect(made.ledger.plan(seq)).toMatchObject({ reason });
    expect(running.published).toContainEqual({ name: "plan.paused", data: { ...aboutPlan(plan), reason } });
    expect(made.ledger.counts(seq)).toEqual({ ok: 1, failed: 2, planned: 5 });
    // Another that had begun would have come to its host by now.
    for (let turn = 0; turn < 5; turn++) await nextTurn();
    expect(fleet.begun).toEqual(["h0", "h1", "h2"]);
    made.ledger.resume(seq);
    running.runner.wake();
    await running.runner.over(seq);
    expect(made.ledger.counts(seq)).toEqual({ ok: 5, failed: 3 });
  });

  test("counts hosts whose answers were lost among those at work: their jobs may still run", async () => {
    using made = testLedger();
    let isLost = true;
    const fleet = testFleet(() => (isLost ? "lost" : "ok"));
    using running = testRunner(made, fleet);
    const { seq } = running.run(plannedHosts(3), { max_parallel: 1 });
    await until("the first has begun", () => made.ledger.counts(seq).running);
    for (let looks = 0; looks < 5; looks++) {
      await running.runner.wake();
      await nextTurn();
    }
    expect(fleet.begun).toEqual(["h0"]);
    isLost = false;
    running.runner.hostUp("h0");
    await running.runner.over(seq);
    expect(made.ledger.counts(seq)).toEqual({ ok: 3 });
  });

  test("has no more hosts at work than it may", async () => {
    using made = testLedger();
    const fleet = testFleet();
    let [atWork, most] = [0, 0];
    const deliver: typeof fleet.deliver = async (...given) => {
      most = Math.max(most, ++atWork);
      return fleet.deliver(...given).finally(() => atWork--);
    };
    using running = testRunner(made, { deliver });
    await running.runner.over(running.run(plannedHosts(40), { max_parallel: 3 }).seq);
    expect(most).toBe(3);
  });

  test("is cancelled: what has not begun does not begin, and what runs is ended at its host", async () => {
    using made = testLedger();
    const fleet = testFleet((label) => (label === "h0" ? "slow" : "ok"));
    const ended: string[] = [];
    using running = testRunner(made, {
      ...fleet,
      async cancelJob({ label }) {
        ended.push(label);
        fleet.slow.get(label)?.();
        return true;
      },
    });
    const { seq } = running.run(plannedHosts(4), { waves: [1, 4] });
    await until("the plan", () => fleet.slow.get("h0"));
    // As another process does.
    const other = openLedger(made.path);
    other.cancel(seq, "by anna", Date.now());
    other.close();
    await running.runner.over(seq);
    expect(ended).toEqual(["h0"]);
    expect(made.ledger.counts(seq)).toEqual({ ok: 1, cancelled: 3 });
    expect(made.ledger.plan(seq)).toMatchObject({ state: "cancelled", reason: "by anna" });
    expect(fleet.begun).toEqual(["h0"]);
  });

  test("ends with its token", async () => {
    using made = testLedger();
    const fleet = testFleet(() => "slow");
    using running = testRunner(made, { ...fleet, endings: async () => () => "was revoked" });
    const { seq } = made.ledger.create(
      { ...(await import("./support")).newPlan(plannedHosts(3), { waves: [1, 3] }), maker: "anna" },
      plannedHosts(3),
      0,
    );
    made.ledger.apply(seq, "anna", Date.now());
    running.runner.run(seq);
    await until("the plan", () => made.ledger.plan(seq).state === "cancelled");
    expect(made.ledger.plan(seq).reason).toBe("its token anna was revoked");
  });

  test("does not reach another host that has the label now, or one that is gone", async () => {
    using made = testLedger();
    const fleet = testFleet();
    const server = { url: "http://127.0.0.1:1", token: undefined, trust: { kind: "any" } } as const;
    using running = testRunner(made, {
      ...fleet,
      hostOf: (label) => (label === "h0" ? { label, server, host_id: null, identity: "another" } : undefined),
    });
    const { seq } = running.run(plannedHosts(2));
    await running.runner.over(seq);
    expect(made.ledger.targets(seq)).toMatchObject([
      { state: "refused", error: "another host has this label since the plan was made" },
      { state: "refused", error: "no longer in the address book" },
    ]);
    expect(fleet.begun).toEqual([]);
  });
});

test.each([true, false])(
  "a job that its desk has ended at the host had begun there: %p",
  async (delivered) => {
    using made = testLedger();
    const deliver: DeliverJob = async ({ label }, _job, { sent }) => {
      await sent("job");
      return {
        state: "cancelled",
        result: { label, ok: false, status: "cancelled", delivered, duration_ms: 1, error: "by its desk" },
      };
    };
    using running = testRunner(made, { deliver });
    const { seq } = running.run(plannedHosts(1));
    await running.runner.over(seq);
    const [target] = made.ledger.targets(seq);
    expect(target).toMatchObject({ state: "cancelled", error: "by its desk" });
    expect(target?.sent_at !== null).toBe(delivered);
  },
);

describe("a plan that is resumed or retried after it was paused", () => {
  /** Hosts that never answer, so long after their time that they count as failed, and that fail; the others are ok. */
  const pausedPlan = async (made: ReturnType<typeof testLedger>) => {
    const fates: Record<string, Fate> = { h0: "lost", h1: "failed" };
    const fleet = testFleet((label) => fates[label] ?? "ok");
    const running = testRunner(made, fleet);
    const spec = { queue: true, max_failures: 1, delivery_timeout_s: -100, timeout_s: 0, waves: [2, 4] };
    const { seq } = running.run(plannedHosts(4), spec);
    await until("it is paused", () => made.ledger.plan(seq).state === "paused");
    await until("its note", () => made.ledger.plan(seq).forgiven === 2);
    expect(made.ledger.plan(seq).reason).toBe("2 failed, more than 1");
    return { running, seq, fates };
  };

  test.each([false, true])("goes on past hosts that are overdue, in another process: %p", async (isOther) => {
    using made = testLedger();
    const { running: first, seq } = await pausedPlan(made);
    using _ = first;
    if (isOther) first.runner.stop();
    made.ledger.resume(seq);
    using second = isOther
      ? testRunner(
          made,
          testFleet((label) => (label === "h0" ? "lost" : "ok")),
        )
      : first;
    second.runner.run(seq);
    await second.runner.wake();
    await until("the others", () => made.ledger.counts(seq).ok === 2);
    expect(made.ledger.plan(seq)).toMatchObject({ state: "running", forgiven: 2 });
  });

  test("counts no failure of before that is repeated, and forgives none for a host that was overdue and is ok", async () => {
    using made = testLedger();
    const { running: first, seq, fates } = await pausedPlan(made);
    using _ = first;
    fates.h1 = "ok";
    expect(made.ledger.retry(seq, ["failed"], Date.now()).plan.forgiven).toBe(1);
    await first.runner.wake();
    await until("the others", () => made.ledger.counts(seq).ok === 3);
    expect(made.ledger.plan(seq)).toMatchObject({ state: "running", forgiven: 1 });
    fates.h0 = "ok";
    first.runner.hostUp("h0");
    await first.runner.over(seq);
    expect(made.ledger.counts(seq)).toEqual({ ok: 4 });
    expect(made.ledger.plan(seq)).toMatchObject({ state: "done", forgiven: 0 });
  });
});

describe("a plan whose token has expired", () => {
  test("goes on with the rights of who resumes it", async () => {
    using made = testLedger();
    let isExpired = false;
    const fleet = testFleet(() => "slow");
    const endings = async () => (name: string) => (isExpired && name === "anna" ? "has expired" : null);
    using running = testRunner(made, { ...fleet, endings });
    const { seq } = running.run(plannedHosts(1));
    made.ledger.pause(seq, "by anna");
    made.ledger.resume(seq, { token: "anna" });
    await running.runner.wake();
    await until("it runs", () => fleet.slow.get("h0"));
    isExpired = true;
    await running.runner.wake();
    expect(made.ledger.plan(seq)).toMatchObject({ state: "paused", reason: "its token anna has expired" });
    made.ledger.resume(seq, { token: null });
    await running.runner.wake();
    await running.runner.wake();
    expect(made.ledger.plan(seq)).toMatchObject({ state: "running", token: null });
    fleet.slow.get("h0")?.();
    await running.runner.over(seq);
    expect(made.ledger.counts(seq)).toEqual({ ok: 1 });
  });
});

describe.concurrent("a plan whose address book cannot be read", () => {
  /** An address book that is broken until it is mended. */
  const brokenBook = () => {
    const book = { isBroken: true, reads: 0 };
    const server = { url: "http://127.0.0.1:1", token: undefined, trust: { kind: "any" } } as const;
    const read = () => {
      book.reads++;
      if (book.isBroken) throw new Error("admin_hosts.json is broken");
    };
    const hostOf = (label: string) => {
      read();
      return { label, server, host_id: null, identity: `id-${label}` };
    };
    const isExpected = () => {
      read();
      return false;
    };
    return { book, hostOf, isExpected };
  };

  test.each([true, false])("waits at each host until it can be, with a queue: %p", async (queue) => {
    using made = testLedger();
    const fleet = testFleet();
    const { book, ...uses } = brokenBook();
    using running = testRunner(made, { ...fleet, ...uses });
    const { seq } = running.run(plannedHosts(3), { queue, waves: [1, 3] });
    await until("it is read", () => book.reads > 0);
    await running.runner.wake();
    expect(made.ledger.counts(seq)).toEqual({ planned: 3 });
    book.isBroken = false;
    await running.runner.over(seq);
    expect(made.ledger.counts(seq)).toEqual({ ok: 3 });
  });

  test("is cancelled at its hosts once it can be", async () => {
    using made = testLedger();
    const fleet = testFleet(() => "slow");
    const { book, ...uses } = brokenBook();
    book.isBroken = false;
    const cancelled: string[] = [];
    const cancelJob: CancelJob = async ({ label }) => {
      cancelled.push(label);
      fleet.slow.get(label)?.();
      return true;
    };
    using running = testRunner(made, { ...fleet, ...uses, cancelJob });
    const { seq } = running.run(plannedHosts(1));
    await until("it runs", () => fleet.slow.get("h0"));
    book.isBroken = true;
    made.ledger.cancel(seq, "by anna", Date.now());
    await running.runner.wake();
    expect(cancelled).toEqual([]);
    book.isBroken = false;
    await running.runner.over(seq);
    expect(cancelled).toEqual(["h0"]);
    expect(made.ledger.plan(seq)).toMatchObject({ state: "cancelled", ended: expect.any(Number) });
  });
});

describe.concurrent("a plan whose ledger cannot be written for a while", () => {
  test.each(["update", "pause"] as const)("goes on once %s can be", async (name) => {
    using made = testLedger();
    const fleet = testFleet((label) => (label === "h0" ? "failed" : "ok"));
    let left = 2;
    const fails = () => {
      if (left-- > 0) throw new Error("database or disk is full");
    };
    const ledger: Ledger = {
      ...made.ledger,
      update(...given) {
        if (name === "update") fails();
        return made.ledger.update(...given);
      },
      pause(...given) {
        if (name === "pause") fails();
        return made.ledger.pause(...given);
      },
    };
    using running = testRunner({ ...made, ledger }, fleet);
    const { seq } = running.run(plannedHosts(2), { waves: [1, 2], max_failures: name === "pause" ? 0 : 2 });
    const end = name === "pause" ? "paused" : "done";
    await until(end, () => made.ledger.plan(seq).state === end);
    expect(left).toBeLessThan(0);
  });

  test("takes over that another process has paused it as this one does", async () => {
    using made = testLedger();
    const fleet = testFleet((label) => (label === "h0" ? "failed" : "ok"));
    const ledger: Ledger = {
      ...made.ledger,
      pause(seq, reason) {
        made.ledger.pause(seq, "by anna");
        return made.ledger.pause(seq, reason);
      },
    };
    using running = testRunner({ ...made, ledger }, fleet);
    const { seq } = running.run(plannedHosts(2), { waves: [1, 2], max_failures: 0 });
    await until("it is paused", () => made.ledger.plan(seq).state === "paused");
    await running.runner.wake();
    expect(made.ledger.plan(seq).reason).toBe("by anna");
    made.ledger.resume(seq);
    await running.runner.over(seq);
    expect(made.ledger.counts(seq)).toEqual({ ok: 1, failed: 1 });
  });
});

describe.concurrent("a plan about which another process decides as its last host ends", () => {
  /** A plan whose host h1 is at work. */
  async function atWork(hosts: number, spec: Partial<Spec>) {
    const made = testLedger();
    let isFailing = true;
    const fleet = testFleet((label) =>
      label === "h1" && isFailing ? "slow" : label === "h0" && isFailing ? "failed" : "ok",
    );
    const running = testRunner(made, fleet);
    const { seq } = running.run(plannedHosts(hosts), spec);
    await until("h1 is at work", () => fleet.slow.get("h1") && made.ledger.counts(seq).failed);
    return {
      ...{ made, fleet, running, seq },
      /** Decides, and has the host end before this process looks. */
      async decide(what: (ledger: Ledger) => unknown) {
        const other = openLedger(made.path);
        what(other);
        other.close();
        isFailing = false;
        fleet.slow.get("h1")?.();
        await until("h1 is ok", () => made.ledger.targets(seq)[1]?.state === "ok");
      },
      [Symbol.dispose]() {
        running[Symbol.dispose]();
        made[Symbol.dispose]();
      },
    };
  }

  test("to retry others: they run", async () => {
    using one = await atWork(2, {});
    await one.decide((ledger) => ledger.retry(one.seq, undefined, Date.now()));
    await one.running.runner.over(one.seq);
    expect(one.made.ledger.counts(one.seq)).toEqual({ ok: 2 });
    expect(one.made.ledger.plan(one.seq).state).toBe("done");
  });

  test("to cancel it: it stays so", async () => {
    using one = await atWork(3, { waves: [2, 3] });
    await one.decide((ledger) => ledger.cancel(one.seq, "by anna", Date.now()));
    await one.running.runner.over(one.seq);
    expect(one.made.ledger.counts(one.seq)).toEqual({ ok: 1, failed: 1, cancelled: 1 });
    expect(one.made.ledger.plan(one.seq)).toMatchObject({ state: "cancelled", reason: "by anna", wave: 0 });
  });

  test("to retry what has failed, as this one pauses it after too many failures: it goes on", async () => {
    using made = testLedger();
    let isFailing = true;
    const fleet = testFleet(() => (isFailing ? "failed" : "ok"));
    const ledger: Ledger = {
      ...made.ledger,
      pause(...given) {
        if (isFailing) made.ledger.retry(given[0], undefined, Date.now());
        isFailing = false;
        return made.ledger.pause(...given);
      },
    };
    using running = testRunner({ ...made, ledger }, fleet);
    const { seq } = running.run(plannedHosts(2), { waves: [1, 2], max_failures: 0 });
    await running.runner.over(seq);
    expect(made.ledger.counts(seq)).toEqual({ ok: 2 });
  });
});

describe("a plan with a host that waits", () => {
  test("runs there where another process cancels and repeats it between two looks", async () => {
    using made = testLedger();
    let isOffline = true;
    const fleet = testFleet(() => (isOffline ? "offline" : "ok"));
    using running = testRunner(made, fleet);
    const { seq } = running.run(plannedHosts(1), { queue: true });
    await until("it waits", () => made.ledger.counts(seq).waiting);
    isOffline = false;
    made.ledger.cancel(seq, "by anna", Date.now());
    made.ledger.retry(seq, undefined, Date.now());
    await running.runner.over(seq);
    expect(made.ledger.counts(seq)).toEqual({ ok: 1 });
  });

  test("is over where another process cancels and forgets it", async () => {
    using made = testLedger();
    using running = testRunner(
      made,
      testFleet(() => "offline"),
    );
    const { seq } = running.run(plannedHosts(1), { queue: true });
    await until("it waits", () => made.ledger.counts(seq).waiting);
    const over = running.runner.over(seq);
    expect(made.ledger.remove([made.ledger.cancel(seq, "by anna", Date.now())])).toHaveLength(1);
    await over;
    expect(running.runner.has(seq)).toBe(false);
  });
});

describe("a plan whose hosts take all places", () => {
  /** A runner whose hosts with an `h` answer nothing, and a plan for many of them. */
  function crowded() {
    const made = testLedger();
    const fleet = testFleet();
    const begun: string[] = [];
    const deliver: DeliverJob = (target, job, options) => {
      begun.push(target.label);
      if (!target.label.startsWith("h")) return fleet.deliver(target, job, options);
      return new Promise(() => {});
    };
    const running = testRunner(made, { deliver });
    running.run(plannedHosts(3_000));
    return {
      ...{ made, running, begun },
      [Symbol.dispose]() {
        running[Symbol.dispose]();
        made[Symbol.dispose]();
      },
    };
  }

  test("holds up no broadcast", async () => {
    using one = crowded();
    const { made, running, begun } = one;
    await until("it has begun", () => begun.length > 0);
    const hosts = plannedHosts(1, "live");
    const { seq } = made.ledger.create(newPlan(hosts, { kind: "broadcast" }), hosts, Date.now());
    await running.runner.attend(made.ledger.plan(seq), () => made.ledger.apply(seq, null, Date.now()), {
      ...{ content: "{}", targetOf: () => undefined, hostAt: () => undefined, client: null },
      ...{ signal: new AbortController().signal, done() {} },
    });
    expect(begun.indexOf("live0")).toBeLessThan(2_500);
  });

  test("leaves some to another plan", async () => {
    using one = crowded();
    const { made, running, begun } = one;
    await until("it has begun", () => begun.length > 0);
    const { seq } = running.run(plannedHosts(1, "live"));
    await running.runner.over(seq);
    expect(begun.indexOf("live0")).toBeLessThan(2_500);
    expect(made.ledger.counts(seq)).toEqual({ ok: 1 });
  });
});

describe("hosts of a server that passes nothing on", () => {
  const serverAt = (label: string) => (label.startsWith("h") ? "nats:eu" : "nats:us");

  /** A runner whose hosts of one server, those with an `h`, answer nothing and have all its places. @param areSent whether they were sent their jobs before. */
  async function silenced(stack: DisposableStack, areSent: boolean) {
    const made = stack.use(testLedger());
    const fleet = testFleet();
    const hosts = plannedHosts(5_000);
    if (areSent) {
      const loses: DeliverJob = async ({ label }, _job, { sent }) => {
        await sent("job");
        const result = { label, ok: false, status: "failed", delivered: true, duration_ms: 1 } as const;
        return { state: "lost", result };
      };
      using before = testRunner(made, { deliver: loses, serverAt });
      const { seq } = before.run(hosts);
      await until("all are sent", () => made.ledger.counts(seq).sent === hosts.length);
    }
    let silent = 0;
    let withoutSlot = 0;
    const deliver: DeliverJob = (target, job, options) => {
      if (!target.label.startsWith("h")) return fleet.deliver(target, job, options);
      silent++;
      // The timer of its slot began before this one.
      setTimeout(() => withoutSlot++, PATIENCE_MS);
      return new Promise(() => {});
    };
    const running = stack.use(testRunner(made, { deliver, serverAt }));
    if (areSent) running.runner.takeOver();
    else running.run(hosts);
    await until("all places are taken", async () => {
      await running.runner.wake();
      return withoutSlot >= MAX_SLOW;
    });
    expect(silent).toBeLessThan(hosts.length);
    return { made, running };
  }

  /** A broadcast to these hosts, which its caller leaves at last. */
  function broadcastTo(
    { made, running }: Awaited<ReturnType<typeof silenced>>,
    hosts: ReturnType<typeof plannedHosts>,
    { max_parallel = null, ...caller }: Partial<BroadcastCaller & Pick<Spec, "max_parallel">> = {},
  ) {
    const spec = { kind: "broadcast", max_parallel } as const;
    const { seq } = made.ledger.create(newPlan(hosts, spec), hosts, Date.now());
    const ended: string[] = [];
    const leaves = new AbortController();
    const apply = () => made.ledger.apply(seq, null, Date.now());
    const over = running.runner.attend(made.ledger.plan(seq), apply, {
      ...{
        content: "{}",
        targetOf: () => undefined,
        hostAt: () => undefined,
        client: null,
        signal: leaves.signal,
      },
      done: ({ label }) => void ended.push(label),
      ...caller,
    });
    return {
      ended,
      leave() {
        leaves.abort();
        return over;
      },
    };
  }

  test.each([
    ["that gets its jobs", false],
    ["that got them before", true],
  ])("hold up no plan at another, of one %s", async (_what, areSent) => {
    using stack = new DisposableStack();
    const { made, running } = await silenced(stack, areSent);
    const { seq } = running.run(plannedHosts(3, "live"));
    await running.runner.over(seq);
    expect(made.ledger.counts(seq)).toEqual({ ok: 3 });
  });

  test("hold up no broadcast at another, and neither does one that is for both", async () => {
    using stack = new DisposableStack();
    const one = await silenced(stack, false);
    const { ended, leave } = broadcastTo(one, [...plannedHosts(9), ...plannedHosts(3, "live")]);
    await until("the others", () => ended.length === 3);
    expect(ended.sort()).toEqual(["live0", "live1", "live2"]);
    await leave();
  });

  /** A runner whose hosts with an `h` answer only when nobody waits any longer. */
  function patient(stack: DisposableStack, serverAt: ServerAt) {
    const made = stack.use(testLedger());
    const fleet = testFleet();
    const deliver: DeliverJob = async (target, job, options) => {
      if (target.label.startsWith("h"))
        await new Promise((resolve) => options.signal.addEventListener("abort", resolve));
      return fleet.deliver(target, job, options);
    };
    return { made, running: stack.use(testRunner(made, { deliver, serverAt })) };
  }

  test.each([true, false])(
    "hold up none at another in a broadcast with a limit, if that is for each server: %p",
    async (limitsEachServer) => {
      using stack = new DisposableStack();
      const hosts = [...plannedHosts(9), ...plannedHosts(5, "live")];
      const { ended, leave } = broadcastTo(patient(stack, serverAt), hosts, {
        max_parallel: 2,
        limitsEachServer,
      });
      if (limitsEachServer) await until("the others", () => ended.length === 5);
      else for (let turn = 0; turn < 50; turn++) await nextTurn();
      expect(ended.filter((label) => label.startsWith("h"))).toEqual([]);
      // One of two places is theirs for a moment.
      if (!limitsEachServer) expect(ended.length).toBeLessThan(5);
      await leave();
    },
  );

  test("hold up none that are reached otherwise in a broadcast, once they are not in the address book any more", async () => {
    using stack = new DisposableStack();
    const trust = { kind: "any" } as const;
    const { ended, leave } = broadcastTo(
      patient(stack, () => undefined),
      [...plannedHosts(9), ...plannedHosts(5, "live")],
      {
        ...{ max_parallel: 2, limitsEachServer: true },
        targetOf: (label) => ({
          ...{ label, host_id: null, identity: `id-${label}` },
          server: { url: label.startsWith("h") ? "nats:eu/U" : "https://live", token: undefined, trust },
        }),
      },
    );
    await until("the others", () => ended.length === 5);
    expect(ended.filter((label) => label.startsWith("h"))).toEqual([]);
    await leave();
  });

  test("take no turn of those at another that have waited", async () => {
    using made = testLedger();
    const fleet = testFleet((label) => (label.startsWith("h") ? "offline" : "ok"));
    let isOffline = true;
    const uses = { ...fleet, serverAt, isOffline: () => isOffline, startsPerMinute: 1 };
    using running = testRunner(made, uses);
    const plans = [
      running.run(plannedHosts(50), { queue: true }),
      running.run(plannedHosts(1, "live"), { queue: true }),
    ];
    for (const { seq, hosts } of plans)
      await until("all wait", () => made.ledger.counts(seq).waiting === hosts);
    isOffline = false;
    for (const { label } of plannedHosts(50)) running.runner.hostUp(label);
    await running.runner.wake();
    running.runner.hostUp("live0");
    await until("the one", async () => {
      await running.runner.wake();
      return made.ledger.counts(plans[1]?.seq ?? 0).ok;
    });
  });
});

/** A plan that was applied, of which nothing begins by itself. */
function runOf(made: ReturnType<typeof testLedger>, seq: number, serverAt: ServerAt = () => undefined): Run {
  const { deliver } = testFleet();
  const shared = createRunnerParts(testUses(made, { deliver, serverAt }), () => {});
  const policy = { ...unattended(deliver), limitsEachServer: true };
  return new Run(shared, policy, made.ledger.apply(seq, null, 0), "{}", [], () => {});
}

test("a host that has moved to another server while it was ready begins once there is a place at that one", () => {
  using made = testLedger();
  const hosts = plannedHosts(3);
  const { seq } = made.ledger.create(newPlan(hosts, { max_parallel: 1 }), hosts, 0);
  const servers: Record<string, string> = { h0: "nats:us", h1: "nats:eu", h2: "nats:eu" };
  const run = runOf(made, seq, (label) => servers[label]);
  run.load(made.ledger.open(seq), made.ledger.counts(seq));
  const next = () => {
    const entry = run.nextReady();
    if (entry) run.begin(entry);
    return entry;
  };
  const first = next();
  servers.h1 = "nats:us";
  expect([first?.label, next()?.label, next()?.label]).toEqual(["h0", "h2", undefined]);
  if (first) run.rest(first);
  expect([next()?.label, next()?.label]).toEqual(["h1", undefined]);
});

test("a host that was moved away from a server without a place begins at once where it is now", () => {
  using made = testLedger();
  const hosts = plannedHosts(3);
  const { seq } = made.ledger.create(newPlan(hosts, { max_parallel: 1 }), hosts, 0);
  const servers: Record<string, string> = { h0: "nats:eu", h1: "nats:eu", h2: "nats:eu" };
  const run = runOf(made, seq, (label) => servers[label]);
  run.load(made.ledger.open(seq), made.ledger.counts(seq));
  const next = () => {
    const entry = run.nextReady();
    if (entry) run.begin(entry);
    return entry?.label;
  };
  expect([next(), next()]).toEqual(["h0", undefined]);
  servers.h1 = "nats:us";
  servers.h2 = "nats:ap";
  run.moved(new Set(["h1"]));
  expect([next(), next()]).toEqual(["h1", undefined]);
  // Nobody knows which ones.
  run.moved(undefined);
  expect([next(), next()]).toEqual(["h2", undefined]);
});

test("a host that is ready twice is begun once", () => {
  using made = testLedger();
  const hosts = plannedHosts(2);
  const { seq } = made.ledger.create(newPlan(hosts), hosts, 0);
  const run = runOf(made, seq);
  run.load(made.ledger.open(seq), made.ledger.counts(seq));
  for (const entry of run.entries.values()) run.again(entry);
  const [first] = run.entries.values();
  const taken = [run.nextReady(), run.nextReady(), run.nextReady()];
  if (first) for (let times = 0; times < 2; times++) run.again(first);
  taken.push(run.nextReady(), run.nextReady());
  expect(taken.map((entry) => entry?.label)).toEqual(["h0", "h1", undefined, "h0", undefined]);
});

test("of many hosts each begins once, in order, and those that have ended take no memory", async () => {
  using made = testLedger();
  const hosts = plannedHosts(2_500);
  const { seq } = made.ledger.create(newPlan(hosts), hosts, 0);
  const run = runOf(made, seq);
  run.load(made.ledger.open(seq), made.ledger.counts(seq));
  const labels: string[] = [];
  const ended: Array<WeakRef<Entry>> = [];
  const beginOne = () => {
    const entry = run.nextReady();
    if (!entry) return;
    labels.push(entry.label);
    ended.push(new WeakRef(entry));
    run.remove(entry);
  };
  for (let nth = 0; nth < 2_000; nth++) beginOne();
  await nextTurn();
  Bun.gc(true);
  // What the stack happens to name stays.
  expect(ended.filter((one) => one.deref() !== undefined).length).toBeLessThan(100);
  for (let nth = 0; nth < 1_000; nth++) beginOne();
  expect(labels).toEqual(hosts.map(({ label }) => label));
});

describe("a plan with a queue", () => {
  test("keeps work for a host that is not there, without holding up the next wave", async () => {
    using made = testLedger();
    const offline = new Set(["h0", "h1"]);
    const fleet = testFleet((label) => (offline.has(label) ? "offline" : "ok"));
    using running = testRunner(made, fleet);
    const { seq } = running.run(plannedHosts(4), { waves: [2, 4], queue: true });
    await until("the plan", () => made.ledger.counts(seq).ok === 2);
    expect(made.ledger.counts(seq)).toEqual({ ok: 2, waiting: 2 });
    offline.clear();
    running.runner.hostUp("h0");
    running.runner.hostUp("h1");
    running.runner.wake();
    await running.runner.over(seq);
    expect(made.ledger.counts(seq)).toEqual({ ok: 4 });
  });

  test("knows why its host was not reached the last time, and writes it down when it is another reason", async () => {
    using made = testLedger();
    let error = "timeout after 10 s";
    const result = (): JobResult["result"] => ({
      label: "h0",
      ok: false,
      status: "unreachable",
      delivered: false,
      duration_ms: 0,
      error,
    });
    const deliver = async () => ({ state: "offline", result: result() }) as const;
    const commits: unknown[] = [];
    const ledger: typeof made.ledger = {
      ...made.ledger,
      commit(steps, now) {
        commits.push(...steps);
        return made.ledger.commit(steps, now);
      },
    };
    using running = testRunner({ ...made, ledger }, { ...testFleet(() => "ok"), deliver });
    const { seq } = running.run(plannedHosts(1), { queue: true });
    const reason = () => made.ledger.targets(seq)[0]?.error;
    await until("the first reason", () => reason() === error);
    error = "connection refused";
    for (let tries = 0; tries < 2; tries++) {
      running.runner.hostUp("h0");
      await running.runner.wake();
      await until("the newest reason", () => reason() === error);
    }
    expect(commits).toHaveLength(2);
    expect(made.ledger.counts(seq)).toEqual({ waiting: 1 });
  });

  test("expires what waits: it never runs, also when the host is there again", async () => {
    using made = testLedger();
    let isOffline = true;
    const fleet = testFleet((label) => (isOffline && label === "h0" ? "offline" : "ok"));
    using running = testRunner(made, fleet);
    const { seq } = running.run(plannedHosts(2), { queue: true, expires_s: 3_600 });
    await until("the plan", () => made.ledger.counts(seq).waiting);
    await until("the plan", () => made.ledger.counts(seq).ok);
    isOffline = false;
    made.ledger.update(seq, made.ledger.plan(seq).revision, { expires: Date.now() - 1 });
    running.runner.hostUp("h0");
    running.runner.wake();
    await running.runner.over(seq);
    expect(made.ledger.counts(seq)).toEqual({ ok: 1, expired: 1 });
    expect(made.ledger.plan(seq).state).toBe("expired");
    expect(timesRun(fleet, "h0")).toBe(0);
  });

  test("does not begin at all hosts at once when a fleet returns", async () => {
    using made = testLedger();
    let isOffline = true;
    const fleet = testFleet();
    using running = testRunner(made, { ...fleet, isOffline: () => isOffline, startsPerMinute: 300 });
    const { seq } = running.run(plannedHosts(60), { queue: true });
    await until("the plan", () => made.ledger.counts(seq).waiting === 60);
    expect(fleet.begun).toEqual([]);
    isOffline = false;
    for (const { label } of plannedHosts(60)) running.runner.hostUp(label);
    running.runner.wake();
    await until("the plan", () => fleet.begun.length > 0);
    expect(fleet.begun.length).toBeLessThan(30);
  });

  test("runs jobs of several plans for one host in the order of the plans", async () => {
    using made = testLedger();
    let isOffline = true;
    const order: string[] = [];
    const fleet = testFleet(() => (isOffline ? "offline" : "ok"));
    const deliver: typeof fleet.deliver = (target, job, options) =>
      fleet.deliver(target, job, {
        ...options,
        async sent(way) {
          await options.sent(way);
          order.push(job.plan);
        },
      });
    using running = testRunner(made, { deliver });
    const plans = [1, 2, 3].map(() => running.run(plannedHosts(1), { queue: true }));
    for (const { seq } of plans) await until("the plan", () => made.ledger.counts(seq).waiting);
    isOffline = false;
    running.runner.hostUp("h0");
    running.runner.wake();
    for (const { seq } of plans) {
      await until("the plan", () => {
        running.runner.wake();
        return made.ledger.counts(seq).ok;
      });
    }
    expect(order).toEqual(plans.map(({ id }) => id));
  });
});

describe.concurrent("a plan and hosts that nobody has seen since the desk started", () => {
  test("waits for them as long as they may yet come", async () => {
    using made = testLedger();
    const expected = new Set(["h0", "h1"]);
    const fleet = testFleet((label) => (label === "h1" ? "offline" : "ok"));
    using running = testRunner(made, { ...fleet, isExpected: (label) => expected.has(label) });
    const { seq } = running.run(plannedHosts(3));
    await until("the host that is there", () => made.ledger.counts(seq).ok);
    await running.runner.wake();
    expect(made.ledger.counts(seq)).toEqual({ ok: 1, planned: 2 });
    expected.clear();
    await running.runner.wake();
    await running.runner.over(seq);
    expect(made.ledger.counts(seq)).toEqual({ ok: 2, unreachable: 1 });
  });

  test("goes on at other hosts meanwhile, within its limit of hosts at once", async () => {
    using made = testLedger();
    let isExpected = true;
    const fleet = testFleet();
    const uses = { ...fleet, isExpected: (label: string) => isExpected && label < "h3" };
    using running = testRunner(made, uses);
    const { seq } = running.run(plannedHosts(5), { max_parallel: 1 });
    await until("the others", () => made.ledger.counts(seq).ok === 2);
    expect(fleet.begun).toEqual(["h3", "h4"]);
    isExpected = false;
    await running.runner.over(seq);
    expect(made.ledger.counts(seq)).toEqual({ ok: 5 });
  });

  test("begins at those that have come at a limited rate", async () => {
    using made = testLedger();
    let isExpected = true;
    let isKnown = () => {};
    const fleet = testFleet();
    using running = testRunner(made, {
      ...fleet,
      startsPerMinute: 1,
      isExpected() {
        isKnown();
        return isExpected;
      },
    });
    const { seq } = running.run(plannedHosts(50));
    await new Promise<void>((resolve) => {
      isKnown = resolve;
    });
    isExpected = false;
    for (let looks = 0; looks < 5; looks++) await running.runner.wake();
    await until("the first", () => fleet.begun.length > 0);
    expect(fleet.begun.length).toBeLessThan(5);
    expect(made.ledger.counts(seq).planned).toBeGreaterThan(45);
  });

  test("ends at once at those that have not come", async () => {
    using made = testLedger();
    let isExpected = true;
    const uses = { isExpected: () => isExpected, isOffline: () => !isExpected, startsPerMinute: 1 };
    using running = testRunner(made, { ...testFleet(), ...uses });
    const { seq } = running.run(plannedHosts(50));
    await running.runner.wake();
    expect(made.ledger.counts(seq)).toEqual({ planned: 50 });
    isExpected = false;
    await running.runner.over(seq);
    expect(made.ledger.counts(seq)).toEqual({ unreachable: 50 });
  });
});

describe("a plan without a queue behind work that waits for a host", () => {
  test("has the work before it tried at some hundreds of hosts at once", async () => {
    using made = testLedger();
    const fleet = testFleet(() => "offline");
    let inTurn = 0;
    let most = 0;
    const { hostOf } = testUses(made, fleet);
    const countedHostOf: typeof hostOf = (...host) => {
      if (inTurn++ === 0) setImmediate(() => (inTurn = 0));
      most = Math.max(most, inTurn);
      return hostOf(...host);
    };
    using running = testRunner(made, { ...fleet, hostOf: countedHostOf, isOffline: () => true });
    const hosts = plannedHosts(1_000);
    const first = running.run(hosts, { queue: true });
    await until("all wait", () => made.ledger.counts(first.seq).waiting === hosts.length);
    const { seq } = running.run(hosts);
    await running.runner.over(seq);
    expect(made.ledger.counts(seq)).toEqual({ unreachable: hosts.length });
    expect(most).toBeLessThanOrEqual(600);
  });

  test.each([true, false])("does not wait for it, whether links say that it is gone: %p", async (isKnown) => {
    using made = testLedger();
    const fleet = testFleet((label) => (label === "h0" ? "offline" : "ok"));
    const isOffline = (label: string) => isKnown && label === "h0";
    using running = testRunner(made, { ...fleet, isOffline });
    const first = running.run(plannedHosts(1), { queue: true });
    await until("it waits", () => made.ledger.counts(first.seq).waiting);
    const { seq } = running.run(plannedHosts(3), { waves: [1, 3] });
    await running.runner.over(seq);
    expect(made.ledger.counts(seq)).toEqual({ ok: 2, unreachable: 1 });
    expect(made.ledger.counts(first.seq)).toEqual({ waiting: 1 });
  });
});

describe("a plan whose answers are lost", () => {
  test("asks the host for the same job until it is known", async () => {
    using made = testLedger();
    let isLost = true;
    const fleet = testFleet(() => (isLost ? "lost" : "ok"));
    using running = testRunner(made, fleet);
    const { seq } = running.run(plannedHosts(1));
    await until("the plan", () => fleet.begun.length > 0);
    isLost = false;
    running.runner.hostUp("h0");
    await until("the plan", () => {
      running.runner.wake();
      return made.ledger.counts(seq).ok;
    });
    expect(fleet.ran.size).toBe(1);
    expect(timesRun(fleet, "h0")).toBe(1);
  });
});

describe.concurrent("a plan whose job may not have arrived", () => {
  /** A host that answers nothing until it is up; what was sent to it before never arrived. */
  const silentHost = () => {
    const host = { isUp: false, isCancelled: false, ran: 0, asked: 0, cancels: 0 };
    const deliver: DeliverJob = async ({ label }, _job, { before, sent, maySend }) => {
      await nextTurn();
      const answer = (state: JobResult["state"]): JobResult => ({
        state,
        result: { label, ok: state === "ok", status: "failed", delivered: true, duration_ms: 1 },
      });
      if (!before) {
        await sent("job");
        return answer("lost");
      }
      if (!host.isUp) return answer("lost");
      host.asked++;
      if (host.isCancelled) return answer("cancelled");
      if (maySend?.() === false) return answer("unseen");
      host.ran++;
      return answer("ok");
    };
    const cancelJob: CancelJob = async () => {
      host.cancels++;
      if (host.isUp) host.isCancelled = true;
      return host.isUp;
    };
    return { host, deliver, cancelJob };
  };

  test("does not begin there after the plan was cancelled: the host is asked to refuse it until it answers", async () => {
    using made = testLedger();
    const { host, ...uses } = silentHost();
    using running = testRunner(made, uses);
    const { seq } = running.run(plannedHosts(1));
    await until("it is sent", () => made.ledger.counts(seq).sent);
    made.ledger.cancel(seq, "by anna", Date.now());
    await running.runner.wake();
    expect(host.cancels).toBeGreaterThan(0);
    host.isUp = true;
    running.runner.hostUp("h0");
    await until("the host has answered", () => made.ledger.plan(seq).ended);
    expect(made.ledger.counts(seq)).toEqual({ cancelled: 1 });
    expect(host.ran).toBe(0);
  });

  test("is refused by its host after a cancel while nobody ran the plan, and after a second cancel", async () => {
    using made = testLedger();
    const { host, ...uses } = silentHost();
    using first = testRunner(made, uses);
    const { seq } = first.run(plannedHosts(1));
    await until("it is sent", () => made.ledger.counts(seq).sent);
    first.runner.stop();
    made.ledger.cancel(seq, "by anna", Date.now());
    using next = testRunner(made, uses);
    next.runner.takeOver();
    await until("the host is asked", () => host.cancels > 0);
    const before = host.cancels;
    expect(made.ledger.cancel(seq, "by anna", Date.now())).toMatchObject({ state: "cancelled", ended: null });
    await next.runner.wake();
    expect(host.cancels).toBeGreaterThan(before);
    host.isUp = true;
    next.runner.hostUp("h0");
    await next.runner.over(seq);
    expect(made.ledger.counts(seq)).toEqual({ cancelled: 1 });
    expect(() => made.ledger.cancel(seq, "by anna", Date.now())).toThrow("can be cancelled");
    expect(host.ran).toBe(0);
  });

  test("does not begin there while the plan is paused", async () => {
    using made = testLedger();
    const { host, ...uses } = silentHost();
    using running = testRunner(made, uses);
    const { seq } = running.run(plannedHosts(1));
    await until("it is sent", () => made.ledger.counts(seq).sent);
    made.ledger.pause(seq, "by anna");
    await running.runner.wake();
    host.isUp = true;
    running.runner.hostUp("h0");
    await until("the host is asked", () => host.asked > 0);
    expect(host.ran).toBe(0);
    expect(made.ledger.counts(seq)).toEqual({ sent: 1 });
    made.ledger.resume(seq);
    await running.runner.wake();
    await running.runner.over(seq);
    expect(made.ledger.counts(seq)).toEqual({ ok: 1 });
  });
});

describe("who runs a plan", () => {
  test("is one process: another one goes on when that has ended", async () => {
    using made = testLedger();
    const fleet = testFleet(() => "slow");
    using first = testRunner(made, fleet);
    const { seq } = first.run(plannedHosts(1));
    await until("the plan", () => fleet.slow.get("h0"));
    using second = testRunner(made, testFleet());
    expect(second.runner.run(seq)).toBe(false);
    first.runner.stop();
    second.runner.takeOver();
    await second.runner.over(seq);
    expect(made.ledger.counts(seq)).toEqual({ ok: 1 });
  });

  test("takes over all plans but those that it cannot read, and says what is wrong with one", async () => {
    using made = testLedger();
    const hosts = plannedHosts(1);
    const seqs = [1, 2].map(() => {
      const { seq } = made.ledger.create(newPlan(hosts), hosts, Date.now());
      return made.ledger.apply(seq, null, Date.now()).seq;
    });
    let isBroken = true;
    const content: Ledger["content"] = (seq) => {
      if (isBroken && seq === seqs[0]) throw new Error("plans.db is busy");
      return made.ledger.content(seq);
    };
    using running = testRunner({ ...made, ledger: { ...made.ledger, content } }, testFleet());
    expect(() => running.runner.takeOver()).toThrow("plans.db is busy");
    await running.runner.over(seqs[1] ?? 0);
    expect(seqs.map((seq) => made.ledger.counts(seq))).toEqual([{ planned: 1 }, { ok: 1 }]);
    isBroken = false;
    running.runner.takeOver();
    await running.runner.over(seqs[0] ?? 0);
    expect(made.ledger.counts(seqs[0] ?? 0)).toEqual({ ok: 1 });
  });

  test("takes plans over in the order in which they were applied", async () => {
    using made = testLedger();
    const fleet = testFleet();
    const order: string[] = [];
    const deliver: DeliverJob = (target, job, options) => {
      order.push(job.plan);
      return fleet.deliver(target, job, options);
    };
    const hosts = plannedHosts(1);
    const [first, second] = [0, 1].map(() => made.ledger.create(newPlan(hosts), hosts, 0));
    if (!first || !second) throw new Error("there are no plans");
    const applied = Date.now();
    made.ledger.apply(second.seq, null, applied - 1);
    made.ledger.apply(first.seq, null, applied);
    using running = testRunner(made, { deliver });
    running.runner.takeOver();
    await Promise.all([first, second].map(({ seq }) => running.runner.over(seq)));
    expect(order).toEqual([second.id, first.id]);
  });

  test("sends no job of an attempt that was cancelled and repeated before its host answered", async () => {
    using made = testLedger();
    const fleet = testFleet();
    const { promise: isThere, resolve: answers } = Promise.withResolvers<void>();
    const asked: string[] = [];
    const sent: string[] = [];
    const deliver: typeof fleet.deliver = async (target, job, options) => {
      asked.push(job.id);
      await isThere;
      return fleet.deliver(target, job, {
        ...options,
        async sent(way) {
          await options.sent(way);
          sent.push(job.id);
        },
      });
    };
    using running = testRunner(made, { deliver });
    const { seq, id } = running.run(plannedHosts(1));
    await until("the host is asked", () => asked.length === 1);
    made.ledger.cancel(seq, "by anna", Date.now());
    await running.runner.wake();
    made.ledger.retry(seq, ["cancelled"], Date.now());
    running.runner.run(seq);
    await running.runner.wake();
    answers();
    await until("the second attempt", () => made.ledger.counts(seq).ok);
    expect(sent).toEqual([jobId(id, 0, 1)]);
    expect(asked).toEqual([jobId(id, 0, 0), jobId(id, 0, 1)]);
  });

  test("may die at any commit: no job runs twice, and every host ends", async () => {
    const fate = fc.constantFrom<Fate>("ok", "failed", "offline", "lost", "old");
    await fc.assert(
      fc.asyncProperty(
        fc.array(fate, { minLength: 1, maxLength: 12 }),
        fc.array(fc.nat(4), { maxLength: 5 }),
        async (fates, deaths) => {
          using made = testLedger();
          let isOver = false;
          const world = testFleet((label) => {
            const found = fates[Number(label.slice(1))] ?? "ok";
            return isOver && found === "lost" ? "ok" : found;
          });
          const hosts = plannedHosts(fates.length);
          let seq: number | undefined;
          for (const after of deaths) {
            // It dies before or after a commit reaches the disk.
            const died = Promise.withResolvers<void>();
            let left = after;
            const mortal: Ledger = {
              ...made.ledger,
              commit(steps, now) {
                if (left === 0 && after % 2 === 0) died.resolve();
                if (left < 0 || (left === 0 && after % 2 === 0)) throw new Error("dead");
                const result = made.ledger.commit(steps, now);
                if (left-- === 0) {
                  died.resolve();
                  throw new Error("dead");
                }
                return result;
              },
            };
            const one = testRunner({ ...made, ledger: mortal }, world);
            if (seq === undefined) seq = one.run(hosts).seq;
            else one.runner.takeOver();
            await Promise.race([died.promise, one.runner.over(seq), Bun.sleep(150)]);
            one.runner.stop();
          }
          isOver = true;
          using last = testRunner(made, world);
          if (seq === undefined) seq = last.run(hosts).seq;
          else last.runner.takeOver();
          const { counts, plan } = made.ledger;
          await until("the plan", () => {
            for (const { label } of hosts) last.runner.hostUp(label);
            last.runner.wake();
            return plan(seq ?? 0).ended ?? undefined;
          });
          const states = counts(seq);
          expect(Object.values(states).reduce((sum, one = 0) => sum + one, 0)).toBe(fates.length);
          expect(
            Object.keys(states).filter((state) => !(END_STATES as readonly string[]).includes(state)),
          ).toEqual([]);
          for (const { label } of hosts) expect(timesRun(world, label)).toBeLessThanOrEqual(1);
        },
      ),
      { numRuns: 25 },
    );
  });
});

describe("an attempt that reached no host", () => {
  const resultAt = (label: string, state: JobResult["state"]): JobResult => ({
    state,
    result: { label, ok: state === "ok", status: "failed", delivered: state === "ok", duration_ms: 1 },
  });

  test.each([
    ["before it was sent", undefined],
    ["after its host was too busy for it", "job"],
  ] as const)("ends with its plan, also with a queue: %s", async (_when, way) => {
    using made = testLedger();
    const reached = Promise.withResolvers<void>();
    const held = Promise.withResolvers<void>();
    const deliver: DeliverJob = async ({ label }, _job, { sent }) => {
      if (way) await sent(way);
      reached.resolve();
      await held.promise;
      return resultAt(label, "offline");
    };
    using running = testRunner(made, { deliver });
    const { seq } = running.run(plannedHosts(1), { queue: true });
    await reached.promise;
    made.ledger.cancel(seq, "by anna", Date.now());
    await running.runner.wake();
    held.resolve();
    await running.runner.over(seq);
    expect(made.ledger.plan(seq)).toMatchObject({ state: "cancelled", ended: expect.any(Number) });
    expect(made.ledger.targets(seq)).toMatchObject([{ state: "cancelled", sent_at: null }]);
  });

  test("since its plan was paused as /execute was about to be sent goes on later", async () => {
    using made = testLedger();
    const reached = Promise.withResolvers<void>();
    const held = Promise.withResolvers<void>();
    let ran = 0;
    const deliver: DeliverJob = async ({ label }, _job, { before, maySend, sent }) => {
      if (before) return resultAt(label, "unknown");
      await sent("execute");
      reached.resolve();
      await held.promise;
      if (maySend?.() === false) return resultAt(label, "unseen");
      ran++;
      return resultAt(label, "ok");
    };
    using running = testRunner(made, { deliver });
    const { seq } = running.run(plannedHosts(1));
    await reached.promise;
    made.ledger.pause(seq, "by anna");
    await running.runner.wake();
    held.resolve();
    await until("it is known not to be sent", () => made.ledger.counts(seq).planned);
    expect(made.ledger.targets(seq)).toMatchObject([{ way: null, sent_at: null }]);
    made.ledger.resume(seq);
    await running.runner.over(seq);
    expect(made.ledger.counts(seq)).toEqual({ ok: 1 });
    expect(ran).toBe(1);
  });
});
