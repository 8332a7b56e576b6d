/**
 * How often each of many may do something (token buckets).
 *
 * The promise: memory is bounded, however many there are.
 */

import { RecentNumbers } from "./number-table";

export interface Rate {
  /** How often in a minute; 0 for no limit. */
  readonly ratePerMinute: number;
  /** How often at once after a pause. */
  readonly burst: number;
}

/** How many buckets are kept; those unused for longest are dropped first. */
const MAX_BUCKETS = 32_768;

/**
 * Takes a token from a client's bucket. @returns 0, or the milliseconds until the bucket has one. Where it costs more than one, the
 * bucket may owe the rest.
 */
export type Buckets = (client: string, now: number, cost?: number) => number;

/** Token buckets: `burst` deep, refilled at `ratePerMinute`. A client without a bucket has a full one. */
export function createBuckets({ ratePerMinute, burst }: Rate): Buckets {
  if (ratePerMinute === 0) return () => 0;
  const perMs = ratePerMinute / 60_000;
  // Of each: its level, and when that was.
  const buckets = new RecentNumbers(MAX_BUCKETS, [burst, 0]);
  return (client, now, cost = 1) => {
    const bucket = buckets.touch(client);
    const { numbers } = buckets;
    const since = now - (numbers[bucket + 1] ?? now);
    const level = Math.min(burst, (numbers[bucket] ?? burst) + since * perMs);
    const isEmpty = level < 1;
    numbers[bucket] = isEmpty ? level : level - cost;
    numbers[bucket + 1] = now;
    return isEmpty ? (1 - level) / perMs : 0;
  };
}

/**
 * A map of at most `max` keys that drops those untouched for longest, half of them at a time: two generations, because
 * deleting keys one by one from the front of a large Map costs a walk over what was deleted before.
 */
export class RecentMap<V> {
  private young = new Map<string, V>();
  private old = new Map<string, V>();

  constructor(private readonly max: number) {}

  get(key: string): V | undefined {
    return this.young.get(key) ?? this.old.get(key);
  }

  set(key: string, value: V): void {
    if (this.young.size >= this.max / 2 && !this.young.has(key)) {
      this.old = this.young;
      this.young = new Map();
    }
    this.young.set(key, value);
  }

  delete(key: string): void {
    this.young.delete(key);
    this.old.delete(key);
  }

  clear(): void {
    this.young = new Map();
    this.old = new Map();
  }

  /** Each value once. */
  *values(): Generator<V> {
    yield* this.young.values();
    for (const [key, value] of this.old) if (!this.young.has(key)) yield value;
  }
}
