/**
 * Access tokens of the OpenID provider, which agents bring that cannot keep a secret (RFC 9728): the first request with one begins a session
 * whose token it is, so that it is limited, on record and ended as any other.
 *
 * The promise: one whose session has ended begins none again. Nothing is asked of the provider for a token that is in force, or that has no
 * such form.
 */
import { Failure, HTTP_STATUS, messageOf } from "../lib/errors";
import type { SessionKeeper } from "../trust/oidc/sign-in";
import { digestToken, hexOf, type TokenDigest } from "../trust/scopes";
import type { Step } from "./exchange";
import type { Gate } from "./gate";
import { accessTokenIn } from "./pass-gate";
import { errorResponse } from "./responses";

/** @param sessions null where nobody can sign in. @param ended what became of a token that is over; undefined for any other. */
export const takeAccessToken =
  (
    sessions: Pick<SessionKeeper, "resource" | "bring"> | null,
    gate: Pick<Gate, "now">,
    ended: (sent: TokenDigest) => string | undefined = () => undefined,
  ): Step =>
  (next) =>
  (exchange) => {
    const { request, route, link, client } = exchange;
    if (!sessions?.resource || !route.isOAuth || link) return next(exchange);
    const token = accessTokenIn(request.raw.headers.get("authorization"));
    if (token === undefined) return next(exchange);
    const digest = digestToken(token);
    if (gate.now(hexOf(digest)) || ended(digest) !== undefined) return next(exchange);
    return sessions.bring(token, client?.key ?? "unknown", exchange.announce).then(
      () => next(exchange),
      (error) => {
        if (!(error instanceof Failure)) throw error;
        const status = HTTP_STATUS[error.code];
        exchange.refusal = `failed:${status}`;
        return errorResponse(status, messageOf(error));
      },
    );
  };
