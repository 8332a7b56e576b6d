/** Access tokens of the provider, which agents bring that cannot keep a secret (RFC 9728, RFC 9068). */
import { expect, setDefaultTimeout, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { JWK } from "jose";
import { silentLog } from "../../../src/lib/log";
import { configFiles } from "../../../src/lib/paths";
import { createTokenList } from "../../../src/trust/token-list";
import { connectAgent } from "../../host/mcp/support";
import { post } from "../../support";
import { accessToken, accessTokenDesk, now } from "./agents";
import {
  AGENT,
  AGENT_REDIRECT,
  CLIENT,
  logoutToken,
  MACHINE,
  SECRET,
  signingKey,
  TestBrowser,
} from "./provider";
import { PROOF, setUp } from "./support";

setDefaultTimeout(60_000);

test("an agent without a token is told where to get one, at the MCP endpoint alone", async () => {
  await using here = await accessTokenDesk();
  const refused = await here.ping();
  const header = refused.headers.get("www-authenticate");
  expect([refused.status, header]).toEqual([
    401,
    `Bearer resource_metadata="${here.url}/.well-known/oauth-protected-resource/mcp"`,
  ]);
  const [, metadata = ""] = /resource_metadata="([^"]+)"/.exec(header ?? "") ?? [];
  expect(await (await fetch(metadata)).json()).toEqual({
    resource: here.resource,
    authorization_servers: [here.peer.issuer],
    bearer_methods_supported: ["header"],
    resource_name: "svc",
  });
  expect((await here.ping(undefined, "/token")).headers.get("www-authenticate")).toBe("Bearer");
});

test("a server that does not know its address takes none, and says so", async () => {
  const key = await signingKey("first");
  await using here = await setUp({ keys: [key] });
  const metadata = await fetch(`${here.url}/.well-known/oauth-protected-resource/mcp`);
  expect([metadata.status, Object(await metadata.json()).error]).toEqual([
    404,
    expect.stringContaining("--oidc-url"),
  ]);
  const token = await accessToken(key, here.peer.issuer, `${here.url}/mcp`);
  const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
  const asked = await fetch(`${here.url}/mcp`, {
    ...post({ jsonrpc: "2.0", id: 1, method: "ping" }),
    headers,
  });
  expect([asked.status, asked.headers.get("www-authenticate")]).toEqual([401, "Bearer"]);
});

test("an agent with an access token is the person, in one session, and with it at the MCP endpoint alone", async () => {
  await using here = await accessTokenDesk();
  const token = await here.tokenWith();
  await using agent = await connectAgent(here.url, token);
  expect((await agent.tools()).length).toBeGreaterThan(0);
  expect((await Promise.all([here.ping(token), here.ping(token)])).map(({ status }) => status)).toEqual([
    200, 200,
  ]);
  expect(await here.signIns()).toBe(1);
  const { tokens } = JSON.parse(readFileSync(join(here.configDir, "tokens.json"), "utf8"));
  expect(tokens).toMatchObject([{ name: expect.stringMatching(/^oidc:alice@example\.org~\w{32}\/\w{8}$/) }]);
  for (const path of ["/token", "/overview"]) expect((await here.ping(token, path)).status).toBe(401);
  // Nor as the cookie of a page.
  const { port } = new URL(here.url);
  const cookie = {
    cookie: `svc-session-${port}=${token}`,
    "svc-page": `${port} ${PROOF}`,
    "sec-fetch-site": "same-origin",
  };
  expect((await fetch(`${here.url}/overview`, { headers: cookie })).status).toBe(401);
});

