/**
 * The active runs of the jobs, one of each at most, and the run that a job has queued behind its own.
 */
import type { StartedRun } from "../../core/run";
import type { Log } from "../../lib/log";
import { printable } from "../../lib/sanitize";
import type { Job } from "./job";

/** What the runs of jobs are made with. */
export interface JobRunsParts {
  /**
   * Starts the script of a job. Never throws: a script that cannot run is a run that ended with an error.
   *
   * @param signal cancels the run.
   */
  start(job: Job, signal?: AbortSignal): Promise<StartedRun>;
  readonly log: Log;
}

export type JobRuns = ReturnType<typeof createJobRuns>;

/**
 * @param changed called when a run begins or ends.
 * @param ended called when the run of that job has ended, after `changed`.
 */
export function createJobRuns(
  { start, log }: JobRunsParts,
  changed: () => void,
  ended: (id: string) => Promise<void>,
) {
  /** The ids of the runs, by job; null for one that is about to begin. */
  const going = new Map<string, string | null>();
  const queued = new Set<string>();

  return {
    has: (id: string): boolean => going.has(id),
    /** The id of the run of a job; null where none has begun. */
    runOf: (id: string): string | null => going.get(id) ?? null,
    /** A run of the job is about to begin. */
    expect: (id: string) => void going.set(id, null),
    /** It does not begin after all. */
    giveUp: (id: string) => void going.delete(id),
    /** Another run follows the one that is active. */
    queue: (id: string) => void queued.add(id),
    /** @returns whether one was queued. */
    unqueue: (id: string): boolean => queued.delete(id),
    /** Begins a run that is expected. */
    async launch(job: Job, signal?: AbortSignal): Promise<StartedRun> {
      const { job_id } = job;
      const run = await start(job, signal);
      going.set(job_id, run.runId);
      changed();
      void run.ended.then(async ({ run_id, status, error_text }) => {
        going.delete(job_id);
        changed();
        if (status !== "ok")
          log.warn(`job ${job_id}: run ${run_id}: ${status}: ${printable(error_text ?? "")}`);
        await ended(job_id);
      });
      return run;
    },
  };
}
