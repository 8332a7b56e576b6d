/**
 * The jobs that a host takes from a desk: each runs once or not at all, and the desk learns what became of it.
 *
 * A run has the rights that a list sent to `/execute` with the same token has, and none more. Its results are in memory until
 * newer ones need the room; how it ended is on disk (`seen.ts`).
 */
import type { Caller, JobContext } from "../../core/caller";
import { allows, beyond, type Grant } from "../../core/rights";
import type { StopOnError } from "../../core/run";
import { deadline } from "../../lib/deadline";
import { badInput, conflict, Failure, forbidden, messageOf } from "../../lib/errors";
import { sizeWithin } from "../../lib/json-size";
import type { Log } from "../../lib/log";
import type { JobAnswer, JobReport } from "./answer";
import { type Content, readContent } from "./content";
import {
  digestOf,
  type Envelope,
  hasExpired,
  type JobOperation,
  openSealed,
  type Sealed,
  type Signer,
} from "./envelope";
import { placeFiles, removeFiles } from "./files";
import type { SeenJob, SeenJobs, SeenRow } from "./seen";

/** The most that is kept of the results of jobs, in bytes, and of one of them. */
const MAX_RESULTS = { all: 64 * 1_048_576, one: 8 * 1_048_576, depth: 1_000 };

interface ListOptions {
  readonly stop_on_error: StopOnError;
  readonly timeout_s: number;
  readonly scope?: Content["scope"] & {};
  readonly path?: string;
  readonly source: { readonly type: "plan"; readonly id: string; readonly script: string };
  begins(): void;
}

/** What checks and runs action lists. */
interface JobExecutor<L> {
  prepare(list: unknown): L;
  link(list: L, from: string): Promise<L>;
  run(list: L, caller: Caller, options: ListOptions): Promise<Omit<JobReport, "by_desk">>;
}

interface JobParts<L> {
  /** Opens the file of jobs; the first call makes it. */
  seen(): SeenJobs;
  /** Where the files of jobs are while they run: a folder of its own. */
  readonly folder: string;
  readonly log: Log;
  executor(): Promise<JobExecutor<L>>;
  runs(): Promise<{ cancel(id: string, why: string): unknown }>;
  /** The desk with this token of the host; null where none has it. */
  signer(token: string | null): Promise<Signer | null>;
  /** Milliseconds since 1970. */
  readonly now?: () => number;
}

/** A job that this process runs, or is about to. */
interface Running {
  readonly job: SeenJob;
  readonly at: number;
  /** The id of its run; empty before it has begun. */
  run_id: string;
  /** Whether the desk has cancelled it. */
  isCancelled: boolean;
  /** Rejects when it does not begin: then nothing has run. */
  readonly begun: PromiseWithResolvers<void>;
  /** Never rejects. */
  ended: Promise<void>;
}

/** How long its jobs may take to end after their runs have, when the process stops, in milliseconds. */
const LAST_MS = 1_000;

export type PlanJobs = ReturnType<typeof createPlanJobs>;