test("an agent that is a client of the provider gets its token there, as the metadata say, for this server", async () => {
  await using here = await accessTokenDesk({ "lab-admins": { scope: ["read"] } });
  const { authorization_servers, resource } = Object(
    await (await fetch(`${here.url}/.well-known/oauth-protected-resource/mcp`)).json(),
  );
  const provider = await fetch(`${authorization_servers[0]}/.well-known/openid-configuration`);
  const { authorization_endpoint, token_endpoint } = Object(await provider.json());
  const verifier = "V".repeat(43);
  const code_challenge = new Bun.CryptoHasher("sha256").update(verifier).digest("base64url");
  const client = { client_id: AGENT, redirect_uri: AGENT_REDIRECT, resource };
  const query = new URLSearchParams({
    ...{ ...client, response_type: "code", scope: "openid mcp", state: "s" },
    ...{ code_challenge, code_challenge_method: "S256" },
  });
  const back = await new TestBrowser().signIn(`${authorization_endpoint}?${query}`, "alice", (to) =>
    to.startsWith(AGENT_REDIRECT),
  );
  const code = new URL(back).searchParams.get("code") ?? "";
  const body = new URLSearchParams({
    ...{ ...client, grant_type: "authorization_code", code, code_verifier: verifier },
  });
  const { access_token } = Object(await (await fetch(token_endpoint, { method: "POST", body })).json());
  await using agent = await connectAgent(here.url, access_token);
  expect((await agent.tools()).length).toBeGreaterThan(0);
});

test("a session that was begun for another address of this server is refused", async () => {
  await using here = await accessTokenDesk();
  const token = await here.tokenWith();
  expect((await here.ping(token)).status).toBe(200);
  const file = join(here.configDir, "tokens.json");
  const kept = readFileSync(file, "utf8");
  writeFileSync(file, kept.replace(here.resource, "https://former.example.org/mcp"));
  await here.service.refresh();
  expect((await here.ping(token)).status).toBe(401);
});

for (const [title, change] of [
  ["for another server", { aud: "https://other.example.org/mcp" }],
  ["that is an ID token of this client", { aud: CLIENT }],
  ["of another issuer", { iss: "https://other.example.org" }],
  ["that has expired", { exp: now() - 60 }],
  ["without an end", { exp: undefined }],
  ["that is older than a session may be", { iat: now() - 36_100 }],
  ["of nobody", { sub: undefined }],
  ["that does not say for which client it is", { client_id: undefined }],
  ["that names two clients", { azp: "other" }],
  ["that is no access token by its type", { typ: "JWT" }],
  ["whose subject is its client", { sub: AGENT }],
  ["whose subject is its client by another claim", { client_id: undefined, azp: "alice" }],
  ["of a service account", { preferred_username: `service-account-${AGENT}` }],
  ["that Entra ID calls one of a program", { idtyp: "app" }],
  ["that Auth0 calls one of a program", { gty: "client-credentials" }],
] as const) {
  test(`one ${title} is refused`, async () => {
    await using here = await accessTokenDesk();
    expect((await here.ping(await here.tokenWith())).status).toBe(200);
    const refused = await here.ping(await here.tokenWith(change));
    expect([refused.status, await here.signIns()]).toEqual([401, 1]);
  });
}

test("a client of the provider that gets a token for itself is no person, whatever its groups", async () => {
  await using here = await accessTokenDesk({ "*": { scope: ["desk"] } }, { oidc_agents: ["*"] });
  const body = new URLSearchParams({
    ...{ grant_type: "client_credentials", client_id: MACHINE, client_secret: SECRET },
    ...{ scope: "mcp", resource: here.resource },
  });
  const answer = Object(await (await fetch(`${here.peer.issuer}/token`, { method: "POST", body })).json());
  const [, claims = ""] = `${answer.access_token}`.split(".");
  const { sub, client_id } = JSON.parse(Buffer.from(claims, "base64url").toString());
  expect([sub, client_id]).toEqual([MACHINE, MACHINE]);
  expect((await here.ping(answer.access_token)).status).toBe(401);
  expect(await here.signIns()).toBe(0);
});

test("an access token of a client that --oidc-agents does not name is refused, and named", async () => {
  await using here = await accessTokenDesk();
  const refused = await here.ping(await here.tokenWith({ client_id: "wiki" }));
  expect([refused.status, Object(await refused.json()).error]).toEqual([
    403,
    expect.stringContaining("access tokens of the client wiki do not count here"),
  ]);
  expect(await here.signIns()).toBe(0);
  await using every = await accessTokenDesk(undefined, { oidc_agents: ["*"] });
  expect((await every.ping(await every.tokenWith({ client_id: "wiki" }))).status).toBe(200);
});

test("without --oidc-agents no access token counts, and no agent is told to get one", async () => {
  await using here = await accessTokenDesk(undefined, { oidc_agents: [] });
  const refused = await here.ping(await here.tokenWith());
  expect([refused.status, refused.headers.get("www-authenticate")]).toEqual([401, "Bearer"]);
  expect((await fetch(`${here.url}/.well-known/oauth-protected-resource/mcp`)).status).toBe(404);
});

