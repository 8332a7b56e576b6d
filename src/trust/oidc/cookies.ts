/**
 * The cookies of a page that somebody has signed in to: the session, which only the server reads; a mark for the page that there is one;
 * and what a sign-in under way needs.
 *
 * The promise: a cookie is for one host, and over https for it alone (`__Host-`); no other site has a browser send the session. Cookies know
 * no ports: whoever serves pages on another port of the host gets it with a visit. So it is of no use without what the page alone has
 * (`http/page-session.ts`).
 */

/** The cookies of a page at an origin. Cookies know no ports, but their names do: several servers may run on a host. */
const nameOf = (what: string, { protocol, port }: Pick<URL, "protocol" | "port">) =>
  `${protocol === "https:" ? "__Host-" : ""}svc-${what}-${port || (protocol === "https:" ? 443 : 80)}`;

const set = (name: string, value: string, origin: string, maxAgeS: number, more: string) =>
  `${name}=${value}; Path=/; Max-Age=${maxAgeS}${origin.startsWith("https:") ? "; Secure" : ""}; ${more}`;

/** The cookies that begin a session. @param id tells the page which session it is, and is no secret. */
export function sessionCookies(origin: string, token: string, id: string, lifeS: number): string[] {
  const url = new URL(origin);
  return [
    set(nameOf("session", url), token, origin, lifeS, "HttpOnly; SameSite=Strict"),
    set(nameOf("signed-in", url), id, origin, lifeS, "SameSite=Strict"),
    ...flowCookies(origin, "", 0),
  ];
}

/** The cookies that end it. */
export function endedCookies(origin: string): string[] {
  const url = new URL(origin);
  return [
    set(nameOf("session", url), "", origin, 0, "HttpOnly; SameSite=Strict"),
    set(nameOf("signed-in", url), "", origin, 0, "SameSite=Strict"),
  ];
}

/** The cookie of a sign-in under way: the provider sends the browser back from another site, so it is not Strict. */
export const flowCookies = (origin: string, value: string, maxAgeS: number): string[] => [
  set(nameOf("flow", new URL(origin)), value, origin, maxAgeS, "HttpOnly; SameSite=Lax"),
];

/** What a sign-in of this browser at `origin` needs, from the header `Cookie`; undefined without. */
export const flowIn = (header: string | null | undefined, origin: string): string | undefined =>
  cookieIn(header, nameOf("flow", new URL(origin)));

/** The value of a cookie; undefined where the header has none, or several: then it is not known which one this server has set. */
export function cookieIn(header: string | null | undefined, name: string): string | undefined {
  const found = (header ?? "")
    .split(";")
    .map((one) => one.trim())
    .filter((one) => one.startsWith(`${name}=`));
  const [only] = found;
  return found.length === 1 && only ? only.slice(name.length + 1) : undefined;
}
