/**
 * The collector of a desk: it looks at the audit log of each host that has joined, every 12 s, spread evenly; has good
 * checkpoints cosigned by the desk's own witness and by peers; and hands the cosignatures back to the host.
 *
 * The promise: a host that does not answer delays no other.
 */
import type { RemoteServer } from "../../client/carrier";
import { ANY_PART, jitter } from "../../lib/backoff";
import { descriptorLimit, outgoingOf } from "../../lib/descriptors";
import { messageOf, notFound } from "../../lib/errors";
import { printable } from "../../lib/sanitize";
import type { Store } from "../../wire/witness/store";
import { createAnswerClock } from "./answer-times";
import { createFormer, type FormerLogs } from "./former";
import { PACE_MS } from "./hand-back";
import type { Member } from "./peer-opinion";
import { createPeers } from "./peers";
import { type LogStatus, newLogStatus } from "./states";
import { createWatcher, EVERY_MS, type Watch, type WatcherUses } from "./watch";

/** How often the address book is read and what was found is stored, in milliseconds. */
const UPKEEP_MS = 1_000;

const NOT_STORED = "what this desk finds about audit logs is not stored: ";

/** How long nothing is to be done, in milliseconds. A host at which something is done is due when that has ended. */
export function pauseFor(watches: Iterable<Pick<Watch<object>, "busy" | "due">>, now: number): number {
  let due = now + UPKEEP_MS;
  for (const watch of watches) if (!watch.busy) due = Math.min(due, watch.due);
  return Math.max(50, due - now);
}

/** An entry of the address book. */
export interface Entry {
  readonly label: string;
  readonly member?: Member["member"] | undefined;
}

interface CollectorOptions<E extends Entry>
  extends Pick<WatcherUses<E>, "store" | "witness" | "deskKey" | "verifyRow" | "log" | "publish"> {
  readonly book: { hosts(): readonly E[]; reach(entry: E): RemoteServer };
  /** At how many hosts at a time peers are asked (default: half the connections that this process may have). */
  readonly mostCollecting?: number;
}

/** What looks at the audit logs of the hosts of a desk. */
export interface Collector {
  /** Begins to look at the logs, if it has not begun. */
  start(): void;
  /** What it knows of each host, by its id; also of those that have left with a broken log. */
  statuses(): ReadonlyMap<string, LogStatus>;
  /** Forgets the broken log of a host that has left. @throws `not_found` where there is none of that label. */
  forget(label: string): void;
  /** Looks at the log of a host now. Resolves when that is over. */
  lookNow(label: string): Promise<LogStatus>;
  /**
   * Accepts the log of a host as it is now, on record on that host.
   *
   * @throws `conflict` when it is being restored, or the host does not prove that this is on record; a {@link RemoteError} when it
   *   does not answer.
   */
  restore(label: string, reason: string, signal: AbortSignal): Promise<LogStatus>;
  stop(): void;
}

