/** A real OpenID provider (`oidc-provider`) on loopback, and a browser that signs in there. */
import { createServer } from "node:http";
import { createServer as createTlsServer } from "node:https";
import { exportJWK, generateKeyPair, importJWK, type JWK, SignJWT } from "jose";
import Provider, { type Configuration } from "oidc-provider";

export const CLIENT = "svc-desk";
/** A client of the provider that is an agent. */
export const AGENT = "agent";
export const AGENT_REDIRECT = "http://127.0.0.1:9/agent";
export const SECRET = "a-secret-of-the-client-0123456789";
/** A client of the provider that is a program of nobody, and may ask for tokens for itself. */
export const MACHINE = "machine";

/** A key pair to sign with. */
export async function signingKey(kid: string): Promise<JWK> {
  const { privateKey } = await generateKeyPair("RS256", { extractable: true });
  return { ...(await exportJWK(privateKey)), kid, use: "sig", alg: "RS256" };
}

let usual: Promise<JWK> | undefined;

/** The key pair that providers have where a test does not ask for another: to make one takes a tenth of a second. */
export const usualKey = (): Promise<JWK> => (usual ??= signingKey("first"));

/** A logout token as a provider makes it (OpenID Connect Back-Channel Logout 1.0 section 2.4), but for `change`. */
export async function logoutToken(
  key: JWK,
  issuer: string,
  change: Readonly<Record<string, unknown>> & { readonly at?: number } = {},
): Promise<string> {
  const { at = Math.floor(Date.now() / 1_000), ...claims } = change;
  const payload = {
    ...{ iss: issuer, aud: CLIENT, sub: "alice", jti: crypto.randomUUID(), iat: at },
    events: { "http://schemas.openid.net/event/backchannel-logout": {} },
    ...claims,
  };
  return new SignJWT(payload)
    .setProtectedHeader({ alg: "RS256", kid: `${key.kid}`, typ: "logout+jwt" })
    .sign(await importJWK(key, "RS256"));
}

/** Who can sign in, by the id of the account. */
const PEOPLE: Readonly<Record<string, { readonly groups: readonly string[]; readonly name: string }>> = {
  alice: { groups: ["lab-admins", "staff"], name: "alice@example.org" },
  bob: { groups: ["viewers"], name: "bob@example.org" },
  eve: { groups: ["nobody-knows"], name: "eve@example.org" },
};

/** What it shows in place of what it is. */
interface Shown {
  /** Public keys, in place of its own. */
  keys?: readonly JWK[];
  /** Seconds by which its clock is ahead. */
  aheadS?: number;
}

export interface TestProvider extends Disposable {
  readonly issuer: string;
  readonly provider: Provider;
  /** The paths that it was asked for. */
  readonly asked: string[];
  /** Why it refused at its token endpoint. */
  readonly refusals: string[];
  readonly shown: Shown;
}

interface ProviderSettings {
  readonly keys?: JWK[];
  readonly port?: number;
  readonly backchannel?: string;
  /** Whether what it says of people is in the user info alone. */
  readonly conform?: boolean;
  /** PEM; without, it speaks http. */
  readonly tls?: { readonly key: string; readonly cert: string };
}

/** Listens on loopback. @returns the listener and its issuer. */
async function listening({ tls, port = 0 }: ProviderSettings) {
  const listener = tls ? createTlsServer(tls) : createServer();
  await new Promise<void>((resolve) => listener.listen(port, "127.0.0.1", resolve));
  const address = listener.address();
  const at = typeof address === "object" ? address?.port : "";
  return { listener, issuer: `${tls ? "https" : "http"}://127.0.0.1:${at}` };
}

/** The clients that it has. */
function clientsOf(redirects: readonly string[], backchannel?: string) {
  const client = {
    client_id: CLIENT,
    client_secret: SECRET,
    redirect_uris: [...redirects],
    grant_types: ["authorization_code", "urn:ietf:params:oauth:grant-type:device_code"],
    ...(backchannel && { backchannel_logout_uri: backchannel, backchannel_logout_session_required: true }),
  };
  // Of a program that cannot keep a secret.
  const agent = {
    ...{ client_id: AGENT, token_endpoint_auth_method: "none", redirect_uris: [AGENT_REDIRECT] },
    grant_types: ["authorization_code"],
  };
  const machine = {
    ...{ client_id: MACHINE, client_secret: SECRET, redirect_uris: [], response_types: [] },
    grant_types: ["client_credentials"],
  };
  return [client, { ...client, client_id: "other" }, agent, machine];
}

