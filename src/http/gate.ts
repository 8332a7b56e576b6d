/**
 * The gate: whether a request may pass, from its headers alone.
 *
 * The promise: a wrong token is refused in constant time. Eight wrong tokens within a minute lock their client out for the
 * next minute, also with a valid token that could have been guessed; with a token that svc made, never. Refused requests never use up the limit of a valid token of the same client.
 * Memory is bounded whatever arrives, and no flood frees a client that is locked out.
 */
import type { Grant } from "../core/rights";
import { createBuckets, type Rate } from "../lib/buckets";
import { digestToken, type GrantOf, type TokensInForce } from "../trust/scopes";
import { isMistyped } from "../trust/token";
import { createGuesses } from "./guesses";

/**
 * Why a request was refused before its route; `misdirected`: for its `Host`; `failed:404`: no route has its path; `failed:…`
 * also for what did not prove who sent it; `unchanged`: it did, and asked for what is so already; `opened`: it is a WebSocket, which
 * has to prove that.
 */
export type Refusal =
  | Exclude<Verdict["kind"], "pass">
  | "misdirected"
  | "unchanged"
  | "opened"
  | `failed:${number}`;

/** The gate's answer for one request; `guess`: it brought a wrong token; `reason`: what is wrong with it, for who holds it. */
export type Verdict =
  | { readonly kind: "pass"; readonly grant: Grant }
  | { readonly kind: "unauthorized"; readonly guess: boolean; readonly reason?: string | undefined }
  | RateRefusal;

/** A refusal that time alone ends. */
export interface RateRefusal {
  readonly kind: "rate_limited" | "locked_out";
  readonly retryAfterSeconds: number;
  readonly guess: boolean;
}

/**
 * Requests of one client that come too late, such as those for a join string that is used up: a thousand hosts behind one
 * address get their reason, and then as many a minute.
 */
const CONFLICTS: Rate = { ratePerMinute: 1_200, burst: 2_400 };

/** Which bucket of a token a request spends from. */
interface BucketKind {
  /** What comes again and again. */
  readonly isRoutine?: boolean | undefined;
  /** What libraries of tests ask, one thing after the other. */
  readonly isPaced?: boolean | undefined;
}

/** Which bucket a request to a route spends from. */
export const kindOf = ({ isRoutine, isPaced }: BucketKind): BucketKind => ({ isRoutine, isPaced });

/** How many times as large the bucket of libraries of tests is: a keyword or command of theirs is a request, and they wait for each. */
const PACED_TIMES = 50;

/** Who may pass, by token, and how often. */
export interface Gate {
  /**
   * Decides on one request and counts it.
   *
   * With as many clients locked out as there may be, any further wrong token is answered as locked out.
   *
   * @param client the client's `key` (`client-address.ts`).
   * @param authorization the header, or null when there is none.
   * @param now milliseconds of a clock that only goes forward.
   * @param kind.relays whether the request may be handed on to another host: `spend` counts it, once that is known.
   * @param kind.page set where the token came as the cookie of a page: whether that page is the one of a session.
   */
  check(
    client: string,
    authorization: string | null,
    now: number,
    kind?: BucketKind & {
      readonly relays?: boolean | undefined;
      readonly page?: ((grant: Grant) => boolean) | undefined;
    },
  ): Verdict;
  /** Decides on a request whose sender is known without a token, and counts it. @param grant undefined: none is in force. */
  admit(client: string, grant: Grant | undefined, now: number, kind?: BucketKind): Verdict;
  /**
   * Counts a request that `check` has let pass to be handed on.
   *
   * @param kind.host that it is handed on to, which limits it too: others than the host's own token have a bucket for each.
   * @returns undefined within the limit; always for the host's own token.
   */
  spend(
    client: string,
    grant: Grant,
    now: number,
    kind?: BucketKind & { readonly host?: string },
  ): RateRefusal | undefined;
  /** What the token of this digest (hexadecimal) allows now; undefined when it is not in force any longer. */
  now(sha256: string): Grant | undefined;
  /** Counts a request that is refused whatever its token. @returns undefined within the limit. */
  refuse(client: string, now: number): RateRefusal | undefined;
  /** Counts a request that came too late: {@link CONFLICTS}. Else as `refuse`. */
  collide(client: string, now: number): RateRefusal | undefined;
}

/**
 * @param tokens are asked for every request with a token.
 * @param seen what this server makes of what a token allows.
 */
