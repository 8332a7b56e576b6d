/**
 * How a desk watches the audit log of one host: looks at it, has its checkpoints cosigned, and remembers what it found.
 *
 * The promises: one thing at a time is done at a host; a restore ends the look that is under way. What a look finds is either
 * good and cosigned, or said.
 */
import { type Carrier, RemoteError, type RemoteServer } from "../client/carrier";
import { carrierTo } from "../client/connection";
import type { Publish } from "../core/events";
import { conflict, Failure } from "../lib/errors";
import type { SigningKey } from "../lib/signing-key";
import { createAnswering } from "./answering";
import { createCollecting } from "./collect";
import { witnessChanged } from "./events";
import { evidenceText } from "./evidence";
import { type HandedBack, isDue } from "./hand-back";
import { type Found, keyOf, type LogKey, lookAt } from "./look";
import type { Member, Peers } from "./peers";
import { type Others, reasonOf } from "./reasons";
import { type Accepted, type Restore, restore } from "./restore";
import { afterLook, BROKEN, LATE_MS, logOf, type Record } from "./states";
import type { Store } from "./store";
import type { Witness } from "./witness";

/** How often the log of a host is looked at, in milliseconds. */
export const EVERY_MS = 12_000;

/** The least time between two looks, in milliseconds. */
const PAUSE_MS = 3_000;

/** A host that is watched. */
export interface Watch<E> {
  readonly hostId: string;
  entry: E & Member;
  record: Record;
  isStored: boolean;
  /** What is done there now: a look can be stopped, a restore cannot. */
  busy: { readonly ended: Promise<void>; readonly stop: AbortController | undefined } | undefined;
  /** When the next look is due, on the monotonic clock. */
  due: number;
  answering: ReturnType<typeof createAnswering>;
  handed: HandedBack | undefined;
}

interface WatcherUses<E> {
  readonly store: Store;
  readonly witness: Witness;
  readonly deskKey: SigningKey;
  readonly verifyRow: Restore["verifyRow"];
  readonly log: { warn(text: string): void };
  readonly publish: Publish;
  readonly peers: Peers<E & Member>;
  reach(entry: E): RemoteServer;
  /** All hosts that are watched, by their ids. */
  readonly watches: ReadonlyMap<string, Watch<E>>;
  /** Keeps the record of a host that has left. */
  readonly former: { leave(leaving: ReadonlyArray<Watch<E>>): void };
  readonly ending: AbortSignal;
  /**
   * At how many hosts at a time peers are asked. Whoever does that has a connection and waits for others: if it could have all that
   * this process may have, nobody would ever get one.
   */
  readonly mostCollecting: number;
}

