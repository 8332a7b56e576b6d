/**
 * The requests of a desk to a host about a job.
 */

import { deadlineIn, RemoteError, type Response } from "../../client/carrier";
import { carrierTo } from "../../client/connection";
import { TooManyValues, typed } from "../../client/remote-call";
import { jitter, NO_EARLIER } from "../../lib/backoff";
import { sleep } from "../../lib/deadline";
import type { SigningKey } from "../../trust/identity";
import { JOB_ANSWER, type JobAnswer } from "../../wire/job/answer";
import { type SignedEnvelope, seal } from "../../wire/job/envelope";
import type { DeliverOptions, Job, Target } from "../../wire/job/job";
import type { Office } from "../../wire/join/office";

/** The largest answer of a host about a job, in bytes. */
const MAX_ANSWER_BYTES = 9 * 1_048_576;

/** How long a host may take to answer, besides what it was asked to wait, in milliseconds. */
const ANSWER_MS = 15_000;

/** What a host needs to run a job. */
export interface SentJob {
  readonly content: string;
  /** The id of the records for which it is sent: a host that has others does not take it. Absent where the host does not say which it has. */
  readonly records?: string;
}

/** For whom a request is made, and until when. */
type Caller = Pick<DeliverOptions, "signal" | "client" | "room">;

export interface JobRequests {
  /** @param office which desk it is of, where the host is to know. */
  sealed(job: Job, operation: "execute" | "cancel", target: Target, office?: Office): SignedEnvelope;
  /** How large the content is in a request, in bytes. */
  contentBytes(job: Job): number;
  /** Asks about a job, or sends it. @param asking with how long its end is waited for, in seconds. */
  ask(
    target: Target,
    asking: SignedEnvelope & { readonly wait_s: number },
    job: Job,
    caller: Caller,
    sent?: Partial<SentJob>,
  ): Promise<JobAnswer>;
  /** Has the host end a job, or never begin it. */
  cancel(target: Target, job: Job, caller: Caller, office?: Office): Promise<JobAnswer>;
}

/** @param key the desk's key for jobs, called with each job that is signed. */
export function createJobRequests(key: () => SigningKey): JobRequests {
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
  const sealed = (job: Job, operation: "execute" | "cancel", { host_id }: Target, office?: Office) =>
    seal(job, operation, host_id, host_id === null ? null : key(), office);

  const post = async (
    { server }: Target,
    path: string,
    body: object,
    { delivery_timeout_s }: Job,
    { signal, client, room }: Caller,
    waitS = 0,
    content?: string,
  ): Promise<JobAnswer> => {
    using carrier = await carrierTo(server, signal, client, 1, room);
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
      await sleep(pauseMs, signal, () => new RemoteError("cancelled", "cancelled", false));
      response = await carrier.ask(request, limits);
    }
    if (NO_ROUTE.includes(response.status)) throw new NoJobs();
    try {
      return typed(JOB_ANSWER, response);
    } catch (error) {
      // A server that answers any path with 200 is no svc, or an older one.
      const isOdd = response.status === 200 && content === undefined;
      throw isOdd && !(error instanceof TooManyValues) ? new NoJobs() : error;
    }
  };

  /** What it returns throws a {@link RemoteError}, and {@link NoJobs}. */
  return {
    sealed,
    contentBytes: ({ content }: Job): number => Buffer.byteLength(quotedText(content)),
    ask: (
      target: Target,
      asking: SignedEnvelope & { readonly wait_s: number },
      job: Job,
      caller: Caller,
      { content, ...sent }: Partial<SentJob> = {},
    ) => post(target, "/plans/jobs", { ...asking, ...sent }, job, caller, asking.wait_s, content),
    cancel: (target: Target, job: Job, caller: Caller, office?: Office) =>
      post(target, "/plans/jobs/cancel", sealed(job, "cancel", target, office), job, caller),
  };
}

/** The host has no route for jobs. */
export class NoJobs extends Error {}

/** What servers answer for a route that they do not have. */
const NO_ROUTE = [404, 405, 501];

/** How long a host that has too much to do wants not to be asked, in milliseconds; undefined for any other answer. */
const tooSoonMs = ({ status, retryAfterS }: Response): number | undefined =>
  (status === 429 || status === 503) && retryAfterS !== undefined
    ? jitter(retryAfterS * 1_000, NO_EARLIER)
    : undefined;
