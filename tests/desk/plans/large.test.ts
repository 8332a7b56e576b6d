/** A plan with many hosts is read in slices by who runs it, and then runs as any other. */
import { describe, expect, spyOn, test } from "bun:test";
import { join } from "node:path";
import { hostAdded, hostChanged, hostRemoved } from "../../../src/desk/fleet/events";
import type { Host } from "../../../src/desk/fleet/host";
import { hostsIn } from "../../../src/desk/plans/book-hosts";
import type { Ledger } from "../../../src/desk/plans/ledger/ledger";
import { identityOf } from "../../../src/desk/plans/plan";
import { createPlans } from "../../../src/desk/plans/plans";
import { createBus } from "../../../src/events/bus";
import { silentLog } from "../../../src/lib/log";
import type { DeliverJob } from "../../../src/wire/job/job";
import { nextTurn, temporaryFolder, until } from "../../support";
import { newPlan, plannedHosts, testFleet, testLedger, testRunner } from "./support";

const MANY = 3_000;
/** Of which the reading takes long. */
const MORE = 8_000;

/** An applied plan that nobody runs yet. @param sent the places of hosts that have its job. */
function applied(ledger: Ledger, count: number, sent: readonly number[] = [], now = Date.now()) {
  const hosts = plannedHosts(count);
  const { seq } = ledger.create(newPlan(hosts), hosts, now);
  ledger.apply(seq, null, now);
  ledger.commit(
    sent.map((n) => ({ plan: seq, n, attempt: 0, step: "send", way: "job" }) as const),
    now,
  );
  return seq;
}

