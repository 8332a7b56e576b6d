/**
 * Sends a job from the desk to a host, and gets its result back.
 *
 * The promise: the job runs at most once, and its result is known. A host that supports jobs gets the job again until its result is
 * known, and runs it once; while it runs, the desk asks for its result now and then and holds no connection for long. A host with an
 * older svc, which runs whatever it gets, gets it once: where its answer is lost, the result is `unknown`.
 */
import { RemoteError } from "../../client/carrier";
import { jitter } from "../../lib/backoff";
import { sleep } from "../../lib/deadline";
import { perServer, serverOver } from "../../lib/per-server";
import type { SigningKey } from "../../trust/identity";
import type { JobAnswer } from "../../wire/job/answer";
import { MAX_CONTENT_BYTES } from "../../wire/job/content";
import type { SignedEnvelope } from "../../wire/job/envelope";
import type { CancelJob, DeliverJob, DeliverOptions, Job, JobResult, Target } from "../../wire/job/job";
import type { Office } from "../../wire/join/office";
import { type DeskFence, heeds, isOfFormerDesk, NO_FENCE, ofThisDesk } from "./desk-fence";
import { executeJob, hasDoneNothing, isRefusal, UnsentError } from "./execute";
import { createJobRequests, type JobRequests, NoJobs, type SentJob } from "./job-requests";
import { createJobResults, type JobResults } from "./job-result";
import {
  afterFault,
  afterUnseen,
  isBarred,
  type JobRequest,
  type Knowledge,
  recordsToSend,
  verdictOf,
} from "./protocol";

/** How much longer than the time limit of its run a job may be `running`, in milliseconds: its host has to end it. */
const OVERTIME_MS = 60_000;

/** How long after the time limit of its run a host is asked about a job, in milliseconds. */
const SOON_MS = 500;

/** The pauses before a host whose answer was lost is asked about the job, in milliseconds. */
const AGAIN_MS = [500, 1_500, 4_000];

/** How a desk waits for jobs. */
interface Patience {
  /** How long the answer to a job that was sent waits for its end, in seconds: not long, as it is the first to say that the job runs. */
  readonly firstS: number;
  /** How long the answer to the question after it waits, in seconds. */
  readonly nextS: number;
  /** How long the answer to a repeated request waits, in seconds, and how many such requests are open at once, at each server. */
  readonly longS: number;
  readonly most: number;
  /** The pause between requests of the other jobs, in milliseconds: a tenth of the time that the job has run, within these. */
  readonly pauseMs: readonly [shortest: number, longest: number];
}

const PATIENCE: Patience = { firstS: 1, nextS: 9, longS: 20, most: 256, pauseMs: [5_000, 60_000] };

/** How a desk sends jobs. */
interface Delivery {
  readonly deliver: DeliverJob;
  readonly cancel: CancelJob;
}

interface Desk {
  readonly requests: JobRequests;
  readonly fence: DeskFence;
  readonly patience: Patience;
  /** The records that hosts have named in their last answers, by their addresses. */
  readonly answered: Map<string, string>;
  /** How many requests are open that wait for long, at a server (`lib/per-server.ts`). */
  longAt(server: string): { count: number };
}

/** One call of `deliver`. */
interface Attempt {
  readonly desk: Desk;
  readonly target: Target;
  readonly job: Job;
  readonly options: DeliverOptions;
  readonly results: JobResults;
  /** @param sent sends the job, where it is not only asked about. @throws a {@link RemoteError}; {@link NoJobs}. */
  ask(waitS: number, sent?: SentJob): Promise<JobAnswer>;
  /** Has the host never begin it, or end it. @throws as `ask`. */
  bar(): Promise<JobAnswer>;
  /** Whether the host has refused the job as one of a desk that was taken over, and proves it. This desk then takes note. */
  heeds(error: RemoteError): Promise<boolean>;
  /** @returns false when the caller has stopped waiting. */
  pause(ms: number): Promise<boolean>;
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

function attemptAt(desk: Desk, target: Target, job: Job, options: DeliverOptions): Attempt {
  const { requests, answered, fence } = desk;
  const heard = (answer: JobAnswer) => {
    const { url } = target.server;
    // Those of a host that says them when it connects are kept with its connection.
    if (answer.records === undefined || target.records !== undefined) answered.delete(url);
    else answered.set(url, answer.records);
    return answer;
  };
  const asThisDesk = <T>(request: (office?: Office) => Promise<T>) =>
    ofThisDesk(fence, target, options, request);
  let sealed: { readonly envelope: SignedEnvelope; readonly by: string } | undefined;
  const sealedBy = (office?: Office) => {
    const by = JSON.stringify(office ?? null);
    if (sealed?.by !== by) sealed = { envelope: requests.sealed(job, "execute", target, office), by };
    return sealed.envelope;
  };
  return {
    desk,
    target,
    job,
    options,
    results: createJobResults(target.label, job),
    ask: async (waitS, sent) =>
      heard(
        await asThisDesk((office) =>
          requests.ask(target, { ...sealedBy(office), wait_s: waitS }, job, options, sent),
        ),
      ),
    bar: async () => heard(await asThisDesk((office) => requests.cancel(target, job, options, office))),
    heeds: (error) => heeds(fence, target, options, error),
    pause: (ms) =>
      sleep(ms, options.signal).then(
        () => true,
        () => false,
      ),
  };
}

const recordsFor = ({ desk, target: { records: onConnect, server } }: Attempt) =>
  recordsToSend({ onConnect, inAnswer: desk.answered.get(server.url) });

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
      if (verdict === "running") return await wait(attempt, known.records, request === "send");
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

/** Waits for the end of a job that runs. @param isNew whether the host has just begun it. */
async function wait(attempt: Attempt, records: string | null, isNew: boolean): Promise<JobResult> {
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
const NO_LONGER = "this host no longer takes jobs of plans";