export function createCollector<E extends Entry>({ book, ...uses }: CollectorOptions<E>): Collector {
  const { store, deskKey, log } = uses;
  const watches = new Map<string, Watch<E>>();
  const former = createFormer(store);
  const ending = new AbortController();
  const reach = (entry: E) => book.reach(entry);
  const peers = createPeers<E & Member>(reach, deskKey);
  const watcher = createWatcher<E>({
    mostCollecting: Math.ceil(outgoingOf(descriptorLimit()) / 2),
    ...uses,
    peers,
    reach,
    watches,
    former,
    ending: ending.signal,
  });
  const followBook = () => follow(book, watches, { former, peers, keep: watcher.keep });
  const storeStatuses = () => storeChanged(store, watches);
  let timer: Timer | undefined;
  let kept = Number.NEGATIVE_INFINITY;
  let isFailing = false;

  const tick = () => {
    const now = performance.now();
    try {
      if (now - kept >= UPKEEP_MS) {
        kept = now;
        followBook();
        storeStatuses();
        isFailing = false;
      }
    } catch (error) {
      if (!isFailing) log.warn(NOT_STORED + messageOf(error));
      isFailing = true;
    }
    for (const watch of watches.values()) {
      if (watch.busy || watch.due > now) continue;
      watcher.run(watch).catch((error) => log.warn(`an audit log was not looked at: ${messageOf(error)}`));
    }
    timer = setTimeout(tick, pauseFor(watches.values(), now));
    timer.unref();
  };

  const watchOf = (label: string) => {
    const found = [...watches.values()].find(({ entry }) => entry.label === label);
    if (!found) throw notFound(`no host that has joined is labelled ${label}`);
    return found;
  };

  return {
    start() {
      if (!timer && !ending.signal.aborted) tick();
    },
    statuses: () =>
      new Map([
        ...former.broken(),
        ...Array.from(watches.values(), ({ hostId, status }) => [hostId, status] as const),
      ]),
    forget(label) {
      followBook();
      if (former.forget(label) === 0)
        throw notFound(`no host has left with a broken log that was labelled ${printable(label, 130)}`);
    },
    async lookNow(label) {
      followBook();
      const watch = watchOf(label);
      if (!watch.busy) await watcher.run(watch);
      return watch.status;
    },
    async restore(label, reason, signal) {
      followBook();
      const watch = watchOf(label);
      const status = await watcher.restore(watch, reason, signal);
      storeStatuses();
      return status;
    },
    stop() {
      clearTimeout(timer);
      ending.abort();
      try {
        storeStatuses();
      } catch (error) {
        log.warn(NOT_STORED + messageOf(error));
      }
    },
  };
}

const isMember = <E extends Entry>(entry: E): entry is E & Member => entry.member !== undefined;

interface FollowUses<E> {
  readonly former: FormerLogs;
  readonly peers: { forget(hostId: string): void };
  keep(watch: Watch<E>, status: LogStatus): void;
}

/** Follows the address book: hosts join and leave. */
function follow<E extends Entry>(
  book: CollectorOptions<E>["book"],
  watches: Map<string, Watch<E>>,
  { former, peers, keep }: FollowUses<E>,
): void {
  const members = new Map(
    book.hosts().flatMap((entry) => (isMember(entry) ? [[entry.member.host_id, entry] as const] : [])),
  );
  for (const [id, entry] of members) {
    const watch = watches.get(id);
    if (!watch) {
      watches.set(id, begin(entry, former.take(id), watches.size));
      continue;
    }
    watch.entry = entry;
    if (entry.label !== watch.status.label) keep(watch, { ...watch.status, label: entry.label });
  }
  const leaving = [...watches.values()].filter(({ hostId }) => !members.has(hostId));
  for (const { hostId } of leaving) {
    watches.delete(hostId);
    peers.forget(hostId);
  }
  former.leave(leaving);
}

/** @param known its status from before. @param count how many hosts are watched. */
function begin<E>(entry: E & Member, known: LogStatus | undefined, count: number): Watch<E> {
  return {
    hostId: entry.member.host_id,
    entry,
    busy: undefined,
    answering: createAnswerClock(),
    handed: undefined,
    status: { ...(known ?? newLogStatus()), label: entry.label, left: null },
    isStored: known?.left === null && known.label === entry.label,
    due: performance.now() + jitter(Math.min(EVERY_MS, 1_000 + PACE_MS * count), ANY_PART),
  };
}

/** Stores the statuses that are not stored yet, in one commit. @throws where the store cannot be written. */
function storeChanged(store: Store, watches: ReadonlyMap<string, Watch<unknown>>): void {
  const changed = [...watches.values()].filter(({ isStored }) => !isStored);
  if (changed.length === 0) return;
  store.commit(() => {
    for (const { hostId, status } of changed) store.setStatus(hostId, status);
  });
  for (const watch of changed) watch.isStored = true;
}
