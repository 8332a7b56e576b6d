/**
 * What a host answers about a job.
 */
import * as v from "valibot";
import { secret } from "../../core/fields";
import { OUTCOME } from "../../core/run";

/**
 * `unseen`: the host has not taken it. `cancelled`: before it began, so that it never does. `interrupted`: the host died in the
 * middle, or cannot say how it ended; or its run was cut off by something else than the desk, such as a stop of the host, and
 * `outcome` says how far it came. `expired`: it was not taken and never will be; `forgotten`: likewise, but it may have been
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

/** The most characters of the id of a host's records. */
export const MAX_RECORDS = 64;

export const JOB_ANSWER = v.object({
  id: v.string(),
  state: v.picklist(STATES),
  /**
   * The id of the records of this host: another one where the host has lost what it knew of jobs. Hosts of earlier builds of svc do
   * not say it.
   */
  records: v.exactOptional(v.pipe(v.string(), v.maxLength(MAX_RECORDS))),
  /** Set where it is `done`, and where the host knows how far an `interrupted` one came. */
  outcome: v.nullable(
    v.object({
      ...REPORT.entries,
      /** False where the host has restarted since, or has had newer results: then there are none. */
      results_kept: v.boolean(),
    }),
  ),
});

export type JobAnswer = v.InferOutput<typeof JOB_ANSWER>;
