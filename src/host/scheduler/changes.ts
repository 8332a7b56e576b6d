/**
 * Publishing what has changed about the jobs, whoever changed their file.
 */
import type { Publish } from "../../core/events";
import { JOB_EVENTS } from "./events";
import type { Job } from "./job";
import { type JobState, toView } from "./view";

interface JobSnapshot {
  readonly job: Job;
  readonly run: string | null;
  readonly text: string;
}

/**
 * A function that compares the jobs with those of the call before, and publishes how they differ; of the first call it publishes
 * nothing. Without an argument, it compares the runs of the jobs of the call before.
 *
 * @param hadNone whether there were no jobs before: then it publishes those of the first call too.
 */
export function createJobWatch(
  stateOf: (job: Job) => JobState,
  publish: Publish = () => {},
  hadNone = false,
) {
  let seen: ReadonlyMap<string, JobSnapshot> | undefined = hadNone ? new Map() : undefined;

  const look = (job: Job, before: JobSnapshot | undefined): JobSnapshot => {
    const state = stateOf(job);
    if (before?.job === job && before.run === state.run_id) return before;
    const now = { job, run: state.run_id, text: JSON.stringify(toView(state)) };
    if (now.text === before?.text || !seen) return now;
    publish(JOB_EVENTS[how(before?.job, job)], toView(state));
    return now;
  };

  return (jobs: readonly Job[] = Array.from(seen?.values() ?? [], ({ job }) => job)): void => {
    const now = new Map(jobs.map((job) => [job.job_id, look(job, seen?.get(job.job_id))]));
    for (const job_id of seen?.keys() ?? []) if (!now.has(job_id)) publish(JOB_EVENTS.removed, { job_id });
    seen = now;
  };
}

function how(before: Job | undefined, { enabled }: Job): "added" | "changed" | "paused" | "resumed" {
  if (!before) return "added";
  if (before.enabled === enabled) return "changed";
  return enabled ? "resumed" : "paused";
}
