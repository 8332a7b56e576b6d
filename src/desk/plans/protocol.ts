/**
 * What a desk makes of what a host says about a job, and what it does next: the decisions of `deliver.ts`, without its requests.
 *
 * The promise: a job that may have begun is never taken for one that has not. That nothing of a job ran is believed only of a host
 * that has the same records as when the job was sent, and that has not said before that the job runs.
 */
import type { JobAnswer } from "../../wire/job/answer";
import type { JobState, Way } from "../../wire/job/job";
import type { PlanState, StepName } from "./plan";

/** What a desk knows of a job. */
export interface Knowledge {
  /** Whether it may have reached the host. */
  readonly mayHave: boolean;
  /** Whether the host has said that it runs. */
  readonly hasBegun: boolean;
  /** The id of the records that the host had when it was sent first; null where it did not say, as earlier builds of svc do not. */
  readonly records: string | null;
}

/** Which records a host has, by its own word. */
export interface StatedRecords {
  /** When it connected; undefined also for a host that the desk dials. */
  readonly onConnect: string | undefined;
  /** In its last answer to this process of the desk; undefined where it did not say, as earlier builds of svc do not. */
  readonly inAnswer: string | undefined;
}

/**
 * The records for which a job is sent first; undefined where the host has to be asked for them before. A job that was sent for any
 * records would be sent again after its answer and the records are lost: only a host that does not even say them when asked gets it so.
 */
export const recordsToSend = ({ onConnect, inAnswer }: StatedRecords): string | undefined =>
  onConnect ?? inAnswer;

/**
 * `unseen`: the host does not have it, and nothing of it ran. `cancelled`: nor did anything, and never will. `stopped`: the desk has
 * cancelled it after it had begun. The others are states of a job.
 */
export type Verdict =
  | "unseen"
  | "running"
  | "ok"
  | "failed"
  | "timeout"
  | "stopped"
  | "interrupted"
  | "cancelled"
  | "expired"
  | "unknown";

/** What became of a job, as its host answers. */
export function verdictOf({ state, outcome, records }: JobAnswer, known: Knowledge): Verdict {
  if (state === "running" || state === "interrupted") return state;
  if (state === "done") return outcome ? endOf(outcome) : "unknown";
  // From here on, the host says that nothing ran.
  const isSame = known.records === null || known.records === records;
  if (known.hasBegun || (known.mayHave && !isSame)) return "unknown";
  if (state === "forgotten") return known.mayHave ? "unknown" : "expired";
  return state;
}

/** How a run ended. One that was cancelled, and not by the desk, was cut off; hosts of earlier builds answer so, and no more. */
function endOf({ ok, status, by_desk }: NonNullable<JobAnswer["outcome"]>): Verdict {
  if (ok) return "ok";
  if (by_desk) return "stopped";
  if (status === "timeout") return status;
  return status === "cancelled" ? "interrupted" : "failed";
}

/** A request about a job: to send it, to ask about it, or to have the host never begin it. */
export type JobRequest = "send" | "ask" | "bar";

/**
 * What follows where the host says, upon a request, that it does not have the job. `renew`: it has other records than those for which
 * the job was sent, and so has not taken it; it is sent for these. `odd`: no svc says so.
 *
 * One that may be on its way is barred before it counts as expired.
 *
 * @param records those that the host has.
 */
export function afterUnseen(
  request: JobRequest,
  { mayHave, ...known }: Pick<Knowledge, "mayHave" | "records">,
  records: string | undefined,
  hasExpired: boolean,
): "send" | "bar" | "expired" | "renew" | "odd" {
  if (request === "send" && !mayHave && records !== undefined && records !== known.records) return "renew";
  if (request !== "ask") return "odd";
  if (!hasExpired) return "send";
  return mayHave ? "bar" : "expired";
}

/** A request without an answer about the job. */
export interface RequestFault {
  /** The host has done nothing upon this request. */
  readonly hasDoneNothing: boolean;
  /** The host has refused it for good. */
  readonly isRefusal: boolean;
}

/**
 * What follows a request that failed. `unsent`: nothing ran, and it ends so. What was sent before the host refused it may be on its way:
 * it is barred first.
 */
export function afterFault(
  request: JobRequest,
  { mayHave }: Pick<Knowledge, "mayHave">,
  { hasDoneNothing, isRefusal }: RequestFault,
): "unsent" | "bar" | "ask" {
  if (request !== "send") return "ask";
  if (isRefusal && mayHave) return "bar";
  return !mayHave && (isRefusal || hasDoneNothing) ? "unsent" : "ask";
}

/** Whether a job that was barred has begun nothing and never will: only then it ends as refused or expired. */
export const isBarred = (verdict: Verdict): boolean => verdict === "cancelled" || verdict === "expired";

/** A job whose delivery has come back, as its desk has it. */
export interface ReturnedJob {
  /** How it had been sent when the delivery began, and how it has been by now. */
  readonly before: Way | null;
  readonly way: Way | null;
  readonly plan: PlanState;
}

/**
 * What the ledger notes of a delivery: the step with which the job ends; or that its host was not there (`offline`), does not have it
 * and may not get it now (`unseen`), or has to be asked again (`lost`).
 *
 * @param delivered whether the job reached the host.
 */
export function stepAfter(
  state: JobState,
  delivered: boolean,
  { before, way, plan }: ReturnedJob,
): StepName | "offline" | "unseen" | "lost" {
  const hasNothing = state === "unseen" ? way !== "job" : state === "offline" && before === null;
  if (hasNothing && (plan === "cancelled" || plan === "expired")) return plan;
  if (state === "offline" && before !== null) return "lost";
  return state === "cancelled" && delivered ? "stopped" : state;
}
