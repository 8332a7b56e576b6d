/**
 * What a request with a valid token leaves behind: the day of its use, and a warning in the answer in the last week of its life.
 */
import { type Grant, isSession } from "../core/rights";
import { isLoopback } from "../lib/loopback";
import { after, type Step } from "./exchange";

/** Where the use of tokens is noted. */
export interface TokenUses {
  /** @param name of a named token; null for the owner's, which is noted where it is used over the network. */
  note(name: string | null): void;
  /** A session of a person was used. */
  session(grant: Grant): void;
}

/** How long before its end a token is warned of, in milliseconds. */
const WARN_MS = 7 * 86_400_000;

/** The header of the warning: when the token of the request ends, ISO 8601. */
const EXPIRES = "svc-token-expires";

export const noteToken =
  (uses: TokenUses): Step =>
  (next) =>
  (exchange) => {
    const { grant, client } = exchange;
    if (grant === null) return next(exchange);
    if (isSession(grant.name)) {
      uses.session(grant);
      return next(exchange);
    }
    if (grant.name !== null || (client !== null && !isLoopback(client.address))) uses.note(grant.name);
    const { ends } = grant;
    if (ends === undefined || ends - Date.now() > WARN_MS) return next(exchange);
    return after(next(exchange), (response) => {
      response.headers.set(EXPIRES, new Date(ends).toISOString());
      return response;
    });
  };
