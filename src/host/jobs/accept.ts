/**
 * The jobs that a host takes from a desk: each runs once or not at all, and the desk learns what became of it.
 *
 * A run has the rights that a list sent to `/execute` with the same token has, and none more. Its results are in memory until
 * newer ones need the room; how it ended is on disk (`seen.ts`).
 */
import type { Caller, JobContext } from "../../core/caller";
import { deadline } from "../../lib/deadline";
import { badInput, conflict } from "../../lib/errors";
import type { JobAnswer } from "../../wire/job/answer";
import { type Content, readContent } from "../../wire/job/content";
import {
  digestOf,
  type Envelope,
  hasExpired,
  type JobOperation,
  openSealed,
  type SignedEnvelope,
  type Signer,
} from "../../wire/job/envelope";
import { laterThan, type Office, TAKEN_OVER } from "../../wire/join/office";
import { createJobAnswers } from "./answers";
import { removeFiles } from "./files";
import { contextOf, createJobRuns, type JobRunParts } from "./job-runs";
import type { SeenJob, SeenJobs } from "./seen";

interface JobParts<L> extends JobRunParts<L> {
  /** Opens the file of jobs; the first call makes it. */
  seen(): SeenJobs;
  /** The desk with this token of the host; null where none has it. */
  signer(token: string | null): Promise<Signer | null>;
  /** Milliseconds since 1970. */
  readonly now?: () => number;
}

/** How long its jobs may take to end after their runs have, when the process stops, in milliseconds. */
const LAST_MS = 1_000;

/** The jobs of this host. What is thrown says why a job is not taken: then nothing has run. */
export interface PlanJobs {
  /** The id of the records of this host, for its desk; undefined where they cannot be opened: then no job is taken either. */
  records(): string | undefined;
  /**
   * Takes a job, or says what became of it where it was taken before; waits for its end.
   *
   * @param job `content` has the digest that is signed, and is absent to only ask about the job; `records` are those for which it
   *   was sent (default: any): where these are others, they do not say whether it has run already; `wait_s` is how long to wait, in
   *   seconds.
   */
  take(job: SentJob, caller: Caller): Promise<JobAnswer>;
  /**
   * What a job is to do that is still to be sent, for what has to be here before it.
   *
   * @throws as for one that is taken; `conflict` for one that has expired, or is of a desk that was taken over.
   */
  announced(
    job: SignedEnvelope & { readonly content: string },
    caller: Caller,
  ): Promise<{ readonly actions: Content["actions"]; readonly job: JobContext }>;
  /** Cancels a job: one that runs ends soon; one that has not arrived never begins. */
  cancel(sealed: SignedEnvelope, caller: Caller): Promise<JobAnswer>;
  /** Resolves once the jobs have ended whose runs have. */
  close(): Promise<void>;
}

interface SentJob extends SignedEnvelope {
  readonly content?: string | undefined;
  readonly records?: string | undefined;
  readonly wait_s: number;
}

export function createPlanJobs<L extends { readonly id: string }>({
  signer,
  now = Date.now,
  ...parts
}: JobParts<L>): PlanJobs {
  let opened: SeenJobs | undefined;
  const seen = () => {
    if (opened) return opened;
    // Files that a killed process has left.
    removeFiles(parts.folder);
    opened = parts.seen();
    return opened;
  };
  const running = createJobRuns(parts, seen);
  const { answer, known, unseen } = createJobAnswers(running, seen, now);

  const open = async (sealed: SignedEnvelope, operation: JobOperation, { grant }: Caller) => {
    const by = await signer(grant.name);
    return { envelope: openSealed(sealed, by, operation), known: by?.desk_offices ?? [] };
  };

  return {
    records() {
      try {
        return seen().records;
      } catch {
        // Whatever is wrong with the file is said where a job is refused, and by `svc diagnose`.
        return undefined;
      }
    },
    async take({ content, records, wait_s, ...sealed }, caller) {
      const { envelope, known: offices } = await open(sealed, "execute", caller);
      const { id } = envelope;
      const found = known(envelope, caller.grant);
      if (!found) requireDesk(envelope, offices);
      const refusal = found ? null : unseen(envelope);
      if (refusal) return refusal;
      const isElsewhere = records !== undefined && records !== seen().records;
      if (!found && (content === undefined || isElsewhere)) return answer(id, "unseen");
      if (!found && digestOf(`${content}`) !== envelope.digest)
        throw badInput("content: it is not what the digest of the envelope says");
      const isSigned = sealed.signature !== undefined;
      const one =
        running.find(id) ??
        (found ? undefined : running.start(jobOf(envelope, caller), now(), `${content}`, isSigned, caller));
      if (!one) return found ?? answer(id, "unseen");
      await one.begun.promise;
      const wait = { ms: wait_s * 1_000, late() {}, signal: caller.signal, aborted() {} };
      await deadline<void, void>(one.ended, wait);
      return known(envelope, caller.grant) ?? answer(id, "running");
    },
    async announced({ content, ...sealed }, caller) {
      const { envelope, known: offices } = await open(sealed, "execute", caller);
      requireDesk(envelope, offices);
      if (digestOf(content) !== envelope.digest)
        throw badInput("content: it is not what the digest of the envelope says");
      if (hasExpired(envelope, now())) throw conflict("this job has expired");
      const { actions, scope } = readContent(content);
      return { actions, job: contextOf(envelope, sealed.signature !== undefined, scope, caller.grant) };
    },
    async cancel(sealed, caller) {
      const { envelope, known: offices } = await open(sealed, "cancel", caller);
      const { id, plan } = envelope;
      const found = known(envelope, caller.grant);
      if (!found) requireDesk(envelope, offices);
      const one = running.find(id);
      if (found && !one) return found;
      const refusal = found ? null : unseen(envelope);
      if (refusal) return refusal;
      await caller.announce(`plan=${plan} job=${id} cancel`);
      // It may have arrived or ended meanwhile.
      if (!running.find(id) && !seen().find(id)) seen().begin(jobOf(envelope, caller), "cancelled");
      await running.cancel(id);
      return known(envelope, caller.grant) ?? answer(id, "unseen");
    },
    async close() {
      await deadline<unknown, void>(running.settled(), { ms: LAST_MS, late() {} });
      opened?.close();
    },
  };
}

/** @throws `conflict`, with a code of its own, for a job of a desk that another machine has taken over. */
function requireDesk({ office }: Envelope, known: readonly Office[]): void {
  const newer = laterThan(known, office);
  if (newer === undefined) return;
  throw conflict(
    `this desk was taken over: this host takes jobs of generation ${newer}, and this one is of generation ${office?.generation ?? 0}`,
    { code: TAKEN_OVER },
  );
}

const jobOf = ({ id, plan, digest, exp }: Envelope, { grant }: Caller): SeenJob => ({
  id,
  plan,
  digest,
  token: grant.name,
  expires: Date.parse(exp),
});
