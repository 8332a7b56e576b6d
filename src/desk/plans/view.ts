/**
 * A plan as callers see it, without the results of its actions and the values of their secrets.
 */
import * as v from "valibot";
import { type Grant, maySee } from "../../core/rights";
import { orElse } from "../../lib/or-else";
import { readContent } from "../../wire/job/content";
import type { HostLinks } from "./book-hosts";
import { commonContent } from "./host-contents";
import type { Ledger } from "./ledger/ledger";
import type { Plan, Target } from "./ledger/rows";
import { NOT_LINKED, PLAN_STATES, TARGET_STATES, type TargetState } from "./plan";

const time = v.nullable(v.string());

const SUMMARY = {
  id: v.string(),
  /** The desk that owns it, and when that was heard of last, ISO 8601; null for one of this desk. */
  owner: v.nullable(v.object({ desk: v.string(), heard: v.string() })),
  state: v.picklist(PLAN_STATES),
  /** Whether it is not over, nor paused, and no process runs it: that of its server has ended. */
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
  /** Which wave has begun, from 1 on and 0 before it is applied, and how many hosts have begun with each. */
  wave: v.number(),
  waves: v.array(v.number()),
  /** When the next wave begins; null where it waits for hosts of this one, or there is none. */
  next_wave: time,
  queue: v.boolean(),
  /** The named token that made it, whose rights limit its runs, and the one that applied it; null for the owner of the desk. */
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
  /** Its limits, as `plan.new` takes them; `max_failures` and `max_parallel` are numbers of hosts. */
  pause_s: v.number(),
  max_failures: v.number(),
  /** Whether none may fail in a wave smaller than the hosts after it; absent where another desk does not say. */
  strict_waves: v.optional(v.boolean()),
  max_parallel: v.nullable(v.number()),
  expires_s: v.number(),
  delivery_timeout_s: v.number(),
  timeout_s: v.number(),
  /** `counts` of the hosts of each wave alone. */
  wave_counts: v.array(v.record(v.string(), v.number())),
  targets: v.array(
    v.object({
      label: v.string(),
      /** From 1 on. */
      wave: v.number(),
      state: v.picklist(TARGET_STATES),
      /** From 1 on: each repetition is a job of its own. */
      attempt: v.number(),
      sent: time,
      ended: time,
      error: v.nullable(v.string()),
      /** What holds it up where it has not begun though it could: an earlier plan, or why its host is not reached. */
      waits_for: v.nullable(v.string()),
      /** The id that the host gave to the run: `svc runs show ID --on LABEL`. */
      run_id: v.nullable(v.string()),
    }),
  ),
});

/** An action list as it was written; the values of secrets are `"***"`. Null where this version cannot read it. */
const ACTIONS = v.nullable(v.array(v.unknown()));

/** A plan, and all that its digest stands for. */
export const PLAN_REVIEW = v.object({
  ...PLAN_VIEW.entries,
  /** Null for a broadcast, which keeps none. */
  actions: ACTIONS,
  /** The names of the variables that each host has for itself, which are set before `actions`. */
  host_variables: v.array(v.string()),
  stop_on_error: v.nullable(v.union([v.boolean(), v.literal("focus")])),
  /** What the runs are limited to; null for all that the tokens of the hosts allow. */
  scope: v.nullable(v.array(v.string())),
  /** The scripts and pictures that travel with it; `actions` of a script. */
  files: v.array(v.object({ name: v.string(), sha256: v.string(), bytes: v.number(), actions: ACTIONS })),
});

const iso = (at: number | null) => (at === null ? null : new Date(at).toISOString());

interface Plans extends HostLinks {
  readonly ledger: Ledger;
  isStalled(plan: Plan): boolean;
}

