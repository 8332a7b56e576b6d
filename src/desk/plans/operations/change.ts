/**
 * The operations that change a plan and run nothing: pause, cancel, remove. `adopt` takes over the plan of another desk.
 */
import { rmSync } from "node:fs";
import { join } from "node:path";
import * as v from "valibot";
import { field, flag, path } from "../../../core/fields";
import { operation } from "../../../core/operation";
import { configFiles } from "../../../lib/paths";
import { printable } from "../../../lib/sanitize";
import { COPY, copyLedger } from "../adopt";
import { PLAN_VIEW, summaryOf, viewOf } from "../view";
import { CHANGE, decided, ID, ONE_PLAN, type Uses } from "./one-plan";

export const pausePlan = operation({
  ...CHANGE,
  name: "plan.pause",
  summary: "Begin at no further host of a plan until it is resumed",
  command: "AC_plan_pause",
  http: { method: "POST", path: "/plans/{id}/pause" },
  input: v.strictObject(ONE_PLAN),
  async run(service: Uses, { id }, caller) {
    const plans = await service.plans();
    const found = plans.find(id, caller.grant);
    const pause = () => plans.pause(found, `by ${caller.grant.name ?? "the owner"}`);
    const plan = await decided(caller, `plan.pause id=${found.id}`, pause);
    await plans.runner.wake();
    return summaryOf(plans, plan);
  },
});

export const cancelPlan = operation({
  ...CHANGE,
  name: "plan.cancel",
  summary: "Cancel a plan: nothing more begins, and hosts are asked to end what runs",
  command: "AC_plan_cancel",
  http: { method: "POST", path: "/plans/{id}/cancel" },
  input: v.strictObject(ONE_PLAN),
  async run(service: Uses, { id }, caller) {
    const plans = await service.plans();
    const plan = plans.find(id, caller.grant);
    const cancel = () => plans.cancel(plan, `by ${caller.grant.name ?? "the owner"}`);
    await decided(caller, `plan.cancel id=${plan.id}`, cancel);
    return summaryOf(plans, plans.ledger.plan(plan.seq));
  },
});

export const removePlan = operation({
  ...CHANGE,
  name: "plan.remove",
  summary: "Forget a plan that is over, or was never applied; its runs stay in the history of their hosts",
  command: "AC_plan_remove",
  http: { method: "POST", path: "/plans/{id}/remove" },
  input: v.strictObject(ONE_PLAN),
  output: v.object({ removed: v.string() }),
  async run(service: Uses, { id }, caller) {
    const plans = await service.plans();
    const plan = plans.find(id, caller.grant);
    await decided(caller, `plan.remove id=${plan.id}`, () => plans.remove(plan));
    return { removed: plan.id };
  },
});

export const adoptPlan = operation({
  name: "plan.adopt",
  summary: "Take over a plan of another desk that is gone, from a copy of its ledger",
  answeredBy: "owner",
  scope: "admin",
  changes: "announces",
  leftOut: {
    http: "the ledger is a file on the machine of the desk",
    script: "that the other desk is gone is decided by a person",
  },
  input: v.strictObject({
    id: ID,
    ledger: field(
      path(v.pipe(v.string(), v.maxLength(4_096))),
      "plans.db of the other desk, or a backup of it",
    ),
    copy: field(
      v.optional(v.pipe(v.string(), v.regex(COPY))),
      "The copy of it that is in the folder of plans",
    ),
    force: flag("Also where the other desk was heard within the last minute"),
  }),
  output: PLAN_VIEW,
  async run(service: Uses, { id, ledger, copy, force }, caller) {
    const plans = await service.plans();
    await caller.announce(
      `plan.adopt id=${printable(id, 64)} ledger=${printable(JSON.stringify(ledger), 300)}`,
    );
    const { seq } = await plans.adopt({ file: ledger, copy }, id, caller.grant, force);
    return viewOf(plans, seq, caller.grant);
  },
});

/**
 * Takes a plan over with a copy of the ledger that this process makes: the owner of the folder may see another file under its path.
 *
 * @param adopt does it.
 * @throws as {@link adoptPlan}.
 */
export async function withLedgerHere<T>(
  { configDir }: { readonly configDir: string },
  input: v.InferInput<typeof adoptPlan.input>,
  adopt: (input: v.InferInput<typeof adoptPlan.input>) => Promise<T>,
): Promise<T> {
  const { planLocks } = configFiles(configDir);
  const copy = copyLedger(input.ledger, planLocks);
  try {
    return await adopt({ ...input, copy });
  } finally {
    rmSync(join(planLocks, copy), { recursive: true, force: true });
  }
}
