/**
 * Work on many hosts at once, so that slow and dead hosts never hold up the others.
 *
 * A host that takes much longer than the others gives its slot to the next one and is waited for without a slot. If it kept the
 * slot, the whole would take (dead hosts ÷ slots) × timeout.
 */

/** How many hosts may be waited for without a slot, at each server. */
const MAX_SLOW = 2_000;

/** How many of them may be hosts that are known to be slow, as long as others wait for their turn: of these, some will turn out slow too. */
const MAX_KNOWN = MAX_SLOW / 2;

/** The longest that a host keeps its slot: a twelfth of the timeout, and at most a quarter of a second. */
export const patienceFor = (timeoutMs: number): number => Math.min(timeoutMs / 12, 250);

/** Much longer than the others: this many times what half of them take. */
const TIMES_USUAL = 4;

/** The shortest that a host keeps its slot, in milliseconds: a pause of this process is no sign of a slow host. */
const LEAST_MS = 10;

/** By what each host moves what is taken for the usual time: up if it took longer, else down. So it is near the median soon. */
const STEP = 1.1;

interface Pool<T> {
  readonly slots: number;
  readonly patienceMs?: number;
  readonly isSlow?: (item: T) => boolean;
  readonly serverOf?: (item: T) => string;
}

/**
 * Starts `work` on each item in order, and resolves with the results in the order of the items. Those that are known to be slow begin
 * first, but however many they are, the others need not wait for the end of one.
 *
 * @param pool.slots how many hosts have a slot at once.
 * @param pool.patienceMs after how many milliseconds a host gives up its slot at the latest. Default: never, so that `slots` limits all
 *   hosts at work.
 * @param pool.isSlow whether an item is known to be slow: it never has a slot.
 * @param pool.serverOf what the item is reached over (`serverOver` of `per-server.ts`): those of each server have slots of their own, as
 *   many as `slots`, and wait for none of another. Default: all share them.
 * @param work must not throw.
 */
export async function runPool<T, R>(
  items: readonly T[],
  { serverOf, ...pool }: Pool<T>,
  work: (item: T) => Promise<R>,
): Promise<R[]> {
  const servers = serverOf && Map.groupBy(items.keys(), (at) => serverOf(items[at] as T));
  if (!servers || servers.size < 2) return runTogether(items, pool, work);
  const { isSlow, ...rest } = pool;
  const results: R[] = new Array(items.length);
  const itsPool = { ...rest, ...(isSlow && { isSlow: (at: number) => isSlow(items[at] as T) }) };
  const workAt = async (at: number) => {
    results[at] = await work(items[at] as T);
  };
  await Promise.all(Array.from(servers.values(), (those) => runTogether(those, itsPool, workAt)));
  return results;
}

/** The same of items that share their slots. */
function runTogether<T, R>(
  items: readonly T[],
  { slots, patienceMs = Number.POSITIVE_INFINITY, isSlow = () => false }: Omit<Pool<T>, "serverOf">,
  work: (item: T) => Promise<R>,
): Promise<R[]> {
  const { promise, resolve, reject } = Promise.withResolvers<R[]>();
  const results: R[] = new Array(items.length);
  /** When each of those with a slot began, the first one first. */
  const busy = new Map<number, number>();
  /** The places of the items: up to `known`, they are known to be slow and have no slot. */
  const order: number[] = [];
  const others: number[] = [];
  for (const [at, item] of items.entries()) (isSlow(item) ? order : others).push(at);
  const known = order.length;
  for (const at of others) order.push(at);
  let nextKnown = 0;
  let next = known;
  let knownAtWork = 0;
  let slow = 0;
  let done = 0;
  let usualMs = patienceMs / TIMES_USUAL;
  let timer: Timer | undefined;

  const begin = async (nth: number) => {
    const at = order[nth] as number;
    const began = performance.now();
    const isKnown = nth < known;
    if (isKnown) {
      knownAtWork++;
      slow++;
    } else busy.set(at, began);
    results[at] = await work(items[at] as T);
    if (isKnown) knownAtWork--;
    else usualMs *= performance.now() - began > usualMs ? STEP : 1 / STEP;
    if (!busy.delete(at)) slow--;
    done++;
    if (done < items.length) return fill();
    clearTimeout(timer);
    resolve(results);
  };

  const patience = () => Math.min(Math.max(usualMs * TIMES_USUAL, LEAST_MS), patienceMs);
  const giveUpSlots = () => {
    timer = undefined;
    const before = performance.now() - patience();
    for (const [at, began] of busy) {
      if (began > before) break;
      busy.delete(at);
      slow++;
    }
    fill();
  };

  const fill = () => {
    const most = () => (next < items.length ? MAX_KNOWN : MAX_SLOW);
    while (nextKnown < known && knownAtWork < most() && slow < MAX_SLOW) begin(nextKnown++).catch(reject);
    while (next < items.length && busy.size < slots && slow < MAX_SLOW) begin(next++).catch(reject);
    const [first] = busy.values();
    if (timer || first === undefined || next === items.length || !Number.isFinite(patienceMs)) return;
    // Rounded up: a timer that is early would only begin another one. Patience may have become less than the first one took.
    timer = setTimeout(giveUpSlots, Math.max(0, Math.ceil(first + patience() - performance.now())));
  };

  if (items.length === 0) resolve([]);
  fill();
  return promise;
}