test("one that another key has signed, or nobody, is refused", async () => {
  await using here = await accessTokenDesk();
  const [head, claims] = (await here.tokenWith()).split(".");
  const none = Buffer.from(JSON.stringify({ alg: "none", typ: "at+jwt" })).toString("base64url");
  const forged = [
    await here.tokenWith({}, await signingKey("first")),
    `${none}.${claims}.AAAA`,
    `${head}.${claims}.${"A".repeat(342)}`,
  ];
  for (const token of forged) expect((await here.ping(token)).status).toBe(401);
  expect(await here.signIns()).toBe(0);
});

test("who is in no group is told so", async () => {
  await using here = await accessTokenDesk();
  const refused = await here.ping(await here.tokenWith({ groups: ["staff"] }));
  expect([refused.status, Object(await refused.json()).error]).toEqual([
    403,
    expect.stringContaining("oidc.json has no group of theirs (groups there: staff)"),
  ]);
});

test("a token whose session was ended begins none again, also where what is noted of ended tokens is lost", async () => {
  await using here = await accessTokenDesk();
  const token = await here.tokenWith();
  expect((await here.ping(token)).status).toBe(200);
  const body = new URLSearchParams({ logout_token: await logoutToken(here.key, here.peer.issuer) });
  await fetch(`${here.url}/oidc/backchannel-logout`, { method: "POST", body });
  writeFileSync(join(here.configDir, "ended_tokens.json"), "{");
  const tries = await Promise.all(Array.from({ length: 5 }, () => here.ping(token)));
  expect(tries.map(({ status }) => status)).toEqual(Array(5).fill(401));
  expect(await here.signIns()).toBe(1);
});

test("once the provider has signed the person out, the token counts no more", async () => {
  await using here = await accessTokenDesk();
  const token = await here.tokenWith();
  expect((await here.ping(token)).status).toBe(200);
  const body = new URLSearchParams({ logout_token: await logoutToken(here.key, here.peer.issuer) });
  const out = await fetch(`${here.url}/oidc/backchannel-logout`, { method: "POST", body });
  expect(out.status).toBe(200);
  const refused = await here.ping(token);
  expect([refused.status, Object(await refused.json()).reason]).toEqual([
    401,
    expect.stringContaining("the session has ended"),
  ]);
  expect(await here.signIns()).toBe(1);
});

/** The same token in another text: the last sign of a signature in base64url has bits that mean nothing. */
function respelled(token: string): string {
  const signs = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
  const last = signs.indexOf(token.slice(-1));
  return token.slice(0, -1) + signs[last % 16 === 0 ? last + 1 : last - 1];
}

const signOut = async (
  here: { readonly url: string; readonly key: JWK; readonly peer: { readonly issuer: string } },
  change?: object,
) => {
  const body = new URLSearchParams({
    logout_token: await logoutToken(here.key, here.peer.issuer, { ...change }),
  });
  const out = await fetch(`${here.url}/oidc/backchannel-logout`, { method: "POST", body });
  expect(out.status).toBe(200);
};

test("a token whose session was ended begins none in another text of the same token", async () => {
  await using here = await accessTokenDesk();
  const token = await here.tokenWith();
  expect((await here.ping(token)).status).toBe(200);
  await signOut(here);
  expect((await here.ping(respelled(token))).status).toBe(401);
  expect(await here.signIns()).toBe(1);
});

test("a token that was ended stays so where the clock is set back, and no list shows it", async () => {
  await using here = await accessTokenDesk();
  const token = await here.tokenWith({ iat: now() - 100 });
  expect((await here.ping(token)).status).toBe(200);
  await signOut(here);
  const { tokens } = JSON.parse(readFileSync(join(here.configDir, "tokens.json"), "utf8"));
  expect(tokens.map(({ expires }: { expires: string }) => expires)).toEqual(["1970-01-01T00:00:00.000Z"]);
  expect(createTokenList(configFiles(here.configDir), silentLog).list()).toEqual([]);
});

