/**
 * Has every host hear which desk this is, where a desk was taken over, may have been, or is a further one of the same hosts. A host that
 * has heard of a later generation says so: from it, a desk with standbys learns at its start that one of them has taken over.
 *
 * The promise: hosts are notified at the start, before they get anything else that a server looks after; each one that comes back is
 * notified then, whatever becomes of those at another NATS server; and those that have not answered are notified again and again, ever
 * less often.
 */
import type { RemoteServer } from "../../../client/carrier";
import { type EventFeed, newEvents } from "../../../core/events";
import { type Backoff, doubled, jitter } from "../../../lib/backoff";
import { messageOf } from "../../../lib/errors";
import type { Log } from "../../../lib/log";
import { serverOver } from "../../../lib/per-server";
import { isFirst } from "../../../wire/join/office";
import type { BookHost, Fence } from "./fence";

/** The pauses before those are notified again that have not answered. */
const AGAIN: Backoff = { firstMs: 5_000, longestMs: 5 * 60_000 };

/** The address book, as far as it says who is to hear. */
interface Book<H extends BookHost> {
  hosts(): readonly H[];
  /** @throws where it has no host with that label. */
  host(label: string): H;
  reach(host: H): RemoteServer;
}

interface TellingUses<H extends BookHost> {
  readonly fence: Pick<Fence, "office" | "tellAll" | "hasHeard">;
  readonly book: Book<H>;
  readonly log: Log;
  /** What happens in this process: hosts that are there again. */
  readonly events: EventFeed;
  /** Whether this machine is the desk. */
  mayTell(): boolean;
  /** Whether it has standbys: one of them may have taken it over. */
  hasStandbys(): boolean;
  /** The pauses before those are notified again that have not answered (default: 5 s to 5 minutes). */
  readonly again?: Backoff;
}

/** How many hosts know which desk this is. */
export interface HeardCount {
  /** Those that have joined. */
  readonly hosts: number;
  readonly heard: number;
  /** Those that cannot hear: with an earlier svc, they take the jobs of either desk. */
  readonly older: number;
}

export interface Notifier {
  /** Notifies hosts where it is time, and waits for nothing. */
  look(): void;
  /** Null where it is plain which desk this is, or it is none. */
  heard(): HeardCount | null;
  /** Whether each host was asked once, and has answered or not. */
  hasAsked(): boolean;
  stop(): Promise<void>;
}

export function createTelling<H extends BookHost>({
  fence,
  book,
  log,
  events,
  mayTell,
  hasStandbys,
  again = AGAIN,
}: TellingUses<H>): Notifier {
  const ending = new AbortController();
  const { signal } = ending;
  let due = 0;
  let failures = 0;
  let notifiedAs = "";
  let hasAsked = false;
  let telling: Promise<void> | undefined;
  const reach = (host: H) => book.reach(host);
  const failed = (error: unknown) => log.warn(`hosts do not hear which desk this is: ${messageOf(error)}`);

  const tellAll = async () => {
    const silent = await fence.tellAll(book.hosts(), reach, signal);
    hasAsked = true;
    const pauseMs = silent > 0 ? jitter(doubled(again, failures++)) : again.longestMs;
    due = performance.now() + pauseMs;
  };
  const mayBegin = () => !signal.aborted && (!isFirst(fence.office()) || hasStandbys()) && mayTell();
  /** Those that have come back need not wait for those that are away. */
  const tellBack = async (labels: readonly string[]) => {
    const hosts = labels.flatMap((label) => {
      try {
        return [book.host(label)];
      } catch {
        // It was removed.
        return [];
      }
    });
    await fence.tellAll(hosts, reach, signal);
  };
  const returns = hearReturns(events, mayBegin, tellBack, failed);

  return {
    look() {
      if (telling || !mayBegin()) return;
      const office = JSON.stringify(fence.office());
      // A person may have reinstated this desk.
      if (office !== notifiedAs) [notifiedAs, due, failures] = [office, 0, 0];
      if (performance.now() < due) return;
      telling = tellAll()
        .catch(failed)
        .finally(() => {
          telling = undefined;
        });
    },
    heard: () => (isFirst(fence.office()) || !mayTell() ? null : counted(book.hosts(), fence)),
    hasAsked: () => hasAsked,
    async stop() {
      ending.abort();
      await Promise.all([telling, returns.stop()]);
    },
  };
}

/** Hosts that have come back at one server. */
interface ReturnedHosts {
  readonly labels: Set<string>;
  /** While some of them are notified. */
  telling: Promise<void> | undefined;
}

/**
 * Has hosts that come back be notified: those at one server (`lib/per-server.ts`) one batch after the other, and without waiting for another.
 *
 * @param mayTell whether any is notified now; those that have come back when none is are forgotten.
 * @param tell notifies the hosts of these labels. @param failed gets why they were not.
 */
function hearReturns(
  events: EventFeed,
  mayTell: () => boolean,
  tell: (labels: readonly string[]) => Promise<void>,
  failed: (error: unknown) => void,
) {
  const returned = new Map<string, ReturnedHosts>();
  const note = (label: string, address: string) => {
    const server = serverOver(address);
    const there: ReturnedHosts = returned.get(server) ?? { labels: new Set(), telling: undefined };
    there.labels.add(label);
    returned.set(server, there);
  };
  const tellThose = async ({ labels }: ReturnedHosts) => {
    while (labels.size > 0) {
      const those = [...labels];
      labels.clear();
      if (mayTell()) await tell(those);
    }
  };
  const cameBack = newEvents<{ readonly label: string; readonly base_url: string }>(events, ["host.up"]);
  const endListening = events.listen(() => {
    for (const { label, base_url } of cameBack()) note(label, base_url);
    for (const one of returned.values()) {
      if (one.labels.size === 0 || one.telling) continue;
      one.telling = tellThose(one)
        .catch(failed)
        .finally(() => {
          one.telling = undefined;
        });
    }
  });
  return {
    /** Resolves once nobody is notified any more. */
    async stop(): Promise<void> {
      endListening();
      await Promise.all(Array.from(returned.values(), (one) => one.telling));
    },
  };
}

function counted(hosts: readonly BookHost[], fence: Pick<Fence, "hasHeard">): HeardCount {
  const counts = { hosts: 0, heard: 0, older: 0 };
  for (const host of hosts) {
    if (!host.member) continue;
    counts.hosts++;
    const has = fence.hasHeard(host);
    if (has) counts.heard++;
    if (has === false) counts.older++;
  }
  return counts;
}
