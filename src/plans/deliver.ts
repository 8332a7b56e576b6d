/**
 * Sends a job from the desk to a host, and gets its result back.
 *
 * The promise: the job runs at most once, and its result is known. A host that supports jobs gets the job again until its result is
 * known, and runs it once; while it runs, the desk asks for its result now and then and holds no connection for long. A host with an
 * older svc, which runs whatever it gets, gets it once: where its answer is lost, the result is `unknown`.
 */
import { typed } from "../client/call";
import { deadlineIn, RemoteError, type Response } from "../client/carrier";
import { carrierTo } from "../client/connection";
import { errorOf, statusOf } from "../fleet/deliver";
import type { Delivered } from "../fleet/results";
import { sleep } from "../lib/deadline";
import type { SigningKey } from "../trust/identity";
import { executeJob, hasDoneNothing, isRefusal, NotSent } from "./execute";
import { JOB_ANSWER, type JobAnswer } from "./job/answer";
import { MAX_CONTENT_BYTES } from "./job/content";
import { seal } from "./job/envelope";
import {
  type CancelJob,
  type DeliverJob,
  type DeliverOptions,
  INTERRUPTED,
  type Job,
  type JobResult,
  type JobState,
  type Target,
} from "./job/job";

/** The largest answer of a host about a job, in bytes. */
const MAX_ANSWER_BYTES = 9 * 1_048_576;

/** How long a host may take to answer, besides what it was asked to wait, in milliseconds. */
const ANSWER_MS = 15_000;

/** How much longer than the time limit of its run a job may be `running`, in milliseconds: its host has to end it. */
const OVERTIME_MS = 60_000;

/** How long after the time limit of its run a host is asked about a job, in milliseconds. */
const SOON_MS = 500;

/** The pauses before a host whose answer was lost is asked about the job, in milliseconds. */
const AGAIN_MS = [500, 1_500, 4_000];

/** How a desk waits for jobs. */
interface Waiting {
  /** How long the answer to a job that was sent waits for its end, in seconds: not long, as it is the first to say that the job runs. */
  readonly firstS: number;
  /** How long the answer to the question after it waits, in seconds. */
  readonly nextS: number;
  /** How long the answer to a repeated request waits, in seconds, and how many such requests are open at once. */
  readonly longS: number;
  readonly most: number;
  /** The pause between requests of the other jobs, in milliseconds: a tenth of the time that the job has run, within these. */
  readonly pauseMs: readonly [shortest: number, longest: number];
}

const WAITING: Waiting = { firstS: 1, nextS: 9, longS: 20, most: 256, pauseMs: [5_000, 60_000] };

/** How a desk sends jobs. */
export interface Delivery {
  readonly deliver: DeliverJob;
  readonly cancel: CancelJob;
}

