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

/** The runs of jobs that are under way. */
export interface JobRuns {
  has(id: string): boolean;
  /** The id of the run of a job; null where none has begun. */
  runOf(id: string): string | null;
  /** A run of the job is about to begin. */
  expect(id: string): void;
  /** It does not begin after all. */
  giveUp(id: string): void;
  /** Another run follows the one that is active. */
  queue(id: string): void;
  /** @returns whether one was queued. */
  unqueue(id: string): boolean;
  /** Begins a run that is expected. */
  launch(job: Job, signal?: AbortSignal): Promise<StartedRun>;
}

/**
 * @param changed called when a run begins or ends.
 * @param ended called when the run of that job has ended, after `changed`.
 */
export function createJobRuns(
  { start, log }: JobRunsParts,
  changed: () => void,
  ended: (id: string) => Promise<void>,
): JobRuns {
  /** The ids of the runs, by job; null for one that is about to begin. */
  const going = new Map<string, string | null>();
  const queued = new Set<string>();

  return {
    has: (id) => going.has(id),
    runOf: (id) => going.get(id) ?? null,
    expect: (id) => void going.set(id, null),
    giveUp: (id) => void going.delete(id),
    queue: (id) => void queued.add(id),
    unqueue: (id) => queued.delete(id),
    async launch(job, signal) {
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