describe("a plan with many hosts", () => {
  test("ends at each of them, also where it was begun before", async () => {
    using made = testLedger();
    const fleet = testFleet((label) => (label === "h7" ? "failed" : "ok"));
    const seq = applied(made.ledger, MANY, [0, 1, 2]);
    made.ledger.commit(
      [0, 1].map((n) => ({ plan: seq, n, attempt: 0, step: n === 0 ? "ok" : "failed" }) as const),
      1,
    );
    using running = testRunner(made, fleet);
    expect(running.runner.run(seq)).toBe(true);
    expect(running.runner.has(seq)).toBe(true);
    await running.runner.over(seq);
    expect(made.ledger.counts(seq)).toEqual({ ok: MANY - 2, failed: 2 });
    // Each job once, and none of those that had ended.
    expect([...fleet.ran.values()].filter(({ times }) => times !== 1)).toEqual([]);
    expect(fleet.ran.size).toBe(MANY - 2);
    const end = running.published.find(({ name }) => name === "plan.ended");
    expect(end?.data).toMatchObject({ state: "done", counts: { ok: MANY - 2, failed: 2 } });
  });

  test("counts the failures of before", async () => {
    using made = testLedger();
    const hosts = plannedHosts(MANY);
    const { seq } = made.ledger.create(newPlan(hosts, { max_failures: 1 }), hosts, 0);
    made.ledger.apply(seq, null, Date.now());
    made.ledger.commit(
      [0, 1].map((n) => ({ plan: seq, n, attempt: 0, step: "unreachable" }) as const),
      1,
    );
    const fleet = testFleet();
    using running = testRunner(made, fleet);
    running.runner.run(seq);
    await until("it is paused", () => made.ledger.plan(seq).state === "paused");
    expect(made.ledger.plan(seq).reason).toBe("2 failed, more than 1");
    expect(fleet.begun).toEqual([]);
  });

  test("takes several turns to be read", async () => {
    using made = testLedger();
    const seq = applied(made.ledger, 30_000);
    let pieces = 0;
    const turns = new Set<number>();
    let turn = 0;
    const timer = setInterval(() => turn++, 0);
    const between: Ledger["between"] = (...which) => {
      pieces++;
      turns.add(turn);
      return made.ledger.between(...which);
    };
    using running = testRunner({ ...made, ledger: { ...made.ledger, between } }, testFleet());
    running.runner.run(seq);
    await until("all are read", () => pieces === 30);
    clearInterval(timer);
    expect(turns.size).toBeGreaterThan(1);
  });

  test("begins at its hosts in several turns, at however many servers they are", async () => {
    using made = testLedger();
    const seq = applied(made.ledger, 20_000);
    const fleet = testFleet();
    let begun = 0;
    const deliver: typeof fleet.deliver = (...given) => {
      begun++;
      return fleet.deliver(...given);
    };
    using running = testRunner(made, {
      deliver,
      serverAt: (label) => `nats:r${Number(label.slice(1)) % 40}`,
    });
    running.runner.run(seq);
    const before: number[] = [];
    while (before.length < 3) {
      await nextTurn();
      if (begun > 0) before.push(begun);
    }
    expect(before[0]).toBeLessThan(10_000);
    await running.runner.over(seq);
    expect(made.ledger.counts(seq)).toEqual({ ok: 20_000 });
  });

  test("begins nowhere where it is cancelled while it is read", async () => {
    using made = testLedger();
    const fleet = testFleet();
    const seq = applied(made.ledger, MANY);
    using running = testRunner(made, fleet);
    running.runner.run(seq);
    made.ledger.cancel(seq, "by anna", Date.now());
    await running.runner.over(seq);
    expect(made.ledger.counts(seq)).toEqual({ cancelled: MANY });
    expect(fleet.begun).toEqual([]);
  });

  test("begins nowhere where it is paused in the middle of that, and goes on when it is resumed", async () => {
    using made = testLedger();
    const fleet = testFleet();
    const seq = applied(made.ledger, MANY);
    let pieces = 0;
    const between: Ledger["between"] = (plan, from, end) => {
      if (++pieces === 2) made.ledger.pause(seq, "by anna");
      return made.ledger.between(plan, from, end);
    };
    using running = testRunner({ ...made, ledger: { ...made.ledger, between } }, fleet);
    running.runner.run(seq);
    await until("it is paused", () => made.ledger.plan(seq).state === "paused");
    for (let turn = 0; turn < 50; turn++) await nextTurn();
    expect(fleet.begun).toEqual([]);
    made.ledger.resume(seq);
    await running.runner.wake();
    await running.runner.over(seq);
    expect(made.ledger.counts(seq)).toEqual({ ok: MANY });
  });

  test("is not read where it is paused, and in several turns where it is resumed: then each host begins once", async () => {
    using made = testLedger();
    let areSlow = true;
    const fleet = testFleet(() => (areSlow ? "slow" : "ok"));
    const hosts = plannedHosts(MANY);
    const { seq } = made.ledger.create(newPlan(hosts, { max_parallel: 100 }), hosts, Date.now());
    made.ledger.apply(seq, null, Date.now());
    let pieces = 0;
    const between: Ledger["between"] = (...which) => {
      pieces++;
      // Each piece takes a turn.
      Bun.sleepSync(6);
      return made.ledger.between(...which);
    };
    using running = testRunner({ ...made, ledger: { ...made.ledger, between } }, fleet);
    running.runner.run(seq);
    await until("some are at work", () => fleet.slow.size === 100);
    expect(pieces).toBe(MANY / 1_000);
    made.ledger.pause(seq, "by anna");
    await running.runner.wake();
    for (let turn = 0; turn < 5; turn++) await nextTurn();
    expect(pieces).toBe(MANY / 1_000);
    made.ledger.resume(seq);
    await running.runner.wake();
    expect(pieces).toBeLessThan((2 * MANY) / 1_000);
    // They end in the middle of that.
    areSlow = false;
    for (const go of fleet.slow.values()) go();
    await running.runner.over(seq);
    expect(made.ledger.counts(seq)).toEqual({ ok: MANY });
    expect(fleet.begun).toHaveLength(MANY);
    expect([...fleet.ran.values()].filter(({ times }) => times !== 1)).toEqual([]);
  });

  test("sends nothing more once it is paused, also while its hosts are read again", async () => {
    using made = testLedger();
    const seq = applied(made.ledger, MANY);
    made.ledger.commit([{ plan: seq, n: MANY - 1, attempt: 0, step: "unreachable" }], 1);
    let pieces = 0;
    const between: Ledger["between"] = (...which) => {
      pieces++;
      // Each piece takes a turn.
      Bun.sleepSync(6);
      return made.ledger.between(...which);
    };
    const onTheirWay: Array<() => boolean> = [];
    const seen = Promise.withResolvers<void>();
    const deliver: DeliverJob = async ({ label }, _job, { maySend = () => true }) => {
      onTheirWay.push(maySend);
      await seen.promise;
      const result = { label, ok: false, status: "failed", delivered: false, duration_ms: 1 } as const;
      return { state: "lost", result };
    };
    using running = testRunner({ ...made, ledger: { ...made.ledger, between } }, { deliver });
    running.runner.run(seq);
    await until("some are on their way", () => onTheirWay.length > 0);
    expect(pieces).toBe(MANY / 1_000);
    expect(made.ledger.retry(seq, undefined, Date.now()).retried).toBe(1);
    await running.runner.wake();
    expect(onTheirWay.map((maySend) => maySend())).not.toContain(false);
    made.ledger.pause(seq, "by anna");
    await running.runner.wake();
    expect(onTheirWay.map((maySend) => maySend())).not.toContain(true);
    expect(pieces).toBeLessThan((2 * MANY) / 1_000);
    seen.resolve();
  });

  test("begins at no further host once it is cancelled, and knows how the one at work ends", async () => {
    using made = testLedger();
    const fleet = testFleet(() => "slow");
    const hosts = plannedHosts(MANY);
    const { seq } = made.ledger.create(newPlan(hosts, { max_parallel: 1 }), hosts, Date.now());
    made.ledger.apply(seq, null, Date.now());
    using running = testRunner(made, fleet);
    running.runner.run(seq);
    await until("it is at work", () => fleet.slow.has("h0"));
    made.ledger.cancel(seq, "by anna", Date.now());
    await running.runner.wake();
    fleet.slow.get("h0")?.();
    await running.runner.over(seq);
    expect(made.ledger.counts(seq)).toEqual({ ok: 1, cancelled: MANY - 1 });
    expect(fleet.begun).toEqual(["h0"]);
  });

  test("is read once more where somebody decides something meanwhile, and where it could not be read", async () => {
    using made = testLedger();
    const warnings: string[] = [];
    const log = { ...silentLog, warn: (text: string) => void warnings.push(text) };
    const fleet = testFleet();
    const seq = applied(made.ledger, MANY);
    made.ledger.pause(seq, "by anna");
    let pieces = 0;
    const between: Ledger["between"] = (...which) => {
      pieces++;
      // It was read once, for the first time.
      if (pieces === 5) throw new Error("plans.db is busy");
      if (pieces === 7) made.ledger.pause(seq, "by bert");
      return made.ledger.between(...which);
    };
    using running = testRunner({ ...made, ledger: { ...made.ledger, between } }, { ...fleet, log });
    running.runner.run(seq);
    await until("it is read", () => pieces === 3);
    for (let turn = 0; turn < 50; turn++) await nextTurn();
    made.ledger.resume(seq);
    await running.runner.wake();
    await until("it fails", () => warnings.length > 0);
    await running.runner.wake();
    await until("it is paused, and read as that", () => pieces === 11);
    for (let turn = 0; turn < 50; turn++) await nextTurn();
    expect(fleet.begun).toEqual([]);
    made.ledger.resume(seq);
    await running.runner.wake();
    await running.runner.over(seq);
    expect(made.ledger.counts(seq)).toEqual({ ok: MANY });
    expect(warnings).toHaveLength(1);
    expect(warnings[0]).toContain("cannot go on for now: plans.db is busy");
  });

  test("begins nowhere where it was paused meanwhile, also where another plan goes on before anybody looks", async () => {
    using made = testLedger();
    const fleet = testFleet((label) => (label === "slow" ? "slow" : "ok"));
    const host = [{ label: "slow", identity: "id-slow" }];
    const small = made.ledger.create(newPlan(host), host, Date.now());
    made.ledger.apply(small.seq, null, Date.now());
    const large = applied(made.ledger, MANY);
    let pieces = 0;
    const between: Ledger["between"] = (plan, from, end) => {
      if (++pieces === 2) made.ledger.pause(large, "by anna");
      return made.ledger.between(plan, from, end);
    };
    // Whoever looks waits for that first.
    const endings = () => (pieces > 0 ? new Promise<never>(() => {}) : Promise.resolve(() => null));
    using running = testRunner({ ...made, ledger: { ...made.ledger, between } }, { ...fleet, endings });
    running.runner.run(small.seq);
    await until("it is at work", () => fleet.slow.has("slow"));
    running.runner.run(large);
    await until("all are read", () => pieces === MANY / 1_000);
    await nextTurn();
    fleet.slow.get("slow")?.();
    await running.runner.over(small.seq);
    for (let turn = 0; turn < 50; turn++) await nextTurn();
    expect(fleet.begun).toEqual(["slow"]);
  });

  test("keeps its place before those that came later, whose hosts may have its jobs", async () => {
    using made = testLedger();
    const order: string[] = [];
    const fleet = testFleet();
    const now = Date.now();
    const large = applied(made.ledger, MANY, [MANY - 1], now - 2);
    const hosts = plannedHosts(MANY).slice(-1);
    const small = made.ledger.create(newPlan(hosts), hosts, now);
    made.ledger.apply(small.seq, null, now);
    const ids = new Map([large, small.seq].map((seq) => [made.ledger.plan(seq).id, seq]));
    const deliver: typeof fleet.deliver = async (target, job, options) => {
      const done = await fleet.deliver(target, job, options);
      if (target.label === `h${MANY - 1}`) order.push(ids.get(job.plan) === large ? "large" : "small");
      return done;
    };
    using running = testRunner(made, { deliver });
    running.runner.takeOver();
    await Promise.all([large, small.seq].map((seq) => running.runner.over(seq)));
    expect(order).toEqual(["large", "small"]);
  });

  test("comes before those that came earlier, at hosts that may have its jobs", async () => {
    using made = testLedger();
    const order: string[] = [];
    const fleet = testFleet();
    const now = Date.now();
    const last = `h${MORE - 1}`;
    const hosts = plannedHosts(MORE).slice(-1);
    const small = made.ledger.create(newPlan(hosts), hosts, now);
    made.ledger.apply(small.seq, null, now - 4);
    const large = applied(made.ledger, MORE, [MORE - 1], now - 2);
    const deliver: typeof fleet.deliver = async (target, job, options) => {
      const which = job.plan === small.id ? "small" : "large";
      if (target.label === last) order.push(`${which} begins`);
      const done = await fleet.deliver(target, job, options);
      if (target.label === last) order.push(`${which} ends`);
      return done;
    };
    // Each piece takes a turn, so that others could begin meanwhile.
    const between: Ledger["between"] = (...which) => {
      Bun.sleepSync(6);
      return made.ledger.between(...which);
    };
    using running = testRunner({ ...made, ledger: { ...made.ledger, between } }, { deliver });
    running.runner.takeOver();
    await Promise.all([large, small.seq].map((seq) => running.runner.over(seq)));
    expect(order).toEqual(["large begins", "large ends", "small begins", "small ends"]);
  });

  test("goes on at hosts that are renamed while it is read", async () => {
    using made = testLedger();
    const fleet = testFleet();
    const seq = applied(made.ledger, MANY);
    let isRenamed = false;
    const between: Ledger["between"] = (plan, from, end) => {
      if (from === 1_000 && !isRenamed) {
        isRenamed = true;
        for (const [n, name] of [
          [1, "bonn"],
          [MANY - 1, "berlin"],
        ] as const) {
          made.ledger.rename(`id-h${n}`, `h${n}`, name);
          running.runner.rename(`id-h${n}`, `h${n}`, name);
        }
      }
      return made.ledger.between(plan, from, end);
    };
    const hostOf = (label: string, identity: string) => ({
      label,
      server: { url: "http://127.0.0.1:1", token: undefined, trust: { kind: "any" } as const },
      host_id: null,
      identity,
    });
    using running = testRunner({ ...made, ledger: { ...made.ledger, between } }, { ...fleet, hostOf });
    running.runner.run(seq);
    await running.runner.over(seq);
    expect(made.ledger.counts(seq)).toEqual({ ok: MANY });
    expect(fleet.begun).toContain("bonn");
    expect(fleet.begun).toContain("berlin");
    expect(fleet.begun).not.toContain("h1");
    expect(fleet.begun).not.toContain(`h${MANY - 1}`);
  });

  test("is left to another process where this one stops while it reads", async () => {
    using made = testLedger();
    const warnings: string[] = [];
    const log = { ...silentLog, warn: (text: string) => void warnings.push(text) };
    const seq = applied(made.ledger, MANY);
    using first = testRunner(made, { ...testFleet(), log });
    first.runner.run(seq);
    first.runner.stop();
    using second = testRunner(made, testFleet());
    expect(second.runner.run(seq)).toBe(true);
    await second.runner.over(seq);
    expect(made.ledger.counts(seq)).toEqual({ ok: MANY });
    expect(warnings).toEqual([]);
  });

  test("is run by nobody where it cannot be read, which is said once, and is tried again", async () => {
    using made = testLedger();
    const warnings: string[] = [];
    const log = { ...silentLog, warn: (text: string) => void warnings.push(text) };
    const seq = applied(made.ledger, MANY);
    let isBroken = true;
    const between: Ledger["between"] = (...which) => {
      if (isBroken && which[1] > 0) throw new Error("plans.db is busy");
      return made.ledger.between(...which);
    };
    using running = testRunner({ ...made, ledger: { ...made.ledger, between } }, { ...testFleet(), log });
    for (let times = 0; times < 2; times++) {
      running.runner.takeOver();
      expect(running.runner.has(seq)).toBe(true);
      await running.runner.over(seq);
      expect(running.runner.has(seq)).toBe(false);
      await nextTurn();
    }
    expect(warnings).toEqual(["plans cannot go on for now: plans.db is busy"]);
    isBroken = false;
    running.runner.takeOver();
    await running.runner.over(seq);
    expect(made.ledger.counts(seq)).toEqual({ ok: MANY });
  });
});

