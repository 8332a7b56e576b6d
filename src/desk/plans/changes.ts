/**
 * What callers who may do so change of a plan.
 */
import type { Grant } from "../../core/rights";
import { conflict } from "../../lib/errors";
import { printable } from "../../lib/sanitize";
import { aboutPlan, planPaused } from "./events";
import type { Ledger } from "./ledger/ledger";
import type { Applicant, Plan } from "./ledger/rows";
import { ADOPTED_BY, RETRIED } from "./plan";
import type { PlansUses } from "./plans";

/** What may be changed of a plan; each throws `conflict` for a broadcast. */
export interface PlanChanges {
  /** @throws `conflict` when the plan is another than that of this digest, or has been applied and is over. */
  apply(plan: Plan, digest: string, token: string | null): Plan;
  pause(plan: Plan, reason: string): Plan;
  /** Where the token of the plan has ended, `grant` takes its place; so it does for `retry`. */
  resume(plan: Plan, grant: Grant): Promise<Plan>;
  retry(plan: Plan, states: Parameters<Ledger["retry"]>[1], grant: Grant): Promise<Plan>;
  /**
   * Takes over the plan of a desk that is gone.
   *
   * @param ledgerOf its ledger, and the copy of that where one was made already.
   * @param force whether also where that desk was heard a moment ago.
   * @throws as `copyLedger` and `adoptPlan`; `conflict` where the desk does not seem to be gone.
   */
  adopt(
    ledgerOf: { readonly file: string; readonly copy: string | undefined },
    id: string,
    grant: Grant,
    force: boolean,
  ): Promise<Plan>;
  /**
   * Pauses the plans of this desk that the desk `name` has taken over since.
   *
   * @param adopted when that desk took over each of its plans.
   * @returns whether it still has one that this desk took over from it, and so needs to hear that.
   */
  yieldTo(name: string, adopted: ReadonlyMap<string, number>): boolean;
}

/** @param started takes note that a plan runs from now on. */
export function createChanges(
  {
    publish,
    endings,
    others,
    files,
    requireInOffice = () => {},
  }: Pick<PlansUses, "publish" | "endings" | "others" | "files" | "requireInOffice">,
  ledger: Ledger,
  started: (plan: Plan) => Plan,
): PlanChanges {
  /** Who takes the place of the token that applied the plan; undefined while that is in force. */
  const heirOf = async ({ token, applied }: Plan, grant: Grant): Promise<Applicant | undefined> => {
    if (token === null || applied === null) return undefined;
    const ended = (await endings())(token, new Date(applied).toISOString());
    return ended === null ? undefined : { token: grant.name };
  };
  const changes: PlanChanges = {
    apply(plan, digest, token) {
      requirePlan(plan);
      requireInOffice();
      if (digest !== plan.digest) {
        throw conflict(
          `digest: ${printable(digest, 80)} is not that of the plan ${plan.id}: look at what it does again`,
        );
      }
      // Whoever stopped waiting for it goes on so.
      if (plan.state === "running") return plan;
      return started(ledger.apply(plan.seq, token, Date.now()));
    },
    pause(plan, reason) {
      requirePlan(plan);
      const paused = ledger.pause(plan.seq, reason);
      publish(planPaused, { ...aboutPlan(plan), reason });
      return paused;
    },
    async resume(plan, grant) {
      requirePlan(plan);
      requireInOffice();
      return started(ledger.resume(plan.seq, await heirOf(plan, grant)));
    },
    async retry(plan, states, grant) {
      requirePlan(plan);
      requireInOffice();
      const heir = await heirOf(plan, grant);
      const { plan: now, retried } = ledger.retry(plan.seq, states, Date.now(), heir);
      const which = (states ?? RETRIED).join(" or ");
      const begun = states ? "" : "; where it may have run, it is repeated only if its state is named";
      if (retried === 0) throw conflict(`the plan ${plan.id} has no host that is ${which}${begun}`);
      return started(now);
    },
    async adopt(ledgerOf, id, grant, force) {
      requireInOffice();
      const { adoptPlan, copyLedger } = await import("./adopt");
      if (!force) others?.requireSilent(id);
      const folder = files.planLocks;
      const { file, copy = copyLedger(file, folder) } = ledgerOf;
      return started(adoptPlan(ledger, { file, copy, folder }, id, grant.name));
    },
    yieldTo(name, adopted) {
      let isBehind = false;
      for (const plan of ledger.plans({ open: true })) {
        const since = adopted.get(plan.id);
        if (since === undefined) continue;
        if (since < plan.adopted) isBehind = true;
        else if (since > plan.adopted && plan.state === "running")
          changes.pause(plan, `${ADOPTED_BY} ${name}`);
      }
      return isBehind;
    },
  };
  return changes;
}

/** A broadcast keeps no actions, and ends with its process. @throws `conflict`. */
function requirePlan({ id, spec }: Plan): void {
  if (spec.kind === "plan") return;
  throw conflict(
    `the plan ${id} is a broadcast, which ends with the process that runs it: \`svc plan cancel\` ends it before, and \`svc admin broadcast --retry\` repeats it`,
  );
}
