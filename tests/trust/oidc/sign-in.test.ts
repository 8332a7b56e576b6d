/** Signing in at a real provider, in a browser and on command lines, and who is not let in. */
import { expect, spyOn, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { signInInBrowser, signInOnDevice } from "../../../src/client/sign-in";
import { callOperation } from "../../../src/core/call";
import { localCaller } from "../../../src/core/caller";
import { configFiles } from "../../../src/lib/paths";
import { makeToken, revokeToken } from "../../../src/trust/operations/tokens";
import { post } from "../../support";
import { logoutToken, SECRET, signingKey, TestBrowser } from "./provider";
import { PROOF, pageOf, setUp } from "./support";

test("a person signs in in a browser, and the page asks by a cookie that it cannot read", async () => {
  await using desk = await setUp();
  const { browser, back, answer } = await desk.signIn("alice");
  expect([back.status, back.headers.get("location")]).toEqual([
    303,
    expect.stringMatching(/^\.\.\/dashboard#session=[\w-]{43}$/),
  ]);
  expect(answer.status).toBe(200);
  const [session, mark] = answer.headers.getSetCookie();
  expect(session).toMatch(
    /^svc-session-\d+=svct_\w{8}_[\w-]{49}; Path=\/; Max-Age=36000; HttpOnly; SameSite=Strict$/,
  );
  expect(mark).toMatch(/^svc-signed-in-\d+=\w{8}; Path=\/; Max-Age=36000; SameSite=Strict$/);
  const rights = await browser.ask(`${desk.url}/token`, pageOf(desk.url));
  expect(await rights.json()).toMatchObject({
    name: expect.stringMatching(/^oidc:alice@example\.org~[0-9a-f]{32}\/\w{8}$/),
    scopes: ["metrics", "read", "screen", "audit", "sync", "operate"],
  });
});

test("a stolen session cookie is refused from another origin, without the header of the page, and as a token", async () => {
  await using desk = await setUp();
  const { browser } = await desk.signIn("alice");
  const port = new URL(desk.url).port;
  const statusWith = async (headers: Record<string, string>, path = "/token") =>
    (await browser.ask(`${desk.url}${path}`, { headers })).status;
  const page = `${port} ${PROOF}`;
  const own = { "svc-page": page, "sec-fetch-site": "same-origin" };
  expect(await statusWith(own)).toBe(200);
  expect(await statusWith({ ...own, origin: desk.url })).toBe(200);
  expect(await statusWith({ "sec-fetch-site": "same-origin" })).toBe(401);
  expect(await statusWith({ "svc-page": page })).toBe(401);
  expect(await statusWith({ ...own, origin: "https://evil.example" })).toBe(401);
  expect(await statusWith({ ...own, origin: desk.url, "sec-fetch-site": "same-site" })).toBe(401);
  expect(await statusWith({ ...own, "sec-fetch-site": "cross-site" })).toBe(401);
  const token = browser.cookies.get(desk.url)?.get(`svc-session-${port}`) ?? "";
  const bearer = await fetch(`${desk.url}/token`, { headers: { authorization: `Bearer ${token}` } });
  expect([bearer.status, Object(await bearer.json()).reason]).toEqual([
    401,
    "the session of a page is for that page alone",
  ]);
  // None of these counts as a guess.
  expect(await statusWith(own)).toBe(200);
});

test("an answer counts once, and in the browser alone that has asked", async () => {
  await using desk = await setUp();
  const { browser, callback } = await desk.signIn("alice");
  const again = await browser.ask(callback);
  expect(again.status).toBe(403);
  const begun = await desk.begin(browser);
  const kept = new Map(browser.cookies.get(desk.url));
  const other = await browser.signIn(begun, "alice", desk.isBack);
  const stranger = await new TestBrowser().ask(other);
  expect([stranger.status, await stranger.text()]).toEqual([
    403,
    expect.stringContaining("this browser has not begun this sign-in"),
  ]);
  expect((await browser.ask(other)).status).toBe(303);
  // The cookie of the flow as it was: the state was used.
  browser.cookies.set(desk.url, kept);
  const replayed = await browser.ask(other);
  expect([replayed.status, await replayed.text()]).toEqual([
    403,
    expect.stringContaining("this sign-in is over"),
  ]);
});

for (const [title, change] of [
  ["of another provider", (to: URL) => to.searchParams.set("iss", "https://other.example.org")],
  ["that names no provider", (to: URL) => to.searchParams.delete("iss")],
  ["with another state", (to: URL) => to.searchParams.set("state", "A".repeat(43))],
  ["with two states", (to: URL) => to.searchParams.append("state", "A".repeat(43))],
  ["without a code", (to: URL) => to.searchParams.delete("code")],
] as const) {
  test(`an answer ${title} is refused`, async () => {
    await using desk = await setUp();
    const browser = new TestBrowser();
    const to = new URL(await browser.signIn(await desk.begin(browser), "alice", desk.isBack));
    change(to);
    const answer = await browser.ask(to);
    expect([400, 403]).toContain(answer.status);
    expect(answer.headers.getSetCookie()).toEqual([]);
    expect(await answer.text()).toContain("Not signed in");
  });
}

for (const [title, change, why] of [
  [
    "a code for another client",
    (to: URL) => to.searchParams.set("client_id", "other"),
    { said: "refuses: invalid_grant", refusals: ["client mismatch"] },
  ],
  [
    "an ID token with another nonce",
    (to: URL) => to.searchParams.set("nonce", "B".repeat(43)),
    { said: "is not valid (OAUTH_JWT_CLAIM_COMPARISON_FAILED)", refusals: [] },
  ],
  [
    "a code for another verifier",
    (to: URL) => to.searchParams.set("code_challenge", "C".repeat(43)),
    { said: "refuses: invalid_grant", refusals: ["code_verifier does not match code_challenge"] },
  ],
] as const) {
  test(`${title} is refused`, async () => {
    await using desk = await setUp();
    const browser = new TestBrowser();
    const address = new URL(await desk.begin(browser));
    change(address);
    const answer = await browser.ask(await browser.signIn(address.href, "alice", desk.isBack));
    expect([answer.status, answer.headers.getSetCookie()]).toEqual([403, []]);
    expect(await answer.text()).toContain(why.said);
    expect(desk.peer.refusals).toEqual([...why.refusals]);
  });
}

test("who is in no group of oidc.json gets no session, and reads which groups they have", async () => {
  await using desk = await setUp();
  const { answer } = await desk.signIn("eve");
  expect([answer.status, await answer.text()]).toEqual([
    403,
    expect.stringContaining("eve@example.org may not sign in here: oidc.json has no group of theirs"),
  ]);
  const listed = await desk.call("/audit/list?limit=50");
  const rows = JSON.stringify(await listed.json());
  expect(rows).toContain("GET /oidc/callback -> failed:403");
  expect(rows).not.toContain("oidc.sign_in");
});

test("rows name the person, and no row has a code, a state or a token", async () => {
  await using desk = await setUp();
  const { browser, callback } = await desk.signIn("alice");
  await browser.ask(`${desk.url}/execute`, {
    ...post({ actions: [["AC_sleep", { seconds: 0 }]] }),
    headers: { ...Object(pageOf(desk.url).headers), "content-type": "application/json" },
  });
  const rows = JSON.stringify(await (await desk.call("/audit/list?limit=50")).json());
  expect(rows).toMatch(/started oidc\.sign_in person=oidc:alice@example\.org~[0-9a-f]{32} group=/);
  expect(rows).toMatch(/POST \/execute -> ok:200 [^"]* token=oidc:alice@example\.org~[0-9a-f]{32}\/\w{8}/);
  const { searchParams } = new URL(callback);
  for (const secret of [searchParams.get("code"), searchParams.get("state"), "svct_", SECRET])
    expect(rows).not.toContain(secret ?? "?");
});

test("a person for some hosts sees no others, and does nothing on the desk itself", async () => {
  await using desk = await setUp({ groups: { "*": { scope: ["desk"], on: "tag:lab" } } });
  for (const [label, tags] of [
    ["lab-01", ["lab"]],
    ["office-01", ["office"]],
  ] as const) {
    await desk.call("/admin/hosts/add", post({ label, base_url: desk.url, token: "0123456789", tags }));
  }
  const { browser } = await desk.signIn("bob");
  const headers = { ...Object(pageOf(desk.url).headers), "content-type": "application/json" };
  const ask = (path: string, body?: unknown) =>
    browser.ask(`${desk.url}${path}`, body === undefined ? { headers } : { ...post(body), headers });
  const listed = Object(await (await ask("/admin/hosts")).json());
  expect(listed.map(({ label }: { label: string }) => label)).toEqual(["lab-01"]);
  const actions = [["AC_sleep", { seconds: 0 }]];
  const plan = await ask("/plans/new", { actions, on: "all" });
  expect(Object(await plan.json()).hosts).toEqual(["lab-01"]);
  expect((await ask("/plans/new", { actions, on: "office-01" })).status).toBe(400);
  expect((await ask("/admin/hosts/office-01/screen/state")).status).toBe(404);
  expect((await ask("/overview")).status).toBe(200);
  for (const [path, body] of [
    ["/execute", { actions }],
    ["/audit/list", undefined],
    ["/screenshot", undefined],
    ["/jobs/add", { script_path: "/no.json", interval_seconds: 900, job_id: "nightly" }],
  ] as const) {
    const answer = await ask(path, body);
    expect([path, answer.status, Object(await answer.json()).error]).toEqual([
      path,
      403,
      expect.stringContaining("you may act on tag:lab alone (oidc.json)"),
    ]);
  }
});

test("signing out ends the stream of events and the run of the session at once", async () => {
  await using desk = await setUp();
  const { browser } = await desk.signIn("alice");
  const headers = { ...Object(pageOf(desk.url).headers), "content-type": "application/json" };
  const stream = await browser.ask(`${desk.url}/events`, {
    headers: { ...headers, accept: "text/event-stream" },
  });
  const run = browser.ask(`${desk.url}/execute`, {
    ...post({ actions: [["AC_sleep", { seconds: 60 }]] }),
    headers,
  });
  const reader = stream.body?.getReader();
  await reader?.read();
  const kept = new Map(browser.cookies.get(desk.url));
  const started = performance.now();
  const out = await browser.ask(`${desk.url}/oidc/logout`, { ...post({}), headers });

  expect(await out.json()).toMatchObject({
    provider: expect.stringContaining("/session/end?client_id=svc-desk"),
  });
  for (let read = await reader?.read(); read && !read.done; read = await reader?.read());
  await run.catch(() => {});
  expect(performance.now() - started).toBeLessThan(5_000);
  expect(browser.cookies.get(desk.url)?.size).toBe(0);
  browser.cookies.set(desk.url, kept);
  expect((await browser.ask(`${desk.url}/token`, { headers })).status).toBe(401);
});

test("a logout token of the provider ends the sessions of its person, and counts once", async () => {
  const key = await signingKey("first");
  await using desk = await setUp({ keys: [key] });
  const { browser } = await desk.signIn("alice");
  const other = await desk.signIn("bob");
  const logout = async (token: string) => {
    const body = new URLSearchParams({ logout_token: token });
    return (await fetch(`${desk.url}/oidc/backchannel-logout`, { method: "POST", body })).status;
  };
  const statusOf = async ({ browser }: { browser: TestBrowser }) =>
    (await browser.ask(`${desk.url}/token`, pageOf(desk.url))).status;
  expect(await logout(await logoutToken(await signingKey("first"), desk.peer.issuer))).toBe(400);
  expect(await statusOf({ browser })).toBe(200);
  const token = await logoutToken(key, desk.peer.issuer);
  expect(await logout(token)).toBe(200);
  await desk.service.refresh();
  expect([await statusOf({ browser }), await statusOf(other)]).toEqual([401, 200]);
  expect(await logout(token)).toBe(400);
});

test("a logout token that could not end the sessions is taken again", async () => {
  const key = await signingKey("first");
  await using desk = await setUp({ keys: [key] });
  await desk.signIn("alice");
  const token = await logoutToken(key, desk.peer.issuer);
  const logout = async () => {
    const body = new URLSearchParams({ logout_token: token });
    return (await fetch(`${desk.url}/oidc/backchannel-logout`, { method: "POST", body })).status;
  };
  const { tokens } = configFiles(desk.configDir);
  const whole = readFileSync(tokens);
  writeFileSync(tokens, "{");
  expect(await logout()).toBe(503);
  writeFileSync(tokens, whole);
  expect(await logout()).toBe(200);
  expect(JSON.parse(readFileSync(tokens, "utf8")).tokens).toEqual([]);
});

test("a session that nobody uses ends after the idle time, and one that is used at the end of its life", async () => {
  await using desk = await setUp();
  const { browser } = await desk.signIn("alice");
  const status = async () => (await browser.ask(`${desk.url}/token`, pageOf(desk.url))).status;
  const began = Date.now();
  const minutes = (count: number) => began + count * 60_000;
  using clock = spyOn(Date, "now").mockReturnValue(began);
  const at = async (minute: number) => {
    clock.mockReturnValue(minutes(minute));
    await desk.service.refresh();
    return status();
  };
  for (let minute = 40; minute < 600; minute += 40) expect([minute, await at(minute)]).toEqual([minute, 200]);
  expect(await at(601)).toBe(401);

  clock.mockReturnValue(began);
  const { browser: idle } = await desk.signIn("bob");
  clock.mockReturnValue(minutes(61));
  await desk.service.refresh();
  expect((await idle.ask(`${desk.url}/token`, pageOf(desk.url))).status).toBe(401);
});

const trust = { kind: "system" } as const;

test("a command line gets a session over a browser on its machine, with which it asks", async () => {
  await using desk = await setUp();
  const browser = new TestBrowser();
  let back = "";
  const session = await signInInBrowser({ url: desk.url, trust }, async (address, shown) => {
    const begun = await browser.ask(address);
    const callback = await browser.signIn(begun.headers.get("location") ?? "", "alice", desk.isBack);
    const answer = await browser.ask(callback);
    const page = await answer.text();
    // A person goes on, as another on this machine may wait there.
    expect([answer.status, answer.headers.has("location")]).toEqual([200, false]);
    expect(page).toContain(`<strong>${shown}</strong>`);
    back = (/href="(http:[^"]+)"/.exec(page)?.[1] ?? "").replaceAll("&#38;", "&");
    await fetch(`${new URL(back).origin}/?code=${"A".repeat(43)}&state=${"B".repeat(43)}`);
    await fetch(back);
  });
  expect(session).toMatchObject({ name: expect.stringMatching(/^oidc:alice@example\.org~/) });
  const headers = { authorization: `Bearer ${session.token}` };
  expect((await fetch(`${desk.url}/overview`, { headers })).status).toBe(200);
  // A cookie of it counts for no page.
  const port = new URL(desk.url).port;
  const cookie = { cookie: `svc-session-${port}=${session.token}`, ...Object(pageOf(desk.url).headers) };
  expect((await fetch(`${desk.url}/token`, { headers: cookie })).status).toBe(401);
  expect(browser.cookies.get(desk.url)?.size).toBe(0);
  const code = new URL(back).searchParams.get("code");
  const again = await fetch(`${desk.url}/oidc/token`, post({ code, verifier: "C".repeat(43) }));
  expect(again.status).toBe(403);
});

/** The pauses between questions, which are seconds, pass twenty times as fast; right again when the scope ends. */
function shortPauses(): Disposable {
  const { sleep } = Bun;
  const pauses = spyOn(Bun, "sleep").mockImplementation((ms) => sleep(Number(ms) / 20));
  return { [Symbol.dispose]: () => pauses.mockRestore() };
}

test("a command line gets a session over another device", async () => {
  using _ = shortPauses();
  await using desk = await setUp();
  const browser = new TestBrowser();
  let signedIn: Promise<string> | undefined;
  const session = await signInOnDevice({ url: desk.url, trust }, ({ whole }) => {
    signedIn = browser.signIn(whole ?? "", "bob", () => false);
  });
  await signedIn;
  expect(session).toMatchObject({ name: expect.stringMatching(/^oidc:bob@example\.org~/), scopes: ["read"] });
});

test("a command line that waits for another device goes on where a question fails", async () => {
  using _ = shortPauses();
  await using desk = await setUp();
  const failures = [503, 429];
  using between = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    async fetch(request) {
      const { pathname } = new URL(request.url);
      const status = pathname.endsWith("/device/token") ? failures.shift() : undefined;
      if (status !== undefined) return Response.json({ error: "busy" }, { status });
      const { method, headers } = request;
      headers.delete("host");
      return fetch(`${desk.url}${pathname}`, {
        ...{ method, headers },
        ...(method === "POST" && { body: await request.text() }),
      });
    },
  });
  let signedIn: Promise<string> | undefined;
  const url = `http://127.0.0.1:${between.port}`;
  const session = await signInOnDevice({ url, trust }, ({ whole }) => {
    signedIn = new TestBrowser().signIn(whole ?? "", "bob", () => false);
  });
  await signedIn;
  expect([session.scopes, failures]).toEqual([["read"], []]);
});

test("`svc token remove` of a person ends all of their sessions, and no token can have such a name", async () => {
  await using desk = await setUp();
  const [first, second] = [await desk.signIn("alice"), await desk.signIn("alice")];
  const { name } = Object(await (await first.browser.ask(`${desk.url}/token`, pageOf(desk.url))).json());
  const caller = localCaller(desk.service, "api");
  expect(() => callOperation(desk.service, makeToken, { name, scope: ["read"] }, caller)).toThrow(
    "name: expected 1 to 64 letters",
  );
  await callOperation(desk.service, revokeToken, { name: name.replace(/\/.*/, "") }, caller);
  await desk.service.refresh();
  for (const { browser } of [first, second])
    expect((await browser.ask(`${desk.url}/token`, pageOf(desk.url))).status).toBe(401);
});
