/** A job as operations and events show it. */
import * as v from "valibot";
import { STOPS } from "../../core/run";
import type { Job } from "./job";

/** A job, and its active run. */
export interface JobState extends Job {
  /** Null when none is active, or another process runs it. */
  readonly run_id: string | null;
}

/** A job as every surface shows it. */
export const JOB_VIEW = v.object({
  job_id: v.string(),
  script_path: v.string(),
  interval_seconds: v.number(),
  is_cron: v.boolean(),
  cron_expression: v.nullable(v.string()),
  time_zone: v.nullable(v.string()),
  repeat: v.boolean(),
  max_runs: v.nullable(v.number()),
  runs: v.number(),
  enabled: v.boolean(),
  /** The token that added it, whose scopes it has; null for the owner of the host. Hosts of 0.1.0 do not send these. */
  token: v.optional(v.nullable(v.string()), null),
  scopes: v.optional(v.array(v.string()), []),
  disabled_reason: v.optional(v.nullable(v.string()), null),
  next_run_at: v.nullable(v.string()),
  last_run_at: v.nullable(v.string()),
  /** Hosts of another make answer null here. */
  if_missed: v.nullable(v.string()),
  if_running: v.nullable(v.string()),
  /** Null: as its script says, else an hour. */
  timeout_s: v.nullable(v.number()),
  /** Null: as its script says, else it stops. Hosts of before do not send these. */
  stop_on_error: v.optional(v.nullable(STOPS), false),
  /** The names of the variables that it sets: their values may be secret. */
  variables: v.optional(v.array(v.string()), []),
  run_id: v.nullable(v.string()),
});

export type JobView = v.InferInput<typeof JOB_VIEW>;

/** `job` as every surface shows it. */
export const toView = ({ timeout_seconds, variables = {}, ...job }: JobState): JobView =>
  v.parse(JOB_VIEW, {
    ...job,
    timeout_s: timeout_seconds ?? null,
    variables: Object.keys(variables),
    is_cron: job.cron_expression !== null,
  } satisfies JobView);
