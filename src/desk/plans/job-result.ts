/**
 * The results of a job for its caller: a state, and what is shown of it.
 */
import { RemoteError } from "../../client/carrier";
import type { JobAnswer } from "../../wire/job/answer";
import type { Delivery } from "../../wire/job/delivery";
import { INTERRUPTED, type Job, type JobResult, type JobState } from "../../wire/job/job";
import { errorOf, runIdIn, statusOf } from "./action-list";
import { isRefusal } from "./execute";
import type { Verdict } from "./protocol";

export interface JobResults {
  refused(error: string): JobResult;
  unknown(error: string): JobResult;
  expired(): JobResult;
  /** The host has not ended it long after its time limit. */
  overtime(): JobResult;
  /** Whether it ran is not known yet. */
  lost(error: RemoteError): JobResult;
  /** The caller has stopped waiting. */
  left(): JobResult;
  /** Its plan does not run any more. @param mayHave whether it may have reached the host before. */
  notSent(mayHave: boolean): JobResult;
  /** The host has done nothing. */
  unsent(error: RemoteError): JobResult;
  ended(verdict: Exclude<Verdict, "unseen" | "running">, answer: JobAnswer): JobResult;
}

/** @returns what makes the result of `job` at the host `label`; how long it took counts from now on. */
export function createJobResults(label: string, job: Pick<Job, "expires" | "timeout_s">): JobResults {
  const started = performance.now();
  const end = (
    state: JobState,
    status: Delivery["status"],
    delivered: boolean,
    more: Partial<Delivery>,
  ): JobResult => {
    const duration_ms = Math.round(performance.now() - started);
    return { state, result: { label, ok: state === "ok", status, delivered, duration_ms, ...more } };
  };
  const results = {
    refused: (error: string) => end("refused", "failed", false, { error }),
    unknown: (error: string) => end("unknown", "failed", true, { error }),
    expired: () => end("expired", "cancelled", false, { error: `expired at ${job.expires}` }),
    overtime: () =>
      end("timeout", "timeout", true, { error: `timeout after ${job.timeout_s} s: it may still run` }),
    lost: (error: RemoteError) =>
      end("lost", statusOf(error, true), true, {
        error: `${error.message}: it may ${error.fault === "cancelled" ? "still run" : "have run"}`,
      }),
    left: () => results.lost(new RemoteError("cancelled", "cancelled", true)),
    notSent: (mayHave: boolean) => end("unseen", "failed", mayHave, { error: "not sent" }),
    unsent(error: RemoteError): JobResult {
      const isRefused = error.fault === "unauthorized" || isRefusal(error);
      const status = isRefused && error.fault === "answer" ? "failed" : statusOf(error, false);
      return end(isRefused ? "refused" : "offline", status, false, { error: error.message });
    },
    ended(verdict: Exclude<Verdict, "unseen" | "running">, { state, outcome }: JobAnswer): JobResult {
      if (verdict === "expired") return results.expired();
      if (verdict === "unknown")
        return results.unknown(
          `this host no longer knows what became of the job (${state}): it may have run`,
        );
      if (verdict === "cancelled")
        return end("cancelled", "cancelled", false, { error: "cancelled before it began" });
      if (!outcome) return end("interrupted", "failed", true, { error: INTERRUPTED });
      const { result, outcomes, results_kept } = outcome;
      const run_id = runIdIn(outcome.run_id);
      const more = results_kept ? { result, run_id, outcomes } : { run_id };
      if (verdict === "ok") return end("ok", "ok", true, more);
      const error = errorOf(outcome) ?? "failed";
      if (verdict === "stopped")
        return end("cancelled", "cancelled", true, {
          ...more,
          error: `cancelled after it had begun: ${error}`,
        });
      if (verdict === "interrupted")
        return end(verdict, "failed", true, { ...more, error: `interrupted on this host: ${error}` });
      return end(verdict, verdict, true, { ...more, error });
    },
  };
  return results;
}