/** How many hosts end in the same commit: those who wait for that go on in several turns. */
const TOGETHER = 400;

/** Hosts that all answer once they have been let go, and a ledger that tells when that is written. */
function together(made: ReturnType<typeof testLedger>, isOk: (label: string) => boolean) {
  const state = { isLetGo: false, hasAnswered: false };
  const fleet = testFleet((label) =>
    !state.isLetGo ? "slow" : isOk(label) || state.hasAnswered ? "ok" : "failed",
  );
  const written = Promise.withResolvers<void>();
  const commit: Ledger["commit"] = (steps, now) => {
    const done = made.ledger.commit(steps, now);
    if (steps.filter(({ step }) => step === "ok" || step === "failed").length === TOGETHER) {
      state.hasAnswered = true;
      // Before the second part of those who wait goes on.
      setImmediate(written.resolve);
    }
    return done;
  };
  return {
    ...{ ...made, fleet, ledger: { ...made.ledger, commit }, written: written.promise },
    async letGo() {
      await until("all are at work", () => fleet.slow.size === TOGETHER);
      state.isLetGo = true;
      for (const go of fleet.slow.values()) go();
    },
  };
}

describe("hosts that end together", () => {
  test("count at once: no more begin after too many of them have failed", async () => {
    using made = testLedger();
    const one = together(made, (label) => Number(label.slice(1)) < TOGETHER / 2);
    using running = testRunner(one, one.fleet);
    const { seq } = running.run(plannedHosts(2 * TOGETHER), { max_parallel: TOGETHER, max_failures: 10 });
    await one.letGo();
    await until("it is paused", () => made.ledger.plan(seq).state === "paused");
    expect(made.ledger.plan(seq).reason).toBe(`${TOGETHER / 2} failed, more than 10`);
    expect(one.fleet.begun.length).toBe(TOGETHER);
  });

  test("do not count any more once they are repeated, before those who wait for them have gone on", async () => {
    using made = testLedger();
    const one = together(made, () => false);
    using running = testRunner(one, one.fleet);
    const { seq } = running.run(plannedHosts(TOGETHER), { max_failures: 10 });
    await one.letGo();
    await one.written;
    expect(made.ledger.retry(seq, undefined, Date.now()).retried).toBe(TOGETHER);
    await running.runner.wake();
    await until("it ends, or is paused", () => made.ledger.plan(seq).state !== "running");
    expect(made.ledger.plan(seq)).toMatchObject({ state: "done", reason: null });
    expect(made.ledger.counts(seq)).toEqual({ ok: TOGETHER });
    const told = running.published.findLast(({ name }) => name === "plan.target");
    expect(told?.data).toMatchObject({ counts: { ok: TOGETHER } });
  });

  test("count once where their answers had been lost for long", async () => {
    using made = testLedger();
    let isBack = false;
    let lost = 0;
    const fleet = testFleet(() => (isBack ? "failed" : "lost"));
    const deliver: typeof fleet.deliver = async (...given) => {
      const done = await fleet.deliver(...given);
      if (!isBack) lost++;
      return done;
    };
    const hosts = plannedHosts(TOGETHER);
    const { seq } = made.ledger.create(
      newPlan(hosts, { queue: true, max_failures: TOGETHER }),
      hosts,
      Date.now(),
    );
    made.ledger.apply(seq, null, Date.now());
    const sent = hosts.map((_, n) => ({ plan: seq, n, attempt: 0, step: "send", way: "job" }) as const);
    made.ledger.commit(sent, Date.now() - 1_000_000);
    using running = testRunner(made, { deliver });
    running.runner.run(seq);
    await until("all were asked", () => lost === TOGETHER);
    await nextTurn();
    isBack = true;
    for (const { label } of hosts) running.runner.hostUp(label);
    await running.runner.wake();
    await until("it ends, or is paused", () => made.ledger.plan(seq).state !== "running");
    expect(made.ledger.plan(seq)).toMatchObject({ state: "done", reason: null });
    expect(made.ledger.counts(seq)).toEqual({ failed: TOGETHER });
  });
});

