/**
 * A broadcast: a plan that ends with its process, and a caller who waits for it.
 *
 * Promises. The caller gets one result for each host, with all that the host returned. It comes in time: a host that has not answered
 * within the time limits is `timeout`, and it comes also while the ledger cannot be written. When the caller stops waiting, nothing more begins; hosts that run the job are asked to end it,
 * and have {@link LEAVE_MS} to answer how it ended. What the hosts run is not kept, so that no other process sends it.
 */
import { resolvesWithin } from "../../lib/deadline";
import { printable } from "../../lib/sanitize";
import type { Delivery } from "../../wire/job/delivery";
import type { DeliverJob, DeliverOptions, JobResult, JobState, Way } from "../../wire/job/job";
import type { PlannedHost, Spec } from "./plan";
import type { Policy } from "./policy";
import type { Entry, Run } from "./run";
import type { FoundHost } from "./runner-parts";

/** The caller who waits for a broadcast. */
export interface BroadcastCaller {
  /** What each host runs. */
  readonly content: string;
  /** The host as the caller knows it. */
  targetOf(label: string): FoundHost | undefined;
  /** The host at that place: its result has that label, whatever the address book, and so the ledger, calls it meanwhile. */
  hostAt(n: number): PlannedHost | undefined;
  /** In whose share its connections count (`shareOf`). */
  readonly client: string | null;
  /** As of a policy (default: it is not). */
  readonly limitsEachServer?: boolean;
  /** The caller stops waiting. */
  readonly signal: AbortSignal;
  /**
   * Takes what became of it at each host, once, and the state of its job; undefined where that did not come back.
   *
   * @returns as `ended` of a policy.
   */
  done(result: Delivery, state: JobState | undefined): Promise<unknown> | undefined;
}

/** How much later than its time limits a host may answer, and how long it may then take to answer the last question, in milliseconds. */
const LATE_MS = 2_000;

/** How long hosts may take to answer how a job ended that they were asked to end, in milliseconds. */
const LEAVE_MS = 2_000;

/** How long it may take to write down a result, or that a job is sent, while others wait for it; then they go on without. */
const WRITE_MS = 5_000;

/** How long it may take to write the last of it down when every result is known, or the caller has left, in milliseconds. */
const LAST_MS = 1_000;

interface DeliveryInProgress {
  way: Way | null;
  /** Whether its host has not answered in time. */
  isLate: boolean;
  /** Ends what of it takes too long. */
  timer: Timer | undefined;
  stop(): void;
}

/** The policy of a broadcast. */
export class Broadcast implements Policy, Disposable {
  readonly isUrgent = true;
  readonly waits = false;
  readonly followsToken = false;
  readonly limitsEachServer: boolean;
  readonly #results = new Map<string, JobResult>();
  /** The hosts of which the caller has the result. */
  readonly #reported = new Set<string>();
  readonly #sendings = new Set<DeliveryInProgress>();
  readonly #left = Promise.withResolvers<void>();
  /** Resolves some time after the caller has stopped waiting, or has each result: then nothing is waited for. */
  readonly left = this.#left.promise;
  #isOver = false;
  #timer: Timer | undefined;

  /** @param sends sends a job. */
  constructor(
    private readonly caller: BroadcastCaller,
    private readonly spec: Spec,
    private readonly sends: DeliverJob,
  ) {
    const { signal, limitsEachServer = false } = caller;
    this.limitsEachServer = limitsEachServer;
    if (signal.aborted) this.#leave();
    else signal.addEventListener("abort", this.#leave, { once: true });
  }

  readonly #leave = (): void => {
    // What was sent as a job can be ended at the host, and nothing else.
    for (const { way, stop } of this.#sendings) if (way !== "job") stop();
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      for (const { stop } of this.#sendings) stop();
      this.#timer = setTimeout(this.#left.resolve, LAST_MS);
    }, LEAVE_MS);
  };

  clientOf(): string | null {
    return this.caller.client;
  }

  targetOf(label: string): FoundHost | undefined {
    return this.caller.targetOf(label);
  }

  hostAt(n: number): PlannedHost | undefined {
    return this.caller.hostAt(n);
  }

  isLeft(): boolean {
    return this.caller.signal.aborted;
  }

  whyStopped(run: Run): string | undefined {
    // Hosts at work are asked to end their jobs; then each has its result.
    if (this.isLeft() && run.busy === 0) return "cancelled";
    if (run.plan.state !== "running") return undefined;
    if (run.hasTooManyFailed()) return `not begun: ${run.failures() - run.plan.forgiven} failed`;
    if (!run.bad || !run.isWaveOver()) return undefined;
    return `not begun: the canary ${printable(run.bad.label, 130)} is not ok`;
  }

