/**
 * What persons, and the clock, decide about a plan: to run it, to pause, resume, cancel, expire or retry it.
 *
 * The promise: each decision is made on the plan as it is in the file, all or nothing, and is another revision of the plan.
 */
import type { Database } from "bun:sqlite";
import { conflict } from "../../../lib/errors";
import { FAILURES, OPEN_STATES, type PlanState, RETRIED, type TargetState } from "../plan";
import type { LedgerQueries } from "./queries";
import type { Applicant, Plan, PlanChange } from "./rows";
import { stepSql } from "./steps";
import { listed } from "./tables";

/** What decisions need of the rest of the ledger. */
interface DecisionParts {
  readonly db: Database;
  readonly reading: Pick<LedgerQueries, "plan">;
  transaction<T>(work: () => T): T;
  /** As `update` of the ledger. */
  update(seq: number, revision: number, changes: PlanChange): boolean;
  /** Hosts of that plan have changed. */
  changed(seq: number): void;
}

/** Each returns what it makes of the plan, and throws `not_found` for none, and `conflict` for one in another state. */
export interface Decisions {
  /** Has a new plan run, with the rights of who applies it. */
  apply(id: number, token: string | null, now: number): Plan;
  /** @param revision the one that this follows from (default: any), as for `cancel`. @throws `conflict` where it is another. */
  pause(id: number, reason: string, revision?: number): Plan;
  /** The failures so far do not count any more. @param heir who has the plan run from now on, where that changes. */
  resume(id: number, heir?: Applicant): Plan;
  /** Nothing more begins. Of a plan that is cancelled and not over, hosts are asked again to end what they may have. */
  cancel(id: number, reason: string, now: number, revision?: number): Plan;
  /** @returns undefined when it is not time yet. */
  expire(id: number, now: number): Plan | undefined;
  /**
   * Plans the hosts again that ended in one of `states` (default: {@link RETRIED}, but nothing that had begun and was cancelled):
   * as a new job each, wave by wave. The plan expires as long from now as it did from its start.
   * It goes by states alone, and never by the text of an error.
   *
   * @param heir as for `resume`.
   * @returns the plan, and how many hosts they are.
   */
  retry(
    id: number,
    states: readonly TargetState[] | undefined,
    now: number,
    heir?: Applicant,
  ): { readonly plan: Plan; readonly retried: number };
}

/** The decisions on the plans of one ledger. */
export function createDecisions({ db, reading, transaction, update, changed }: DecisionParts): Decisions {
  const setApplicant = (seq: number, { token }: Applicant, now: number) =>
    db.run("UPDATE plan SET token = ?2, applied = ?3 WHERE seq = ?1", [seq, token, now]);
  /** A change by somebody else than who runs the plan. */
  const decide = (plan: Plan, changes: PlanChange) => {
    update(plan.seq, plan.revision, changes);
    changed(plan.seq);
    db.run("UPDATE plan SET revision = revision + 1 WHERE seq = ?1", [plan.seq]);
    return reading.plan(plan.seq);
  };
  const count = (seq: number, states: readonly TargetState[]) =>
    db
      .query<{ count: number }, [number]>(
        `SELECT count(*) AS count FROM target WHERE plan = ?1 AND state IN (${listed(states)})`,
      )
      .get(seq)?.count ?? 0;
  const failuresOf = ({ seq }: Plan) => count(seq, FAILURES);
  /** How many hosts of a plan that is paused count as failed besides: those whose answer is overdue. */
  const overdueOf = (plan: Plan) =>
    plan.state === "paused" ? Math.max(0, plan.forgiven - failuresOf(plan)) : 0;
  /** Ends what has not begun. */
  const end = (plan: Plan, state: "cancelled" | "expired", reason: string, now: number) => {
    const which = "AND state IN ('planned', 'waiting')";
    const given = { plan: plan.seq, now, error: reason, run_id: null };
    db.query(stepSql(state, which)).run(given);
    const isOver = count(plan.seq, OPEN_STATES) === 0;
    return decide(plan, { state, reason, wave_at: null, ...(isOver && { ended: now }) });
  };

  return {
    apply: (id, token, now) =>
      transaction(() => {
        const plan = reading.plan(id);
        requireState(plan, ["new"], "can be applied");
        setApplicant(plan.seq, { token }, now);
        return decide(plan, { state: "running", expires: now + plan.spec.expires_s * 1_000 });
      }),
    pause: (id, reason, revision) =>
      transaction(() => {
        const plan = reading.plan(id);
        requireRevision(plan, revision);
        requireState(plan, ["running"], "can be paused");
        return decide(plan, { state: "paused", reason });
      }),
    resume: (id, heir) =>
      transaction(() => {
        const plan = reading.plan(id);
        requireState(plan, ["paused"], "can be resumed");
        if (heir) setApplicant(plan.seq, heir, Date.now());
        return decide(plan, { state: "running", reason: null, forgiven: failuresOf(plan) + overdueOf(plan) });
      }),
    cancel: (id, reason, now, revision) =>
      transaction(() => {
        const plan = reading.plan(id);
        requireRevision(plan, revision);
        if (plan.state === "cancelled" && plan.ended === null) return decide(plan, {});
        requireState(plan, ["new", "running", "paused"], "can be cancelled");
        return end(plan, "cancelled", reason, now);
      }),
    expire(id, now) {
      // Asked each second: most of the time, nobody else has to wait for that.
      if (!isDue(reading.plan(id), now)) return undefined;
      return transaction(() => {
        const plan = reading.plan(id);
        return isDue(plan, now) ? end(plan, "expired", "the plan has expired", now) : undefined;
      });
    },
    retry: (id, states, now, heir) =>
      transaction(() => {
        const plan = reading.plan(id);
        requireState(plan, ["running", "paused", "done", "cancelled", "expired"], "can be retried");
        if (plan.applied === null)
          throw conflict(`the plan ${plan.id} was cancelled before it was applied: make another`);
        const overdue = overdueOf(plan);
        const retried = db.query(stepSql("retry", whichIn(states))).run({ plan: plan.seq }).changes;
        if (retried === 0) return { plan, retried };
        if (heir) setApplicant(plan.seq, heir, now);
        const changed = {
          ...({ state: "running", reason: null, ended: null, wave: 0, wave_at: null } as const),
          forgiven: failuresOf(plan) + overdue,
          expires: now + plan.spec.expires_s * 1_000,
        };
        return { plan: decide(plan, changed), retried };
      }),
  };
}

/** The condition of hosts that a retry takes. */
const whichIn = (states: readonly TargetState[] | undefined) =>
  states
    ? `AND state IN (${listed(states)})`
    : `AND state IN (${listed(RETRIED)}) AND NOT (state = 'cancelled' AND sent_at IS NOT NULL)`;

const isDue = ({ expires, state }: Plan, now: number): boolean =>
  expires !== null && expires <= now && (state === "running" || state === "paused");

/** @throws `conflict` for a plan in another state. */
function requireState({ id, state }: Plan, expected: readonly PlanState[], what: string): void {
  if (!expected.includes(state))
    throw conflict(`the plan ${id} is ${state}: only one that is ${expected.join(" or ")} ${what}`);
}

/** @throws `conflict` for a plan about which somebody has decided something since. */
function requireRevision({ id, revision }: Plan, expected = revision): void {
  if (revision !== expected) throw conflict(`the plan ${id} has changed meanwhile`);
}
