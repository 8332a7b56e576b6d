/**
 * Watching USB devices come and go.
 *
 * Polls at an interval, and at once when the addon reports a change; what is there at the start is not announced. The
 * newest 500 events are kept under numbers that only grow, so that a caller can find out whether it missed any. A poll
 * or a listener that fails is logged and ends nothing.
 */
import type * as v from "valibot";
import { messageOf } from "../../lib/errors";
import type { Log } from "../../lib/log";
import type { USB_EVENTS, UsbEvent, UsbListing } from "./device";
import { diffListings } from "./diff";
import type { UsbLister } from "./lister";

export const DEFAULT_INTERVAL_S = 2;
export const MIN_INTERVAL_S = 0.25;
export const MAX_INTERVAL_S = 3_600;
/** Events kept. */
export const MAX_EVENTS = 500;

/** Watches devices come and go. */
export interface UsbWatcher {
  readonly running: boolean;
  /** Seconds between polls, also while it is stopped. */
  readonly intervalS: number;
  /**
   * Starts, or changes the interval. Resolves when the first listing has succeeded or failed.
   *
   * @param seconds from the end of a poll to the next, at least {@link MIN_INTERVAL_S}.
   */
  start(seconds?: number): Promise<void>;
  stop(): void;
  /** Polls now; a poll that is already running is followed by another. */
  poll(): Promise<void>;
  recentEvents(query?: EventQuery): v.InferOutput<typeof USB_EVENTS>;
  /** {@link recentEvents} after the number `since`, for programs that use svc. */
  recent_events(since?: number): v.InferOutput<typeof USB_EVENTS>;
  /** Calls `listener` with each event from now on. Returns a function that ends it. */
  subscribe(listener: (event: UsbEvent) => void): () => void;
}

/** @param changed called when it starts, stops or has another interval. */
export function createUsbWatcher(
  lister: UsbLister,
  log: Log,
  { now = () => new Date(), changed = () => {} }: { now?: () => Date; changed?: () => void } = {},
): UsbWatcher {
  const events = createUsbEvents(log);
  let intervalS = DEFAULT_INTERVAL_S;
  let known: UsbListing | undefined;
  /** Ends the watch of the lister; undefined while this is stopped. */
  let unwatch: (() => void) | undefined;
  let timer: NodeJS.Timeout | undefined;
  let polling: Promise<void> | undefined;
  let pollAgain = false;
  let lastError: string | undefined;

  const take = (listing: UsbListing) => {
    const changes = known ? diffListings(known, listing) : [];
    known = listing;
    const at = now().toISOString();
    for (const change of changes) events.announce({ ...change, at });
  };

  /** Logs the first failure, each new reason, and the recovery. */
  const logFailure = (error: string | undefined) => {
    if (error === lastError) return;
    lastError = error;
    if (error === undefined) log.info("USB devices can be listed again");
    else log.warn(`USB devices are watched and cannot be listed: ${error}`);
  };

  const pollOnce = async () => {
    try {
      const listing = await lister.list();
      if (unwatch) take(listing);
      logFailure(undefined);
    } catch (error) {
      logFailure(messageOf(error));
    }
  };

  const pollUntilQuiet = async () => {
    do {
      pollAgain = false;
      await pollOnce();
    } while (pollAgain && unwatch);
    polling = undefined;
    if (!unwatch) return;
    clearTimeout(timer);
    timer = setTimeout(poll, intervalS * 1_000);
  };

  const poll = (): Promise<void> => {
    if (polling) pollAgain = true;
    polling ??= pollUntilQuiet();
    return polling;
  };

  const recentEvents = (query: EventQuery = {}): v.InferOutput<typeof USB_EVENTS> => ({
    ...events.recent(query),
    watcher_running: unwatch !== undefined,
  });

  return {
    get running() {
      return unwatch !== undefined;
    },
    get intervalS() {
      return intervalS;
    },
    start(seconds = DEFAULT_INTERVAL_S) {
      intervalS = Math.max(seconds, MIN_INTERVAL_S);
      unwatch ??= lister.watch(() => void poll());
      changed();
      return poll();
    },
    stop() {
      clearTimeout(timer);
      if (!unwatch) return;
      unwatch();
      unwatch = undefined;
      known = undefined;
      changed();
    },
    poll,
    recentEvents,
    recent_events: (since = 0) => recentEvents({ since }),
    subscribe: events.subscribe,
  };
}

interface EventQuery {
  readonly since?: number | undefined;
  /** The newest so many of those after `since`. */
  readonly limit?: number | undefined;
}

/** The newest events, and who is called with each. */
function createUsbEvents(log: Log) {
  const kept: UsbEvent[] = [];
  const listeners = new Set<(event: UsbEvent) => void>();
  let newestSeq = 0;
  return {
    announce(event: Omit<UsbEvent, "seq">): void {
      const numbered = { seq: ++newestSeq, ...event };
      kept.push(numbered);
      if (kept.length > MAX_EVENTS) kept.shift();
      for (const listener of listeners) {
        try {
          listener(numbered);
        } catch (error) {
          log.error(`a listener for USB events failed: ${messageOf(error)}`, error);
        }
      }
    },
    recent({ since = 0, limit = MAX_EVENTS }: EventQuery) {
      const events = kept.filter(({ seq }) => seq > since).slice(-limit);
      return {
        events,
        count: events.length,
        oldest_seq: kept[0]?.seq ?? null,
        newest_seq: newestSeq,
      };
    },
    subscribe(listener: (event: UsbEvent) => void): () => void {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}
