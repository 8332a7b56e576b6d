/**
 * The jobs that this process runs, and what is kept of their results: in memory, until newer ones need the room.
 */

import { type Caller, type JobContext, requesterOf } from "../../core/caller";
import type { DesktopRequest } from "../../core/desktop-request";
import { allows, type Grant } from "../../core/rights";
import type { StopOnError } from "../../core/run";
import { Failure, messageOf } from "../../lib/errors";
import { hasMoreValues, sizeWithin } from "../../lib/json-size";
import type { Log } from "../../lib/log";
import type { Requester } from "../../lib/slots";
import type { JobReport } from "../../wire/job/answer";
import { type Content, readContent } from "../../wire/job/content";
import type { Envelope } from "../../wire/job/envelope";
import { placeFiles } from "./files";
import type { SeenJob, SeenJobs } from "./seen";

/** The most that is kept of the results of jobs, in bytes, and of one of them. */
const MAX_RESULTS = { all: 64 * 1_048_576, one: 8 * 1_048_576, depth: 400, values: 60_000 };

interface ListOptions {
  readonly stop_on_error: StopOnError;
  readonly timeout_s: number;
  readonly scope?: Content["scope"] & {};
  readonly desktop?: DesktopRequest;
  readonly path?: string;
  readonly source: { readonly type: "plan"; readonly id: string; readonly script: string };
  begins(): void;
}

/** What checks and runs action lists. */
interface JobExecutor<L> {
  prepare(list: unknown): Promise<L>;
  link(list: L, from: string, requester: Requester): Promise<L>;
  run(list: L, caller: Caller, options: ListOptions): Promise<Omit<JobReport, "by_desk">>;
}

export interface JobRunParts<L> {
  /** Where the files of jobs are while they run: a folder of its own. */
  readonly folder: string;
  readonly log: Log;
  executor(): Promise<JobExecutor<L>>;
  runs(): Promise<{ cancel(id: string, why: string): unknown }>;
}

/** A job that this process runs, or is about to. */
interface JobRun {
  readonly job: SeenJob;
  /** When it was taken, in milliseconds since 1970. */
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

/** The jobs that run here. */
export interface JobRuns {
  /** The job with this id; undefined where it does not run. */
  find(id: string): JobRun | undefined;
  /**
   * Begins a job. Nothing is awaited before it counts as running, so of two identical requests at once only one begins it. Callers
   * must make sure that it was not taken before.
   *
   * @param at the time, in milliseconds since 1970.
   */
  start(job: SeenJob, at: number, content: string, isSigned: boolean, client: Caller): JobRun;
  /** Cancels the run of a job; does nothing where none runs. */
  cancel(id: string): Promise<void>;
  /** What the run of a job reported; undefined where that is not kept. */
  report(id: string): JobReport | undefined;
  /** Resolves once the jobs have ended that run now. */
  settled(): Promise<unknown>;
}

/** @param seen opens the file of jobs. */
export function createJobRuns<L extends { readonly id: string }>(
  { folder, log, executor, runs }: JobRunParts<L>,
  seen: () => SeenJobs,
): JobRuns {
  const running = new Map<string, JobRun>();
  const reports = createReports();

  const perform = async (one: JobRun, text: string, isSigned: boolean, client: Caller): Promise<void> => {
    const { id, plan } = one.job;
    let hasBegun = false;
    try {
      const content = readContent(text);
      const { stop_on_error, timeout_s, scope, name, desktop } = content;
      const caller = callerOf(client, one.job, isSigned, scope);
      const run = await executor();
      using files = placeFiles(folder, name, content.bytes);
      const list = await run.link(await run.prepare(content.actions), files.path, requesterOf(caller));
      one.run_id = list.id;
      const report = await run.run(list, caller, {
        stop_on_error,
        timeout_s,
        path: files.path,
        ...(scope && { scope }),
        ...(desktop !== undefined && { desktop }),
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

  const keep = ({ job: { id }, isCancelled: by_desk }: JobRun, report: Omit<JobReport, "by_desk">) => {
    const { run_id, ok, status, error_text, result, outcomes } = report;
    const ending = { run_id, ok, status, error_text, by_desk };
    reports.add(id, { ...ending, result, outcomes });
    try {
      seen().end(id, ending);
    } catch (error) {
      log.error(`how job ${id} ended is not on disk: after a restart it counts as interrupted`, error);
    }
  };

  return {
    find: (id) => running.get(id),
    start(job, at, content, isSigned, client) {
      const begun = Promise.withResolvers<void>();
      begun.promise.catch(() => {});
      const one: JobRun = { job, at, run_id: "", isCancelled: false, begun, ended: Promise.resolve() };
      running.set(job.id, one);
      one.ended = perform(one, content, isSigned, client);
      return one;
    },
    async cancel(id) {
      const one = running.get(id);
      if (!one) return;
      one.isCancelled = true;
      await one.begun.promise;
      const all = await runs();
      if (!running.has(id)) return;
      try {
        all.cancel(one.run_id, "cancelled by its desk");
      } catch (error) {
        // It has just ended.
        if (!(error instanceof Failure)) throw error;
      }
    },
    report: reports.get,
    settled: () => Promise.all([...running.values()].map(({ ended }) => ended)),
  };
}

/** The run goes on when its client goes, and its rows in the audit log say which job it is. */
function callerOf(
  { request: _, ...caller }: Caller,
  { id, plan, digest }: SeenJob,
  isSigned: boolean,
  scope: Content["scope"],
): Caller {
  const announce = (subject: string) =>
    caller.announce(`plan=${plan} job=${id} ${isSigned ? "signed " : ""}content=sha256:${digest} ${subject}`);
  return { ...caller, job: contextOf({ id, plan }, isSigned, scope, caller.grant), announce };
}

/** A desk signs for this host only, and a plan has no limit (`scope`) where `admin` has made it. */
export const contextOf = (
  { id, plan }: Pick<Envelope, "id" | "plan">,
  isSigned: boolean,
  scope: Content["scope"],
  grant: Grant,
): JobContext => ({ id, plan, isOfAdmin: scope === null && (isSigned || allows(grant, "admin")) });

/** The newest reports, within {@link MAX_RESULTS}. */
function createReports() {
  const kept = new Map<string, { readonly report: JobReport; readonly bytes: number }>();
  let all = 0;
  return {
    get: (id: string) => kept.get(id)?.report,
    add(id: string, report: JobReport): void {
      const bytes = sizeWithin(report, { bytes: MAX_RESULTS.one, depth: MAX_RESULTS.depth });
      if (bytes === undefined || hasMoreValues(report, MAX_RESULTS.values)) return;
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