test("a host has the texts of the address book only where it is the same host", () => {
  const hosts = [
    { label: "a", base_url: "https://192.0.2.1", tags: [], token: undefined },
    { label: "b", base_url: "https://192.0.2.2", tags: [], token: undefined },
  ];
  const { sameTexts } = hostsIn({
    book: {
      hosts: () => hosts,
      reach: ({ base_url }) => ({ url: base_url, token: undefined, trust: { kind: "any" } }),
    },
    recordsAt: () => undefined,
    isExpected: () => false,
    isGone: () => false,
  });
  const textsOf = sameTexts();
  for (const planned of [
    { label: "a", identity: "https://192.0.2.1" },
    { label: "b", identity: "https://192.0.2.1" },
    { label: "c", identity: "https://192.0.2.1" },
  ])
    expect(textsOf(planned)).toEqual(planned);
});

test("a host that was moved is at its new server as soon as the address book says that it has changed", () => {
  let hosts = [{ label: "a", base_url: "nats:eu/UA", tags: [], token: undefined }];
  const { serverAt, changed } = hostsIn({
    book: {
      hosts: () => hosts,
      reach: ({ base_url }) => ({ url: base_url, token: undefined, trust: { kind: "any" } }),
    },
    recordsAt: () => undefined,
    isExpected: () => false,
    isGone: () => false,
  });
  expect(serverAt("a")).toBe("nats:eu");
  hosts = hosts.map((host) => ({ ...host, base_url: "nats:us/UA" }));
  changed();
  expect(serverAt("a")).toBe("nats:us");
});

