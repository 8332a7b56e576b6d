/**
 * Sending what is in the queue: as many deliveries at once as each receiver takes, and again after a pause what it did not take.
 *
 * The promise: a slow receiver delays neither others nor this host.
 */
import type { OldestKept } from "../../lib/age";
import { type Backoff, doubled, jitter } from "../../lib/backoff";
import { Failure, messageOf, unavailable } from "../../lib/errors";
import type { Log } from "../../lib/log";
import type { Hook, Hooks } from "./hooks";
import type { Delivery, Queue } from "./queue";
import { type DeliveryResult, deliver } from "./send";

/** For how long a delivery is tried again, in milliseconds: a day. */
const PATIENCE_MS = 86_400_000;

/** The pauses before the next attempt. */
export const PAUSES: Backoff = { firstMs: 5_000, longestMs: 3_600_000 };

/** How many deliveries to one webhook are under way at once. */
const MAX_BUSY = 4;

/** How long before the next attempt, in milliseconds. */
export const pauseAfter = (attempts: number): number => jitter(doubled(PAUSES, attempts));

export interface DeliveryParts {
  readonly log: Log;
  readonly hooks: Pick<Hooks, "disable" | "isGone" | "list">;
  readonly hooksName: string;
  queue(): Queue;
  /** The queue; undefined where nothing has been put into it yet. */
  existingQueue(): Queue | undefined;
  /** The webhooks that get events. */
  active(): Promise<readonly Hook[]>;
  /** Breaks off what is under way. */
  readonly signal: AbortSignal;
  /** Milliseconds since 1970 of a clock that nobody sets. */
  now(): number;
  /** How long before the next attempt, in milliseconds. */
  pause(attempts: number): number;
  /** Says which deliveries are given up. */
  readonly oldest: OldestKept;
}

interface Deliveries {
  /**
   * Begins deliveries that are due, as many as may be under way, and sets the clock for the next.
   *
   * @throws where the queue cannot be read.
   */
  beginDue(): void;
  /** Sends at once to a receiver that was not well. Callers must do so when its webhook is removed. */
  forget(hook: string): void;
  /** Sets no clock any more. Resolves once what is under way has ended. Callers must have aborted `signal`. */
  stop(): Promise<void>;
}

export function createDeliveries(parts: DeliveryParts): Deliveries {
  const { log, hooks, hooksName, queue, existingQueue, active, signal, now, pause, oldest } = parts;
  const busy = new Map<number, { readonly hook: string; readonly ended: Promise<void> }>();
  const unwell = createUnwell(now, pause);
  const settle = createSettle(parts, unwell);
  let timer: Timer | undefined;

  const beginDue = (): void => {
    clearTimeout(timer);
    if (signal.aborted) return;
    const at = now();
    const waiting = existingQueue();
    if (!waiting) return;
    for (const [hook, count] of waiting.expire(oldest(PATIENCE_MS))) {
      log.error(`webhook ${hook}: ${count} given up: not delivered within a day`);
    }
    const times = waiting.hooks().map((hook) => beginFor(hook, waiting, at));
    // Those under way look again when they end.
    const next = Math.min(...times.filter((time) => time > at), at + PAUSES.longestMs);
    if (times.length > 0) timer = setTimeout(pump, next - at).unref();
  };
  const pump = (): void => {
    try {
      beginDue();
    } catch (error) {
      log.error(`webhooks: the queue cannot be read: ${messageOf(error)}`, error);
    }
  };

  /** Begins deliveries to one webhook. @returns when the next is due; infinity where one under way looks again. */
  const beginFor = (hook: string, waiting: Queue, at: number): number => {
    const { failures, until } = unwell.stateOf(hook);
    const own = [...busy.values()].filter((one) => one.hook === hook).length;
    // One delivery finds out whether a receiver is well again.
    const room = (failures > 0 ? 1 : MAX_BUSY) - own;
    if (until > at || room <= 0) return until > at ? until : Number.POSITIVE_INFINITY;
    const next = waiting.due(hook, at, MAX_BUSY + room).filter(({ id }) => !busy.has(id));
    for (const delivery of next.slice(0, room)) begin(delivery);
    if (next.length > 0) return Number.POSITIVE_INFINITY;
    return waiting.firstDue(hook) ?? Number.POSITIVE_INFINITY;
  };

  const begin = (delivery: Delivery) => {
    const ended = perform(delivery)
      .catch((error) => {
        // Such as a file that cannot be read: what waits is kept until it can.
        const again = unwell.postpone(delivery.hook, 0);
        log.error(
          `webhook ${delivery.hook}: ${messageOf(error)}, again in ${secondsUntil(again, now())} s`,
          error instanceof Failure ? undefined : error,
        );
      })
      .finally(() => {
        busy.delete(delivery.id);
        pump();
      });
    busy.set(delivery.id, { hook: delivery.hook, ended });
  };

  const perform = async (delivery: Delivery): Promise<void> => {
    const { hook: name, message: id, body } = delivery;
    const hook = (await active()).find((one) => one.name === name);
    if (!hook && !isOver(name)) throw unavailable(`its entry in ${hooksName} cannot be used`);
    if (!hook) return queue().clear(name, false);
    const sent = await deliver(hook, { id, body }, { signal });
    // It was broken off: it is sent again after the start.
    if (signal.aborted && !sent.ok) return;
    await settle(delivery, sent);
  };

  /** Whether the webhook gets nothing more: it was removed, is disabled, or its token has ended. */
  const isOver = (name: string): boolean =>
    hooks.isGone(name) || hooks.list().some((one) => one.name === name);

  return {
    beginDue,
    forget: unwell.forget,
    async stop() {
      clearTimeout(timer);
      await Promise.all([...busy.values()].map(({ ended }) => ended));
    },
  };
}

