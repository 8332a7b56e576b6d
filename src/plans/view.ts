/**
 * A plan as callers see it, without its actions and their results.
 */
import * as v from "valibot";
import type { Ledger, Plan, Target } from "./ledger";
import { PLAN_STATES, TARGET_STATES, type TargetState } from "./plan";

const time = v.nullable(v.string());

const SUMMARY = {
  id: v.string(),
  state: v.picklist(PLAN_STATES),
  /** Whether it is running and no process runs it: that of its server has ended. */
  stalled: v.boolean(),
  /** Why it is paused, cancelled or expired. */
  reason: v.nullable(v.string()),
  kind: v.picklist(["plan", "broadcast"]),
  digest: v.string(),
  /** Which hosts, as they were selected, and how many they are. */
  on: v.string(),
  total: v.number(),
  commands: v.array(v.string()),
  /** How many hosts are in each state; states without hosts are left out, and the sum is `total`. */
  counts: v.record(v.string(), v.number()),
  /** Which wave has begun, from 1 on, and how many hosts have begun with each. */
  wave: v.number(),
  waves: v.array(v.number()),
  queue: v.boolean(),
  /** The named token that made it, and the one with whose rights it runs; null for the owner of the desk. */
  maker: v.nullable(v.string()),
  token: v.nullable(v.string()),
  created: v.string(),
  applied: time,
  expires: time,
  ended: time,
};

export const PLAN_SUMMARY = v.object(SUMMARY);

export const PLAN_VIEW = v.object({
  ...SUMMARY,
  /** `counts` of the hosts of each wave alone. */
  wave_counts: v.array(v.record(v.string(), v.number())),
  targets: v.array(
    v.object({
      label: v.string(),
      /** From 1 on. */
      wave: v.number(),
      state: v.picklist(TARGET_STATES),
      sent: time,
      ended: time,
      error: v.nullable(v.string()),
      /** The id that the host gave to the run: `svc runs show ID --on LABEL`. */
      run_id: v.nullable(v.string()),
    }),
  ),
});

const iso = (at: number | null) => (at === null ? null : new Date(at).toISOString());

/** Where plans are looked up. */
interface Plans {
  readonly ledger: Ledger;
  isStalled(plan: Plan): boolean;
}

export function summaryOf(plans: Plans, plan: Plan): v.InferInput<typeof PLAN_SUMMARY> {
  const { id, state, reason, digest, spec, hosts, seq, wave, maker, token } = plan;
  const { kind, on, commands, waves, queue } = spec;
  return {
    ...{ id, state, reason, kind, digest, on, total: hosts, commands: [...commands] },
    stalled: plans.isStalled(plan),
    counts: { ...plans.ledger.counts(seq) },
    ...{ wave: Math.min(wave + 1, waves.length), waves: [...waves], queue, maker, token },
    created: new Date(plan.created).toISOString(),
    ...{ applied: iso(plan.applied), expires: iso(plan.expires), ended: iso(plan.ended) },
  };
}

/** @param states those of the hosts to list (default: all). @param limit how many of them at most. */
export function viewOf(
  plans: Plans,
  seq: number,
  states?: readonly TargetState[],
  limit?: number,
): v.InferInput<typeof PLAN_VIEW> {
  const targetOf = ({ label, wave, state, sent_at, done_at, error, run_id }: Target) => {
    return { label, wave: wave + 1, state, sent: iso(sent_at), ended: iso(done_at), error, run_id };
  };
  const { ledger } = plans;
  const targets = ledger.targets(seq, states, limit).map(targetOf);
  const wave_counts = ledger.countsByWave(seq).map((counts) => ({ ...counts }));
  return { ...summaryOf(plans, ledger.plan(seq)), wave_counts, targets };
}
