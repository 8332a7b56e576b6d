/**
 * The routes of signing in (OpenID Connect): for browsers, and for the provider itself.
 */
import * as v from "valibot";
import type { Caller } from "../../core/caller";
import { between, field, NO_INPUT, secret } from "../../core/fields";
import { operation } from "../../core/operation";
import { isSession } from "../../core/rights";
import { badInput, conflict, notFound, unavailable } from "../../lib/errors";
import { isLoopback } from "../../lib/loopback";
import { endedCookies, flowCookies, flowIn, sessionCookies } from "../oidc/cookies";
import { handOver, redirect, refusal } from "../oidc/pages";
import type { SignIn, Waits } from "../oidc/sign-in";
import {
  beginDevice,
  completeDevice,
  leftOut,
  PROOF,
  redeem,
  requireSignIn,
  type Uses,
} from "./oidc-terminal";

interface PageUses extends Uses {
  rest(): Promise<{ readonly server: { readonly tls: boolean } | null }>;
}

const forProvider = { cli: "the provider sends it", script: "the provider sends it" };

/**
 * The origin of the page that asks, and the address of this server.
 *
 * @throws `unavailable` where others could read the session: http beyond this machine.
 */
async function addressOf(service: PageUses, { publicUrl }: SignIn, { request }: Caller) {
  const { server } = await service.rest();
  const host = request?.headers?.get("host");
  if (!host && publicUrl === undefined) throw badInput("host: missing: it names the page to come back to");
  const base = publicUrl ?? `${server?.tls ? "https" : "http"}://${host}`;
  const url = new URL(base);
  if (url.protocol === "http:" && !isLoopback(url.hostname)) {
    throw unavailable(
      "nobody signs in over http: open the page by https, or start svc with --oidc-url https://… where a proxy in front speaks it",
    );
  }
  return { origin: url.origin, base };
}

export const showProvider = operation({
  name: "oidc.show",
  summary: "Show where people sign in; null where nobody can",
  scope: "read",
  http: { method: "GET", path: "/oidc", public: true },
  leftOut,
  input: NO_INPUT,
  output: v.object({ issuer: v.nullable(v.string()) }),
  run: async (service: Uses) => ({ issuer: (await service.signIn())?.issuer ?? null }),
});

const showResource = operation({
  name: "oidc.resource",
  summary: "Show where agents get access tokens for the MCP endpoint (RFC 9728)",
  scope: "read",
  http: { method: "GET", path: "/.well-known/oauth-protected-resource/mcp", public: true },
  leftOut: { cli: "agents ask for it", script: "agents ask for it" },
  input: NO_INPUT,
  output: v.object({
    resource: v.string(),
    authorization_servers: v.array(v.string()),
    bearer_methods_supported: v.array(v.string()),
    resource_name: v.string(),
  }),
  async run(service: Uses) {
    const { issuer, resource } = await requireSignIn(service);
    if (!resource)
      throw notFound(
        "no access token counts here: svc was started without --oidc-url https://… or without --oidc-agents",
      );
    return {
      resource: resource.id,
      authorization_servers: [issuer],
      bearer_methods_supported: ["header"],
      resource_name: "svc",
    };
  },
});

const PORT = v.pipe(between(1, 65_535), v.integer());
/** Who waits for the end of a sign-in, as the query says; undefined for nobody. @throws `bad_input`. */
function waitsFor({ port, challenge, state, page }: v.InferOutput<typeof BEGIN>): Waits | undefined {
  const given = [port, challenge, state].filter((one) => one !== undefined).length;
  if (given !== 0 && given !== 3) throw badInput("port, challenge, state: expected all of them or none");
  if (page !== undefined && given !== 0) throw badInput("page, port: expected one of them");
  if (page !== undefined) return { kind: "page", challenge: page };
  if (port === undefined || challenge === undefined || state === undefined) return undefined;
  return { kind: "terminal", challenge, port, state };
}

const BEGIN = v.strictObject({
  port: field(v.optional(PORT), "The port of a command line that waits on the machine of the browser"),
  challenge: field(v.optional(PROOF), "With port: S256 of what the command line proves itself with"),
  state: field(v.optional(PROOF), "With port: what the command line gets back"),
  page: field(v.optional(PROOF), "S256 of what the page of the dashboard proves itself with that waits"),
});

const begin = operation({
  name: "oidc.begin",
  summary: "Send a browser to the provider to sign in",
  scope: "read",
  http: { method: "GET", path: "/oidc/login", public: true, content: "text/html", fault: refusal },
  leftOut,
  input: BEGIN,
  output: v.instance(Response),
  async run(service: PageUses, input, caller) {
    const signIn = await requireSignIn(service);
    const { origin, base } = await addressOf(service, signIn, caller);
    const waits = waitsFor(input);
    // A bookmark, or a link at the provider: the page begins it.
    if (!waits) return redirect("../dashboard", []);
    const { address, kept, keptS } = await signIn.begin(origin, base, waits);
    return redirect(address, flowCookies(origin, kept, keptS));
  },
});

const ANSWER = v.optional(secret(v.pipe(v.string(), v.maxLength(4_096))));

