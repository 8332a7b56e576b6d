/**
 * How a desk watches the audit log of one host: looks at it, has its checkpoints cosigned, and remembers what it found.
 *
 * The promises: one thing at a time is done at a host; a restore ends the look that is under way. What a look finds is either
 * good and cosigned, or said.
 */
import { type Carrier, RemoteError, type RemoteServer } from "../../client/carrier";
import { carrierTo } from "../../client/connection";
import { jitter } from "../../lib/backoff";
import { conflict, Failure } from "../../lib/errors";
import type { SigningKey } from "../../lib/signing-key";
import type { Store } from "../../wire/witness/store";
import type { Witness } from "../../wire/witness/witness";
import { createAcceptance } from "./acceptance";
import type { AnswerClock } from "./answer-times";
import { createCollecting } from "./collect";
import { createFindings, type FindingParts } from "./findings";
import { type HandedBack, isDue } from "./hand-back";
import { type Finding, keyOf, type LogKey, lookAt } from "./look";
import type { Member } from "./peer-opinion";
import type { Peers } from "./peers";
import { reasonOf } from "./reasons";
import { type Restore, restore } from "./restore";
import { BROKEN, type LogStatus, logOf, withOwnRows } from "./states";

/** How often the log of a host is looked at, in milliseconds. */
export const EVERY_MS = 12_000;

/** The least time between two looks, in milliseconds. */
const PAUSE_MS = 3_000;

/** A look, or a restore. */
interface WatchWork {
  readonly ended: Promise<void>;
  readonly stop: AbortController | undefined;
}

/** A host that is watched. */
export interface Watch<E> {
  readonly hostId: string;
  entry: E & Member;
  status: LogStatus;
  isStored: boolean;
  /** What is done there now: a look can be stopped, a restore cannot. */
  busy: WatchWork | undefined;
  /** When the next look is due, on the monotonic clock. */
  due: number;
  answering: AnswerClock;
  handed: HandedBack | undefined;
}

export interface WatcherUses<E> extends FindingParts<E> {
  readonly store: Store;
  readonly witness: Witness;
  readonly deskKey: SigningKey;
  readonly verifyRow: Restore["verifyRow"];
  readonly peers: Peers<E & Member>;
  reach(entry: E): RemoteServer;
  readonly ending: AbortSignal;
  /**
   * At how many hosts at a time peers are asked. Whoever does that has a connection and waits for others: if it could have all that
   * this process may have, nobody would ever get one.
   */
  readonly mostCollecting: number;
}

/** What is done at each host. */
interface Watcher<E> {
  /** Replaces the status of a host. */
  keep(watch: Watch<E>, status: LogStatus): void;
  /** Looks at the log. Callers must not call it while the host is busy. @throws what is no fault of the host. */
  run(watch: Watch<E>): Promise<void>;
  /** As `restore` of the collector. */
  restore(watch: Watch<E>, reason: string, signal: AbortSignal): Promise<LogStatus>;
}

