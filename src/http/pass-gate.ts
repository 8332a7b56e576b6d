/** The steps of a request that ask the gate, with what the request brings, and answer what does not pass. */
import type { Grant } from "../core/rights";
import { tooMany } from "../lib/errors";
import { type Answer, after, type Exchange, type Handler, type Step } from "./exchange";
import { type Gate, kindOf, type RateRefusal, tokenIn, type Verdict } from "./gate";
import type { RequestMetrics } from "./measure";
import { pageSession } from "./page-session";
import { errorResponse } from "./responses";

/** What access tokens of the OpenID provider are for, and where clients read how they get one (RFC 9728). */
interface Resource {
  readonly id: string;
  readonly metadata: string;
}

/** Lets requests with a token in force pass, and refuses all others. @param resource undefined where access tokens do not count. */
export const passGate =
  (gate: Gate, metrics: RequestMetrics, resource?: Resource): Step =>
  (next) =>
  (exchange) => {
    const key = exchange.client?.key ?? "unknown";
    const { route } = exchange;
    const { relays: isRelay = false } = route;
    const verdict = exchange.link
      ? gate.admit(key, exchange.link.grant(), exchange.started, route)
      : checkSent(gate, key, exchange, resource);
    if (verdict.kind === "pass") {
      exchange.grant = verdict.grant;
      return isRelay ? passOn(gate, key, exchange, verdict.grant, next) : next(exchange);
    }
    if (verdict.guess) metrics.countFailedAuth();
    exchange.refusal = verdict.kind;
    if (verdict.kind !== "unauthorized") return tooManyResponse(verdict);
    return unauthorized(verdict.reason, route.isOAuth ? resource?.metadata : undefined);
  };

/** The verdict on what the request brings: a header, else the session of its page. */
function checkSent(gate: Gate, key: string, exchange: Exchange, resource?: Resource): Verdict {
  const { started, route } = exchange;
  const authorization = authorizationOf(exchange);
  const { isRoutine, isPaced, relays } = route;
  const kind = { isRoutine, isPaced, relays };
  // The session of an access token is for what that is for alone, as that of a page is for the page.
  const isFor = ({ origin }: Grant) => origin === resource?.id;
  if (route.isOAuth && resource && accessTokenIn(authorization) !== undefined)
    return gate.check(key, authorization, started, { ...kind, page: isFor });
  const page = authorization === null ? pageSession(exchange.request.raw.headers) : undefined;
  return page
    ? gate.check(key, page.authorization, started, { ...kind, page: page.isOf })
    : gate.check(key, authorization, started, kind);
}

/** A JSON Web Token that is signed (RFC 7519 section 3): its first part begins with `{"`. */
const JWT = /^eyJ[\w-]+\.[\w-]+\.[\w-]+$/;

/** The token of the header, where it has the form of an access token (RFC 9068). */
export function accessTokenIn(authorization: string | null): string | undefined {
  const token = tokenIn(authorization ?? "");
  return JWT.test(token) ? token : undefined;
}

/**
 * The header `Authorization`. A page never sends a token as HTTP Basic: a browser that knows one would add it to the requests of any page.
 */
function authorizationOf({ request: { raw }, route }: Exchange): string | null {
  const header = raw.headers.get("authorization");
  const isOfPage = raw.headers.has("origin") || raw.headers.has("sec-fetch-site");
  return header !== null && route.isPaced && !isOfPage ? passwordOf(header) : header;
}

/** The password of `Basic <user:password>` as `Bearer` has it (RFC 7617 section 2); any other header as it is. */
function passwordOf(header: string): string {
  const [, pair] = /^basic +([A-Za-z0-9+/=]+)$/i.exec(header) ?? [];
  if (pair === undefined) return header;
  const text = Buffer.from(pair, "base64").toString();
  return `Bearer ${text.slice(text.indexOf(":") + 1)}`;
}

/** Counts a request against the limit of the host that gets it; a request that no host gets counts as any other. */
function passOn(gate: Gate, key: string, exchange: Exchange, grant: Grant, next: Handler): Answer {
  const { started, link, route } = exchange;
  let isSpent = link !== null;
  let limit: RateRefusal | undefined;
  exchange.relay = {
    to(host) {
      if (isSpent) return;
      isSpent = true;
      limit = gate.spend(key, grant, started, { host, ...kindOf(route) });
      if (limit) throw tooMany("rate limited");
    },
    recorded() {
      exchange.isElsewhere = true;
    },
  };
  return after(next(exchange), (response) => {
    if (!isSpent) limit = gate.spend(key, grant, started, route);
    if (!limit) return response;
    exchange.refusal = limit.kind;
    return tooManyResponse(limit);
  });
}

/** The answer to a request without a token in force. @param metadata where clients read how they get one (RFC 9728 section 5.1). */
const unauthorized = (reason?: string, metadata?: string) =>
  errorResponse(
    401,
    "unauthorized",
    { "www-authenticate": metadata === undefined ? "Bearer" : `Bearer resource_metadata="${metadata}"` },
    reason === undefined ? undefined : { reason },
  );

/**
 * Decides once more, now that the body is there: its client chooses how long that takes, and the token may have been removed,
 * replaced or changed meanwhile. Sets the grant of the exchange to what the token allows now.
 *
 * @returns the refusal of a token that is not in force any longer.
 */
export function passAgain(gate: Pick<Gate, "now">, exchange: Exchange): Response | undefined {
  const { grant } = exchange;
  if (grant?.sha256 === undefined) return undefined;
  const now = gate.now(grant.sha256);
  if (now) {
    exchange.grant = now;
    return undefined;
  }
  exchange.refusal = "unauthorized";
  return unauthorized();
}

/**
 * Lets requests for an unknown path pass to their 404, within the limit of refused requests. Their tokens are not looked at:
 * no guess is counted here, so no answer here may depend on whether a guess was right.
 */
export const passUnknown =
  (gate: Gate): Step =>
  (next) =>
  (exchange) => {
    const limit = gate.refuse(exchange.client?.key ?? "unknown", exchange.started);
    exchange.refusal = limit?.kind ?? "failed:404";
    return limit ? tooManyResponse(limit) : next(exchange);
  };

/**
 * Lets requests pass that prove who sends them, whatever else came from their client: a page in a browser can use up any limit of its
 * address. Only what proves nothing is limited, once it has failed.
 */
export const passSigned =
  (gate: Gate): Step =>
  (next) =>
  (exchange) => {
    const key = exchange.client?.key ?? "unknown";
    return after(next(exchange), (response) => {
      const { status } = response;
      if (status < 400) return response;
      exchange.refusal = `failed:${status}`;
      if (status === 429) return response;
      // Neither is a guess: who has what the request needs to know comes too late, or too often.
      const limit = status === 409 ? gate.collide(key, exchange.started) : gate.refuse(key, exchange.started);
      if (!limit) return response;
      exchange.refusal = limit.kind;
      return tooManyResponse(limit);
    });
  };

const tooManyResponse = ({ kind, retryAfterSeconds }: RateRefusal) =>
  errorResponse(429, kind === "rate_limited" ? "rate limited" : "too many failed auth attempts", {
    "retry-after": String(retryAfterSeconds),
  });
