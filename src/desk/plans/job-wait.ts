/**
 * Waiting for the end of a job that runs on its host: the desk asks now and then, and holds few connections for long.
 */
import { RemoteError } from "../../client/carrier";
import { jitter } from "../../lib/backoff";
import { serverOver } from "../../lib/per-server";
import type { JobResult } from "../../wire/job/job";
import { AGAIN_MS, type Attempt } from "./job-attempt";
import { NoJobs } from "./job-requests";
import { verdictOf } from "./protocol";

/** How much longer than the time limit of its run a job may be `running`, in milliseconds: its host has to end it. */
const OVERTIME_MS = 60_000;

/** How long after the time limit of its run a host is asked about a job, in milliseconds. */
const SOON_MS = 500;

/** Why it is unknown what became of a job on a host that took jobs before. */
export const NO_LONGER = "this host no longer takes jobs of plans";

/** Waits for the end of a job that runs. @param isNew whether the host has just begun it. */
export async function waitForEnd(
  attempt: Attempt,
  records: string | null,
  isNew: boolean,
): Promise<JobResult> {
  const { desk, target, job, options, results } = attempt;
  const { nextS, longS, most } = desk.patience;
  const long = desk.longAt(serverOver(target.server.url));
  const known = { mayHave: true, hasBegun: true, records };
  options.running();
  const began = performance.now();
  for (let faults = 0, isNext = isNew, isHasty = false; ; isNext = false) {
    if (!isNext) options.idle?.();
    const isLong: boolean = !isNext && !isHasty && long.count < most;
    if (isLong) long.count++;
    else if (!isNext && !(await attempt.pause(pauseAt(performance.now() - began, attempt))))
      return results.left();
    const elapsed = performance.now() - began;
    try {
      const answer = await attempt.ask(isNext ? nextS : isLong ? longS : 0);
      faults = 0;
      const verdict = verdictOf(answer, known);
      if (verdict !== "running" && verdict !== "unseen") return results.ended(verdict, answer);
      // A host that does not wait as it was asked to would be asked again and again, as fast as it answers.
      isHasty = isLong && performance.now() - began - elapsed < longS * 500;
      if (elapsed > job.timeout_s * 1_000 + OVERTIME_MS) return results.overtime();
    } catch (error) {
      if (error instanceof NoJobs) return results.unknown(NO_LONGER);
      if (!(error instanceof RemoteError)) throw error;
      const ms = AGAIN_MS[faults++];
      if (error.fault === "cancelled" || ms === undefined || !(await attempt.pause(jitter(ms))))
        return results.lost(error);
    } finally {
      if (isLong) long.count--;
    }
  }
}

/** The pause before the next question about a job that has run for so long: one comes soon after its time limit, and others later and later. */
function pauseAt(elapsedMs: number, { desk, job }: Attempt): number {
  const [shortest, longest] = desk.patience.pauseMs;
  const overMs = elapsedMs - job.timeout_s * 1_000;
  const untilMs = overMs < 0 ? SOON_MS - overMs : Math.max(SOON_MS, overMs);
  return Math.min(jitter(Math.min(longest, Math.max(shortest, elapsedMs / 10))), untilMs);
}
