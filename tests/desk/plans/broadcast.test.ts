/** A broadcast: a plan that ends with its process, and whoever waits for it. */
import { describe, expect, test } from "bun:test";
import { join } from "node:path";
import fc from "fast-check";
import type { RemoteServer } from "../../../src/client/carrier";
import { OWNER } from "../../../src/core/rights";
import { Broadcast } from "../../../src/desk/plans/broadcast";
import type { PlannedHost, Spec } from "../../../src/desk/plans/plan";
import { createPlans } from "../../../src/desk/plans/plans";
import { silentLog } from "../../../src/lib/log";
import { DELIVERY_STATUS, type Delivery, type DeliveryStatus } from "../../../src/wire/job/delivery";
import type { DeliverJob, JobResult, JobState } from "../../../src/wire/job/job";
import { madeUpJob } from "../../host/jobs/support";
import { nextTurn, temporaryFolder, until } from "../../support";
import { host } from "../fleet/support";
import { newPlan, plannedHosts, specOf, testFleet, testLedger, testRunner } from "./support";

const resultOf = (label: string, status: DeliveryStatus): Delivery => ({
  label,
  ok: status === "ok",
  status,
  delivered: true,
  duration_ms: 1,
});
const freely = { maxParallel: 64, maxFailures: 1_000, canary: 0 };

interface Limits {
  readonly maxParallel: number;
  readonly maxFailures: number;
  readonly canary: number;
  readonly signal?: AbortSignal;
  readonly done?: (result: Delivery) => void;
}

const CONTENT = "{}";

/** Begins a broadcast. */
function begun(
  { ledger }: ReturnType<typeof testLedger>,
  { runner }: ReturnType<typeof testRunner>,
  hosts: readonly PlannedHost[],
  spec: Partial<Spec>,
  { signal = new AbortController().signal, done }: Pick<Limits, "signal" | "done">,
) {
  const { seq } = ledger.create(
    newPlan(hosts, { kind: "broadcast", queue: false, ...spec }),
    hosts,
    Date.now(),
  );
  const results: Delivery[] = [];
  const over = runner.attend(ledger.plan(seq), () => ledger.apply(seq, null, Date.now()), {
    ...{ content: CONTENT, targetOf: () => undefined, hostAt: () => undefined, client: null, signal },
    done(result) {
      results.push(result);
      done?.(result);
      return undefined;
    },
  });
  return { seq, results, over };
}

/** The results in the order of the hosts. */
async function broadcast(
  hosts: readonly PlannedHost[],
  { maxParallel, maxFailures, canary, signal = new AbortController().signal, done }: Limits,
  visit: (host: { readonly label: string }) => Promise<Delivery>,
): Promise<Delivery[]> {
  using made = testLedger();
  const deliver: DeliverJob = async ({ label }, _job, { sent }) => {
    await sent("job");
    const result = await visit({ label });
    const states: Partial<Record<DeliveryStatus, JobState>> = { ok: "ok", unreachable: "offline" };
    return { state: states[result.status] ?? "failed", result };
  };
  using running = testRunner(made, { deliver });
  if (hosts.length === 0) return [];
  const first = Math.min(canary, hosts.length);
  const waves = first > 0 && first < hosts.length ? [first, hosts.length] : [hosts.length];
  const spec = { waves, max_failures: maxFailures, max_parallel: maxParallel };
  const more = { signal, ...(done && { done }) };
  const { seq, results, over } = begun(made, running, hosts, spec, more);
  await over;
  const found = new Map(results.map((result) => [result.label, result]));
  expect(found.size).toBe(results.length);
  const counts = Object.values(made.ledger.counts(seq));
  expect(counts.reduce((sum: number, count) => sum + (count ?? 0), 0)).toBe(hosts.length);
  expect(made.ledger.targets(seq, ["planned", "sent", "running", "waiting"])).toEqual([]);
  expect(made.ledger.plan(seq).ended).not.toBeNull();
  return hosts.flatMap(({ label }) => found.get(label) ?? []);
}

