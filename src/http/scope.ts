/**
 * Whether the token of a request allows the operation, before its input is read.
 */
import { allows, beyond, type Need } from "../core/rights";
import type { Step } from "./exchange";
import { errorResponse } from "./responses";

export const checkScope =
  (scope: Need): Step =>
  (next) =>
  (exchange) => {
    const { grant } = exchange;
    // A public route has no gate, and so no grant.
    if (grant === null || allows(grant, scope)) return next(exchange);
    // RFC 6750 section 3.1.
    return errorResponse(403, beyond(grant, `this needs ${scope}`), {
      "www-authenticate": `Bearer error="insufficient_scope", scope="${scope}"`,
    });
  };