export function createGate(
  { guessable, generated, ended }: TokensInForce,
  options: Rate,
  seen: (grant: Grant) => Grant = (grant) => grant,
): Gate {
  const anyToken: GrantOf = (sent, fresh) => guessable(sent, fresh) ?? generated(sent, fresh);
  const paced = { ratePerMinute: options.ratePerMinute * PACED_TIMES, burst: options.burst * PACED_TIMES };
  const passing = { usual: createBuckets(options), paced: createBuckets(paced) };
  const relaying = { usual: createBuckets(options), paced: createBuckets(paced) };
  const spendRefusal = createBuckets(options);
  const spendConflict = createBuckets(options.ratePerMinute === 0 ? options : CONFLICTS);
  /**
   * A bucket for each token of a client: one that allows less must not use up the requests of another. Routine requests, which come
   * again and again, have one of their own, and so has what is paced.
   */
  const spend = (
    buckets: typeof passing,
    { isRoutine, isPaced }: BucketKind,
    now: number,
    client: string,
    { name }: Grant,
    host?: string,
  ): number => {
    const key = [
      client,
      name ?? "",
      ...(isRoutine ? ["routine"] : []),
      ...(host === undefined ? [] : [host]),
    ];
    return buckets[isPaced ? "paced" : "usual"](key.join(" "), now);
  };
  const guesses = createGuesses();

  return {
    check(client, authorization, now, { relays = false, page, ...kind } = {}) {
      const until = guesses.lockedUntil(client);
      const locked = until > now;
      // While a client is locked out, not even the time of an answer may show whether a guess is right.
      const grantOf = locked ? generated : anyToken;
      const sent = authorization === null ? "" : tokenIn(authorization);
      const token = authorization !== null && !isMistyped(sent) ? digestToken(sent) : undefined;
      // A browser sends a cookie for as long as it lasts; nobody guesses by one.
      const guess = authorization !== null && page === undefined;
      // Before it refuses a token, the gate reads changed files again: a token just made is accepted at once.
      const found = token && (grantOf(token) ?? grantOf(token, true));
      const grant = found && isSentBy(found, page) ? found : undefined;
      if (grant) {
        const wait = relays ? 0 : spend(passing, kind, now, client, grant);
        return wait === 0 ? { kind: "pass", grant: seen(grant) } : limited("rate_limited", wait, false);
      }
      if (locked) return limited("locked_out", until - now, false);
      const full = guess && !found ? guesses.count(client, now) : undefined;
      if (full !== undefined) return limited("locked_out", full - now, guess);
      const wait = spendRefusal(client, now);
      if (wait > 0) return limited("rate_limited", wait, guess);
      // Nobody guesses a token that svc made, and whether a text has the form of one is no secret: a stranger learns nothing.
      const reason = found ? NOT_ITS_PAGE : token ? ended?.(token) : guess ? MISTYPED : undefined;
      return { kind: "unauthorized", guess: guess && !found, reason };
    },
    admit(client, grant, now, kind = {}) {
      if (!grant) return { kind: "unauthorized", guess: false };
      const wait = spend(passing, kind, now, client, grant);
      return wait === 0 ? { kind: "pass", grant: seen(grant) } : limited("rate_limited", wait, false);
    },
    spend(client, grant, now, { host, ...kind } = {}) {
      if (grant.name === null) return undefined;
      const wait = spend(host === undefined ? passing : relaying, kind, now, client, grant, host);
      return wait === 0 ? undefined : limited("rate_limited", wait, false);
    },
    now(sha256) {
      const grant = anyToken(Buffer.from(sha256, "hex"), true);
      return grant && seen(grant);
    },
    refuse(client, now) {
      const wait = spendRefusal(client, now);
      return wait === 0 ? undefined : limited("rate_limited", wait, false);
    },
    collide(client, now) {
      const wait = spendConflict(client, now);
      return wait === 0 ? undefined : limited("rate_limited", wait, false);
    },
  };
}

/** The session of a page comes as a cookie from that page alone, and nothing else as one. */
const isSentBy = (grant: Grant, page: ((grant: Grant) => boolean) | undefined): boolean =>
  grant.origin === undefined ? page === undefined : page?.(grant) === true;

const NOT_ITS_PAGE = "the session of a page is for that page alone";

const MISTYPED = "the token begins like one that svc made, but is mistyped or cut off";

/** @param waitMs until the next try may pass. */
const limited = (kind: RateRefusal["kind"], waitMs: number, guess: boolean): RateRefusal => ({
  kind,
  retryAfterSeconds: Math.max(1, Math.ceil(waitMs / 1_000)),
  guess,
});

/**
 * The token of `Bearer <token>` (RFC 6750 section 2.1; the scheme in any case, RFC 9110 section 11.1). Any other header
 * gives the empty text, which no token is.
 */
export function tokenIn(authorization: string): string {
  return /^bearer +(\S.*)$/is.exec(authorization)?.[1] ?? "";
}