describe("a broadcast", () => {
  test("has one result for each host, in the order of the hosts, whatever happens", async () => {
    const fate = fc.constantFrom<DeliveryStatus | "throws">(...DELIVERY_STATUS, "throws");
    const options = fc.record({
      maxParallel: fc.integer({ min: 1, max: 8 }),
      maxFailures: fc.nat(10),
      canary: fc.nat(12),
    });
    await fc.assert(
      fc.asyncProperty(
        fc.array(fate, { maxLength: 25 }),
        options,
        fc.nat(40),
        async (fates, limits, abortAfter) => {
          const cancel = new AbortController();
          const reported: string[] = [];
          let begun = 0;
          let atWork = 0;
          const hosts = plannedHosts(fates.length);
          const results = await broadcast(
            hosts,
            { ...limits, signal: cancel.signal, done: ({ label }) => void reported.push(label) },
            async ({ label }) => {
              if (begun++ === abortAfter) cancel.abort();
              expect(++atWork).toBeLessThanOrEqual(limits.maxParallel);
              for (let step = 0; step < begun % 3; step++) await Promise.resolve();
              atWork--;
              const fate = fates[Number(label.slice(1))] ?? "ok";
              if (fate === "throws") throw new Error("a bug");
              return resultOf(label, fate);
            },
          );
          const labels = hosts.map(({ label }) => label);
          expect(results.map(({ label }) => label)).toEqual(labels);
          expect(reported.toSorted()).toEqual(labels.toSorted());
          expect(results.every((result) => result.ok === (result.status === "ok"))).toBe(true);
        },
      ),
    );
  });

  test("starts no further host once too many have failed", async () => {
    const results = await broadcast(
      plannedHosts(10),
      { ...freely, maxParallel: 1, maxFailures: 2 },
      async ({ label }) => resultOf(label, label === "h0" ? "ok" : "failed"),
    );
    expect(results.map(({ status }) => status)).toEqual([
      ...(["ok", "failed", "failed", "failed"] as const),
      ...Array.from({ length: 6 }, () => "cancelled" as const),
    ]);
    expect(results[9]).toMatchObject({ delivered: false, error: "not begun: 3 failed" });
  });

  test("goes on after the canaries only when all of them are ok", async () => {
    const run = (dead: string) =>
      broadcast(plannedHosts(5), { ...freely, canary: 2 }, async ({ label }) =>
        resultOf(label, label === dead ? "unreachable" : "ok"),
      );
    expect((await run("h1")).map(({ status }) => status)).toEqual([
      ...(["ok", "unreachable", "cancelled", "cancelled", "cancelled"] as const),
    ]);
    expect((await run("h2")).map(({ status }) => status)).toEqual(["ok", "ok", "unreachable", "ok", "ok"]);
  });
});

/** A host that has a job until it is asked to end it, or is no longer waited for. */
function holdingHosts() {
  const held = new Map<string, (result: JobResult) => void>();
  const reached = Promise.withResolvers<void>();
  const contents: string[] = [];
  const end = (label: string, state: JobState, error: string): JobResult => {
    const status = "cancelled";
    return { state, result: { label, ok: false, status, delivered: true, duration_ms: 1, error } };
  };
  const deliver: DeliverJob = async ({ label }, { content }, { signal, sent, running }) => {
    await sent("job");
    contents.push(content);
    running();
    const { promise, resolve } = Promise.withResolvers<JobResult>();
    held.set(label, resolve);
    signal.addEventListener("abort", () => resolve(end(label, "lost", "cancelled: it may still run")));
    reached.resolve();
    return promise;
  };
  const asked: string[] = [];
  const cancelJob = async ({ label }: { readonly label: string }) => {
    asked.push(label);
    held.get(label)?.(end(label, "cancelled", "cancelled by its desk"));
    return true;
  };
  return { deliver, cancelJob, asked, contents, reached: reached.promise };
}

