/**
 * Work that several callers wait for at once.
 *
 * The promise: each caller waits until its own signal is aborted, and no caller ends the work for another. The work's
 * signal is aborted when nobody waits any longer.
 */
import { deadline } from "./deadline";
import { cancelled } from "./errors";

interface SharedWork<T> {
  /** Resolves when the work has settled. Never rejects: each of those who wait gets the error. */
  readonly ended: Promise<void>;
  /** Aborted when nobody waits any longer: the work is over, or cut off. Nobody may join from then on. */
  readonly signal: AbortSignal;
  /** What the work resolves to. @throws what it rejects with; the reason of `signal` when that is aborted first. */
  join(signal?: AbortSignal): Promise<T>;
}

/** Begins `work`, which callers then join. */
export function share<T>(work: (signal: AbortSignal) => Promise<T>): SharedWork<T> {
  const control = new AbortController();
  let waiting = 0;
  const result = work(control.signal);
  const ignore = () => {};
  return {
    ended: result.then(ignore, ignore),
    signal: control.signal,
    async join(signal) {
      waiting++;
      try {
        return await deadline(result, { signal });
      } finally {
        waiting--;
        if (waiting === 0) control.abort(cancelled("nobody waits for it any longer"));
      }
    },
  };
}

/** A function that shares the work under way of each `key`: those who ask for the same meanwhile join it. */
export function createSharing<T>() {
  const underWay = new Map<string, SharedWork<T>>();
  return (key: string, work: (signal: AbortSignal) => Promise<T>, signal?: AbortSignal): Promise<T> => {
    const found = underWay.get(key);
    if (found) return found.join(signal);
    const begun = share(work);
    underWay.set(key, begun);
    begun.signal.addEventListener("abort", () => underWay.delete(key), { once: true });
    return begun.join(signal);
  };
}
