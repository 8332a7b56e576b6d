/**
 * The session of a page (`trust/oidc`), which a browser sends as a cookie.
 *
 * The promise: a cookie counts only with a header that no page of another origin can have sent, and for the origin of which the session
 * is. Nobody else's page can so make a request that counts, whatever it makes a browser send.
 */
import { cookieIn } from "../trust/oidc/cookies";

/** The header that a page of svc sends with each request; its value is the port of the page. A page elsewhere would have to ask first (CORS), and is refused. */
const PAGE = "svc-page";

/** A session that came as a cookie. */
interface PageSession {
  /** As the header `Authorization` would have it. */
  readonly authorization: string;
  /** Whether the request comes from a page of that origin. */
  isOf(origin: string): boolean;
}

/** The session of a request; undefined without one. */
export function pageSession(headers: Headers): PageSession | undefined {
  const port = headers.get(PAGE);
  if (port === null || !/^\d{1,5}$/.test(port)) return undefined;
  const cookies = headers.get("cookie");
  const secure = cookieIn(cookies, `__Host-svc-session-${port}`);
  const token = secure ?? cookieIn(cookies, `svc-session-${port}`);
  if (token === undefined) return undefined;
  const from = headers.get("origin");
  const site = headers.get("sec-fetch-site");
  return {
    authorization: `Bearer ${token}`,
    isOf(origin) {
      // What the session of an access token is for has a path: no page has that.
      if (URL.parse(origin)?.origin !== origin) return false;
      if (!origin.startsWith(secure === undefined ? "http:" : "https:")) return false;
      if (site !== null && site !== "same-origin") return false;
      // A browser leaves the origin out where it only reads, and says then that the page is of the same.
      return from === null ? site === "same-origin" : from === origin;
    },
  };
}
