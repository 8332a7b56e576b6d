/**
 * What a desk finds out about the logs of its hosts: it goes into their statuses, and what changes is published.
 */
import type { Publish } from "../../core/events";
import { witnessChanged } from "../../wire/witness/events";
import { evidenceText } from "../../wire/witness/evidence";
import type { Store } from "../../wire/witness/store";
import type { Finding } from "./look";
import type { Others } from "./reasons";
import { afterLook, BROKEN, LATE_MS, type LogStatus } from "./states";
import type { Watch } from "./watch";

export interface FindingParts<E> {
  readonly store: Pick<Store, "addEvidence" | "setStatus">;
  readonly log: { warn(text: string): void };
  readonly publish: Publish;
  /** All hosts that are watched, by their ids. */
  readonly watches: ReadonlyMap<string, Watch<E>>;
  /** Keeps the status of a host that has left. */
  readonly former: { leave(leaving: ReadonlyArray<Watch<E>>): void };
}

interface Findings<E> {
  /** Replaces the status of a host. */
  keep(watch: Watch<E>, status: LogStatus): void;
  /** Takes note of what a look has found. @throws where evidence cannot be stored. */
  note(watch: Watch<E>, found: Finding): void;
  /** Whether other hosts answer, where this one has been late for a while: else the fault may be here. */
  othersOf(watch: Watch<E>): Others;
}

export function createFindings<E>({ store, log, publish, watches, former }: FindingParts<E>): Findings<E> {
  /** When a good checkpoint of any host came last, on the monotonic clock. */
  let lastGood = Number.NEGATIVE_INFINITY;

  const keep = (watch: Watch<E>, status: LogStatus) => {
    const before = watch.status.state;
    watch.isStored &&= status === watch.status;
    watch.status = status;
    const { state, size, reason } = status;
    if (state === before) return;
    const { entry, hostId } = watch;
    // It may have left meanwhile.
    if (!watches.has(hostId)) former.leave([watch]);
    publish(witnessChanged, { label: entry.label, host_id: hostId, state, former: before, size, reason });
    if (!BROKEN.includes(state)) return;
    log.warn(`the audit log of ${entry.label}: ${state}: ${reason}`);
    // At once: a desk that moves, or dies, a moment later has the verdict.
    try {
      store.setStatus(hostId, status);
      watch.isStored = true;
    } catch {
      // It is stored with the others, and why it cannot be is said then.
    }
  };
  const note = (watch: Watch<E>, found: Finding) => {
    const { answering } = watch;
    if (found.kind === "good") {
      answering.heard(found.size);
      lastGood = performance.now();
    } else answering.missed();
    const { origin } = watch.status;
    try {
      // Whoever hears of the state may ask for it.
      if (found.evidence && origin !== null)
        store.addEvidence(origin, Math.floor(Date.now() / 1_000), evidenceText(found.evidence));
    } finally {
      keep(watch, afterLook(watch.status, found, answering.spans()));
    }
  };

  const othersOf = ({ answering }: Watch<E>): Others => {
    if (watches.size < 2 || answering.spans().unheard < LATE_MS) return "unknown";
    return performance.now() - lastGood < LATE_MS ? "answer" : "silent";
  };

  return { keep, note, othersOf };
}
