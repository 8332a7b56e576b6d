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
  readonly record: LogStatus;
}

/** @param most how many are remembered. */
export function createFormer(
  store: Pick<Store, "records" | "setRecord" | "removeRecord" | "commit">,
  most = MAX_FORMER,
) {
  /** At first, also those of hosts that have not left. */
  const records = statusesIn(store.records());
  let isFirst = true;

  const surplus = (): string[] => {
    const count = records.size - most;
    if (count <= 0) return [];
    const rankOf = ({ state, left }: LogStatus) => `${BROKEN.includes(state) ? 1 : 0} ${left}`;
    return [...records]
      .toSorted(([, a], [, b]) => (rankOf(a) < rankOf(b) ? -1 : 1))
      .slice(0, count)
      .map(([id]) => id);
  };

  return {
    /** What is known of a host that has joined; from now on its record is kept elsewhere. */
    take(hostId: string): LogStatus | undefined {
      const known = records.get(hostId);
      records.delete(hostId);
      return known;
    },
    /** Those of broken logs, by the id of the host. */
    broken: (): Map<string, LogStatus> =>
      new Map([...records].filter(([, { state, left }]) => left !== null && BROKEN.includes(state))),
    /** Forgets the broken logs of hosts that had this label. @returns how many there were. */
    forget(label: string): number {
      const ids = [...this.broken()].flatMap(([id, record]) => (record.label === label ? [id] : []));
      store.commit(() => {
        for (const id of ids) store.removeRecord(id);
      });
      for (const id of ids) records.delete(id);
      return ids.length;
    },
    /** Keeps the records of hosts that leave; the first time, also those of all that nobody took. */
    leave(leaving: readonly LeavingHost[]): void {
      const gone = new Map(leaving.map(({ hostId, record }) => [hostId, record]));
      if (isFirst) for (const [id, record] of records) if (record.left === null) gone.set(id, record);
      isFirst = false;
      if (gone.size === 0) return;
      const left = new Date().toISOString();
      for (const [id, record] of gone) {
        gone.set(id, { ...record, left });
        records.set(id, { ...record, left });
      }
      const removed = surplus();
      for (const id of removed) records.delete(id);
      store.commit(() => {
        for (const [id, record] of gone) store.setRecord(id, record);
        for (const id of removed) store.removeRecord(id);
      });
    },
  };
}
