/**
 * Waits for hosts just after a hub has started: each of them dials it within seconds, and a request that came first would find no
 * link to a host that is well.
 */
import type { Deadline } from "../../client/carrier";
import { resolvesWithin } from "../../lib/deadline";

/** For how long after its start a hub waits for hosts, in milliseconds: the first pauses of `dial.ts` together are 3 s at most. */
const SETTLE_MS = 3_000;

/** Which part of its time a request may wait: it still has to be answered. */
const PART = 0.8;

/** The hosts that requests wait for. */
export interface Arrivals {
  /**
   * Resolves once the host is linked, once hosts are waited for no longer, or once most of the request's time is over.
   *
   * @returns undefined where hosts are waited for no longer.
   */
  wait(hostId: string, until: Deadline): Promise<void> | undefined;
  arrived(hostId: string): void;
  /** The hub stops: nothing is waited for any longer. */
  end(): void;
}

/** @param now milliseconds since any point in time, of a clock that nobody sets. */
export function createArrivals(now: () => number): Arrivals {
  const settled = now() + SETTLE_MS;
  const awaited = new Map<string, PromiseWithResolvers<void>>();
  let hasEnded = false;
  const arrived = (hostId: string) => {
    awaited.get(hostId)?.resolve();
    awaited.delete(hostId);
  };
  return {
    wait(hostId, { at, ms }) {
      const left = at - performance.now();
      const waitMs = Math.min(settled - now(), left - ms * (1 - PART));
      if (hasEnded || waitMs <= 0) return undefined;
      const known = awaited.get(hostId) ?? Promise.withResolvers<void>();
      awaited.set(hostId, known);
      return resolvesWithin(waitMs, known.promise).then(() => {});
    },
    arrived,
    end() {
      hasEnded = true;
      for (const hostId of [...awaited.keys()]) arrived(hostId);
    },
  };
}
