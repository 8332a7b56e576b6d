/**
 * How often each of many may do something (token buckets).
 *
 * The promise: memory is bounded, however many there are.
 */

export interface Rate {
  /** How often in a minute; 0 for no limit. */
  readonly ratePerMinute: number;
  /** How often at once after a pause. */
  readonly burst: number;
}

/** How many buckets are kept; those unused for longest are dropped first. */
const MAX_BUCKETS = 32_768;

/**
 * Token buckets: `burst` deep, refilled at `ratePerMinute`. A client without a bucket has a full one.
 *
 * @returns a function that takes a token from a client's bucket, and returns 0 or the milliseconds until the bucket has one. Where it
 *   costs more than one, the bucket may owe the rest.
 */
export function createBuckets({
  ratePerMinute,
  burst,
}: Rate): (client: string, now: number, cost?: number) => number {
  if (ratePerMinute === 0) return () => 0;
  const perMs = ratePerMinute / 60_000;
  const buckets = new RecentMap<{ level: number; at: number }>(MAX_BUCKETS);
  return (client, now, cost = 1) => {
    const bucket = buckets.get(client) ?? { level: burst, at: now };
    bucket.level = Math.min(burst, bucket.level + (now - bucket.at) * perMs);
    bucket.at = now;
    buckets.set(client, bucket);
    if (bucket.level < 1) return (1 - bucket.level) / perMs;
    bucket.level -= cost;
    return 0;
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

  /** Each value once. */
  *values(): Generator<V> {
    yield* this.young.values();
    for (const [key, value] of this.old) if (!this.young.has(key)) yield value;
  }
}
