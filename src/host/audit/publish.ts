/**
 * Publishing rows that were appended: at once, and every {@link EVENT_MS} at most, however many they are.
 */
import type { Publish } from "../../core/events";
import { atMost } from "../../lib/at-most";
import { auditAppended } from "./events";
import type { NewRow } from "./high-water";
import type { ListedRow } from "./row";

/** The time between two events at least, in milliseconds. */
const EVENT_MS = 100;

/** How many rows an event shows. */
const MAX_SHOWN = 8;

/** @param rowCount how many rows there are. */
export function createPublisher(rowCount: () => number, publish: Publish) {
  let newest: ListedRow[] = [];
  let appended = 0;
  const { call, finish } = atMost(EVENT_MS, () => {
    publish(auditAppended, { rows: rowCount(), appended, newest });
    newest = [];
    appended = 0;
  });
  return {
    /**
     * @param rows in their order, the first of which has the id `firstId`.
     * @param isQuiet whether they wait for the next rows that are not quiet.
     */
    take(rows: readonly NewRow[], firstId: number, isQuiet: boolean): void {
      appended += rows.length;
      const shown = Math.min(rows.length, MAX_SHOWN);
      const newer = rows
        .slice(-shown)
        .map(({ ts, event }, nth) => ({ id: firstId + rows.length - shown + nth, ts, ...event }));
      newest = [...newer.reverse(), ...newest].slice(0, MAX_SHOWN);
      if (!isQuiet) call();
    },
    /** Publishes what is not published yet. */
    finish,
  };
}
