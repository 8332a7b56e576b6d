/**
 * One delivery of a job to a host: the requests that it makes, and what its desk knows of the hosts from others.
 */
import type { RemoteError } from "../../client/carrier";
import { sleep } from "../../lib/deadline";
import type { JobAnswer } from "../../wire/job/answer";
import type { SignedEnvelope } from "../../wire/job/envelope";
import type { DeliverOptions, Job, Target } from "../../wire/job/job";
import type { Office } from "../../wire/join/office";
import { type DeskFence, heeds, ofThisDesk } from "./desk-fence";
import type { JobRequests, SentJob } from "./job-requests";
import { createJobResults, type JobResults } from "./job-result";
import { recordsToSend } from "./protocol";

/** The pauses before a host whose answer was lost is asked about the job, in milliseconds. */
export const AGAIN_MS = [500, 1_500, 4_000];

/** How a desk waits for jobs. */
export interface Patience {
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

/** How it does where nobody says otherwise. */
export const PATIENCE: Patience = { firstS: 1, nextS: 9, longS: 20, most: 256, pauseMs: [5_000, 60_000] };

/** What the deliveries of a desk share. */
export interface Desk {
  readonly requests: JobRequests;
  readonly fence: DeskFence;
  readonly patience: Patience;
  /** The records that hosts have named in their last answers, by their addresses. */
  readonly answered: Map<string, string>;
  /** How many requests are open that wait for long, at a server (`lib/per-server.ts`). */
  longAt(server: string): { count: number };
}

/** One call of `deliver`. */
export interface Attempt {
  readonly desk: Desk;
  readonly target: Target;
  readonly job: Job;
  readonly options: DeliverOptions;
  readonly results: JobResults;
  /** @param sent sends the job, where it is not only asked about. @throws a {@link RemoteError}; `NoJobs`. */
  ask(waitS: number, sent?: SentJob): Promise<JobAnswer>;
  /** Has the host never begin it, or end it. @throws as `ask`. */
  bar(): Promise<JobAnswer>;
  /** Whether the host has refused the job as one of a desk that was taken over, and proves it. This desk then takes note. */
  heeds(error: RemoteError): Promise<boolean>;
  /** @returns false when the caller has stopped waiting. */
  pause(ms: number): Promise<boolean>;
}

/** A delivery of the job to the host. */
export function attemptAt(desk: Desk, target: Target, job: Job, options: DeliverOptions): Attempt {
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

/** The records for which a job is sent, where that is known. */
export const recordsFor = ({ desk, target: { records: onConnect, server } }: Attempt) =>
  recordsToSend({ onConnect, inAnswer: desk.answered.get(server.url) });
