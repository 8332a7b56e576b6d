/**
 * Work on many hosts at a time, so that slow and dead ones never hold up the rest.
 *
 * A lane is for a host that is getting on: one that has not come to its end after {@link patienceFor} gives its lane to the
 * next and goes on waiting beside. With a share of dead hosts that each take the whole timeout, lanes held to the end would
 * make the whole take (dead hosts ÷ lanes) × timeout.
 */
import { readFileSync } from "node:fs";

export interface LaneOptions {
  /** How many hosts are begun before one of them has answered or was set aside. */
  readonly lanes: number;
  /** Milliseconds after which a host gives up its lane; infinite when at most `lanes` may ever be at work. */
  readonly patienceMs: number;
}

/** How many hosts wait beside at most: each is an open connection. */
const MAX_BESIDE = 2_000;

/**
 * How many connections there may be: half of the files that this process may have open (proc_pid_limits(5)). Beyond all of
 * them, a host that is well would look as if it refused.
 */
function mostOpen(): number {
  try {
    const [, files] = /^Max open files +(\d+)/m.exec(readFileSync("/proc/self/limits", "utf8")) ?? [];
    return files === undefined ? Number.POSITIVE_INFINITY : Math.ceil(Number(files) / 2);
  } catch {
    return Number.POSITIVE_INFINITY;
  }
}

/** A twelfth of the timeout, which healthy hosts seldom need, and no more than a quarter of a second. */
export const patienceFor = (timeoutMs: number): number => Math.min(timeoutMs / 12, 250);

/**
 * Begins `work` on each item in order, and resolves with the results in that order once all are there.
 *
 * @param work must not throw.
 */
export function inLanes<T, R>(
  items: readonly T[],
  { lanes, patienceMs }: LaneOptions,
  work: (item: T) => Promise<R>,
): Promise<R[]> {
  const { promise, resolve, reject } = Promise.withResolvers<R[]>();
  const results: R[] = new Array(items.length);
  const most = mostOpen();
  let next = 0;
  let busy = 0;
  let beside = 0;
  let done = 0;

  const begin = async (at: number, item: T) => {
    busy++;
    let inLane = true;
    const setAside = () => {
      inLane = false;
      busy--;
      beside++;
      fill();
    };
    const timer = Number.isFinite(patienceMs) ? setTimeout(setAside, patienceMs) : undefined;
    results[at] = await work(item);
    clearTimeout(timer);
    if (inLane) busy--;
    else beside--;
    done++;
    if (done === items.length) resolve(results);
    else fill();
  };

  const fill = () => {
    while (busy < lanes && beside < MAX_BESIDE && busy + beside < most && next < items.length) {
      const at = next++;
      begin(at, items[at] as T).catch(reject);
    }
  };

  if (items.length === 0) resolve([]);
  fill();
  return promise;
}
