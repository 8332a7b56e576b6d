/**
 * Jobs for hosts that know none: the list goes to `POST /execute`, once. When the answer is lost, nobody can say what became of it.
 */
import * as v from "valibot";
import { SCOPES } from "../core/rights";
import { STOP_ON_ERROR } from "../core/run";
import { deliver } from "../fleet/deliver";
import type { Delivered } from "../fleet/results";
import type { DeliverJob, JobState } from "./job/job";

const LIST = v.object({
  actions: v.array(v.unknown()),
  commands: v.array(v.string()),
  stop_on_error: STOP_ON_ERROR,
  scope: v.nullable(v.array(v.picklist(SCOPES))),
});

const STATES = {
  ok: "ok",
  failed: "failed",
  unreachable: "offline",
  unauthorized: "refused",
  timeout: "timeout",
  cancelled: "lost",
} as const satisfies Record<Delivered["status"], JobState>;

export const executeJob: DeliverJob = async (target, job, { signal, client, before, sent }) => {
  const { label } = target;
  if (before) {
    const error = "this desk was interrupted: it may have run";
    const result = { label, ok: false, status: "failed", delivered: true, duration_ms: 0, error } as const;
    return { state: "unknown", result };
  }
  const { scope, ...list } = v.parse(LIST, JSON.parse(job.content));
  const { delivery_timeout_s, timeout_s } = job;
  await sent("execute");
  const limits = { delivery_timeout_s, timeout_s, scope: scope ?? undefined, signal, client };
  const result = await deliver(target, { ...list, ...limits });
  return { state: STATES[result.status], result };
};