export function createWatcher<E>({
  store,
  witness,
  deskKey,
  verifyRow,
  log,
  publish,
  peers,
  reach,
  watches,
  former,
  ending,
  mostCollecting,
}: WatcherUses<E>): Watcher<E> {
  /** At how many hosts peers are asked now. */
  let collecting = 0;

  const { keep, note, othersOf } = createFindings({ store, log, publish, watches, former });
  const accept = createAcceptance({ store, witness, keep });
  const collect = createCollecting({ witness, deskKey, peers, watches, keep, note });

  const ownKeyOf = (watch: Watch<E>, carrier: Carrier) => requireOwnKey(watch, carrier, watches.values());

  const look = async (watch: Watch<E>, signal: AbortSignal) => {
    using carrier = await carrierTo(reach(watch.entry), signal);
    if (watch.status.origin === null) {
      const key = await ownKeyOf(watch, carrier);
      store.register({ ...key, epoch: watch.status.epoch });
      keep(watch, { ...watch.status, ...key });
    }
    const key = logOf(watch.status);
    if (!key) return;
    // It may have been forgotten while the host was away.
    store.register(key);
    const found: Finding = withOwnRows(watch.status, await lookAt(carrier, key, store.head(key.origin)));
    if (found.kind === "good" && store.hasEvidence(key.origin)) return note(watch, TWO_FACES);
    if (found.kind !== "good" || !found.submission || BROKEN.includes(watch.status.state))
      return note(watch, found);
    const { size, submission } = found;
    if (watch.handed) watch.handed.looks++;
    const isHanded = isDue(watch.handed, size, watches.size);
    // At the same size it is cosigned again, with the time, when that is handed back.
    if (submission.old === size && size > 0 && !isHanded) return note(watch, found);
    const answer = await witness.add(submission);
    if ("reason" in answer)
      return note(watch, { kind: "none", reason: `this desk does not cosign: ${answer.reason}` });
    note(watch, found);
    if (answer.status !== 200 || !isHanded || collecting >= mostCollecting) return;
    collecting++;
    try {
      await collect(watch, carrier, { size, submission, cosignatures: answer.cosignatures }, signal);
    } finally {
      collecting--;
    }
  };

  /** Does `work` at a host at which nothing else is done. */
  const occupy = async <T>(watch: Watch<E>, stop: AbortController | undefined, work: () => Promise<T>) => {
    const { promise: ended, resolve } = Promise.withResolvers<void>();
    watch.busy = { ended, stop };
    try {
      return await work();
    } finally {
      watch.busy = undefined;
      resolve();
    }
  };
  /** Looks at a log, whose status says afterwards what came of it. @throws what is no fault of the host. */
  const lookOnce = async (watch: Watch<E>, signal: AbortSignal) => {
    try {
      await look(watch, signal);
    } catch (error) {
      if (signal.aborted) return;
      if (!(error instanceof RemoteError || error instanceof Failure)) throw error;
      note(watch, { kind: "none", reason: reasonOf(error, othersOf(watch)) });
    }
  };
  const run = (watch: Watch<E>) => {
    const stop = new AbortController();
    const signal = AbortSignal.any([stop.signal, ending]);
    const begun = performance.now();
    return occupy(watch, stop, async () => {
      try {
        await lookOnce(watch, signal);
      } finally {
        const next = begun + jitter(EVERY_MS, [0.9, 1.1]);
        watch.due = Math.max(next, performance.now() + PAUSE_MS);
      }
    });
  };

  return {
    keep,
    run,
    async restore(watch, reason, signal) {
      // Nothing is awaited between the last test and `occupy`: of two restores at once, one begins.
      while (watch.busy) await endLook(watch.busy, watch.entry.label);
      return occupy(watch, undefined, async () => {
        const ends = AbortSignal.any([signal, ending]);
        if (!BROKEN.includes(watch.status.state)) await lookOnce(watch, ends);
        const { label } = watch.entry;
        if (!ends.aborted) requireBroken(label, watch.status);
        using carrier = await carrierTo(reach(watch.entry), ends);
        const key = await ownKeyOf(watch, carrier);
        const about = { deskKey, ...watch.entry, status: watch.status, key, reason, verifyRow };
        const accepted = await restore(carrier, about);
        if (watches.get(watch.hostId) !== watch) throw conflict(`${label} has left this desk meanwhile`);
        return accept(watch, key, accepted, reason);
      });
    },
  };
}

/** The host itself shows a good log. */
const TWO_FACES = {
  kind: "broken",
  state: "forked",
  reason:
    "somebody has shown another log that its key has signed: the key was copied, or the host shows two logs",
} as const;

/** @throws `conflict` where the log has no break. */
function requireBroken(label: string, { state, reason }: LogStatus): void {
  if (BROKEN.includes(state)) return;
  throw conflict(`the log of ${label} is ${[state, reason].filter(Boolean).join(": ")}: no break to accept`);
}

/** The key of the host's log. @throws `conflict` when it is that of another host. */
async function requireOwnKey<E>(
  { hostId }: Watch<E>,
  carrier: Carrier,
  watches: Iterable<Watch<E>>,
): Promise<LogKey> {
  const key = await keyOf(carrier, hostId);
  const other = [...watches].find((one) => one.hostId !== hostId && one.status.origin === key.origin);
  if (other) throw conflict(`the host shows the same log as ${other.entry.label}: ${key.origin}`);
  return key;
}

/** Ends the look that is under way. Resolves when it has ended. @throws `conflict` where the log is being restored. */
async function endLook({ ended, stop }: WatchWork, label: string): Promise<void> {
  if (!stop) throw conflict(`the log of ${label} is being restored already`);
  stop.abort();
  await ended;
}
