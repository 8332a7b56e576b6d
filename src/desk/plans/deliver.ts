/**
 * Sends a job from the desk to a host, and gets its result back.
 *
 * The promise: the job runs at most once, and its result is known. A host that supports jobs gets the job again until its result is
 * known, and runs it once; while it runs, the desk asks for its result now and then and holds no connection for long. A host with an
 * older svc, which runs whatever it gets, gets it once: where its answer is lost, the result is `unknown`.
 */
import { RemoteError } from "../../client/carrier";
import { jitter } from "../../lib/backoff";
import { perServer } from "../../lib/per-server";
import type { SigningKey } from "../../trust/identity";
import { MAX_CONTENT_BYTES } from "../../wire/job/content";
import type { CancelJob, DeliverJob, Job, JobResult } from "../../wire/job/job";
import { heeds, isOfFormerDesk, NO_FENCE, ofThisDesk } from "./desk-fence";
import { executeJob, hasDoneNothing, isRefusal, UnsentError } from "./execute";
import {
  AGAIN_MS,
  type Attempt,
  attemptAt,
  type Desk,
  PATIENCE,
  type Patience,
  recordsFor,
} from "./job-attempt";
import { createJobRequests, NoJobs } from "./job-requests";
import { NO_LONGER, waitForEnd } from "./job-wait";
import { afterFault, afterUnseen, isBarred, type JobRequest, type Knowledge, verdictOf } from "./protocol";

/** How a desk sends jobs. */
interface Delivery {
  readonly deliver: DeliverJob;
  readonly cancel: CancelJob;
}

/** @param key the desk's key for jobs, called with each job that is signed. */
export function createDelivery(
  key: () => SigningKey,
  patience: Partial<Patience> = {},
  fence = NO_FENCE,
): Delivery {
  const requests = createJobRequests(key);
  const shared = { requests, fence, answered: new Map() };
  const longAt = perServer(() => ({ count: 0 }));
  const desk: Desk = { ...shared, patience: { ...PATIENCE, ...patience }, longAt };
  return {
    deliver: async (target, job, options) => deliverAs(attemptAt(desk, target, job, options)),
    async cancel(target, job, options) {
      try {
        await ofThisDesk(fence, target, options, (office) => requests.cancel(target, job, options, office));
        return true;
      } catch (error) {
        if (error instanceof RemoteError) await heeds(fence, target, options, error);
        else if (!(error instanceof NoJobs)) throw error;
        return false;
      }
    },
  };
}

/** Learns what the host is, sends the job as that needs, and waits for its end. */
async function deliverAs(attempt: Attempt): Promise<JobResult> {
  const { desk, job, options, results } = attempt;
  const { before = null, hasBegun = false, records = null, orExecute = false } = options;
  if (before === "execute")
    return results.unknown(
      "its answer was lost, and this host cannot say what became of it: it may have run",
    );
  if (before) return exchange(attempt, "ask", { mayHave: true, hasBegun, records });
  if (hasExpired(job)) return results.expired();
  if (orExecute && desk.requests.contentBytes(job) > MAX_CONTENT_BYTES) return executeLarge(attempt);
  const known = await greet(attempt);
  if (known) return known;
  const has = recordsFor(attempt) ?? null;
  await options.sent("job", has);
  return exchange(attempt, "send", { mayHave: false, hasBegun: false, records: has });
}

/**
 * Asks a host about its first job, to learn whether it takes jobs and which records it has, where it has not said that before: when
 * it connected, or in an answer.
 *
 * @returns the result, where the job is not to be sent as a job.
 */
async function greet(attempt: Attempt): Promise<JobResult | undefined> {
  const { options, results } = attempt;
  if (recordsFor(attempt) !== undefined) return undefined;
  try {
    const answer = await attempt.ask(0);
    const verdict = verdictOf(answer, UNSENT);
    // By the clock of the host alone.
    if (verdict === "expired" && options.orExecute) return await execute(attempt);
    // One that runs was sent by another ledger of this desk, of which this is an old copy perhaps.
    return verdict === "unseen" || verdict === "running" ? undefined : results.ended(verdict, answer);
  } catch (error) {
    if (error instanceof NoJobs) return execute(attempt);
    if (!(error instanceof RemoteError)) throw error;
    await attempt.heeds(error);
    return mayExecute(attempt, error) ? execute(attempt) : results.unsent(error);
  }
}

