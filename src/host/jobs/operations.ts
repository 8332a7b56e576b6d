/**
 * What a desk requests from a host for its plans.
 */
import * as v from "valibot";
import { between, field, seconds, secret } from "../../core/fields";
import { operation } from "../../core/operation";
import { JOB_ANSWER, MAX_RECORDS } from "../../wire/job/answer";
import type { PlanJobs } from "./accept";

interface Uses {
  planJobs(): Promise<PlanJobs>;
}

/** How long an answer may be waited for, in seconds. */
const MAX_WAIT_S = 60;

const BY_DESK = {
  cli: "the server of the desk sends it",
  script: "the desk signs it",
};

/** An envelope, as fields of an input. */
export const SEALED = {
  envelope: field(
    v.pipe(v.string(), v.maxLength(1_000)),
    "Which job of which plan, for whom, the digest of its content, and when it begins and expires: JSON text",
  ),
  signature: field(
    v.optional(v.pipe(v.string(), v.regex(/^[A-Za-z0-9_-]{86}$/, "86 characters of base64url"))),
    "Ed25519 signature of the desk's key for jobs over `svc-job-v1`, a line feed and the envelope",
  ),
};

const takeJob = operation({
  name: "plan.take_job",
  summary: "Run a job of a plan once, or answer how it ended",
  scope: "operate",
  changes: "announces",
  http: { method: "POST", path: "/plans/jobs", repeatable: true },
  leftOut: BY_DESK,
  input: v.strictObject({
    ...SEALED,
    content: field(
      v.optional(secret(v.string())),
      "What to do: JSON text, whose SHA-256 is the digest (default: only ask how it ended)",
    ),
    records: field(
      v.optional(v.pipe(v.string(), v.maxLength(MAX_RECORDS))),
      "The id of the records of this host for which it is sent, as an answer says it: with others, it is not taken (default: any)",
    ),
    wait_s: field(v.optional(seconds(between(0, MAX_WAIT_S)), 0), "How long to wait for its end"),
  }),
  output: JOB_ANSWER,
  run: async (service: Uses, input, caller) => (await service.planJobs()).take(input, caller),
  brief: ({ outcome, ...answer }) => ({
    ...answer,
    outcome: outcome && { ...outcome, result: {}, outcomes: [], results_kept: false },
  }),
});

const cancelJob = operation({
  name: "plan.cancel_job",
  summary: "Cancel a job of a plan: it ends, or never begins",
  scope: "operate",
  changes: "announces",
  http: { method: "POST", path: "/plans/jobs/cancel", repeatable: true },
  leftOut: BY_DESK,
  input: v.strictObject(SEALED),
  output: JOB_ANSWER,
  run: async (service: Uses, input, caller) => (await service.planJobs()).cancel(input, caller),
});

export const operations = [takeJob, cancelJob];