/** @param redirects of the client; another client has the id `other`. */
export async function startProvider(
  redirects: readonly string[],
  settings: ProviderSettings = {},
): Promise<TestProvider> {
  const { warn, info } = console;
  // It warns of all that a test does on purpose.
  console.warn = () => {};
  console.info = () => {};
  const { listener, issuer } = await listening(settings);
  const resourceOf = (_context: unknown, audience: string) =>
    ({ scope: "mcp", audience, accessTokenTTL: 300, accessTokenFormat: "jwt" }) as const;
  const claimsOf = (_context: unknown, { accountId = "" }: { readonly accountId?: string }) => ({
    groups: PEOPLE[accountId]?.groups,
  });
  const configuration: Configuration = {
    clients: clientsOf(redirects, settings.backchannel),
    extraTokenClaims: claimsOf,
    jwks: { keys: settings.keys ?? [await usualKey()] },
    claims: { openid: ["sub"], profile: ["preferred_username", "groups"] },
    conformIdTokenClaims: settings.conform ?? false,
    scopes: ["openid", "profile", "email", "groups", "mcp"],
    features: {
      devInteractions: { enabled: true },
      deviceFlow: { enabled: true },
      clientCredentials: { enabled: true },
      backchannelLogout: { enabled: true },
      rpInitiatedLogout: { enabled: true },
      resourceIndicators: {
        ...{ enabled: true, getResourceServerInfo: resourceOf, useGrantedResource: () => true },
      },
    },
    // By default it asks no address of this machine.
    fetch: (url: string, init: BunFetchRequestInit) =>
      fetch(url, { ...init, tls: { rejectUnauthorized: false } }),
    pkce: { required: () => true },
    cookies: { keys: ["a key for tests"] },
    findAccount: (_context, sub) => ({
      accountId: sub,
      claims: () => ({ sub, preferred_username: PEOPLE[sub]?.name, groups: PEOPLE[sub]?.groups }),
    }),
  };
  const provider = new Provider(issuer, configuration);
  const [asked, refusals, shown]: [string[], string[], Shown] = [[], [], {}];
  provider.on("grant.error", (_context, error) => refusals.push(error.error_detail ?? String(error)));
  const answer = provider.callback();
  listener.on("request", (request, response) => {
    const path = (request.url ?? "").replace(/\?.*/s, "");
    asked.push(path);
    if (shown.aheadS !== undefined)
      response.setHeader("date", new Date(Date.now() + shown.aheadS * 1_000).toUTCString());
    if (path !== "/jwks" || !shown.keys) return answer(request, response);
    response.setHeader("content-type", "application/json");
    response.end(JSON.stringify({ keys: shown.keys.map(publicOf) }));
  });
  console.warn = warn;
  console.info = info;
  return {
    ...{ issuer, provider, asked, refusals, shown },
    [Symbol.dispose]() {
      listener.closeAllConnections();
      listener.close();
    },
  };
}

/** A key pair as everybody may see it. */
const publicOf = ({ kty, kid, use, alg, n, e }: JWK): JWK => ({
  ...(kty && { kty }),
  ...(kid && { kid }),
  ...(use && { use }),
  ...(alg && { alg }),
  ...(n && { n }),
  ...(e && { e }),
});

/** A browser as far as signing in needs one: it keeps cookies by origin, and fills in the forms of the provider. */
export class TestBrowser {
  readonly cookies = new Map<string, Map<string, string>>();

  /** Asks for one address, and follows no redirect. */
  async ask(address: string | URL, init: RequestInit = {}): Promise<Response> {
    const { origin } = new URL(address);
    const jar = this.cookies.get(origin) ?? new Map<string, string>();
    this.cookies.set(origin, jar);
    const headers = new Headers(init.headers);
    const sent = [...jar].map(([name, value]) => `${name}=${value}`).join("; ");
    if (sent) headers.set("cookie", sent);
    const tls = { rejectUnauthorized: false };
    const response = await fetch(address, { ...init, headers, redirect: "manual", tls });
    for (const cookie of response.headers.getSetCookie()) {
      const [, name = "", value = ""] = /^([^=]+)=([^;]*)/.exec(cookie) ?? [];
      if (value === "" || /max-age=0|01 jan 1970/i.test(cookie)) jar.delete(name);
      else jar.set(name, value);
    }
    return response;
  }

  /** Signs in at the provider from `address` on. @returns where the provider sends the browser back to. */
  async signIn(address: string, account: string, back: (address: string) => boolean): Promise<string> {
    let next: { address: string; init?: RequestInit } = { address };
    for (let step = 0; step < 20; step++) {
      const response = await this.ask(next.address, next.init);
      const location = response.headers.get("location");
      if (location !== null) {
        const to = new URL(location, next.address).href;
        if (back(to)) return to;
        next = { address: to };
        continue;
      }
      const page = await response.text();
      const [, action] = /<form[^>]*action="([^"]+)"/.exec(page) ?? [];
      if (!action) return `${response.status} ${page.slice(0, 2_000)}`;
      const hidden = [...page.matchAll(/<input type="hidden" name="([^"]+)" value="([^"]*)"/g)];
      const form = new URLSearchParams(
        hidden.map(([, name = "", value = ""]): [string, string] => [name, value]),
      );
      if (page.includes('name="login"')) {
        form.set("login", account);
        form.set("password", "any");
      }
      if (page.includes("op.logoutForm")) form.set("logout", "yes");
      next = {
        address: new URL(action, next.address).href,
        init: {
          method: "POST",
          body: form,
          headers: { "content-type": "application/x-www-form-urlencoded" },
        },
      };
    }
    throw new Error("the provider did not come to an end");
  }
}
