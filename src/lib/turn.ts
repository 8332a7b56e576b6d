/**
 * Turns of the event loop: long work is done in slices, between which everybody else is answered.
 */

/** How long a slice takes, in milliseconds. */
const SLICE_MS = 5;

/** Ends with this turn of the event loop: what has arrived meanwhile is answered first. */
export const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/**
 * Does a piece of work after the other, until one is the last; after {@link SLICE_MS} in a new turn.
 *
 * @param piece does the next piece, of at most a few milliseconds, and returns whether it was the last. What it throws ends the work.
 */
export async function inSlices(piece: () => boolean): Promise<void> {
  for (let until = performance.now() + SLICE_MS; !piece(); ) {
    if (performance.now() < until) continue;
    await nextTurn();
    until = performance.now() + SLICE_MS;
  }
}