/** Takes note of what became of a delivery, and when it is sent again. */
function createSettle({ log, hooks, queue, now, pause }: DeliveryParts, unwell: Failures) {
  return async (delivery: Delivery, sent: DeliveryResult): Promise<void> => {
    const { hook, message, type, attempts } = delivery;
    const what = `webhook ${hook}: ${type} ${message}`;
    const how = sent.error ?? `HTTP ${sent.status}`;
    if (sent.ok) {
      unwell.forget(hook);
      queue().note(delivery, sent);
      return log.info(`${what} delivered (${how}, ${sent.duration_ms} ms)`);
    }
    if (sent.status === 410) {
      queue().note(delivery, sent);
      await hooks.disable(hook, "its receiver answered 410 Gone");
      queue().clear(hook, false);
      return log.error(`webhook ${hook} is disabled: its receiver answered 410 Gone`);
    }
    const asked = Math.min((sent.retry_after ?? 0) * 1_000, PAUSES.longestMs);
    // Whether it is this message that the receiver does not want, or none at present.
    const isUnwell = sent.status === null || sent.status === 429 || sent.status >= 500;
    if (!isUnwell) unwell.forget(hook);
    const again = isUnwell ? unwell.postpone(hook, asked) : now() + Math.max(asked, pause(attempts));
    queue().note(delivery, sent, again);
    log.warn(`${what} not delivered (${how}), again in ${secondsUntil(again, now())} s`);
  };
}

const secondsUntil = (time: number, now: number) => Math.ceil((time - now) / 1_000);

/** The hooks whose last delivery failed. */
interface Failures {
  /** How often in a row it took nothing, and until when nothing is sent to it. */
  stateOf(hook: string): { readonly failures: number; readonly until: number };
  /** Sends nothing to its receiver for a while, each time longer. @returns until when. */
  postpone(hook: string, leastMs: number): number;
  forget(hook: string): void;
}

/** The receivers that take nothing at present. */
function createUnwell(now: () => number, pause: (attempts: number) => number): Failures {
  const unwell = new Map<string, { readonly failures: number; readonly until: number }>();
  return {
    stateOf: (hook) => unwell.get(hook) ?? WELL,
    postpone(hook, leastMs) {
      const failures = (unwell.get(hook)?.failures ?? 0) + 1;
      const until = now() + Math.max(leastMs, pause(failures - 1));
      unwell.set(hook, { failures, until });
      return until;
    },
    forget(hook) {
      unwell.delete(hook);
    },
  };
}

const WELL = { failures: 0, until: 0 };