/** Sends the job, or asks about it, until the host has confirmed it, and waits for its end. */
async function exchange(attempt: Attempt, first: JobRequest, from: Knowledge): Promise<JobResult> {
  const { job, options, results } = attempt;
  const { maySend = () => true, orExecute = false } = options;
  let request = first;
  let known = from;
  /** What it ends as, once it is barred. */
  let barredAs: JobResult | undefined;
  for (let faults = 0; ; ) {
    if (request === "send" && !maySend()) return results.notSent(known.mayHave);
    try {
      const answer = await answerTo(attempt, request, known);
      const verdict = verdictOf(answer, known);
      if (barredAs && isBarred(verdict)) return barredAs;
      // By the clock of the host alone.
      if (verdict === "expired" && orExecute && !known.mayHave && !hasExpired(job))
        return await execute(attempt);
      if (verdict === "running") return await waitForEnd(attempt, known.records, request === "send");
      if (verdict !== "unseen") return results.ended(verdict, answer);
      const next = afterUnseen(request, known, answer.records, hasExpired(job));
      if (next === "expired") return results.expired();
      if (next === "renew" && faults++ < AGAIN_MS.length) {
        known = { ...known, records: answer.records ?? null };
        await options.sent("job", known.records);
        continue;
      }
      if (next === "renew" || next === "odd") throw oddAnswer();
      request = next;
      barredAs = next === "bar" ? results.expired() : undefined;
    } catch (error) {
      if (error instanceof NoJobs) return known.mayHave ? results.unknown(NO_LONGER) : execute(attempt);
      if (!(error instanceof RemoteError)) throw error;
      if ((await attempt.heeds(error)) && !known.mayHave) return results.refused(error.message);
      if (request === "send" && !known.mayHave && mayExecute(attempt, error)) return execute(attempt);
      const fault = { hasDoneNothing: hasDoneNothing(error), isRefusal: isRefusal(error) };
      const next = afterFault(request, known, fault);
      if (next === "unsent") return results.unsent(error);
      known = { ...known, mayHave: known.mayHave || !fault.hasDoneNothing };
      barredAs = next === "bar" ? results.unsent(error) : undefined;
      request = next;
      if (next === "bar") continue;
      const ms = AGAIN_MS[faults++];
      const isGone = from.mayHave && !error.sent;
      if (error.fault === "cancelled" || ms === undefined || isGone || !(await attempt.pause(jitter(ms))))
        return results.lost(error);
    }
  }
}

/** Makes the request, and returns what the host answers. */
function answerTo({ desk, job, ask, bar }: Attempt, request: JobRequest, { records }: Knowledge) {
  if (request === "bar") return bar();
  if (request === "ask") return ask(0);
  const sent = { content: job.content, ...(records !== null && { records }) };
  return ask(Math.min(desk.patience.firstS, job.timeout_s), sent);
}

/** Nothing of the job has left the desk. */
const UNSENT: Knowledge = { mayHave: false, hasBegun: false, records: null };

/** By the clock of this desk. */
const hasExpired = ({ expires }: Job): boolean => Date.now() >= Date.parse(expires);

/** Sends the job to a host that has nothing of it and does not take jobs, or not this one. */
async function execute({ target, job, options, results }: Attempt): Promise<JobResult> {
  try {
    return (await executeJob(target, job, options)) ?? results.refused(NO_FILES);
  } catch (error) {
    if (error instanceof UnsentError) return results.notSent(false);
    throw error;
  }
}

/**
 * Sends a list that is too large for a job, which alone says which desk it is of: to a host only that does not prove that this desk was
 * taken over.
 */
async function executeLarge(attempt: Attempt): Promise<JobResult> {
  const { desk, target, options, results } = attempt;
  try {
    if (await desk.fence.isOver(target, options)) return results.refused(IS_OVER);
  } catch (error) {
    if (error instanceof RemoteError) return results.unsent(error);
    throw error;
  }
  return execute(attempt);
}

/**
 * Whether the host has answered that it does not take the job: its token may be refused, or its clock wrong. Not where it knows that this
 * desk was taken over, proved or not; nor where it was asked only which desk this is.
 */
const mayExecute = ({ options }: Attempt, error: RemoteError): boolean =>
  options.orExecute === true &&
  error.sent &&
  error.refusal !== undefined &&
  !isOfFormerDesk(error) &&
  hasDoneNothing(error);

const oddAnswer = () => new RemoteError("answer", "it does not say what it does with the job", true);

const IS_OVER = "this desk was taken over, as this host proves";

const NO_FILES = "this host takes no files with a plan: update svc on it";