test("hosts that are renamed or removed between their selection and the end of writing run once, by their labels of now, or end with the reason", async () => {
  const COUNT = 20_000;
  using folder = temporaryFolder();
  const fleet = testFleet();
  let hosts: Host[] = plannedHosts(COUNT).map(({ label }) => ({
    label,
    base_url: `https://${label}.example`,
    tags: [],
    token: undefined,
  }));
  const plans = createPlans({
    ...{ log: silentLog, isGone: () => false, isExpected: () => false, recordsAt: () => undefined },
    files: { plans: join(folder.path, "plans.db"), planLocks: join(folder.path, "locks") },
    book: {
      hosts: () => hosts,
      reach: ({ base_url }) => ({ url: base_url, token: undefined, trust: { kind: "any" } }),
    },
    ...{ deliver: fleet.deliver, endings: async () => () => null },
    ...{ events: createBus(silentLog), goesOn: () => true, publish() {} },
    // As long as the address book has it.
    whyGone: (address) => address,
  });
  const rename = (from: string, label: string) => {
    hosts = hosts.map((host) => (host.label === from ? { ...host, label } : host));
    const host = hosts.find((one) => one.label === label);
    if (host) plans.rename(host, from);
  };
  const remove = (label: string) => {
    hosts = hosts.filter((host) => host.label !== label);
  };
  const last = `h${COUNT - 1}`;
  const selected = hosts.map((host) => ({ label: host.label, identity: identityOf(host) }));
  rename("h1", "one");
  remove("h2");
  const { content, content_digest, spec } = newPlan(selected);
  const making = plans.create(content, content_digest, spec, selected, null);
  rename("h4", "four");
  while (plans.ledger.targets(1).length === 0) await nextTurn();
  // One that is written, and one that is not yet.
  rename("h0", "zero");
  rename(last, "last");
  remove("h3");
  const plan = await making;
  const expected = selected.map(({ label }) => label);
  for (const [n, label] of [
    [0, "zero"],
    [1, "one"],
    [4, "four"],
    [COUNT - 1, "last"],
  ] as const)
    expected[n] = label;
  expect(plans.ledger.targets(plan.seq).map(({ label }) => label)).toEqual(expected);

  await until("the removal is known", () => plans.whyOffline("h3") === undefined);
  plans.apply(plan, plan.digest, null);
  plans.runner.run(plan.seq);
  await plans.runner.over(plan.seq);
  expect(plans.ledger.counts(plan.seq)).toEqual({ ok: COUNT - 2, refused: 2 });
  const refused = plans.ledger.targets(plan.seq, ["refused"]);
  expect(refused).toMatchObject(
    ["h2", "h3"].map((label) => ({ label, error: "no longer in the address book" })),
  );
  expect(fleet.begun.toSorted()).toEqual(
    expected.filter((label) => label !== "h2" && label !== "h3").toSorted(),
  );
  await plans.stop();
}, 60_000);

test("whoever runs plans hears soon which hosts have another entry, or have one again", async () => {
  using folder = temporaryFolder();
  const events = createBus(silentLog);
  const plans = createPlans({
    ...{ log: silentLog, isGone: () => false, isExpected: () => false, recordsAt: () => undefined },
    files: { plans: join(folder.path, "plans.db"), planLocks: join(folder.path, "locks") },
    book: {
      hosts: () => [],
      reach: () => {
        throw new Error("nothing is reached");
      },
    },
    ...{ deliver: testFleet().deliver, endings: async () => () => null },
    ...{ events, goesOn: () => true, publish() {} },
  });
  const heard = spyOn(plans.runner, "hostsChanged");
  events.publish(hostChanged, { label: "moved", base_url: "nats:us/UMOVED", tags: [] });
  events.publish(hostRemoved, { label: "back" });
  events.publish(hostRemoved, { label: "gone" });
  events.publish(hostAdded, { label: "back", base_url: "nats:us/UBACK", tags: [] });
  await until("it hears", () => heard.mock.calls.length > 0);
  expect(heard.mock.calls).toEqual([[new Set(["moved", "back"])]]);
  await plans.stop();
});
