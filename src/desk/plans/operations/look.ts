/**
 * The operations that show plans: those of this desk, and what other desks of the same hosts say of theirs.
 */
import * as v from "valibot";
import { field, whole } from "../../../core/fields";
import { operation } from "../../../core/operation";
import type { ForeignPlan, ForeignPlans } from "../foreign-plans";
import type { Plan } from "../ledger/rows";
import { PLAN_STATES, TARGET_STATES } from "../plan";
import { noPlan, type Plans } from "../plans";
import { PLAN_REVIEW, PLAN_SUMMARY, reviewOf, summaryOf, viewOf } from "../view";
import { EXAMPLE, ID } from "./one-plan";

interface LookUses {
  /** Null where no plan was ever made. */
  existingPlans(): Promise<Plans | null>;
  foreignPlans(): Promise<Pick<ForeignPlans, "list" | "find">>;
}

interface ShowUses extends LookUses {
  /** `shown`: a list as it was written, without its secrets. @throws where it is wrong. */
  executor(): Promise<{ shown(list: unknown): Promise<unknown[]> }>;
}

const summaryIn = (plan: ForeignPlan) => v.parse(PLAN_SUMMARY, plan);

export const listPlans = operation({
  name: "plan.list",
  onHosts: true,
  summary: "List the plans: those of this desk, and what other desks of the same hosts say of theirs",
  scope: "operate",
  command: "AC_plan_list",
  http: { method: "GET", path: "/plans" },
  input: v.strictObject({
    state: field(v.optional(v.array(v.picklist(PLAN_STATES))), "List the plans in these states alone"),
    limit: field(v.optional(whole(1, 10_000)), "List at most so many plans (default: all)"),
  }),
  output: v.object({ plans: v.array(PLAN_SUMMARY) }),
  async run(service: LookUses, { state: states, limit }, { grant }) {
    const plans = await service.existingPlans();
    const isAsked = ({ state }: Pick<Plan, "state">) => states?.includes(state) ?? true;
    const all = plans?.list(grant) ?? [];
    const own = plans
      ? all
          .filter(isAsked)
          .slice(0, limit)
          .map((plan) => summaryOf(plans, plan))
      : [];
    // One that was taken over is of this desk.
    const known = new Set(all.map(({ id }) => id));
    const others = (await service.foreignPlans()).list(grant).filter(({ id }) => !known.has(id));
    return { plans: [...own, ...others.filter(isAsked).map(summaryIn)].slice(0, limit) };
  },
});

export const showPlan = operation({
  name: "plan.show",
  onHosts: true,
  summary: "Show a plan: what its digest stands for, and what became of it at each host",
  scope: "operate",
  answeredBy: "server or here",
  serverInRuns: true,
  command: "AC_plan_show",
  http: { method: "GET", path: "/plans/{id}" },
  example: EXAMPLE,
  input: v.strictObject({
    id: ID,
    only: field(
      v.optional(v.array(v.picklist([...TARGET_STATES, "none"]))),
      "List the hosts in these states alone (`none`: no hosts)",
    ),
    limit: field(v.optional(whole(1, 100_000)), "List at most so many hosts (default: all)"),
  }),
  output: PLAN_REVIEW,
  async run(service: ShowUses, { id, only, limit }, { grant }) {
    const plans = await service.existingPlans();
    const states = only?.filter((state) => state !== "none");
    const plan = plans?.here(id, grant);
    if (!plans || !plan) {
      const other = (await service.foreignPlans()).find(id, grant);
      if (other)
        return { ...other, actions: null, host_variables: [], stop_on_error: null, scope: null, files: [] };
      throw noPlan(id);
    }
    const { seq } = plan;
    const executor = await service.executor();
    const review = await reviewOf(plans.ledger.content(seq), (list) => executor.shown(list));
    return { ...viewOf(plans, seq, grant, states, limit), ...review };
  },
});