export function createPlanJobs<L extends { readonly id: string }>({
  folder,
  log,
  executor,
  runs,
  signer,
  now = Date.now,
  ...parts
}: JobParts<L>) {
  const running = new Map<string, Running>();
  const reports = createReports();
  let opened: SeenJobs | undefined;
  const seen = () => {
    if (opened) return opened;
    // Files that a killed process has left.
    removeFiles(folder);
    opened = parts.seen();
    return opened;
  };

  const answerOf = ({ id, state, ending }: SeenRow): JobAnswer => {
    const report = reports.get(id);
    if (report) return { id, state: "done", outcome: { ...report, results_kept: true } };
    if (ending) {
      return { id, state, outcome: { ...ending, result: {}, outcomes: [], results_kept: false } };
    }
    // Its end could not be written.
    return { id, state: state === "running" ? "interrupted" : state, outcome: null };
  };

  /** The answer about a job that was taken before; undefined for a new one. @throws as {@link requireSame}. */
  const known = (envelope: Envelope, grant: Grant): JobAnswer | undefined => {
    const { id } = envelope;
    const one = running.get(id);
    if (one) {
      requireSame(envelope, grant, one.job, one.at);
      return { id, state: "running", outcome: null };
    }
    const row = seen().find(id);
    if (!row) return undefined;
    requireSame(envelope, grant, row, row.at);
    return answerOf(row);
  };

  const open = async (sealed: Sealed, operation: JobOperation, { grant }: Caller) =>
    openSealed(sealed, await signer(grant.name), operation);

  const unseen = (envelope: Envelope): JobAnswer | null => {
    const isForgotten = seen().mayHaveForgotten(Date.parse(envelope.exp));
    if (isForgotten) return { id: envelope.id, state: "forgotten", outcome: null };
    return hasExpired(envelope, now()) ? { id: envelope.id, state: "expired", outcome: null } : null;
  };

  const perform = async (one: Running, text: string, isSigned: boolean, client: Caller): Promise<void> => {
    const { id, plan } = one.job;
    let hasBegun = false;
    try {
      const content = readContent(text);
      const { stop_on_error, timeout_s, scope, name } = content;
      const caller = callerOf(client, one.job, isSigned, scope);
      const run = await executor();
      using files = placeFiles(folder, name, content.bytes);
      const list = await run.link(run.prepare(content.actions), files.path);
      one.run_id = list.id;
      const report = await run.run(list, caller, {
        ...{ stop_on_error, timeout_s, path: files.path, ...(scope && { scope }) },
        source: { type: "plan", id: `${plan}/${id}`, script: name },
        begins() {
          seen().begin(one.job, "running");
          hasBegun = true;
          one.begun.resolve();
        },
      });
      keep(one, report);
    } catch (error) {
      if (!hasBegun) return one.begun.reject(error);
      log.error(`job ${id} failed: ${messageOf(error)}`, error);
      const ending = { run_id: one.run_id, ok: false, status: "error", error_text: "internal error" };
      keep(one, { ...ending, result: {}, outcomes: [] });
    } finally {
      running.delete(id);
    }
  };

  const keep = ({ job: { id }, isCancelled: by_desk }: Running, report: Omit<JobReport, "by_desk">) => {
    const { run_id, ok, status, error_text, result, outcomes } = report;
    const ending = { run_id, ok, status, error_text, by_desk };
    reports.add(id, { ...ending, result, outcomes });
    try {
      seen().end(id, ending);
    } catch (error) {
      log.error(`how job ${id} ended is not on disk: after a restart it counts as interrupted`, error);
    }
  };

  /** Begins a job. Nothing is awaited before it counts as running, so of two identical requests at once only one begins it. */
  const start = (job: SeenJob, content: string, isSigned: boolean, caller: Caller): Running => {
    const begun = Promise.withResolvers<void>();
    begun.promise.catch(() => {});
    const one: Running = { job, at: now(), run_id: "", isCancelled: false, begun, ended: Promise.resolve() };
    running.set(job.id, one);
    one.ended = perform(one, content, isSigned, caller);
    return one;
  };

  const end = async (one: Running | undefined) => {
    if (!one) return;
    one.isCancelled = true;
    await one.begun.promise;
    const all = await runs();
    if (!running.has(one.job.id)) return;
    try {
      all.cancel(one.run_id, "cancelled by its desk");
    } catch (error) {
      // It has just ended.
      if (!(error instanceof Failure)) throw error;
    }
  };

  return {
    /**
     * Takes a job, or says what became of it where it was taken before; waits for its end.
     *
     * @param content of the job, which has its digest; absent to only ask about the job.
     * @param wait_s how long to wait, in seconds.
     * @throws why it is not taken, as a failure: then nothing has run.
     */
    async take(
      {
        content,
        wait_s,
        ...sealed
      }: Sealed & { readonly content?: string | undefined; readonly wait_s: number },
      caller: Caller,
    ): Promise<JobAnswer> {
      const envelope = await open(sealed, "execute", caller);
      const { id } = envelope;
      const found = known(envelope, caller.grant);
      const refusal = found ? null : unseen(envelope);
      if (refusal) return refusal;
      if (!found && content === undefined) return { id, state: "unseen", outcome: null };
      if (!found && digestOf(`${content}`) !== envelope.digest)
        throw badInput("content: it is not what the digest of the envelope says");
      const isSigned = sealed.signature !== undefined;
      const one =
        running.get(id) ??
        (found ? undefined : start(jobOf(envelope, caller), `${content}`, isSigned, caller));
      if (!one) return found ?? { id, state: "unseen", outcome: null };
      await one.begun.promise;
      const wait = { ms: wait_s * 1_000, late() {}, signal: caller.signal, aborted() {} };
      await deadline<void, void>(one.ended, wait);
      return known(envelope, caller.grant) ?? { id, state: "running", outcome: null };
    },
    /**
     * What a job is to do that is still to be sent, for what has to be here before it.
     *
     * @throws as for one that is taken; `conflict` for one that has expired.
     */
    async announced({ content, ...sealed }: Sealed & { readonly content: string }, caller: Caller) {
      const envelope = await open(sealed, "execute", caller);
      if (digestOf(content) !== envelope.digest)
        throw badInput("content: it is not what the digest of the envelope says");
      if (hasExpired(envelope, now())) throw conflict("this job has expired");
      const { actions, scope } = readContent(content);
      return { actions, job: contextOf(envelope, sealed.signature !== undefined, scope, caller.grant) };
    },
    /** Cancels a job: one that runs ends soon; one that has not arrived never begins. */
    async cancel(sealed: Sealed, caller: Caller): Promise<JobAnswer> {
      const envelope = await open(sealed, "cancel", caller);
      const { id, plan } = envelope;
      const found = known(envelope, caller.grant);
      const one = running.get(id);
      if (found && !one) return found;
      const refusal = found ? null : unseen(envelope);
      if (refusal) return refusal;
      await caller.announce(`plan=${plan} job=${id} cancel`);
      // It may have arrived or ended meanwhile.
      if (!running.has(id) && !seen().find(id)) seen().begin(jobOf(envelope, caller), "cancelled");
      await end(running.get(id));
      return known(envelope, caller.grant) ?? { id, state: "unseen", outcome: null };
    },
    /** Resolves once the jobs have ended whose runs have. */
    async close(): Promise<void> {
      const all = Promise.all([...running.values()].map(({ ended }) => ended));
      await deadline<unknown, void>(all, { ms: LAST_MS, late() {} });
      opened?.close();
    },
  };
}