describe("a broadcast that is ended before its time", () => {
  test("by its caller: hosts are asked to end it, and then the others have not begun", async () => {
    using made = testLedger();
    const hosts = holdingHosts();
    using running = testRunner(made, hosts);
    const caller = new AbortController();
    const { seq, results, over } = begun(made, running, plannedHosts(3), { max_parallel: 1 }, caller);
    await hosts.reached;
    caller.abort();
    await over;
    expect(results.map(({ label, status, delivered, error }) => [label, status, delivered, error])).toEqual([
      ["h0", "cancelled", true, "cancelled by its desk"],
      ["h1", "cancelled", false, "cancelled"],
      ["h2", "cancelled", false, "cancelled"],
    ]);
    expect(hosts.asked).toEqual(["h0"]);
    expect(hosts.contents).toEqual([CONTENT]);
    expect(made.ledger.plan(seq)).toMatchObject({ state: "cancelled", reason: "cancelled" });
    expect(made.ledger.counts(seq)).toEqual({ cancelled: 3 });
  });

  test("by its caller, when it has begun at every host", async () => {
    using made = testLedger();
    const hosts = holdingHosts();
    using running = testRunner(made, hosts);
    const caller = new AbortController();
    const { seq, over } = begun(made, running, plannedHosts(1), {}, caller);
    await hosts.reached;
    caller.abort();
    await over;
    expect(made.ledger.counts(seq)).toEqual({ cancelled: 1 });
    expect(made.ledger.plan(seq)).toMatchObject({ state: "cancelled", reason: "cancelled" });
  });

  test.concurrent("by its caller, at a host that does not answer: it may still run", async () => {
    using made = testLedger();
    const hosts = holdingHosts();
    using running = testRunner(made, { ...hosts, cancelJob: async () => false });
    const caller = new AbortController();
    const { seq, results, over } = begun(made, running, plannedHosts(1), {}, caller);
    await hosts.reached;
    caller.abort();
    await over;
    expect(results).toMatchObject([
      { status: "cancelled", delivered: true, error: "cancelled: it may still run" },
    ]);
    expect(made.ledger.counts(seq)).toEqual({ unknown: 1 });
  });

  test.concurrent("by its caller, while the ledger cannot be written: each host has a result", async () => {
    using made = testLedger();
    const hosts = holdingHosts();
    let isFull = false;
    const ledger = {
      ...made.ledger,
      commit(...given: Parameters<typeof made.ledger.commit>) {
        if (isFull) throw new Error("disk full");
        return made.ledger.commit(...given);
      },
    };
    using running = testRunner({ ...made, ledger }, hosts);
    const caller = new AbortController();
    const { results, over } = begun(made, running, plannedHosts(2), { max_parallel: 1 }, caller);
    await hosts.reached;
    isFull = true;
    caller.abort();
    await over;
    expect(results.map(({ label, status, delivered }) => [label, status, delivered])).toEqual([
      ["h0", "cancelled", true],
      ["h1", "cancelled", false],
    ]);
  });

  test("from elsewhere: it reaches the hosts, and stays the reason", async () => {
    using made = testLedger();
    const hosts = holdingHosts();
    using running = testRunner(made, hosts);
    const { seq, results, over } = begun(made, running, plannedHosts(2), { max_parallel: 1 }, {});
    await hosts.reached;
    made.ledger.cancel(seq, "by anna", Date.now());
    await running.runner.wake();
    await over;
    expect(results.map(({ label, delivered, error }) => [label, delivered, error])).toEqual([
      ["h1", false, "not begun: its plan was cancelled"],
      ["h0", true, "cancelled by its desk"],
    ]);
    expect(hosts.asked).toEqual(["h0"]);
    expect(made.ledger.plan(seq)).toMatchObject({ state: "cancelled", reason: "by anna" });
  });

  test("with its process: the next one asks its hosts to end it", async () => {
    using made = testLedger();
    const hosts = holdingHosts();
    const first = testRunner(made, hosts);
    const { seq, over } = begun(made, first, plannedHosts(2), { max_parallel: 1 }, {});
    await hosts.reached;
    first.runner.stop();
    await over;
    const sent: string[] = [];
    const deliver: DeliverJob = async ({ label }, _job, { before, maySend }) => {
      sent.push(`${label} before=${before} maySend=${maySend?.()}`);
      const result = { label, ok: false, status: "cancelled", delivered: true, duration_ms: 1 } as const;
      return { state: "cancelled", result };
    };
    using second = testRunner(made, { deliver, cancelJob: hosts.cancelJob });
    second.runner.takeOver();
    await second.runner.over(seq);
    expect(sent).toEqual(["h0 before=job maySend=false"]);
    expect(hosts.asked).toEqual(["h0"]);
    const reason = "the process that ran it has ended";
    expect(made.ledger.plan(seq)).toMatchObject({ state: "cancelled", reason });
    expect(made.ledger.counts(seq)).toEqual({ cancelled: 2 });
  });
});

