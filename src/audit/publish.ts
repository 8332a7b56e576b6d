/**
 * Publishing rows that were appended: at once, and every {@link EVENT_MS} at most, however many they are.
 */
import type { Publish } from "../core/events";
import { atMost } from "../lib/at-most";
import { auditAppended } from "./events";
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
    /** @param rows in their order. @param isQuiet whether they wait for the next rows that are not quiet. */
    take(rows: readonly ListedRow[], isQuiet: boolean): void {
      appended += rows.length;
      newest = [...rows.slice(-MAX_SHOWN).reverse(), ...newest].slice(0, MAX_SHOWN);
      if (!isQuiet) call();
    },
    /** Publishes what is not published yet. */
    finish,
  };
}
