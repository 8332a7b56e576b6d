/**
 * The gate: whether a request may pass, from its headers alone.
 *
 * The promise: a wrong token is refused in constant time; eight of them within a minute lock their client out for the
 * next, valid token included; what fails never spends what a valid token of the same client has; memory is bounded
 * whatever arrives, and no flood frees a client that is locked out.
 */
import { digestToken, type Grant, type GrantOf } from "../trust/scopes";

/** What the gate says of a request. */
export type Verdict =
  | { readonly kind: "pass"; readonly grant: Grant }
  | { readonly kind: "unauthorized"; readonly guess: boolean }
  | {
      readonly kind: "rate_limited" | "locked_out";
      readonly retryAfterSeconds: number;
      readonly guess: boolean;
    };

export interface GateOptions {
  /** Requests a minute and client; 0 for no limit. */
  readonly ratePerMinute: number;
  /** Requests that may come at once after a pause. */
  readonly burst: number;
}

export const DEFAULT_RATE_PER_MINUTE = 120;
export const DEFAULT_BURST = 30;

/** Wrong tokens within {@link LOCKOUT_WINDOW_MS} that lock a client out, for as long again. */
export const LOCKOUT_GUESSES = 8;
export const LOCKOUT_WINDOW_MS = 60_000;

/** Clients whose buckets and guesses are kept; those longest unseen are forgotten first. */
const MAX_CLIENTS = 32_768;

/** Clients locked out at a time. Filling it takes 2,000 guesses a second; see {@link Gate.check} for when it is full. */
const MAX_LOCKED = 131_072;

export interface Gate {
  /**
   * Judges one request and counts it.
   *
   * With {@link MAX_LOCKED} clients locked out, any further wrong token is answered as locked out.
   *
   * @param client key of the client, as `client.ts` makes it.
   * @param authorization the header, or null when there is none.
   * @param now milliseconds of a clock that only goes forward.
   */
  check(client: string, authorization: string | null, now: number): Verdict;
}

/** @param grantOf is called at every request that brings a token. */
export function createGate(grantOf: GrantOf, options: GateOptions): Gate {
  const passes = createBuckets(options);
  const failures = createBuckets(options);
  const guesses = new RecentMap<number[]>(MAX_CLIENTS);
  const lockedUntil = new Map<string, number>();

  const lockout = (client: string, now: number): number | undefined => {
    const until = lockedUntil.get(client);
    if (until === undefined || until > now) return until;
    lockedUntil.delete(client);
    return undefined;
  };

  /** Locks are made in the order in which they end, so the ones to forget are at the front. */
  const forgetEnded = (now: number) => {
    for (const [client, until] of lockedUntil) {
      if (until > now) return;
      lockedUntil.delete(client);
    }
  };

  const countGuess = (client: string, now: number): number | undefined => {
    const recent = (guesses.get(client) ?? []).filter((at) => at > now - LOCKOUT_WINDOW_MS);
    recent.push(now);
    if (recent.length < LOCKOUT_GUESSES) {
      guesses.set(client, recent);
      if (lockedUntil.size < MAX_LOCKED) return undefined;
    }
    forgetEnded(now);
    const until = now + LOCKOUT_WINDOW_MS;
    if (lockedUntil.size >= MAX_LOCKED) return until;
    if (recent.length < LOCKOUT_GUESSES) return undefined;
    guesses.delete(client);
    lockedUntil.set(client, until);
    return undefined;
  };

  return {
    check(client, authorization, now) {
      const until = lockout(client, now);
      if (until !== undefined) return { kind: "locked_out", ...retryAfter(until - now), guess: false };
      const guess = authorization !== null;
      const grant = guess ? grantOf(digestToken(tokenIn(authorization))) : undefined;
      if (grant) {
        const wait = passes.spend(client, now);
        return wait === 0
          ? { kind: "pass", grant }
          : { kind: "rate_limited", ...retryAfter(wait), guess: false };
      }
      const full = guess ? countGuess(client, now) : undefined;
      if (full !== undefined) return { kind: "locked_out", ...retryAfter(full - now), guess };
      const wait = failures.spend(client, now);
      return wait === 0
        ? { kind: "unauthorized", guess }
        : { kind: "rate_limited", ...retryAfter(wait), guess };
    },
  };
}

function retryAfter(milliseconds: number) {
  return { retryAfterSeconds: Math.max(1, Math.ceil(milliseconds / 1_000)) };
}

/**
 * What `Bearer <token>` brings (RFC 6750 section 2.1; the scheme in any case, RFC 9110 section 11.1); empty, which no token
 * is, for any other header.
 */
function tokenIn(authorization: string): string {
  return /^bearer +(\S.*)$/is.exec(authorization)?.[1] ?? "";
}

interface Buckets {
  /** Takes one from the client's bucket: 0, or the milliseconds until there is one to take. */
  spend(client: string, now: number): number;
}

/** Token buckets: `burst` deep, refilled at `ratePerMinute`. A full bucket is one that need not be remembered. */
function createBuckets({ ratePerMinute, burst }: GateOptions): Buckets {
  if (ratePerMinute === 0) return { spend: () => 0 };
  const perMs = ratePerMinute / 60_000;
  const buckets = new RecentMap<{ level: number; at: number }>(MAX_CLIENTS);
  return {
    spend(client, now) {
      const bucket = buckets.get(client) ?? { level: burst, at: now };
      bucket.level = Math.min(burst, bucket.level + (now - bucket.at) * perMs);
      bucket.at = now;
      buckets.set(client, bucket);
      if (bucket.level < 1) return (1 - bucket.level) / perMs;
      bucket.level -= 1;
      return 0;
    },
  };
}

/**
 * A map that holds at most `max` keys and forgets those longest untouched, half of them at a time: two generations,
 * because deleting one key at a time from the front of a large Map costs a walk over what was deleted before.
 */
class RecentMap<V> {
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
}
