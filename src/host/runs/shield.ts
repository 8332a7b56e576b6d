/**
 * The signal of shielded lists, which go on after their run was cancelled. All of a run have one, so that those inside others do not
 * make the run last longer.
 */

/** How long the shielded lists of a run may go on after it was cancelled, in milliseconds: all of them together. */
const SHIELD_MS = 5_000;

/**
 * A function that is called when a shielded list begins; what it returns is disposed of when the list has ended. From the moment that
 * the run is cancelled and a shielded list runs, there are {@link SHIELD_MS} for all of them.
 *
 * @param signal that of the run.
 */
export function createShield(signal: AbortSignal): () => Disposable & { readonly signal: AbortSignal } {
  const shield = new AbortController();
  let isEnding = false;
  const begin = () => {
    if (!isEnding) setTimeout(() => shield.abort(signal.reason), SHIELD_MS).unref();
    isEnding = true;
  };
  return () => {
    if (signal.aborted) begin();
    signal.addEventListener("abort", begin, { once: true });
    return {
      signal: shield.signal,
      [Symbol.dispose]: () => signal.removeEventListener("abort", begin),
    };
  };
}
