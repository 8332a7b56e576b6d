/**
 * What a host answers about jobs: from what runs, from the reports in memory, and from the file of jobs.
 */
import { allows, beyond, type Grant } from "../../core/rights";
import { conflict, forbidden } from "../../lib/errors";
import type { Ending, JobAnswer } from "../../wire/job/answer";
import { type Envelope, hasExpired } from "../../wire/job/envelope";
import type { JobRuns } from "./job-runs";
import type { SeenJob, SeenJobs, SeenRow } from "./seen";

interface JobAnswers {
  answer(id: string, state: JobAnswer["state"]): JobAnswer;
  /**
   * The answer about a job that was taken before; undefined for a new one.
   *
   * @throws `forbidden` for a job of another token; `conflict` for another job with the same id.
   */
  known(envelope: Envelope, grant: Grant): JobAnswer | undefined;
  /** Why a job that is not known is not taken any more; null where it may be. */
  unseen(envelope: Envelope): JobAnswer | null;
}

/** @param seen opens the file of jobs. @param now milliseconds since 1970. */
export function createJobAnswers(
  runs: Pick<JobRuns, "find" | "report">,
  seen: () => SeenJobs,
  now: () => number,
): JobAnswers {
  const answer = (id: string, state: JobAnswer["state"], outcome: JobAnswer["outcome"] = null): JobAnswer => {
    return { id, state, records: seen().records, outcome };
  };
  const answerOf = ({ id, state, ending }: SeenRow): JobAnswer => {
    const report = runs.report(id);
    if (report) return answer(id, stateOf(report), { ...report, results_kept: true });
    if (ending)
      return answer(id, stateOf(ending), { ...ending, result: {}, outcomes: [], results_kept: false });
    // Its end could not be written.
    return answer(id, state === "running" ? "interrupted" : state);
  };

  const known = (envelope: Envelope, grant: Grant): JobAnswer | undefined => {
    const { id } = envelope;
    const one = runs.find(id);
    if (one) {
      requireSame(envelope, grant, one.job, one.at);
      return answer(id, "running");
    }
    const row = seen().find(id);
    if (!row) return undefined;
    requireSame(envelope, grant, row, row.at);
    return answerOf(row);
  };

  const unseen = (envelope: Envelope): JobAnswer | null => {
    const isForgotten = seen().mayHaveForgotten(Date.parse(envelope.exp));
    if (isForgotten) return answer(envelope.id, "forgotten");
    return hasExpired(envelope, now()) ? answer(envelope.id, "expired") : null;
  };

  return { answer, known, unseen };
}

/**
 * What the end of a run makes of its job. A run that was cancelled, and not by the desk, was cut off in the middle: by a stop of
 * this process, by somebody at this host, or as its token ended.
 */
const stateOf = ({ status, by_desk }: Pick<Ending, "status" | "by_desk">) =>
  status === "cancelled" && !by_desk ? "interrupted" : "done";

/** @throws `forbidden` for a job of another token; `conflict` for another job with the same id. */
function requireSame({ digest, plan }: Envelope, grant: Grant, job: SeenJob, at: number): void {
  const isOwn = job.token === grant.name && at >= (grant.since ?? 0);
  if (!isOwn && !allows(grant, "admin")) throw forbidden(beyond(grant, "jobs of others need admin"));
  if (job.digest !== digest || job.plan !== plan) throw conflict("this id is that of another job");
}