test("a token that nobody has brought begins no session once the provider has signed its person out", async () => {
  await using here = await accessTokenDesk();
  const token = await here.tokenWith({ iat: now() - 10 });
  await signOut(here);
  const refused = await here.ping(token);
  expect([refused.status, Object(await refused.json()).error]).toEqual([
    403,
    expect.stringContaining("signed this person out"),
  ]);
  const later = await here.tokenWith({ iat: now() + 1 });
  expect((await here.ping(later)).status).toBe(200);
});

test("a word of the provider that names its session alone ends what it told no session of, too", async () => {
  await using here = await accessTokenDesk();
  const [named, other] = [await here.tokenWith({ sid: "s1" }), await here.tokenWith({ iat: now() - 5 })];
  for (const token of [named, other]) expect((await here.ping(token)).status).toBe(200);
  await signOut(here, { sub: undefined, sid: "s1" });
  for (const token of [named, other]) expect((await here.ping(token)).status).toBe(401);
});

test("tokens that do not count are looked at so often, and neither a good one nor one that was good waits for that", async () => {
  await using here = await accessTokenDesk();
  const good = await here.tokenWith();
  expect((await here.ping(good)).status).toBe(200);
  const [head, claims] = good.split(".");
  const forged = `${head}.${claims}.${"A".repeat(342)}`;
  const said = new Set<string>();
  // Of the 300 looks, some come back meanwhile where the machine is busy.
  for (let nth = 0; nth < 2_000 && said.size < 2; nth++)
    said.add(Object(await (await here.ping(forged)).json()).error);
  expect([...said]).toContainEqual(expect.stringContaining("too many access tokens that do not count"));
  expect((await here.ping(good)).status).toBe(200);
});

test("a stranger of the same address with a hundred false ones keeps out no new agent", async () => {
  await using here = await accessTokenDesk();
  const [head, claims] = (await here.tokenWith()).split(".");
  for (let nth = 0; nth < 100; nth++) await here.ping(`${head}.${claims}.${"A".repeat(342)}`);
  expect((await here.ping(await here.tokenWith())).status).toBe(200);
});

test("where the provider names a person otherwise for each client, no access token counts", async () => {
  await using here = await accessTokenDesk();
  const fetched = globalThis.fetch;
  const asPairwise = async (...given: Parameters<typeof fetch>) => {
    const answer = await fetched(...given);
    if (!String(given[0]).endsWith("/.well-known/openid-configuration")) return answer;
    return Response.json({ ...Object(await answer.json()), subject_types_supported: ["pairwise"] });
  };
  globalThis.fetch = Object.assign(asPairwise, fetched);
  try {
    const refused = await here.ping(await here.tokenWith());
    expect([refused.status, Object(await refused.json()).error]).toEqual([
      503,
      expect.stringContaining("pairwise"),
    ]);
  } finally {
    globalThis.fetch = fetched;
  }
});

for (const aheadS of [-600, 600]) {
  test(`where the clock of the provider differs by ${aheadS} s, a session lives as long as its access token`, async () => {
    await using here = await accessTokenDesk();
    here.peer.shown.aheadS = aheadS;
    const iat = now() + aheadS;
    const token = await here.tokenWith({ iat, exp: iat + 300 });
    expect((await here.ping(token)).status).toBe(200);
    const { tokens } = JSON.parse(readFileSync(join(here.configDir, "tokens.json"), "utf8"));
    const leftS = (Date.parse(tokens[0].expires) - Date.now()) / 1_000;
    expect(Math.abs(leftS - 300)).toBeLessThan(10);
  });
}

test("the next access token of an agent has what it proposed with the one before, and the same budget", async () => {
  const groups = { viewers: { scope: ["read", "operate"] } };
  await using here = await accessTokenDesk(groups, { mcp_write: true });
  const query = "?toolsets=jobs";
  await using first = await connectAgent(here.url, await here.tokenWith(), { query });
  await using next = await connectAgent(here.url, await here.tokenWith(), { query });
  const { digest } = await first.propose("execute_actions", { actions: [["AC_log", ["hello"]]] });
  const done = await next.call("confirm", { digest });
  expect([done.isError, done.text]).toEqual([false, expect.stringContaining("9 of 10 this minute")]);
  const { text } = await first.propose("execute_actions", { actions: [["AC_log", ["again"]]] });
  expect(text).toContain("9 of 10 this minute");
});
