/**
 * A broadcast: a plan that ends with its process, and a caller who waits for it.
 *
 * Promises. The caller gets one result for each host, with all that the host returned. It comes in time: a host that has not answered
 * within the time limits is `timeout`, and it comes also while the ledger cannot be written. When the caller stops waiting, nothing more begins; hosts that run the job are asked to end it,
 * and have {@link LEAVE_MS} to answer how it ended. What the hosts run is not kept, so that no other process sends it.
 */

import { resolvesWithin } from "../../lib/deadline";
import type { Delivered } from "../../wire/job/delivered";
import type { DeliverJob, DeliverOptions, JobResult, Target, Way } from "../../wire/job/job";
import type { Spec } from "./plan";
import type { Entry } from "./run";

/** The caller who waits for a broadcast. */
export interface BroadcastCaller {
  /** What each host runs. */
  readonly content: string;
  /** The host as the caller knows it. */
  targetOf(label: string): Target | undefined;
  /** In whose share its connections count (`shareOf`). */
  readonly client: string | null;
  /** The caller stops waiting. */
  readonly signal: AbortSignal;
  /** Takes what became of it at each host, once. */
  done(result: Delivered): void;
}

/** How much later than its time limits a host may answer, and how long it may then take to answer the last question, in milliseconds. */
const LATE_MS = 2_000;

/** How long hosts may take to answer how a job ended that they were asked to end, in milliseconds. */
const LEAVE_MS = 2_000;

/** How long it may take to write down a result, or that a job is sent, while others wait for it; then they go on without. */
const WRITE_MS = 5_000;

/** How long it may take to write the last of it down when every result is known, or the caller has left, in milliseconds. */
const LAST_MS = 1_000;

export type Broadcast = ReturnType<typeof createBroadcast>;

/** @param sends sends a job. */
export function createBroadcast(
  { content, targetOf, client, signal, done }: BroadcastCaller,
  spec: Spec,
  sends: DeliverJob,
) {
  const limitMs = (spec.delivery_timeout_s + spec.timeout_s) * 1_000 + LATE_MS;
  const hosts = spec.waves.at(-1);
  const results = new Map<string, Delivered>();
  /** The hosts of which the caller has the result. */
  const reported = new Set<string>();
  let isOver = false;
  const atWork = new Set<{ way: Way | null; stop(): void }>();
  const left = Promise.withResolvers<void>();
  let timer: Timer | undefined;
  const leave = () => {
    // What was sent as a job can be ended at the host, and nothing else.
    for (const { way, stop } of atWork) if (way !== "job") stop();
    clearTimeout(timer);
    timer = setTimeout(() => {
      for (const { stop } of atWork) stop();
      timer = setTimeout(left.resolve, LAST_MS);
    }, LEAVE_MS);
  };
  if (signal.aborted) leave();
  else signal.addEventListener("abort", leave, { once: true });

  const broadcast = {
    content,
    targetOf,
    client,
    /** Whether the caller has stopped waiting. */
    isLeft: (): boolean => signal.aborted,
    /** Resolves some time after the caller has stopped waiting, or has each result: then nothing is waited for. */
    left: left.promise,
    /** Resolves once that is written down; or after some time, as the caller does not wait for a disk. */
    writing: (written: Promise<unknown>): Promise<boolean> => resolvesWithin(WRITE_MS, written),
    /** As any {@link DeliverJob}; its result is an end, as nobody asks the host again. */
    async deliver(...[target, job, options]: Parameters<DeliverJob>): Promise<JobResult> {
      const one: { way: Way | null; stop(): void } = { way: null, stop() {} };
      let isLate = false;
      let late: Timer | undefined;
      const itsOptions: DeliverOptions = {
        ...options,
        client,
        orExecute: true,
        maySend: () => !signal.aborted && options.maySend?.() !== false,
        async sent(way, records) {
          // What is on its way by `/execute` is stopped at once; what is on its way as a job, only at the host.
          one.way = way;
          clearTimeout(late);
          if (!(await broadcast.writing(Promise.try(options.sent, way, records)))) throw new Unwritten();
          late = setTimeout(() => {
            isLate = true;
            one.stop();
          }, limitMs);
        },
      };
      const send = (more: Partial<DeliverOptions> = {}) => {
        const limit = new AbortController();
        one.stop = () => limit.abort();
        if (signal.aborted && one.way !== "job") one.stop();
        const either = AbortSignal.any([options.signal, limit.signal]);
        return sends(target, job, { ...itsOptions, ...more, signal: either });
      };
      atWork.add(one);
      try {
        const found = endOf(await send());
        const isTimeout = isLate && found.result.status === "cancelled" && found.result.delivered;
        const error = `timeout after ${spec.timeout_s} s: it may still run`;
        let end: JobResult = isTimeout
          ? { state: "timeout", result: { ...found.result, status: "timeout", error } }
          : found;
        if (isTimeout && one.way === "job" && !signal.aborted) {
          // It may have ended since its host was asked.
          late = setTimeout(() => one.stop(), LATE_MS);
          const last = endOf(await send({ before: "job", maySend: () => false }));
          const duration_ms = found.result.duration_ms + last.result.duration_ms;
          if (last.state !== "unknown") end = { ...last, result: { ...last.result, duration_ms } };
        }
        results.set(target.label, end.result);
        return end;
      } catch (error) {
        if (!(error instanceof Unwritten)) throw error;
        const { label } = target;
        const status = "failed";
        const none = { label, ok: false, status, delivered: false, duration_ms: WRITE_MS } as const;
        const result = { ...none, error: UNWRITTEN };
        results.set(label, result);
        return { state: status, result };
      } finally {
        clearTimeout(late);
        atWork.delete(one);
      }
    },
    /** The host has ended. @param status and @param error are the result where there is no other. */
    ended({ label, way }: Pick<Entry, "label" | "way">, status: "failed" | "cancelled", error: string): void {
      const none: Delivered = { label, ok: false, status, delivered: way !== null, duration_ms: 0, error };
      if (isOver || reported.has(label)) return;
      reported.add(label);
      done(results.get(label) ?? none);
      results.delete(label);
      if (reported.size !== hosts) return;
      clearTimeout(timer);
      timer = setTimeout(left.resolve, LAST_MS);
    },
    [Symbol.dispose](): void {
      isOver = true;
      signal.removeEventListener("abort", leave);
      clearTimeout(timer);
    },
  };
  return broadcast;
}

/** A result after which the host is not asked again. */
function endOf({ state, result }: JobResult): JobResult {
  const isCancelled = !result.delivered && (state === "unseen" || result.status === "cancelled");
  if (isCancelled) return { state: "cancelled", result: { ...result, status: "cancelled" } };
  return { state: state === "lost" || state === "unseen" ? "unknown" : state, result };
}

/** That it is sent cannot be written down now. */
class Unwritten extends Error {}

const UNWRITTEN = "not sent: the ledger of plans (plans.db) cannot be written";
