/**
 * Putting jobs in the places of those with their ids: whether there is room, and what becomes of each.
 */
import { busy } from "../../lib/errors";
import type { EntryList } from "../../lib/json-store";
import { shortageOf } from "../../lib/quota";
import type { Job } from "./job";
import { replacing, scheduled } from "./transitions";

/** How many jobs are in the file; those of a named token leave some to others. */
const JOBS = { what: "jobs", most: 1_000, times: 1 };

/** A job, and when it runs next where that begins anew, in milliseconds since the epoch. */
export interface TimedJob {
  readonly job: Job;
  readonly next: number;
}

/**
 * Looks whether `there` has room for jobs, without those of the ids `removed`. One in the place of another needs none.
 *
 * @throws `conflict` where there would be too many, or too many of one token.
 */
export function requireRoom(
  there: readonly Job[],
  jobs: readonly Job[],
  removed: readonly string[] = [],
): void {
  const tokens = new Map(there.map(({ job_id, token }) => [job_id, token]));
  for (const id of removed) tokens.delete(id);
  const counts = new Map<string | null, number>();
  const count = (token: string | null, by: number) => counts.set(token, (counts.get(token) ?? 0) + by);
  for (const token of tokens.values()) count(token, 1);
  for (const { job_id, token } of jobs) {
    const before = tokens.get(job_id);
    if (before !== undefined) count(before, -1);
    else {
      const full = shortageOf(JOBS, tokens.size, counts.get(token) ?? 0, token);
      if (full !== undefined) throw busy(full, "conflict");
    }
    tokens.set(job_id, token);
    count(token, 1);
  }
}

/** Puts each job in its place, and takes those of the ids `removed` away. @returns the jobs as they are then. @throws as {@link requireRoom}. */
export function place(list: EntryList<Job>, jobs: readonly TimedJob[], removed: readonly string[]): Job[] {
  const there = list.entries;
  requireRoom(
    there,
    jobs.map(({ job }) => job),
    removed,
  );
  const known = new Map(there.map((job) => [job.job_id, job]));
  list.removeAll(removed);
  return jobs.map(({ job, next }) => {
    const found = known.get(job.job_id);
    const placed = found ? replacing(found, job, next) : scheduled(job, next);
    list.replace(placed);
    return placed;
  });
}
