/**
 * Telling of rows that were appended: at once, and each {@link TELL_MS} at most, however many they are.
 */
import type { Publish } from "../core/events";
import { atMost } from "../lib/at-most";
import { auditAppended } from "./events";
import type { ListedRow } from "./row";

const TELL_MS = 100;

/** How many rows an event shows. */
const MAX_SHOWN = 8;

/** @param rowCount how many rows there are. */
export function createTeller(rowCount: () => number, publish: Publish) {
  let newest: ListedRow[] = [];
  let appended = 0;
  const { call: tell, finish } = atMost(TELL_MS, () => {
    publish(auditAppended, { rows: rowCount(), appended, newest });
    newest = [];
    appended = 0;
  });
  return {
    /** @param rows in their order. @param isQuiet they are published with the next that are not. */
    take(rows: readonly ListedRow[], isQuiet: boolean): void {
      appended += rows.length;
      newest = [...rows.slice(-MAX_SHOWN).reverse(), ...newest].slice(0, MAX_SHOWN);
      if (!isQuiet) tell();
    },
    /** Publishes what is not published yet. */
    finish,
  };
}
