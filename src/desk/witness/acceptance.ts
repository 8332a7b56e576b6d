/**
 * Accepting the log of a host as it is now.
 */
import type { Store } from "../../wire/witness/store";
import type { Witness } from "../../wire/witness/witness";
import { createAnswerClock } from "./answer-times";
import type { LogKey } from "./look";
import type { Acceptance } from "./restore";
import type { LogStatus } from "./states";
import type { Watch } from "./watch";

interface AcceptanceParts<E> {
  readonly store: Store;
  readonly witness: Pick<Witness, "headOf">;
  keep(watch: Watch<E>, status: LogStatus): void;
}

/** What accepts the log of a host, in one commit: there is no moment in which it could be another one. */
export function createAcceptance<E>({ store, witness, keep }: AcceptanceParts<E>) {
  return (watch: Watch<E>, key: LogKey, { checkpoint, restored }: Acceptance, reason: string): LogStatus => {
    // Later than each before, also where this desk has lost count with its witness.db. Peers remember.
    const known = Math.max(watch.status.epoch, store.log(key.origin)?.epoch ?? 0);
    const epoch = Math.max(known + 1, Date.now());
    const status: LogStatus = {
      ...watch.status,
      ...key,
      former: formerOrigins(watch.status, key.origin),
      epoch,
      state: "restored",
      since: restored,
      restored,
      reason,
      size: checkpoint.size,
      peers: [],
      claims: [],
      accepted: [...new Set([...watch.status.accepted, ...watch.status.altered])],
    };
    store.commit(() => {
      const head = witness.headOf(checkpoint, store.head(key.origin)?.cosigned ?? 0);
      store.register({ ...key, epoch });
      store.advance(key.origin, undefined, head);
      store.setStatus(watch.hostId, status);
    });
    watch.handed = undefined;
    watch.answering = createAnswerClock();
    keep(watch, status);
    watch.due = 0;
    return status;
  };
}

/** The most former names that are remembered of a log. */
const MAX_FORMER = 16;

const formerOrigins = ({ origin, former }: LogStatus, next: string): string[] =>
  [...former, origin].filter((one) => one !== null && one !== next).slice(-MAX_FORMER) as string[];