test("a list that goes by /execute after all is on record as that before, so that nobody takes it for a job that never ran", async () => {
  using made = testLedger();
  const reached = Promise.withResolvers<void>();
  const never = Promise.withResolvers<JobResult>();
  const first = testRunner(made, {
    async deliver(_target, _job, { sent }) {
      await sent("job");
      await sent("execute");
      reached.resolve();
      return never.promise;
    },
  });
  const { seq } = begun(made, first, plannedHosts(1), {}, {});
  await reached.promise;
  expect(made.ledger.targets(seq)).toMatchObject([{ state: "sent", way: "execute" }]);
  first.runner.stop();
  const cancels: string[] = [];
  using second = testRunner(made, {
    async deliver({ label }, _job, { before }) {
      const state = before === "execute" ? "unknown" : "cancelled";
      return { state, result: { label, ok: false, status: "failed", delivered: false, duration_ms: 1 } };
    },
    async cancelJob({ label }) {
      cancels.push(label);
      return true;
    },
  });
  second.runner.takeOver();
  await second.runner.over(seq);
  expect(made.ledger.counts(seq)).toEqual({ unknown: 1 });
  expect(cancels).toEqual([]);
});

/** A ledger that can be full. */
function fillable(made: ReturnType<typeof testLedger>) {
  const disk = { isFull: false };
  const ledger = {
    ...made.ledger,
    commit(...given: Parameters<typeof made.ledger.commit>) {
      if (disk.isFull) throw new Error("disk full");
      return made.ledger.commit(...given);
    },
  };
  return { disk, made: { ...made, ledger } };
}

test.concurrent("a caller who has left has each result once, also when that can be written later", async () => {
  using real = testLedger();
  const { disk, made } = fillable(real);
  const hosts = holdingHosts();
  using running = testRunner(made, hosts);
  const caller = new AbortController();
  const { seq, results, over } = begun(made, running, plannedHosts(1), {}, caller);
  await hosts.reached;
  disk.isFull = true;
  caller.abort();
  await over;
  disk.isFull = false;
  await until("it is written", () => made.ledger.counts(seq).cancelled);
  await nextTurn();
  expect(results).toHaveLength(1);
});

test.concurrent("a ledger that cannot be written any more keeps no result from the caller", async () => {
  using real = testLedger();
  const { disk, made } = fillable(real);
  const reached = Promise.withResolvers<void>();
  const deliver: DeliverJob = async ({ label }, _job, { sent }) => {
    if (label === "h1") await reached.promise;
    await sent("job");
    disk.isFull = true;
    reached.resolve();
    return { state: "ok", result: { label, ok: true, status: "ok", delivered: true, duration_ms: 1 } };
  };
  using running = testRunner(made, { deliver });
  const { seq, results, over } = begun(made, running, plannedHosts(2), {}, {});
  await over;
  expect(results.map(({ label, status, delivered, error }) => [label, status, delivered, error])).toEqual([
    ["h0", "ok", true, undefined],
    ["h1", "failed", false, "not sent: the ledger of plans (plans.db) cannot be written"],
  ]);
  expect(made.ledger.plan(seq)).toMatchObject({ ended: null });
  disk.isFull = false;
  await running.runner.over(seq);
  expect(made.ledger.counts(seq)).toEqual({ ok: 1, refused: 1 });
  expect(made.ledger.plan(seq)).toMatchObject({ state: "done", ended: expect.any(Number) });
  expect(results).toHaveLength(2);
});

test.concurrent("a host that has not answered within the time limits is a timeout", async () => {
  using made = testLedger();
  using running = testRunner(made, holdingHosts());
  const spec = { delivery_timeout_s: 0.01, timeout_s: 0.01 };
  const { seq, results, over } = begun(made, running, plannedHosts(1), spec, {});
  await over;
  expect(results).toMatchObject([{ status: "timeout", error: "timeout after 0.01 s: it may still run" }]);
  expect(made.ledger.counts(seq)).toEqual({ timeout: 1 });
});

test.concurrent("a host that has ended by the time limit is asked about it once more before it is a timeout", async () => {
  using made = testLedger();
  const hosts = holdingHosts();
  const deliver: DeliverJob = async (...given) => {
    const [{ label }, , { before, maySend }] = given;
    if (!before) return hosts.deliver(...given);
    expect(maySend?.()).toBe(false);
    const result = { label, ok: true, status: "ok", delivered: true, duration_ms: 1 } as const;
    return { state: "ok", result };
  };
  using running = testRunner(made, { deliver });
  const spec = { delivery_timeout_s: 0.01, timeout_s: 0.01 };
  const { seq, results, over } = begun(made, running, plannedHosts(1), spec, {});
  await over;
  expect(results).toMatchObject([{ status: "ok", delivered: true }]);
  expect(made.ledger.counts(seq)).toEqual({ ok: 1 });
});

