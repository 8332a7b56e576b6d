/**
 * A broadcast as a plan: `fleet/broadcast.ts` decides which host is next, and the ledger keeps the state of each host.
 *
 * Promises. It ends with its process: no other process continues it. Its actions are not kept, only their
 * digest.
 */
import type { Delivered } from "../fleet/results";
import type { Log } from "../lib/log";
import { aboutPlan, planEnded } from "./events";
import type { Ledger, Plan } from "./ledger";
import type { EndState, StepName } from "./plan";
import type { RunnerUses } from "./runner";
import { createWriter } from "./writer";

const STEP_OF = {
  ok: "ok",
  failed: "failed",
  unreachable: "unreachable",
  unauthorized: "refused",
  timeout: "timeout",
  cancelled: "cancelled",
} as const satisfies Record<Delivered["status"], EndState>;

/** What a broadcast reports to the ledger. */
export interface Attended {
  /** Resolves once it is on disk that the host may have the list; with false where the list may no longer be sent to it. */
  begin(label: string): Promise<boolean>;
  done(result: Delivered): void;
  /** Called when all hosts have ended. */
  close(): Promise<void>;
  /** Writes nothing more: the process ends, and the next server notes that the broadcast ended with it. */
  abandon(): void;
}

/** @param plan has been applied, and this process has its lock, which `release` gives up. */
export function attend(
  ledger: Ledger,
  plan: Plan,
  { log, publish }: { readonly log: Log; readonly publish: RunnerUses["publish"] },
  release: () => void,
): Attended {
  const places = new Map(ledger.targets(plan.seq).map(({ label, n }) => [label, n]));
  const writer = createWriter(ledger, log, () => {});
  const writes: Array<Promise<boolean>> = [];
  let stopped: string | undefined;
  const write = (label: string, step: StepName, more: object = {}) =>
    writer.write({ plan: plan.seq, n: places.get(label) ?? -1, attempt: 0, step, ...more });
  return {
    begin: (label) => write(label, "send", { way: "execute" }),
    done({ label, status, delivered, error, run_id }) {
      // After the wait was given up, the host may still run the list.
      const step = status === "cancelled" && delivered ? "unknown" : STEP_OF[status];
      if (step === "cancelled") stopped ??= error;
      writes.push(write(label, step, { error, run_id }));
    },
    async close() {
      await Promise.all(writes);
      release();
      if (writer.isClosed) return;
      writer.close();
      const { seq, spec } = plan;
      const state = stopped === undefined ? "done" : "cancelled";
      const reason = stopped ?? null;
      ledger.update(seq, { state, reason, ended: Date.now(), wave: spec.waves.length - 1 });
      publish(planEnded, { ...aboutPlan(plan), state, reason, counts: ledger.counts(seq) });
    },
    abandon: writer.close,
  };
}
