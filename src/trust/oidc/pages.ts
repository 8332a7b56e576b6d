/** What a browser is answered with that signs in: where to go, and pages of their own. */

/** Where the browser goes, and which cookies it sets. */
export function redirect(location: string, cookies: readonly string[]): Response {
  const response = new Response(null, {
    status: 303,
    headers: { location, "cache-control": "no-store", "referrer-policy": "no-referrer" },
  });
  for (const cookie of cookies) response.headers.append("set-cookie", cookie);
  return response;
}

/** What a person compares: of the challenge of a command line, which that shows too. */
export const comparedCode = (challenge: string): string =>
  challenge
    .replaceAll(/[^A-Za-z0-9]/g, "")
    .slice(0, 8)
    .toUpperCase()
    .replace(/^.{4}/, "$&-");

/**
 * The page that hands a session over to a command line. A person says so: any page can begin a sign-in, for a port on which somebody else
 * on this machine listens, and a provider that knows the browser asks nothing.
 */
export function handOver(
  { address, challenge }: { address: string; challenge: string },
  cookies: readonly string[],
) {
  const response = pageOf(
    200,
    "Sign in a command line?",
    `<p>A command line on this machine asks to sign in as you. Go on only if you have started <code>svc login</code>, and it shows</p><p><strong>${comparedCode(challenge)}</strong></p><a class="primary" href="${escaped(address)}">Go on</a>`,
  );
  for (const cookie of cookies) response.headers.append("set-cookie", cookie);
  return response;
}

const escaped = (text: string) => text.replaceAll(/[&<>"']/g, (sign) => `&#${sign.codePointAt(0)};`);

/** A page that says why somebody was not signed in. */
export const refusal = (status: number, message: string) =>
  pageOf(
    status,
    "Not signed in",
    `<p>${escaped(message)}</p><p><a href="../dashboard">Back to the dashboard</a></p>`,
  );

/** A page of its own. @param content HTML. */
const pageOf = (status: number, title: string, content: string) =>
  new Response(
    `<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><meta name="color-scheme" content="light dark"><title>${title} · svc</title><link rel="stylesheet" href="../dashboard/style.css"><main><div class="card sign-in"><h1>${title}</h1>${content}</div></main></html>`,
    {
      status,
      headers: {
        "content-type": "text/html; charset=utf-8",
        "cache-control": "no-store",
        "referrer-policy": "no-referrer",
        "content-security-policy":
          "default-src 'none'; style-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
      },
    },
  );
