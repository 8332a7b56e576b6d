/**
 * What a desk remembers of hosts that have left it, so that a broken log is not forgotten when its host joins again.
 *
 * The promise: the number is bounded; those that left first go first, and those of broken logs last.
 */

import type { Store } from "../../wire/witness/store";
import { BROKEN, type LogStatus, statusesIn } from "./states";

const MAX_FORMER = 10_000;

interface LeavingHost {
  readonly hostId: string;
  readonly status: LogStatus;
}

export interface FormerLogs {
  /** What is known of a host that has joined; from now on its status is kept elsewhere. */
  take(hostId: string): LogStatus | undefined;
  /** Those of broken logs, by the id of the host. */
  broken(): Map<string, LogStatus>;
  /** Forgets the broken logs of hosts that had this label. @returns how many there were. */
  forget(label: string): number;
  /** Keeps the statuses of hosts that leave; the first time, also those of all that nobody took. */
  leave(leaving: readonly LeavingHost[]): void;
}

/** @param most how many are remembered. */
export function createFormer(
  store: Pick<Store, "statuses" | "setStatus" | "removeStatus" | "commit">,
  most = MAX_FORMER,
): FormerLogs {
  /** At first, also those of hosts that have not left. */
  const statuses = statusesIn(store.statuses());
  let isFirst = true;

  const surplus = (): string[] => {
    const count = statuses.size - most;
    if (count <= 0) return [];
    const rankOf = ({ state, left }: LogStatus) => `${BROKEN.includes(state) ? 1 : 0} ${left}`;
    return [...statuses]
      .toSorted(([, a], [, b]) => (rankOf(a) < rankOf(b) ? -1 : 1))
      .slice(0, count)
      .map(([id]) => id);
  };

  return {
    take(hostId: string): LogStatus | undefined {
      const known = statuses.get(hostId);
      statuses.delete(hostId);
      return known;
    },
    broken: (): Map<string, LogStatus> =>
      new Map([...statuses].filter(([, { state, left }]) => left !== null && BROKEN.includes(state))),
    forget(label: string): number {
      const ids = [...this.broken()].flatMap(([id, status]) => (status.label === label ? [id] : []));
      store.commit(() => {
        for (const id of ids) store.removeStatus(id);
      });
      for (const id of ids) statuses.delete(id);
      return ids.length;
    },
    leave(leaving: readonly LeavingHost[]): void {
      const gone = new Map(leaving.map(({ hostId, status }) => [hostId, status]));
      if (isFirst) for (const [id, status] of statuses) if (status.left === null) gone.set(id, status);
      isFirst = false;
      if (gone.size === 0) return;
      const left = new Date().toISOString();
      for (const [id, status] of gone) {
        gone.set(id, { ...status, left });
        statuses.set(id, { ...status, left });
      }
      const removed = surplus();
      for (const id of removed) statuses.delete(id);
      store.commit(() => {
        for (const [id, status] of gone) store.setStatus(id, status);
        for (const id of removed) store.removeStatus(id);
      });
    },
  };
}
