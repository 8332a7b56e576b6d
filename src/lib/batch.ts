/**
 * What comes in one turn of the event loop is done together, as one commit.
 *
 * Three that write in groups do not gather like this, since they differ in what becomes of what cannot be written: the audit log waits
 * for each commit before the next, and refuses the rows of one that fails; the ledger of plans pauses between two, and tries the same
 * steps again before others; the history of runs drops its oldest rows.
 */
import { oncePerTurn } from "./turn";

/**
 * @param handle takes what has come, in its order, at the end of the turn.
 * @param most how much it takes at once: the rest has the turns after it.
 */
export function createBatch<T>(
  handle: (batch: readonly T[]) => void,
  most = Number.POSITIVE_INFINITY,
): (one: T) => void {
  const waiting: T[] = [];
  const begin: () => void = oncePerTurn(() => {
    const batch = waiting.splice(0, most);
    if (waiting.length > 0) begin();
    handle(batch);
  });
  return (one) => {
    waiting.push(one);
    begin();
  };
}