const jobOf = ({ id, plan, digest, exp }: Envelope, { grant }: Caller): SeenJob => ({
  ...{ id, plan, digest, token: grant.name, expires: Date.parse(exp) },
});

/** The run goes on when its client goes, and its rows in the audit log say which job it is. */
function callerOf(
  { gone: _, ...caller }: Caller,
  { id, plan, digest }: SeenJob,
  isSigned: boolean,
  scope: Content["scope"],
): Caller {
  const announce = (subject: string) =>
    caller.announce(`plan=${plan} job=${id} ${isSigned ? "signed " : ""}content=sha256:${digest} ${subject}`);
  return { ...caller, job: contextOf({ id, plan }, isSigned, scope, caller.grant), announce };
}

/** A desk signs for this host only, and a plan has no limit (`scope`) where `admin` has made it. */
const contextOf = (
  { id, plan }: Pick<Envelope, "id" | "plan">,
  isSigned: boolean,
  scope: Content["scope"],
  grant: Grant,
): JobContext => ({ id, plan, isOfAdmin: scope === null && (isSigned || allows(grant, "admin")) });

/** @throws `forbidden` for a job of another token; `conflict` for another job with the same id. */
function requireSame({ digest, plan }: Envelope, grant: Grant, job: SeenJob, at: number): void {
  const isOwn = job.token === grant.name && at >= (grant.since ?? 0);
  if (!isOwn && !allows(grant, "admin")) throw forbidden(beyond(grant, "jobs of others need admin"));
  if (job.digest !== digest || job.plan !== plan) throw conflict("this id is that of another job");
}

/** The newest reports, within {@link MAX_RESULTS}. */
function createReports() {
  const kept = new Map<string, { readonly report: JobReport; readonly bytes: number }>();
  let all = 0;
  return {
    get: (id: string) => kept.get(id)?.report,
    add(id: string, report: JobReport): void {
      const bytes = sizeWithin(report, { bytes: MAX_RESULTS.one, depth: MAX_RESULTS.depth });
      if (bytes === undefined) return;
      kept.set(id, { report, bytes });
      all += bytes;
      for (const [old, { bytes: freed }] of kept) {
        if (all <= MAX_RESULTS.all) return;
        kept.delete(old);
        all -= freed;
      }
    },
  };
}
