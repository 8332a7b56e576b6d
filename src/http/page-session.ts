/**
 * The session of a page (`trust/oidc`), which a browser sends as a cookie.
 *
 * The promise: a cookie counts only from the page that has begun its session. Cookies know no ports, so that the server of somebody else on
 * another port of the host gets them too, and may send whatever header it likes: the page proves itself besides with what it keeps in the
 * storage of its origin, which no other origin reads. Nobody else's page can make a request that counts either, whatever it makes a
 * browser send.
 */
import type { Grant } from "../core/rights";
import { cookieIn } from "../trust/oidc/cookies";
import { digestToken, hexOf } from "../trust/scopes";

/**
 * The header that a page of svc sends with each request: the port of the page, and what it proves itself with. A page elsewhere would have to
 * ask first (CORS), and is refused.
 */
const PAGE = "svc-page";

/** A port, and 32 bytes in base64url or more (RFC 7636 section 4.1). */
const PAGE_TEXT = /^(\d{1,5}) ([A-Za-z0-9_-]{43,128})$/;

interface PageSession {
  /** As the header `Authorization` would have it. */
  readonly authorization: string;
  /** Whether the request comes from the page of that session. */
  isOf(grant: Pick<Grant, "origin" | "page">): boolean;
}

/** The session of a request; undefined without one. */
export function pageSession(headers: Headers): PageSession | undefined {
  const [, port, proof] = PAGE_TEXT.exec(headers.get(PAGE) ?? "") ?? [];
  if (port === undefined || proof === undefined) return undefined;
  const cookies = headers.get("cookie");
  const secure = cookieIn(cookies, `__Host-svc-session-${port}`);
  const token = secure ?? cookieIn(cookies, `svc-session-${port}`);
  if (token === undefined) return undefined;
  const from = headers.get("origin");
  const site = headers.get("sec-fetch-site");
  return {
    authorization: `Bearer ${token}`,
    isOf({ origin, page }) {
      if (origin === undefined || page !== hexOf(digestToken(proof))) return false;
      if (!origin.startsWith(secure === undefined ? "http:" : "https:")) return false;
      if (site !== null && site !== "same-origin") return false;
      // A browser leaves the origin out where it only reads, and says then that the page is of the same.
      return from === null ? site === "same-origin" : from === origin;
    },
  };
}