  /** Resolves also after some time, with false, as the caller does not wait for a disk. */
  written(step: Promise<unknown>): Promise<boolean> {
    return resolvesWithin(WRITE_MS, step);
  }

  /** As any {@link DeliverJob}; its result is an end, as nobody asks the host again. */
  async deliver(...[target, job, options]: Parameters<DeliverJob>): Promise<JobResult> {
    const sending: DeliveryInProgress = { way: null, isLate: false, timer: undefined, stop() {} };
    const itsOptions = this.#optionsFor(sending, options);
    const send = (more: Partial<DeliverOptions> = {}) => {
      const limit = new AbortController();
      sending.stop = () => limit.abort();
      if (this.isLeft() && sending.way !== "job") sending.stop();
      const signal = AbortSignal.any([options.signal, limit.signal]);
      return this.sends(target, job, { ...itsOptions, ...more, signal });
    };
    this.#sendings.add(sending);
    try {
      const end = await this.#endOf(sending, send);
      this.#results.set(target.label, end);
      return end;
    } catch (error) {
      if (!(error instanceof LedgerFault)) throw error;
      const result = { ...none(target.label, "failed", UNWRITTEN), duration_ms: WRITE_MS };
      const failed = { state: "refused", result } as const;
      this.#results.set(target.label, failed);
      return failed;
    } finally {
      clearTimeout(sending.timer);
      this.#sendings.delete(sending);
    }
  }

  #optionsFor(sending: DeliveryInProgress, options: DeliverOptions): DeliverOptions {
    const { delivery_timeout_s, timeout_s } = this.spec;
    return {
      ...options,
      client: this.caller.client,
      orExecute: true,
      maySend: () => !this.isLeft() && options.maySend?.() !== false,
      sent: async (way, records) => {
        // What is on its way by `/execute` is stopped at once; what is on its way as a job, only at the host.
        sending.way = way;
        clearTimeout(sending.timer);
        if (!(await this.written(Promise.try(options.sent, way, records)))) throw new LedgerFault();
        sending.timer = setTimeout(
          () => {
            sending.isLate = true;
            sending.stop();
          },
          (delivery_timeout_s + timeout_s) * 1_000 + LATE_MS,
        );
      },
    };
  }

  /** How it ends; a host that is late is asked a last time. */
  async #endOf(sending: DeliveryInProgress, send: (more?: Partial<DeliverOptions>) => Promise<JobResult>) {
    const found = endOf(await send());
    const isTimeout = sending.isLate && found.result.status === "cancelled" && found.result.delivered;
    if (!isTimeout) return found;
    if (sending.way === "job" && !this.isLeft()) {
      // It may have ended since its host was asked.
      sending.timer = setTimeout(() => sending.stop(), LATE_MS);
      const last = endOf(await send({ before: "job", maySend: () => false }));
      const duration_ms = found.result.duration_ms + last.result.duration_ms;
      if (last.state !== "unknown") return { ...last, result: { ...last.result, duration_ms } };
    }
    const error = `timeout after ${this.spec.timeout_s} s: it may still run`;
    return { state: "timeout", result: { ...found.result, status: "timeout", error } } as const;
  }

  ended(
    { label, way }: Pick<Entry, "label" | "way">,
    status: "failed" | "cancelled",
    error: string,
  ): Promise<unknown> | undefined {
    if (this.#isOver || this.#reported.has(label)) return undefined;
    this.#reported.add(label);
    const known = this.#results.get(label);
    const result = known?.result ?? { ...none(label, status, error), delivered: way !== null };
    this.#results.delete(label);
    const handedOver = this.caller.done(result, known?.state);
    if (this.#reported.size === this.spec.waves.at(-1)) {
      clearTimeout(this.#timer);
      this.#timer = setTimeout(this.#left.resolve, LAST_MS);
    }
    return handedOver;
  }

  [Symbol.dispose](): void {
    this.#isOver = true;
    this.caller.signal.removeEventListener("abort", this.#leave);
    clearTimeout(this.#timer);
  }
}

/** The result of a host to which nothing was sent. */
const none = (label: string, status: "failed" | "cancelled", error: string): Delivery => ({
  label,
  ok: false,
  status,
  delivered: false,
  duration_ms: 0,
  error,
});

/** A result after which the host is not asked again. */
function endOf({ state, result }: JobResult): JobResult {
  const isCancelled = !result.delivered && (state === "unseen" || result.status === "cancelled");
  if (isCancelled) return { state: "cancelled", result: { ...result, status: "cancelled" } };
  return { state: state === "lost" || state === "unseen" ? "unknown" : state, result };
}

/** That it is sent cannot be written down now. */
class LedgerFault extends Error {}

const UNWRITTEN = "not sent: the ledger of plans (plans.db) cannot be written";