test("what goes to a host by /execute after all is stopped at once, also while that is put on record", async () => {
  const caller = new AbortController();
  const isStopped = Promise.withResolvers<boolean>();
  const sends: DeliverJob = async ({ label }, _job, { signal, sent }) => {
    await sent("job");
    await sent("execute");
    isStopped.resolve(signal.aborted);
    return {
      state: "lost",
      result: { label, ok: false, status: "cancelled", delivered: false, duration_ms: 1 },
    };
  };
  const waiting = {
    content: CONTENT,
    targetOf: () => undefined,
    hostAt: () => undefined,
    client: null,
    done: () => undefined,
  };
  using broadcast = new Broadcast({ ...waiting, signal: caller.signal }, specOf(1), sends);
  const target = { label: "h0", server: { url: "http://127.0.0.1:1" } as RemoteServer, host_id: null };
  await broadcast.deliver(target, madeUpJob(), {
    ...{ signal: new AbortController().signal, client: null, running() {} },
    sent(way) {
      if (way === "execute") caller.abort();
    },
  });
  expect(await isStopped.promise).toBe(true);
});

test("a host that is another one than the caller named gets nothing", async () => {
  using made = testLedger();
  const fleet = testFleet();
  using running = testRunner(made, fleet);
  const hosts = plannedHosts(2);
  const { seq } = made.ledger.create(newPlan(hosts, { kind: "broadcast" }), hosts, Date.now());
  const results: Delivery[] = [];
  await running.runner.attend(made.ledger.plan(seq), () => made.ledger.apply(seq, null, Date.now()), {
    ...{ content: CONTENT, client: null, signal: new AbortController().signal },
    hostAt: (n) => hosts[n],
    targetOf: (label) => ({
      ...{ label, host_id: null, identity: "id-h0" },
      server: { url: "http://127.0.0.1:1", token: undefined, trust: { kind: "any" } },
    }),
    done: (result) => void results.push(result),
  });
  expect(results.map(({ label, ok, error }) => [label, ok, error]).toSorted()).toEqual([
    ["h0", true, undefined],
    ["h1", false, "another host has this label since the plan was made"],
  ]);
  expect(fleet.begun).toEqual(["h0"]);
});

test.each([10, 3_000])(
  "of %i hosts goes to those, by the names, that its caller had, whatever is renamed before it begins",
  async (count) => {
    using folder = temporaryFolder();
    const fleet = testFleet();
    let hosts = plannedHosts(count).map(({ label }) => host(label, `http://${label}.example`));
    const asked: Array<readonly [string, string]> = [];
    const rename = (from: string, label: string) => {
      hosts = hosts.map((one) => (one.label === from ? { ...one, label } : one));
      const renamed = hosts.find((one) => one.label === label);
      if (renamed) plans.rename(renamed, from);
    };
    const plans = createPlans({
      ...{ log: silentLog, isGone: () => false, isExpected: () => false, recordsAt: () => undefined },
      files: { plans: join(folder.path, "plans.db"), planLocks: join(folder.path, "locks") },
      book: {
        hosts: () => hosts,
        reach: ({ base_url }) => ({ url: base_url, token: undefined, trust: { kind: "any" } }),
      },
      deliver(target, ...more) {
        asked.push([target.label, target.server.url]);
        return fleet.deliver(target, ...more);
      },
      endings: async () => () => null,
      events: { newest: 0, at: () => undefined, listen: () => () => {} },
      goesOn: () => true,
      publish({ name }) {
        if (name !== "plan.started") return;
        rename(`h${count - 2}`, "old");
        rename(`h${count - 1}`, `h${count - 2}`);
      },
    });
    const labels = hosts.map(({ label }) => label);
    const results: string[] = [];
    await plans.attend({
      ...{ content: CONTENT, content_digest: "digest", client: null, signal: new AbortController().signal },
      ...{ hosts, grant: OWNER, spec: { ...specOf(count), kind: "broadcast" } },
      done: ({ label, ok }) => void (ok && results.push(label)),
    });
    await plans.stop();
    expect(results.toSorted()).toEqual(labels.toSorted());
    expect(asked.toSorted()).toEqual(
      labels.map((label) => [label, `http://${label}.example`] as const).toSorted(),
    );
  },
);
