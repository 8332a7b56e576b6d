/** The events of plans. */
import * as v from "valibot";
import { type EventType, eventType } from "../../core/events";
import type { Plan } from "./ledger/rows";
import { PLAN_STATES, TARGET_STATES } from "./plan";

/** The plan, the named token that made it (null for the owner of the desk), and when. */
const PLAN = { id: v.string(), maker: v.nullable(v.string()), created: v.string() };

/** What every event says of its plan. */
export const aboutPlan = ({ id, maker, created }: Pick<Plan, "id" | "maker" | "created">) => ({
  id,
  maker,
  created: new Date(created).toISOString(),
});

/** As for the plan itself: its maker and `admin` see it. */
const origin: EventType["origin"] = ({ maker, created }) => {
  const at = Date.parse(String(created));
  return Number.isNaN(at) ? null : { maker: typeof maker === "string" ? maker : null, created: at };
};

const count = v.number();
/** How many hosts are in each state; states without hosts are left out. */
const counts = v.record(v.string(), v.number());

/** An event about a plan. @param more what it says besides which plan that is. */
const event = <const E extends v.ObjectEntries>(name: string, summary: string, more: E) =>
  eventType({ name, summary, scope: "operate", origin, data: v.object({ ...PLAN, ...more }) });

export const planCreated = event("plan.created", "A plan was made; nothing runs before it is applied", {
  digest: v.string(),
  hosts: count,
  waves: count,
  token: v.nullable(v.string()),
});

export const planStarted = event("plan.started", "A plan was applied, resumed or retried", {
  hosts: count,
  token: v.nullable(v.string()),
});

/** `wave`: its number, from 1 on; `hosts`: how many it has of its own. */
export const planWave = event("plan.wave", "A wave of a plan begins", {
  wave: count,
  waves: count,
  hosts: count,
});

export const planTarget = event(
  "plan.target",
  "Hosts of a plan have ended, or wait; where they are many, some are named and the others counted",
  {
    targets: v.array(v.object({ label: v.string(), state: v.picklist(TARGET_STATES) })),
    /** How many hosts are not named. */
    more: count,
    counts,
  },
);

export const planPaused = event("plan.paused", "A plan begins at no further host until it is resumed", {
  reason: v.string(),
});

export const planEnded = event("plan.ended", "Every host of a plan has ended", {
  state: v.picklist(PLAN_STATES),
  reason: v.nullable(v.string()),
  counts,
});

export const planRemoved = event(
  "plan.removed",
  "A plan is no longer kept: it was removed, or it was the oldest of too many",
  {},
);

export const eventTypes = [
  planCreated,
  planStarted,
  planWave,
  planTarget,
  planPaused,
  planEnded,
  planRemoved,
];