/** What is done at each host. */
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
}: WatcherUses<E>) {
  /** When a good checkpoint of any host came last, on the monotonic clock. */
  let lastGood = Number.NEGATIVE_INFINITY;
  /** At how many hosts peers are asked now. */
  let collecting = 0;

  const keep = (watch: Watch<E>, record: Record) => {
    const before = watch.record.state;
    watch.isStored &&= record === watch.record;
    watch.record = record;
    const { state, size, reason } = record;
    if (state === before) return;
    const { entry, hostId } = watch;
    // It may have left meanwhile.
    if (!watches.has(hostId)) former.leave([watch]);
    publish(witnessChanged, { label: entry.label, host_id: hostId, state, former: before, size, reason });
    if (BROKEN.includes(state)) log.warn(`the audit log of ${entry.label}: ${state}: ${reason}`);
  };
  const note = (watch: Watch<E>, found: Found) => {
    const { answering } = watch;
    if (found.kind === "good") {
      answering.heard(found.size);
      lastGood = performance.now();
    } else answering.missed();
    const { origin } = watch.record;
    try {
      // Whoever hears of the state may ask for it.
      if (found.evidence && origin !== null)
        store.addEvidence(origin, Math.floor(Date.now() / 1_000), evidenceText(found.evidence));
    } finally {
      keep(watch, afterLook(watch.record, found, answering.spans()));
    }
  };

  const collect = createCollecting({ witness, deskKey, peers, watches, keep, note });

  /** The key of the host's log. @throws `conflict` when it is that of another host. */
  const ownKeyOf = async (watch: Watch<E>, carrier: Carrier): Promise<LogKey> => {
    const key = await keyOf(carrier, watch.hostId);
    const other = [...watches.values()].find(
      ({ hostId, record }) => hostId !== watch.hostId && record.origin === key.origin,
    );
    if (other) throw conflict(`the host shows the same log as ${other.entry.label}: ${key.origin}`);
    return key;
  };

  const look = async (watch: Watch<E>, signal: AbortSignal) => {
    using carrier = await carrierTo(reach(watch.entry), signal);
    if (watch.record.origin === null) {
      const key = await ownKeyOf(watch, carrier);
      store.register({ ...key, epoch: watch.record.epoch });
      keep(watch, { ...watch.record, ...key });
    }
    const key = logOf(watch.record);
    if (!key) return;
    // It may have been forgotten while the host was away.
    store.register(key);
    const found = await lookAt(carrier, key, store.head(key.origin));
    if (found.kind === "good" && store.hasEvidence(key.origin)) return note(watch, TWO_FACES);
    if (found.kind !== "good" || !found.submission || BROKEN.includes(watch.record.state))
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
  /** Whether other hosts answer, where this one has been late for a while: else the fault may be here. */
  const othersOf = ({ answering }: Watch<E>): Others => {
    if (watches.size < 2 || answering.spans().unheard < LATE_MS) return "unknown";
    return performance.now() - lastGood < LATE_MS ? "answer" : "silent";
  };
  /** Looks at a log, whose record says afterwards what came of it. @throws what is no fault of the host. */
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
        const next = begun + EVERY_MS * (0.9 + Math.random() * 0.2);
        watch.due = Math.max(next, performance.now() + PAUSE_MS);
      }
    });
  };

  /** Accepts the log of a host, in one commit: there is no moment in which it could be another one. */
  const accept = (watch: Watch<E>, key: LogKey, { checkpoint, restored }: Accepted, reason: string) => {
    // Later than each before, also where this desk has lost count with its witness.db. Peers remember.
    const known = Math.max(watch.record.epoch, store.log(key.origin)?.epoch ?? 0);
    const epoch = Math.max(known + 1, Date.now());
    const record: Record = {
      ...watch.record,
      ...key,
      former: formerOrigins(watch.record, key.origin),
      ...{
        epoch,
        state: "restored",
        since: restored,
        restored,
        reason,
        size: checkpoint.size,
        peers: [],
        claims: [],
      },
    };
    store.commit(() => {
      const head = witness.headOf(checkpoint, store.head(key.origin)?.cosigned ?? 0);
      store.register({ ...key, epoch });
      store.advance(key.origin, undefined, head);
      store.setRecord(watch.hostId, record);
    });
    watch.handed = undefined;
    watch.answering = createAnswering();
    keep(watch, record);
    watch.due = 0;
    return record;
  };

  return {
    keep,
    /** Looks at the log. @throws what is no fault of the host. */
    run,
    /** As `restore` of the collector. */
    async restore(watch: Watch<E>, reason: string, signal: AbortSignal): Promise<Record> {
      while (watch.busy) {
        if (!watch.busy.stop) throw conflict(`the log of ${watch.entry.label} is being restored already`);
        watch.busy.stop.abort();
        await watch.busy.ended;
      }
      return occupy(watch, undefined, async () => {
        const ends = AbortSignal.any([signal, ending]);
        if (!BROKEN.includes(watch.record.state)) await lookOnce(watch, ends);
        const { state, reason: why } = watch.record;
        const { label } = watch.entry;
        if (!BROKEN.includes(state) && !ends.aborted)
          throw conflict(
            `the log of ${label} is ${[state, why].filter(Boolean).join(": ")}: no break to accept`,
          );
        using carrier = await carrierTo(reach(watch.entry), ends);
        const key = await ownKeyOf(watch, carrier);
        const about = { deskKey, ...watch.entry, record: watch.record, key, reason, verifyRow };
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

/** The most former names that are remembered of a log. */
const MAX_FORMER = 16;

const formerOrigins = ({ origin, former }: Record, next: string): string[] =>
  [...former, origin].filter((one) => one !== null && one !== next).slice(-MAX_FORMER) as string[];
