/**
 * The jobs in their file, which several processes and people change. What changes of them is published, whoever changed it.
 */
import type { Publish } from "../../core/events";
import { notFound, unavailable } from "../../lib/errors";
import { createJsonStore, type EntryList, type ListFormat, parseBy } from "../../lib/json-store";
import { type Log, silentLog } from "../../lib/log";
import { printable } from "../../lib/sanitize";
import { createJobWatch } from "./changes";
import { JOB, type Job } from "./job";
import type { JobState } from "./view";

/** Where the jobs are, and who hears of changes. */
export interface JobsParts {
  /** The jobs, and the lock of those who change them. */
  readonly files: { readonly file: string; readonly lock: string };
  readonly log: Log;
  /** Takes the events of jobs. */
  readonly publish?: Publish;
  /** Whether there were no jobs so far: then the first ones are published as added. */
  readonly hadNone?: boolean;
}

const FORMAT: ListFormat<Job> = { what: "a list of jobs", list: "jobs", key: "job_id", parse: parseBy(JOB) };

/**
 * Looks at the file, and changes nothing.
 *
 * @throws `unavailable` where it is broken, cannot be read, or was set aside and is there still.
 */
export function requireJobs(files: JobsParts["files"]): void {
  const store = createJsonStore<Job>({ ...files, ...FORMAT }, silentLog);
  store.entries();
  const [problem] = store.problems();
  if (problem !== undefined) throw unavailable(problem);
}

/** @param stateOf a job with its active run. */
export function createJobs({ files, log, publish, hadNone }: JobsParts, stateOf: (job: Job) => JobState) {
  const store = createJsonStore<Job>({ ...files, ...FORMAT, setsAside: true }, log);
  const publishChanges = createJobWatch(stateOf, publish, hadNone);

  const jobs = {
    problems: store.problems,
    /** The jobs as they are now. @throws `unavailable` when the file cannot be read. */
    load: () => store.load(),
    /** Publishes what has changed since the last call; without `now`, about the runs of the jobs alone. */
    publishChanges,
    /** Changes the file, and publishes the change. */
    async change<T>(edit: (list: EntryList<Job>) => T | Promise<T>): Promise<T> {
      let after: readonly Job[] = [];
      const result = await store.change(async (list) => {
        publishChanges(list.entries);
        const edited = await edit(list);
        after = list.entries;
        return edited;
      });
      publishChanges(after);
      return result;
    },
    /** Changes one job. @throws `not_found`. */
    edit: (id: string, change: (job: Job) => Job | Promise<Job>): Promise<Job> =>
      jobs.change(async (list) => {
        const job = list.entries.find(({ job_id }) => job_id === id);
        if (!job) throw noSuchJob(id);
        const changed = await change(job);
        if (changed !== job) list.replace(changed);
        return changed;
      }),
    /** Does not end its active run. @throws `not_found`. */
    remove: (id: string): Promise<void> =>
      jobs.change((list) => {
        if (!list.remove(id)) throw noSuchJob(id);
      }),
  };
  return jobs;
}

const noSuchJob = (id: string) => notFound(`no job ${printable(id, 100)}`);
