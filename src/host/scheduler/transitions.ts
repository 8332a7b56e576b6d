/**
 * What a job becomes: as pure functions from the job before to the one after.
 */
import { conflict } from "../../lib/errors";
import type { Job } from "./job";

/** When it runs next, in milliseconds since the epoch; infinity when it has no time. */
export const timeOf = ({ next_run_at }: Job): number =>
  next_run_at === null ? Number.POSITIVE_INFINITY : Date.parse(next_run_at);

/** `job` that runs next at `ms` since the epoch; never again where that is null. */
export const scheduled = (job: Job, ms: number | null): Job => ({
  ...withoutFormer(job),
  next_run_at: ms === null ? null : isoTime(ms),
});

/** `job` that runs earlier than it was to, as the clock was set back: its time counts again, should it be the clock of now that is wrong. */
export const movedBack = (job: Job, ms: number): Job => rememberingTime(scheduled(job, ms), job);

/** `job`, whose only run was missed: paused, and due again should its time be yet to come after all. */
export const passedOver = (job: Job): Job => rememberingTime(paused(job), job);

/** `job` with the time that it had `before`. */
function rememberingTime(job: Job, { former_run_at, next_run_at }: Job): Job {
  const time = former_run_at ?? next_run_at;
  return time === null ? job : { ...job, former_run_at: time };
}

/** The time that a job had before the clock was set, in milliseconds since the epoch; undefined where it has none that is to come, or may not run. */
export function formerTimeOf({ disabled_reason, former_run_at }: Job, now: number): number | undefined {
  if (disabled_reason !== null || former_run_at === undefined) return undefined;
  const time = Date.parse(former_run_at);
  return time > now ? time : undefined;
}

const withoutFormer = ({ former_run_at: _, ...job }: Job): Job => job;

/**
 * `job` in the place of the one that was `before`: with its counts, and its next time where it runs at the same times. One that has had its
 * runs gets no other, whatever else of it is new.
 *
 * @param ms when it runs next otherwise, since the epoch.
 */
export function replacing(before: Job, job: Job, ms: number): Job {
  const { runs, last_run_at, next_run_at } = before;
  const isSameTimes =
    before.interval_seconds === job.interval_seconds &&
    before.cron_expression === job.cron_expression &&
    before.time_zone === job.time_zone;
  const placed = { ...job, runs, last_run_at };
  const isOver = !job.repeat && hasRunOnce(before);
  if (isOver || (job.max_runs !== null && runs >= job.max_runs)) return paused(placed);
  return isSameTimes && next_run_at !== null ? { ...placed, next_run_at } : scheduled(placed, ms);
}

/** Whether it is a job that runs once, and has. One that was to repeat, or that somebody has run before its time, has its run to come. */
const hasRunOnce = ({ repeat, runs, next_run_at }: Job): boolean =>
  !repeat && runs > 0 && next_run_at === null;

/** `job` without a next time. */
export const paused = (job: Job): Job => ({ ...withoutFormer(job), enabled: false, next_run_at: null });

/** `job` with one more run, which begins at `now`; paused when it was the last that it has. */
export function counted(job: Job, now: number): Job {
  const runs = job.runs + 1;
  const begun = { ...withoutFormer(job), runs, last_run_at: isoTime(now) };
  return job.max_runs !== null && runs >= job.max_runs ? paused(begun) : begun;
}

/** Why a job may not run any more, by what has ended. */
export const ENDED = {
  token: (name: string) => `its token ${name} was revoked`,
  script: (name: string) => `the stored script ${name}, which added it, was removed`,
} as const;

/** `job` that may not run any more. */
export const disowned = (job: Job, disabled_reason: string): Job => ({ ...paused(job), disabled_reason });

/** @throws `conflict` for a job that may not run any more. */
export function refuseDisabled({ job_id, disabled_reason }: Job): void {
  if (disabled_reason !== null)
    throw conflict(`${job_id} is disabled: ${disabled_reason}; remove it and add it again`);
}

const isoTime = (ms: number) => new Date(ms).toISOString();