/** @param key the desk's key for jobs, called with each job that is signed. */
export function createDelivery(key: () => SigningKey, waiting: Partial<Waiting> = {}): Delivery {
  const { firstS, nextS, longS, most, pauseMs } = { ...WAITING, ...waiting };
  const sealed = (job: Job, operation: "execute" | "cancel", { host_id }: Target) =>
    seal(job, operation, host_id, host_id === null ? null : key());
  /** The addresses of hosts that are known to support jobs. */
  const able = new Set<string>();
  let long = 0;
  /** The content that was sent last, as JSON: that of a plan is the same for all of its hosts. */
  let quoted = { content: "", text: '""' };
  const quotedText = (content: string) => {
    if (quoted.content !== content) quoted = { content, text: JSON.stringify(content) };
    return quoted.text;
  };
  const textOf = (body: object, content: string | undefined) => {
    const text = JSON.stringify(body);
    return content === undefined ? text : `${text.slice(0, -1)},"content":${quotedText(content)}}`;
  };

  const post = async (
    { server }: Target,
    path: string,
    body: object,
    { delivery_timeout_s }: Job,
    { signal, client }: Pick<DeliverOptions, "signal" | "client">,
    waitS = 0,
    content?: string,
  ): Promise<JobAnswer> => {
    using carrier = await carrierTo(server, signal, client);
    const request = { method: "POST", path, body: textOf(body, content), once: true } as const;
    // A host that is only asked about a job answers at once: one that is silent is unreachable.
    const takesTime = waitS > 0 || content !== undefined;
    const limits = {
      deadline: deadlineIn(delivery_timeout_s * 1_000),
      ...(takesTime && { answerWithinMs: waitS * 1_000 + ANSWER_MS }),
      maxBytes: MAX_ANSWER_BYTES,
    };
    let response = await carrier.ask(request, limits);
    for (
      let pauseMs = tooSoonMs(response);
      pauseMs !== undefined && performance.now() + pauseMs < limits.deadline.at;
      pauseMs = tooSoonMs(response)
    ) {
      await sleep(pauseMs, signal, () => {
        throw new RemoteError("cancelled", "cancelled", false);
      });
      response = await carrier.ask(request, limits);
    }
    // A server that answers any path with 200 is no svc, or an older one.
    const isOdd = response.status === 200 && content === undefined && !isAnswer(response);
    if (NO_ROUTE.includes(response.status) || isOdd) throw new NoJobs();
    return typed(JOB_ANSWER, response);
  };

  const deliver: DeliverJob = async (target, job, options) => {
    const { signal, before = null, maySend = () => true, orExecute = false, sent, running, idle } = options;
    const { label, server } = target;
    const started = performance.now();
    const end = (
      state: JobState,
      status: Delivered["status"],
      delivered: boolean,
      more: Partial<Delivered>,
    ): JobResult => {
      const duration_ms = Math.round(performance.now() - started);
      return { state, result: { label, ok: state === "ok", status, delivered, duration_ms, ...more } };
    };
    const refused = (error: string) => end("refused", "failed", false, { error });
    const unknown = (error: string) => end("unknown", "failed", true, { error });
    if (before === "execute")
      return unknown("its answer was lost, and this host cannot say what became of it: it may have run");
    const hasExpired = () => Date.now() >= Date.parse(job.expires);
    const expired = () => end("expired", "cancelled", false, { error: `expired at ${job.expires}` });
    const lost = (error: RemoteError) =>
      end("lost", statusOf(error, true), true, {
        error: `${error.message}: it may ${error.fault === "cancelled" ? "still run" : "have run"}`,
      });
    const left = () => lost(new RemoteError("cancelled", "cancelled", true));
    /** The result where the host has done nothing. */
    const unsent = (error: RemoteError) => {
      const isRefused = error.fault === "unauthorized" || isRefusal(error);
      const status = isRefused && error.fault === "answer" ? "failed" : statusOf(error, false);
      return end(isRefused ? "refused" : "offline", status, false, { error: error.message });
    };
    const notSent = (mayRun: boolean) => end("unseen", "failed", mayRun, { error: "not sent" });
    /** Sends it to a host that has nothing of this job and does not take jobs, or not this one. */
    const execute = async () => {
      try {
        return (await executeJob(target, job, options)) ?? refused(NO_FILES);
      } catch (error) {
        if (error instanceof NotSent) return notSent(false);
        throw error;
      }
    };
    /** Whether the host has answered that it does not take the job: its token may be refused, or its clock wrong. */
    const mayExecute = (error: RemoteError) =>
      orExecute && error.refusal !== undefined && hasDoneNothing(error);
    const asking = sealed(job, "execute", target);
    const ask = (waitS: number, content?: string) =>
      post(target, "/plans/jobs", { ...asking, wait_s: waitS }, job, options, waitS, content);
    /** @returns false when the caller has given up. */
    const pause = (ms: number) =>
      sleep(ms, signal).then(
        () => true,
        () => false,
      );
    /** The pause before the next question about a job that has run for so long: one comes soon after its time limit, and others later and later. */
    const pauseAt = (elapsedMs: number) => {
      const [shortest, longest] = pauseMs;
      const overMs = elapsedMs - job.timeout_s * 1_000;
      const untilMs = overMs < 0 ? SOON_MS - overMs : Math.max(SOON_MS, overMs);
      return Math.min(spread(Math.min(longest, Math.max(shortest, elapsedMs / 10))), untilMs);
    };

    const known = ({ state, outcome }: JobAnswer): JobResult | undefined => {
      if (state === "expired") return expired();
      if (state === "forgotten")
        return before ? unknown("this host no longer knows whether it ran it") : expired();
      if (state === "cancelled")
        return end("cancelled", "cancelled", false, { error: "cancelled before it began" });
      if (state === "interrupted") return end("failed", "failed", true, { error: INTERRUPTED });
      if (!outcome) return undefined;
      const { run_id, result, outcomes, by_desk, results_kept } = outcome;
      const more = results_kept ? { result, run_id, outcomes } : { run_id };
      if (outcome.ok) return end("ok", "ok", true, more);
      const error = errorOf(outcome) ?? "failed";
      if (by_desk)
        return end("cancelled", "cancelled", true, {
          ...more,
          error: `cancelled after it had begun: ${error}`,
        });
      const status = outcome.status === "timeout" ? "timeout" : "failed";
      return end(status, status, true, { ...more, error });
    };

    /** Waits for the end of a job that runs. @param isNew whether the host has just begun it. */
    const wait = async (isNew: boolean): Promise<JobResult> => {
      running();
      const began = performance.now();
      for (let faults = 0, isNext = isNew; ; isNext = false) {
        if (!isNext) idle?.();
        const isLong = !isNext && long < most;
        if (isLong) long++;
        else if (!isNext && !(await pause(pauseAt(performance.now() - began)))) return left();
        const elapsed = performance.now() - began;
        try {
          const answer = await ask(isNext ? nextS : isLong ? longS : 0);
          faults = 0;
          const result = known(answer);
          if (result) return result;
          if (elapsed > job.timeout_s * 1_000 + OVERTIME_MS)
            return end("timeout", "timeout", true, {
              error: `timeout after ${job.timeout_s} s: it may still run`,
            });
          // The file of jobs of the host is gone.
          if (answer.state === "unseen") return unknown("this host no longer knows the job: it may have run");
        } catch (error) {
          if (error instanceof NoJobs) return unknown(NO_LONGER);
          if (!(error instanceof RemoteError)) throw error;
          const ms = AGAIN_MS[faults++];
          if (error.fault === "cancelled" || ms === undefined || !(await pause(spread(ms))))
            return lost(error);
        } finally {
          if (isLong) long--;
        }
      }
    };

    /** Sends the job until the host has confirmed it. @param isAgain whether it may have been sent before. */
    const bring = async (isAgain: boolean): Promise<JobResult> => {
      for (let faults = 0, mayRun = isAgain, isAsking = isAgain; ; ) {
        if (!isAsking && !maySend()) return notSent(mayRun);
        try {
          const answer = isAsking ? await ask(0) : await ask(Math.min(firstS, job.timeout_s), job.content);
          const result = known(answer);
          // By the clock of the host alone.
          if (result?.state === "expired" && orExecute && !mayRun && !hasExpired()) return execute();
          if (result) return result;
          if (answer.state === "running") return await wait(!isAsking);
          if (hasExpired()) return expired();
          isAsking = false;
        } catch (error) {
          if (error instanceof NoJobs) return mayRun ? unknown(NO_LONGER) : execute();
          if (!(error instanceof RemoteError)) throw error;
          if (!isAsking && !mayRun && mayExecute(error)) return execute();
          if (!isAsking && (isRefusal(error) || (!mayRun && hasDoneNothing(error)))) return unsent(error);
          mayRun ||= !hasDoneNothing(error);
          const ms = AGAIN_MS[faults++];
          const isGone = isAgain && !error.sent;
          if (error.fault === "cancelled" || ms === undefined || isGone || !(await pause(spread(ms)))) {
            return lost(error);
          }
          isAsking = true;
        }
      }
    };

    if (before) return bring(true);
    if (hasExpired()) return expired();
    if (orExecute && Buffer.byteLength(quotedText(job.content)) > MAX_CONTENT_BYTES) return execute();
    try {
      // Whatever is not reached over http came with jobs.
      if (!server.via && !able.has(server.url)) {
        const result = known(await ask(0));
        able.add(server.url);
        // By the clock of the host alone.
        if (result?.state === "expired" && orExecute) return execute();
        if (result) return result;
      }
    } catch (error) {
      if (error instanceof NoJobs) return execute();
      if (error instanceof RemoteError) return mayExecute(error) ? execute() : unsent(error);
      throw error;
    }
    await sent("job");
    return bring(false);
  };

  const cancel: CancelJob = async (target, job, options) => {
    try {
      await post(target, "/plans/jobs/cancel", sealed(job, "cancel", target), job, options);
      return true;
    } catch (error) {
      if (error instanceof RemoteError || error instanceof NoJobs) return false;
      throw error;
    }
  };

  return { deliver, cancel };
}

/** About so many milliseconds. */
const spread = (ms: number): number => ms * (0.75 + Math.random() / 2);

const NO_FILES = "this host takes no files with a plan: update svc on it";
const NO_LONGER = "this host no longer takes jobs of plans";

/** How long a host that has too much to do wants not to be asked, in milliseconds; undefined for any other answer. */
const tooSoonMs = ({ status, retryAfterS }: Response): number | undefined =>
  (status === 429 || status === 503) && retryAfterS !== undefined
    ? retryAfterS * 1_000 * (1 + Math.random() / 4)
    : undefined;

function isAnswer(response: Response): boolean {
  try {
    typed(JOB_ANSWER, response);
    return true;
  } catch {
    return false;
  }
}

/** The host has no route for jobs. */
class NoJobs extends Error {}

/** What servers answer for a route that they do not have. */
const NO_ROUTE = [404, 405, 501];
