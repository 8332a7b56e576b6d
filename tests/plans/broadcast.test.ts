/** A broadcast: a plan that ends with its process, and whoever waits for it. */
import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { DELIVERY_STATUS, type Delivered, type DeliveryStatus } from "../../src/fleet/results";
import type { DeliverJob, JobState } from "../../src/plans/job/job";
import type { PlannedHost } from "../../src/plans/plan";
import { newPlan, plannedHosts, testLedger, testRunner } from "./support";

const resultOf = (label: string, status: DeliveryStatus): Delivered => ({
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
  readonly done?: (result: Delivered) => void;
}

/** The results in the order of the hosts. */
async function broadcast(
  hosts: readonly PlannedHost[],
  { maxParallel, maxFailures, canary, signal = new AbortController().signal, done }: Limits,
  visit: (host: { readonly label: string }) => Promise<Delivered>,
): Promise<Delivered[]> {
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
  const limits = { waves, max_failures: maxFailures, max_parallel: maxParallel, queue: false };
  const planned = made.ledger.create(newPlan(hosts, { kind: "broadcast", ...limits }), hosts, Date.now());
  const results = new Map<string, Delivered>();
  await running.runner.attend(planned, () => made.ledger.apply(planned.seq, null, Date.now()), {
    content: "{}",
    targetOf: () => undefined,
    client: null,
    signal,
    done(result) {
      results.set(result.label, result);
      done?.(result);
    },
  });
  const counts = Object.values(made.ledger.counts(planned.seq));
  expect(counts.reduce((sum: number, count) => sum + (count ?? 0), 0)).toBe(hosts.length);
  expect(made.ledger.targets(planned.seq, ["planned", "sent", "running", "waiting"])).toEqual([]);
  expect(made.ledger.plan(planned.seq).ended).not.toBeNull();
  return hosts.flatMap(({ label }) => results.get(label) ?? []);
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
