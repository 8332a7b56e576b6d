import { dirname, join } from "node:path";
import { type Ledger, openLedger } from "../../../src/desk/plans/ledger/ledger";
import type { Plan } from "../../../src/desk/plans/ledger/rows";
import { type PlannedHost, type Spec, wavesOf } from "../../../src/desk/plans/plan";
import { createRunner } from "../../../src/desk/plans/runner";
import type { RunnerUses } from "../../../src/desk/plans/runner-parts";
import { silentLog } from "../../../src/lib/log";
import { digestOf } from "../../../src/wire/job/envelope";
import type { DeliverJob, JobResult } from "../../../src/wire/job/job";
import { digestOfPlan } from "../../../src/wire/job/plan-digest";
import { nextTurn, temporaryFolder } from "../../support";

export const plannedHosts = (count: number, prefix = "h"): PlannedHost[] =>
  Array.from({ length: count }, (_, n) => ({ label: `${prefix}${n}`, identity: `id-${prefix}${n}` }));

export const specOf = (hosts: number, more: Partial<Spec> = {}): Spec => ({
  kind: "plan",
  on: "all",
  commands: ["AC_sleep"],
  waves: wavesOf([], hosts),
  pause_s: 0,
  max_failures: hosts,
  queue: false,
  expires_s: 3_600,
  max_parallel: null,
  delivery_timeout_s: 10,
  timeout_s: 300,
  ...more,
});

/** A new plan as the ledger takes it. */
export function newPlan(
  hosts: readonly PlannedHost[],
  more: Partial<Spec> = {},
  id: string = crypto.randomUUID(),
) {
  const content = '{"actions":[["AC_sleep",{"seconds":0}]]}';
  const content_digest = digestOf(content);
  const spec = specOf(hosts.length, more);
  return {
    id,
    content,
    content_digest,
    spec,
    maker: null,
    digest: digestOfPlan(content_digest, spec, hosts),
  };
}

/** A ledger in a folder of its own. */
export function testLedger() {
  const folder = temporaryFolder();
  const path = join(folder.path, "plans.db");
  const ledger = openLedger(path);
  return {
    ledger,
    path,
    [Symbol.dispose]() {
      ledger.close();
      folder[Symbol.dispose]();
    },
  };
}

/** What happens at a host. An `old` one knows no jobs: it runs what it is sent. */
export type Fate = "ok" | "failed" | "offline" | "lost" | "slow" | "old";

/** Hosts that run each job once, as real ones do, and a runner over them. */
export function testFleet(fateOf: (label: string) => Fate = () => "ok") {
  const ran = new Map<string, { label: string; times: number }>();
  const begun: string[] = [];
  const slow = new Map<string, () => void>();
  const deliver: DeliverJob = async ({ label }, { id }, { signal, before, sent, running }) => {
    const answer = (state: JobResult["state"], error?: string): JobResult => ({
      state,
      result: {
        ...{
          label,
          ok: state === "ok",
          status: state === "ok" ? "ok" : "failed",
          delivered: true,
          duration_ms: 1,
        },
        ...(error !== undefined && { error }),
      },
    });
    await nextTurn();
    if (fateOf(label) === "offline") return answer(before ? "lost" : "offline", "connection refused");
    if (fateOf(label) === "old") {
      if (before) return answer("unknown");
      await sent("execute");
      if (signal.aborted) return answer("lost");
      ran.set(id, { label, times: (ran.get(id)?.times ?? 0) + 1 });
      await nextTurn();
      return answer("ok");
    }
    begun.push(label);
    await sent("job");
    if (signal.aborted) return answer("lost");
    const known = ran.get(id);
    if (!known) ran.set(id, { label, times: 1 });
    running();
    if (fateOf(label) === "slow") await new Promise<void>((resolve) => slow.set(label, resolve));
    await nextTurn();
    if (signal.aborted || fateOf(label) === "lost") return answer("lost");
    return fateOf(label) === "failed" ? answer("failed", "no") : answer("ok");
  };
  return { ran, begun, slow, deliver };
}

type UsesOfTest = Partial<RunnerUses> & Pick<RunnerUses, "deliver">;

/** What a runner uses, with what tests do not care about. */
export const testUses = (
  { ledger, path }: { readonly ledger: Ledger; readonly path: string },
  more: UsesOfTest,
): RunnerUses => ({
  ledger,
  locks: join(dirname(path), "locks"),
  log: silentLog,
  publish() {},
  hostOf: (label) => ({
    label,
    server: { url: "http://127.0.0.1:1", token: undefined, trust: { kind: "any" } },
    host_id: null,
    identity: `id-${label}`,
  }),
  endings: async () => () => null,
  ...more,
});

/** A runner with what tests do not care about. */
export function testRunner(made: { readonly ledger: Ledger; readonly path: string }, more: UsesOfTest) {
  const { ledger } = made;
  const published: Array<{ readonly name: string; readonly data: unknown }> = [];
  const publish: RunnerUses["publish"] = (type, data) => published.push({ name: type.name, data });
  const runner = createRunner(testUses(made, { publish, ...more }));
  return {
    runner,
    published,
    /** Makes a plan, applies it and runs it. */
    run(hosts: readonly PlannedHost[], spec: Partial<Spec> = {}): Plan {
      const { seq } = ledger.create(newPlan(hosts, spec), hosts, Date.now());
      const plan = ledger.apply(seq, null, Date.now());
      runner.run(seq);
      return plan;
    },
    [Symbol.dispose]: () => runner.stop(),
  };
}
