/**
 * Work on many hosts at once, so that slow and dead hosts never hold up the others.
 *
 * A host that has not finished after {@link patienceFor} gives its slot to the next one and is waited for without a slot.
 * If it kept the slot, the whole would take (dead hosts ÷ slots) × timeout.
 */

/** How many hosts may be waited for without a slot. */
const MAX_SLOW = 2_000;

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
    while (busy < slots && slow < MAX_SLOW && next < items.length) {
      const at = next++;
      begin(at, items[at] as T).catch(reject);
    }
  };

  if (items.length === 0) resolve([]);
  fill();
  return promise;
}
