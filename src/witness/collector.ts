/**
 * The collector of a desk: it looks at the audit log of each host that has joined, every 12 s, spread evenly; has good
 * checkpoints cosigned by the desk's own witness and by peers; and hands the cosignatures back to the host.
 *
 * The promises: one look at a host at a time. A host that does not answer delays no other.
 */
import { bodyOf } from "../client/call";
import { type Carrier, RemoteError, type RemoteServer } from "../client/carrier";
import { carrierTo } from "../client/connection";
import type { Publish } from "../core/events";
import { conflict, Failure, messageOf, notFound } from "../lib/errors";
import type { SigningKey } from "../lib/signing-key";
import type { Submission } from "./add-checkpoint";
import { createAnswering } from "./answering";
import { witnessChanged } from "./events";
import { evidenceText } from "./evidence";
import { createFormer } from "./former";
import { type HandedBack, handBack, isDue, PACE_MS } from "./hand-back";
import { type Found, keyOf, type LogKey, lookAt } from "./look";
import { opinionsOf } from "./opinions";
import { createPeers, type Member } from "./peers";
import { type Accepted, type Restore, restore } from "./restore";
import { afterLook, BROKEN, newRecord, type Record } from "./states";
import type { Store } from "./store";
import type { Witness } from "./witness";

/** How often the log of a host is looked at, in milliseconds. */
const EVERY_MS = 12_000;

/** How often the address book is read and what was found is stored, in milliseconds. */
const UPKEEP_MS = 1_000;

/** An entry of the address book. */
export interface Entry {
  readonly label: string;
  readonly member?: Member["member"] | undefined;
}

export interface CollectorOptions<E extends Entry> {
  readonly store: Store;
  readonly witness: Witness;
  readonly book: { hosts(): readonly E[]; reach(entry: E): RemoteServer };
  readonly deskKey: SigningKey;
  readonly verifyRow: Restore["verifyRow"];
  readonly log: { warn(text: string): void };
  readonly publish: Publish;
}

interface Watch<E> {
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

export type Collector = ReturnType<typeof createCollector>;

export function createCollector<E extends Entry>({
  store,
  witness,
  book,
  deskKey,
  verifyRow,
  log,
  publish,
}: CollectorOptions<E>) {
  const watches = new Map<string, Watch<E>>();
  const former = createFormer(store);
  const ending = new AbortController();
  const peers = createPeers<E & Member>((member) => book.reach(member), deskKey);
  let timer: Timer | undefined;
  let kept = 0;

  const begin = (entry: E & Member): Watch<E> => {
    const hostId = entry.member.host_id;
    const known = former.take(hostId);
    return {
      ...{ hostId, entry, busy: undefined, answering: createAnswering(), handed: undefined },
      record: { ...(known ?? newRecord()), label: entry.label, left: null },
      isStored: known?.left === null && known.label === entry.label,
      due: performance.now() + Math.random() * Math.min(EVERY_MS, 1_000 + PACE_MS * watches.size),
    };
  };
  /** Follows the address book: hosts join and leave. */
  const followBook = () => {
    const members = new Map(
      book.hosts().flatMap((entry) => (isMember(entry) ? [[entry.member.host_id, entry] as const] : [])),
    );
    for (const [id, entry] of members) {
      const watch = watches.get(id);
      if (!watch) {
        watches.set(id, begin(entry));
        continue;
      }
      watch.entry = entry;
      if (entry.label !== watch.record.label) keep(watch, { ...watch.record, label: entry.label });
    }
    const leaving = [...watches.values()].filter(({ hostId }) => !members.has(hostId));
    for (const { hostId } of leaving) {
      watches.delete(hostId);
      peers.forget(hostId);
    }
    former.leave(leaving);
  };
  const storeRecords = () => {
    const changed = [...watches.values()].filter(({ isStored }) => !isStored);
    if (changed.length === 0) return;
    store.commit(() => {
      for (const { hostId, record } of changed) store.setRecord(hostId, record);
    });
    for (const watch of changed) watch.isStored = true;
  };

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
    if (found.kind === "good") answering.heard(found.size);
    else answering.missed();
    keep(watch, afterLook(watch.record, found, answering.spans()));
    const { origin } = watch.record;
    if (found.evidence && origin !== null)
      store.addEvidence(origin, Math.floor(Date.now() / 1_000), evidenceText(found.evidence));
  };

  /** The cosignatures of peers. An objection that is true breaks the log. */
  const askPeers = async (watch: Watch<E>, submission: Submission, carrier: Carrier, signal: AbortSignal) => {
    const log = logOf(watch.record);
    if (!log) return [];
    const members = Array.from(watches.values(), ({ entry }) => entry);
    const asked = peers.of(watch.hostId, members);
    const { cosigned, claims, broken } = await opinionsOf(peers, asked, { carrier, log, submission, signal });
    if (broken) note(watch, broken);
    keep(watch, { ...watch.record, peers: cosigned.map(({ host_id }) => host_id), claims: [...claims] });
    return cosigned;
  };