const complete = operation({
  name: "oidc.complete",
  summary: "Take the answer of the provider, and hand a code to the page or the command line that waits",
  scope: "any",
  acts: true,
  http: {
    method: "GET",
    path: "/oidc/callback",
    public: "signed",
    ownHost: true,
    content: "text/html",
    repeatable: true,
    fault: refusal,
  },
  leftOut,
  input: v.strictObject({
    code: field(ANSWER, "The code of the provider"),
    state: field(ANSWER, "What this server has sent"),
    iss: field(ANSWER, "Which provider answers (RFC 9207)"),
    error: field(ANSWER, "Why the provider does not let the person in"),
    error_description: field(ANSWER, "The same for a person"),
    error_uri: field(ANSWER, "Where the provider says more"),
    session_state: field(ANSWER, "Not used"),
    scope: field(ANSWER, "Not used"),
    authuser: field(ANSWER, "Not used"),
    prompt: field(ANSWER, "Not used"),
    hd: field(ANSWER, "Not used"),
  }),
  output: v.instance(Response),
  async run(service: PageUses, { code, state, iss, error }, caller) {
    const signIn = await requireSignIn(service);
    const { origin } = await addressOf(service, signIn, caller);
    const given = Object.entries({ code, state, iss, error }).flatMap(([name, value]) =>
      value === undefined ? [] : [[name, value] as [string, string]],
    );
    const ended = await signIn.complete(
      flowIn(caller.request?.headers?.get("cookie"), origin),
      new URLSearchParams(given),
      caller.request?.clientKey ?? "unknown",
    );
    const cookies = flowCookies(origin, "", 0);
    if (ended.kind === "terminal") return handOver(ended, cookies);
    // Relative: a proxy may have put the server below a path. What follows # stays in the browser.
    return redirect(`../dashboard#session=${ended.code}`, cookies);
  },
});

const beginPage = operation({
  name: "oidc.page",
  summary: "Begin the session of the page whose browser has signed in",
  scope: "any",
  changes: "announces",
  http: {
    method: "POST",
    path: "/oidc/page",
    public: "signed",
    ownHost: true,
    content: "application/json",
    repeatable: true,
  },
  leftOut: { cli: leftOut.cli, script: leftOut.script },
  input: v.strictObject({
    code: field(secret(PROOF), "The code that came to the page"),
    verifier: field(secret(PROOF), "What the page proves itself with, now and with each request"),
  }),
  output: v.instance(Response),
  async run(service: PageUses, { code, verifier }, caller) {
    const signIn = await requireSignIn(service);
    const { origin } = await addressOf(service, signIn, caller);
    const { name, token, lifeS } = await signIn.redeemPage(code, verifier, origin, caller.announce);
    const response = Response.json({ name }, { headers: { "cache-control": "no-store" } });
    const id = name.replace(/.*\//s, "");
    for (const cookie of sessionCookies(origin, token, id, lifeS))
      response.headers.append("set-cookie", cookie);
    return response;
  },
});

const endSession = operation({
  name: "oidc.sign_out",
  summary: "End the session of this request and stop its work",
  scope: "any",
  changes: true,
  onHosts: true,
  http: { method: "POST", path: "/oidc/logout", content: "application/json", repeatable: true },
  leftOut: { cli: "`svc logout` forgets it, and `svc token remove` ends it", script: leftOut.script },
  input: NO_INPUT,
  output: v.instance(Response),
  async run(service: PageUses & { endSession(name: string): Promise<void> }, _input, caller) {
    const { name } = caller.grant;
    if (!isSession(name)) throw conflict("this is no session: `svc token remove` revokes a token");
    const signIn = await requireSignIn(service);
    const { origin, base } = await addressOf(service, signIn, caller);
    await service.endSession(name);
    // The session here has ended, whatever the provider says.
    const address = await signIn.provider.endAddress(`${base}/dashboard`).catch(() => null);
    const response = Response.json({ ended: name, provider: address });
    for (const cookie of endedCookies(origin)) response.headers.append("set-cookie", cookie);
    return response;
  },
});

const providerLogout = operation({
  name: "oidc.provider_logout",
  summary: "End what a logout token of the provider names (OpenID Connect Back-Channel Logout)",
  scope: "any",
  changes: "announces",
  http: {
    method: "POST",
    path: "/oidc/backchannel-logout",
    body: "form",
    public: "signed",
    repeatable: true,
  },
  leftOut: forProvider,
  input: v.strictObject({ form: field(secret(v.string()), "A form with the field logout_token") }),
  output: v.object({ ended: v.number() }),
  async run(service: Uses, { form }, { announce }) {
    const signIn = await requireSignIn(service);
    const token = new URLSearchParams(form).getAll("logout_token");
    const [only] = token;
    if (token.length !== 1 || !only) throw badInput("form: expected one logout_token");
    return { ended: await signIn.providerLogout(only, announce) };
  },
});

export const operations = [
  showProvider,
  showResource,
  begin,
  complete,
  beginPage,
  redeem,
  beginDevice,
  completeDevice,
  endSession,
  providerLogout,
];
