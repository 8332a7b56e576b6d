/**
 * What a host answers about a job.
 */
import * as v from "valibot";
import { secret } from "../../core/fields";
import { OUTCOME } from "../../core/run";

/**
 * `unseen`: the host has not taken it. `cancelled`: before it began, so that it never does. `interrupted`: the host died in the
 * middle, or cannot say how it ended. `expired`: it was not taken and never will be; `forgotten`: likewise, but it may have been
 * taken long ago.
 */
const STATES = ["unseen", "running", "done", "interrupted", "cancelled", "expired", "forgotten"] as const;

/** How the run of a job ended. */
const ENDING = v.object({
  run_id: v.string(),
  ok: v.boolean(),
  status: v.string(),
  error_text: v.nullable(v.string()),
  /** Whether its desk has cancelled it while it ran. */
  by_desk: v.boolean(),
});

export type Ending = v.InferOutput<typeof ENDING>;

/** How it ended, with the results as in the answer to `/execute`. */
const REPORT = v.object({
  ...ENDING.entries,
  result: secret(v.record(v.string(), v.unknown())),
  outcomes: secret(v.array(OUTCOME)),
});

export type JobReport = v.InferOutput<typeof REPORT>;

export const JOB_ANSWER = v.object({
  id: v.string(),
  state: v.picklist(STATES),
  /** Set where it is `done`. */
  outcome: v.nullable(
    v.object({
      ...REPORT.entries,
      /** False where the host has restarted since, or has had newer results: then there are none. */
      results_kept: v.boolean(),
    }),
  ),
});

export type JobAnswer = v.InferOutput<typeof JOB_ANSWER>;