  const collect = async (
    watch: Watch<E>,
    carrier: Carrier,
    { size, submission, cosignatures }: { size: number; submission: Submission; cosignatures: string },
    signal: AbortSignal,
  ) => {
    const others = await askPeers(watch, submission, carrier, signal);
    if (BROKEN.includes(watch.record.state)) return;
    watch.handed = { at: performance.now(), size, looks: 0 };
    watch.answering.asked();
    const desk = { deskKey, member: watch.entry.member };
    const all = [{ cosignatures, vkey: witness.vkey }, ...others];
    const response = await handBack(carrier, desk, submission, all);
    watch.answering.answered(size);
    bodyOf(response);
  };

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
    using carrier = await carrierTo(book.reach(watch.entry), signal);
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
    if (answer.status !== 200 || !isHanded) return;
    try {
      await collect(watch, carrier, { size, submission, cosignatures: answer.cosignatures }, signal);
    } catch (error) {
      // The look itself was good.
      if (!(error instanceof RemoteError)) throw error;
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
  const run = (watch: Watch<E>) => {
    const stop = new AbortController();
    const signal = AbortSignal.any([stop.signal, ending.signal]);
    return occupy(watch, stop, async () => {
      try {
        await look(watch, signal);
      } catch (error) {
        if (signal.aborted) return;
        if (!(error instanceof RemoteError || error instanceof Failure)) throw error;
        note(watch, { kind: "none", reason: reasonOf(error) });
      } finally {
        watch.due = performance.now() + EVERY_MS * (0.9 + Math.random() * 0.2);
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

  const tick = () => {
    const now = performance.now();
    try {
      if (now - kept >= UPKEEP_MS) {
        kept = now;
        followBook();
        storeRecords();
      }
    } catch (error) {
      log.warn(`what this desk finds about audit logs is not stored: ${messageOf(error)}`);
    }
    for (const watch of watches.values()) {
      if (watch.busy || watch.due > now) continue;
      run(watch).catch((error) => log.warn(`an audit log was not looked at: ${messageOf(error)}`));
    }
    const due = Math.min(now + UPKEEP_MS, ...Array.from(watches.values(), (watch) => watch.due));
    timer = setTimeout(tick, Math.max(50, due - now));
    timer.unref();
  };

  const watchOf = (label: string) => {
    const found = [...watches.values()].find(({ entry }) => entry.label === label);
    if (!found) throw notFound(`no host that has joined is labelled ${label}`);
    return found;
  };

  return {
    /** Begins to look at the logs, if it has not begun. */
    start(): void {
      if (!timer && !ending.signal.aborted) tick();
    },
    /** What it knows of each host, by its id. */
    records: (): ReadonlyMap<string, Record> =>
      new Map(Array.from(watches.values(), ({ hostId, record }) => [hostId, record])),
    /** Looks at the log of a host now. Resolves when that is over. */
    async lookNow(label: string): Promise<Record> {
      followBook();
      const watch = watchOf(label);
      if (!watch.busy) await run(watch);
      return watch.record;
    },
    /**
     * Accepts the log of a host as it is now, on record on that host.
     *
     * @throws `conflict` when it is being restored, or the host does not prove that this is on record; a {@link RemoteError} when it
     *   does not answer.
     */
    async restore(label: string, reason: string, signal: AbortSignal): Promise<Record> {
      followBook();
      const watch = watchOf(label);
      while (watch.busy) {
        if (!watch.busy.stop) throw conflict(`the log of ${label} is being restored already`);
        watch.busy.stop.abort();
        await watch.busy.ended;
      }
      return occupy(watch, undefined, async () => {
        using carrier = await carrierTo(book.reach(watch.entry), AbortSignal.any([signal, ending.signal]));
        const key = await ownKeyOf(watch, carrier);
        const about = { deskKey, ...watch.entry, record: watch.record, key, reason, verifyRow };
        return accept(watch, key, await restore(carrier, about), reason);
      });
    },
    stop(): void {
      clearTimeout(timer);
      ending.abort();
      storeRecords();
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

const isMember = <E extends Entry>(entry: E): entry is E & Member => entry.member !== undefined;

const logOf = ({ origin, vkey, epoch }: Record) =>
  origin === null || vkey === null ? undefined : { origin, vkey, epoch };

/** Why a look found nothing, for a person. */
function reasonOf(error: RemoteError | Failure): string {
  const status = error instanceof RemoteError ? error.refusal?.status : undefined;
  if (status === 404)
    return "the host keeps no log that can be witnessed: its svc is older, or runs with --no-audit";
  return error.message;
}
