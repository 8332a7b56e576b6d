/**
 * Work on many hosts at once, so that slow and dead hosts never hold up the others.
 *
 * A host that has not finished after {@link patienceFor} gives its slot to the next one and is waited for without a slot.
 * If it kept the slot, the whole would take (dead hosts ÷ slots) × timeout.
 */
import { readFileSync } from "node:fs";

/** How many hosts may be waited for without a slot: each is an open connection. */
const MAX_SLOW = 2_000;

/**
 * The most connections: half of the files that this process may have open (proc_pid_limits(5)). With all of them in use, a
 * healthy host would seem to refuse the connection.
 */
function maxConnections(): number {
  try {
    const [, files] = /^Max open files +(\d+)/m.exec(readFileSync("/proc/self/limits", "utf8")) ?? [];
    return files === undefined ? Number.POSITIVE_INFINITY : Math.ceil(Number(files) / 2);
  } catch {
    return Number.POSITIVE_INFINITY;
  }
}

/** A twelfth of the timeout, which healthy hosts seldom need, and at most a quarter of a second. */
export const patienceFor = (timeoutMs: number): number => Math.min(timeoutMs / 12, 250);

/**
 * Starts `work` on each item in order, and resolves with the results in that order.
 *
 * @param pool.slots how many hosts have a slot at once.
 * @param pool.patienceMs after how many milliseconds a host gives up its slot; infinite to limit all hosts at work to `slots`.
 * @param work must not throw.
 */
export function runPool<T, R>(
  items: readonly T[],
  { slots, patienceMs }: { readonly slots: number; readonly patienceMs: number },
  work: (item: T) => Promise<R>,
): Promise<R[]> {
  const { promise, resolve, reject } = Promise.withResolvers<R[]>();
  const results: R[] = new Array(items.length);
  const most = maxConnections();
  let next = 0;
  let busy = 0;
  let slow = 0;
  let done = 0;

  const begin = async (at: number, item: T) => {
    busy++;
    let hasSlot = true;
    const giveUpSlot = () => {
      hasSlot = false;
      busy--;
      slow++;
      fill();
    };
    const timer = Number.isFinite(patienceMs) ? setTimeout(giveUpSlot, patienceMs) : undefined;
    results[at] = await work(item);
    clearTimeout(timer);
    if (hasSlot) busy--;
    else slow--;
    done++;
    if (done === items.length) resolve(results);
    else fill();
  };

  const fill = () => {
    while (busy < slots && slow < MAX_SLOW && busy + slow < most && next < items.length) {
      const at = next++;
      begin(at, items[at] as T).catch(reject);
    }
  };

  if (items.length === 0) resolve([]);
  fill();
  return promise;
}
