/**
 * Which jobs are due at a look, when each runs next, and which of them start: the others have missed their time, still run, or may
 * not run any more.
 *
 * The promise about a clock that is set: a time that it passed over, and that is yet to come once it is right, is not missed. A job keeps the
 * time that it had, also over a restart, until it runs, or somebody pauses, resumes or replaces it; a job that runs once runs once.
 */
import { messageOf } from "../../lib/errors";
import type { Log } from "../../lib/log";
import { printable } from "../../lib/sanitize";
import { type Job, nextRun } from "./job";
import type { JobRuns } from "./runs";
import { createTokenStarts } from "./token-starts";
import {
  counted,
  disowned,
  formerTimeOf,
  movedBack,
  passedOver,
  paused,
  scheduled,
  timeOf,
} from "./transitions";

/** A run that is later than this was missed, in milliseconds: the host slept or the clock was set. */
const LATE_MS = 10_000;

/** What says which jobs are due. */
export interface DueParts {
  /** Why the job may not run any more: its token was revoked, or the script that added it was removed. Null while it may. */
  ended(job: Job): Promise<string | null>;
  readonly log: Log;
}

/** @param runs the active ones: those that start are expected there. */
export function createDue({ ended, log }: DueParts, runs: JobRuns) {
  const spendStart = createTokenStarts(log);
  let startedAt = 0;
  let lastLook = 0;

  const owned = async (job: Job): Promise<Job> => {
    const why = await ended(job);
    if (why === null) return job;
    log.warn(`job ${job.job_id} is disabled: ${why}`);
    return disowned(job, why);
  };
  /** `job` with its next time after `now`; paused when it has none. */
  const moved = async (job: Job, now: number): Promise<Job> => {
    const time = job.next_run_at === null ? undefined : timeOf(job);
    const over = time !== undefined && time <= now && !job.repeat;
    if (over) return paused(job);
    try {
      const next = await nextRun(job, now, time);
      if (next !== null && next === time) return job;
      if (next !== null) return scheduled(job, next);
      log.warn(`job ${job.job_id} has no further time and is paused`);
    } catch (error) {
      log.error(`job ${job.job_id} is paused: ${printable(messageOf(error))}`);
    }
    return paused(job);
  };
  /**
   * `job` at the time that it had before the clock was set. Undefined where it has none, or would have an earlier one by now: then the clock of
   * now is wrong, or its run was missed long ago.
   */
  const restored = async (job: Job, now: number): Promise<Job | undefined> => {
    const former = formerTimeOf(job, now);
    if (former === undefined) return undefined;
    const next = await nextRun(job, now, former).catch(() => null);
    if (next !== former) return undefined;
    // The run before that one was missed, as where the host slept: it is made up for.
    if (job.repeat && job.if_missed === "once" && (await nextRun(job, timeOf(job), former)) === former)
      return undefined;
    log.warn(`job ${job.job_id} is due at ${job.former_run_at} again: the clock was wrong meanwhile`);
    return scheduled({ ...job, enabled: true }, former);
  };
  const isLate = (job: Job, now: number): boolean => {
    const time = timeOf(job);
    return time < startedAt || now - time > LATE_MS;
  };
  /** Whether a job whose time has come is started now. */
  const mayStart = (job: Job, now: number): boolean => {
    const { job_id } = job;
    const isGoing = runs.has(job_id);
    if (isGoing && job.if_running === "skip") {
      log.warn(`job ${job_id} still runs: its run of ${job.next_run_at} is skipped`);
      return false;
    }
    if (!spendStart(job.token, now)) return false;
    if (isGoing) runs.queue(job_id);
    return !isGoing;
  };

  return {
    /** `job`, disabled when it may not run any more, for instance because somebody edited the tokens by hand. */
    owned,
    /** The next look is the first. */
    begin(): void {
      // The clock may have been set back before it.
      lastLook = Number.POSITIVE_INFINITY;
    },
    at(now: number) {
      const isSetBack = now < lastLook - LATE_MS;
      if (isSetBack) startedAt = now;
      const isStale = (job: Job) =>
        job.enabled
          ? isSetBack || job.next_run_at === null || timeOf(job) <= now
          : isSetBack && formerTimeOf(job, now) !== undefined;
      return {
        isStale,
        /** The job after the look. One that starts is added to `starting`. */
        async move(found: Job, starting: Job[]): Promise<Job> {
          const job = isStale(found) ? await owned(found) : found;
          if (!isStale(job)) return job;
          const again = !job.enabled || isLate(job, now) ? await restored(job, now) : undefined;
          if (again || !job.enabled) return again ?? job;
          const next = await moved(job, now);
          if (timeOf(job) > now) return timeOf(next) < timeOf(job) ? movedBack(job, timeOf(next)) : next;
          if (isLate(job, now) && job.if_missed === "skip") {
            log.warn(`job ${job.job_id} missed its run of ${job.former_run_at ?? job.next_run_at}`);
            return job.repeat ? next : passedOver(job);
          }
          if (!mayStart(job, now)) return next;
          const started = counted(next, now);
          starting.push(started);
          runs.expect(job.job_id);
          return started;
        },
        end(): void {
          lastLook = now;
        },
      };
    },
  };
}