export function summaryOf(plans: Plans, plan: Plan): v.InferInput<typeof PLAN_SUMMARY> {
  const { id, state, reason, digest, spec, hosts, seq, wave, maker, token } = plan;
  const { kind, on, commands, waves, queue } = spec;
  return {
    id,
    owner: null,
    state,
    reason,
    kind,
    digest,
    on,
    total: hosts,
    commands: [...commands],
    stalled: plans.isStalled(plan),
    counts: { ...plans.ledger.counts(seq) },
    wave: plan.applied === null ? 0 : Math.min(wave + 1, waves.length),
    waves: [...waves],
    next_wave: iso(plan.wave_at),
    queue,
    maker,
    token,
    created: new Date(plan.created).toISOString(),
    applied: iso(plan.applied),
    expires: iso(plan.expires),
    ended: iso(plan.ended),
  };
}

/** @param states those of the hosts to list (default: all). @param limit how many of them at most. */
export function viewOf(
  plans: Plans,
  seq: number,
  grant: Grant,
  states?: readonly TargetState[],
  limit?: number,
): v.InferInput<typeof PLAN_VIEW> {
  const { ledger } = plans;
  const found = ledger.targets(seq, states, limit);
  const waits = waitsOf(plans, ledger.plan(seq), found, grant);
  const targets = found.map((target) => {
    const { label, wave, state, attempt, sent_at, done_at, run_id } = target;
    const error = state === "waiting" ? null : target.error;
    const waits_for = waits.get(target) ?? null;
    return {
      label,
      wave: wave + 1,
      state,
      attempt: attempt + 1,
      sent: iso(sent_at),
      ended: iso(done_at),
      error,
      waits_for,
      run_id,
    };
  });
  const wave_counts = ledger.countsByWave(seq).map((counts) => ({ ...counts }));
  const plan = ledger.plan(seq);
  const {
    pause_s,
    max_failures,
    strict_waves = false,
    max_parallel,
    expires_s,
    delivery_timeout_s,
    timeout_s,
  } = plan.spec;
  return {
    ...summaryOf(plans, plan),
    pause_s,
    max_failures,
    strict_waves,
    max_parallel,
    expires_s,
    delivery_timeout_s,
    timeout_s,
    wave_counts,
    targets,
  };
}

/** What the hosts wait for that could begin now. */
function waitsOf(plans: Plans, plan: Plan, targets: readonly Target[], grant: Grant): Map<Target, string> {
  const those = targets.filter(
    ({ state, wave }) =>
      state === "waiting" || (state === "planned" && plan.state === "running" && wave <= plan.wave),
  );
  if (those.length === 0) return new Map();
  const labels = those.map(({ label }) => label);
  const before = plans.ledger.plansBefore(plan, labels);
  return new Map(
    those.flatMap((target) => {
      const other = before.get(target.label);
      if (other) return [[target, maySee(grant, other) ? `the plan ${other.id}` : "an earlier plan"]];
      if (orElse(() => plans.isExpected(target.label), false))
        return [[target, "not seen since this desk started"]];
      if (orElse(() => plans.isOffline(target.label), false))
        return [[target, orElse(() => plans.whyOffline(target.label), undefined) ?? NOT_LINKED]];
      return target.state === "waiting" ? [[target, target.error ?? "not reached yet"]] : [];
    }),
  );
}

/** What hosts run, for a person. @param shown a list without its secrets; it throws for one that is wrong. */
export async function reviewOf(content: string, shown: (list: unknown) => Promise<unknown[]>) {
  const common = content === "" ? undefined : orElse(() => commonContent(content), null);
  const read = common && orElse(() => readContent(common.content), null);
  const actionsOf = (list: () => unknown) => Promise.try(() => shown(list())).catch(() => null);
  const files = await Promise.all(
    Object.entries(read?.files ?? {}).map(async ([name, sha256]) => {
      const bytes = read?.bytes.get(name) ?? new Uint8Array();
      const actions = await actionsOf(() => JSON.parse(Buffer.from(bytes).toString()));
      return { name, sha256, bytes: bytes.length, actions };
    }),
  );
  const actions = read ? await actionsOf(() => read.actions) : null;
  const host_variables = [...(common?.names ?? [])];
  return {
    actions,
    host_variables,
    stop_on_error: read?.stop_on_error ?? null,
    scope: read?.scope ?? null,
    files,
  };
}
