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

export const planCreated = eventType({
  name: "plan.created",
  summary: "A plan was made; nothing runs before it is applied",
  scope: "operate",
  origin,
  data: v.object({ ...PLAN, digest: v.string(), hosts: count, waves: count, token: v.nullable(v.string()) }),
});

export const planStarted = eventType({
  name: "plan.started",
  summary: "A plan was applied, resumed or retried",
  scope: "operate",
  origin,
  data: v.object({ ...PLAN, hosts: count, token: v.nullable(v.string()) }),
});

export const planWave = eventType({
  name: "plan.wave",
  summary: "A wave of a plan begins",
  scope: "operate",
  origin,
  /** `wave`: its number, from 1 on; `hosts`: how many it has of its own. */
  data: v.object({ ...PLAN, wave: count, waves: count, hosts: count }),
});

export const planTarget = eventType({
  name: "plan.target",
  summary: "Hosts of a plan have ended, or wait; where they are many, some are named and the others counted",
  scope: "operate",
  origin,
  data: v.object({
    ...PLAN,
    targets: v.array(v.object({ label: v.string(), state: v.picklist(TARGET_STATES) })),
    /** How many hosts are not named. */
    more: count,
    counts,
  }),
});

export const planPaused = eventType({
  name: "plan.paused",
  summary: "A plan begins at no further host until it is resumed",
  scope: "operate",
  origin,
  data: v.object({ ...PLAN, reason: v.string() }),
});

export const planEnded = eventType({
  name: "plan.ended",
  summary: "Every host of a plan has ended",
  scope: "operate",
  origin,
  data: v.object({ ...PLAN, state: v.picklist(PLAN_STATES), reason: v.nullable(v.string()), counts }),
});

export const planRemoved = eventType({
  name: "plan.removed",
  summary: "A plan is no longer kept: it was removed, or it was the oldest of too many",
  scope: "operate",
  origin,
  data: v.object(PLAN),
});

export const eventTypes = [
  planCreated,
  planStarted,
  planWave,
  planTarget,
  planPaused,
  planEnded,
  planRemoved,
];
