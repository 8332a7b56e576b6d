/** What the provider said of a person before their sessions were ended begins none any more. */
import { expect, setDefaultTimeout, spyOn, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { callOperation } from "../../../src/core/call";
import { localCaller } from "../../../src/core/caller";
import { silentLog } from "../../../src/lib/log";
import { configFiles } from "../../../src/lib/paths";
import { tokenStore } from "../../../src/trust/named-tokens";
import { beginSession, endSessions } from "../../../src/trust/oidc/sessions";
import { revokeToken } from "../../../src/trust/operations/tokens";
import { createSignedOut, personDigest } from "../../../src/trust/signed-out";
import { post, temporaryFolder } from "../../support";
import { accessTokenDesk, now } from "./agents";
import { logoutToken, TestBrowser } from "./provider";
import { PROOF, pageOf, setUp } from "./support";

setDefaultTimeout(60_000);

const personOf = async ({ call }: { readonly call: (path: string) => Promise<Response> }) => {
  const { rows } = Object(await (await call("/audit/list?limit=100")).json());
  const [, person = ""] = /oidc\.sign_in person=(\S+)/.exec(JSON.stringify(rows)) ?? [];
  return person;
};

test("`svc token remove` of a person ends an access token that nobody has brought yet, and no later one", async () => {
  await using here = await accessTokenDesk();
  const kept = await here.tokenWith({ iat: now() - 5 });
  expect((await here.ping(await here.tokenWith())).status).toBe(200);
  const person = await personOf(here);
  await callOperation(here.service, revokeToken, { name: person }, localCaller(here.service, "api"));
  const refused = await here.ping(kept);
  expect([refused.status, Object(await refused.json()).error]).toEqual([
    403,
    expect.stringContaining("signed this person out"),
  ]);
  expect((await here.ping(await here.tokenWith({ iat: now() + 2 }))).status).toBe(200);
});

test("`svc token remove` of a person who has no session ends what was said of them, too", async () => {
  await using here = await accessTokenDesk();
  const person = `oidc:_~${personDigest({ issuer: here.peer.issuer, subject: "alice" })}`;
  const kept = await here.tokenWith({ iat: now() - 5 });
  const caller = localCaller(here.service, "api");
  expect(await callOperation(here.service, revokeToken, { name: person }, caller)).toEqual({
    removed: person,
    jobs: 0,
  });
  expect((await here.ping(kept)).status).toBe(403);
});

test("a code for a command line and a code for a page are worth nothing after that", async () => {
  await using desk = await setUp();
  const browser = new TestBrowser();
  const callback = await browser.signIn(await desk.begin(browser), "alice", desk.isBack);
  const [, code = ""] =
    /#session=(.*)/.exec((await browser.ask(callback)).headers.get("location") ?? "") ?? [];
  const query = new URLSearchParams({
    ...{ port: "9", state: "S".repeat(43) },
    challenge: new Bun.CryptoHasher("sha256").update(PROOF).digest("base64url"),
  });
  const begun = await browser.ask(`${desk.url}/oidc/login?${query}`);
  const again = await browser.signIn(begun.headers.get("location") ?? "", "alice", desk.isBack);
  const [, terminal = ""] = /code=([\w-]{43})/.exec(await (await browser.ask(again)).text()) ?? [];
  const name = `oidc:alice~${personDigest({ issuer: desk.peer.issuer, subject: "alice" })}`;
  await callOperation(desk.service, revokeToken, { name }, localCaller(desk.service, "api"));
  for (const [path, sent] of [
    ["/oidc/page", code],
    ["/oidc/token", terminal],
  ] as const) {
    const refused = await fetch(`${desk.url}${path}`, post({ code: sent, verifier: PROOF }));
    expect([path, refused.status, Object(await refused.json()).error]).toEqual([
      path,
      403,
      expect.stringContaining("signed this person out"),
    ]);
  }
});

test("an approved device begins no session after that", async () => {
  await using desk = await setUp();
  const begun = Object(await (await fetch(`${desk.url}/oidc/device`, post({}))).json());
  await new TestBrowser().signIn(begun.verification_uri_complete, "bob", () => false);
  const name = `oidc:bob~${personDigest({ issuer: desk.peer.issuer, subject: "bob" })}`;
  await callOperation(desk.service, revokeToken, { name }, localCaller(desk.service, "api"));
  // The provider hands out its token now, and dates it so.
  const later = Date.now() + 3_000;
  using _clock = spyOn(Date, "now").mockImplementation(() => later);
  const refused = await fetch(`${desk.url}/oidc/device/token`, post({ handle: begun.handle }));
  expect([refused.status, Object(await refused.json()).error]).toEqual([
    403,
    expect.stringContaining("signed this person out"),
  ]);
});

test("an answer of the provider that a browser has kept back begins no session after that", async () => {
  await using desk = await setUp();
  const browser = new TestBrowser();
  const callback = await browser.signIn(await desk.begin(browser), "alice", desk.isBack);
  const name = `oidc:alice~${personDigest({ issuer: desk.peer.issuer, subject: "alice" })}`;
  await callOperation(desk.service, revokeToken, { name }, localCaller(desk.service, "api"));
  const refused = await desk.land(browser, await browser.ask(callback));
  expect([refused.status, Object(await refused.json()).error]).toEqual([
    403,
    expect.stringContaining("signed this person out"),
  ]);
});

test("signing out on the page ends what was said before, and who signs in again has a session", async () => {
  await using here = await accessTokenDesk({
    "lab-admins": { scope: ["read"] },
    viewers: { scope: ["read"] },
  });
  const kept = await here.tokenWith({ iat: now() - 5 });
  const { browser } = await here.signIn("alice");
  const headers = { ...Object(pageOf(here.url).headers), "content-type": "application/json" };
  expect((await browser.ask(`${here.url}/oidc/logout`, { ...post({}), headers })).status).toBe(200);
  expect((await here.ping(kept)).status).toBe(403);
  const { answer } = await here.signIn("alice", browser);
  expect(answer.status).toBe(200);
});

test("an access token that newer ones have pushed out begins no session again", async () => {
  await using here = await accessTokenDesk();
  const tokens = await Promise.all(
    Array.from({ length: 33 }, (_, nth) => here.tokenWith({ iat: now() - 50 + nth })),
  );
  for (const token of tokens) expect((await here.ping(token)).status).toBe(200);
  const refused = await here.ping(tokens[0]);
  expect([refused.status, Object(await refused.json()).error]).toEqual([
    403,
    expect.stringContaining("newer access tokens of this person"),
  ]);
  expect((await here.ping(tokens[1])).status).toBe(200);
  // Nor once there is a place for it, nor one that is as old, and has never been brought.
  writeFileSync(join(here.configDir, "tokens.json"), '{"tokens": []}');
  expect((await here.ping(tokens[0])).status).toBe(403);
  expect((await here.ping(await here.tokenWith({ iat: now() - 60 }))).status).toBe(403);
});

test("access tokens that an agent brings push out no session of its person's page", async () => {
  await using here = await accessTokenDesk({ "*": { scope: ["read"] } });
  const { browser } = await here.signIn("alice");
  for (let nth = 0; nth < 40; nth++)
    expect((await here.ping(await here.tokenWith({ iat: now() - 50 + nth }))).status).toBe(200);
  expect((await browser.ask(`${here.url}/token`, pageOf(here.url))).status).toBe(200);
});

test("the word of the provider counts after svc was started again", async () => {
  await using here = await accessTokenDesk();
  const body = new URLSearchParams({ logout_token: await logoutToken(here.key, here.peer.issuer) });
  expect((await fetch(`${here.url}/oidc/backchannel-logout`, { method: "POST", body })).status).toBe(200);
  // As the next process reads it.
  const next = createSignedOut(configFiles(here.configDir), silentLog);
  const alice = { issuer: here.peer.issuer, subject: "alice", sid: undefined };
  const said = { issued: Date.now() - 60_000, isAccessToken: true };
  expect(() => next.require(alice, said)).toThrow("signed this person out");
  expect(() => next.require({ ...alice, subject: "bob" }, said)).not.toThrow();
  expect(() => next.require(alice, { ...said, issued: Date.now() + 2_000 })).not.toThrow();
  expect(readFileSync(join(here.configDir, "signed_out.json"), "utf8")).not.toContain("alice");
});

test("while that file cannot be read nobody signs in, and sessions still end", async () => {
  await using here = await accessTokenDesk();
  const token = await here.tokenWith();
  expect((await here.ping(token)).status).toBe(200);
  writeFileSync(join(here.configDir, "signed_out.json"), "{");
  expect((await here.ping(await here.tokenWith({ exp: now() + 200 }))).status).toBe(503);
  const body = new URLSearchParams({ logout_token: await logoutToken(here.key, here.peer.issuer) });
  expect((await fetch(`${here.url}/oidc/backchannel-logout`, { method: "POST", body })).status).toBe(503);
  expect((await here.ping(token)).status).toBe(401);
});

test("of too many the oldest are left out, and what is as old as these counts for nobody", async () => {
  using folder = temporaryFolder();
  const signedOut = createSignedOut(configFiles(folder.path), silentLog, 3);
  const start = Date.now();
  const personAt = (nth: number) => personDigest({ issuer: "https://id.example.org", subject: `${nth}` });
  for (let nth = 0; nth < 5; nth++) await signedOut.note({ person: personAt(nth), at: start + nth * 1_000 });
  const isGood = (subject: string, issued: number) => {
    try {
      const who = { issuer: "https://id.example.org", subject, sid: undefined };
      signedOut.require(who, { issued, isAccessToken: false });
      return true;
    } catch {
      return false;
    }
  };
  expect(isGood("4", start + 4_000)).toBe(false);
  expect(isGood("4", start + 4_001)).toBe(true);
  expect(isGood("0", start)).toBe(false);
  expect(isGood("nobody-has-signed-out", start)).toBe(false);
  expect(isGood("nobody-has-signed-out", start + 3_999)).toBe(true);
  const { signed_out } = JSON.parse(readFileSync(join(folder.path, "signed_out.json"), "utf8"));
  expect(signed_out).toHaveLength(3);
});

test("a session that is about to begin as its person is signed out ends with that", async () => {
  using folder = temporaryFolder();
  const store = tokenStore(configFiles(folder.path), silentLog);
  const person = { issuer: "https://id.example", subject: "ann", label: "ann", sid: undefined };
  let ended: Promise<string[]> | undefined;
  const { name } = await beginSession(
    ...([store, person, { scopes: ["read"], on: undefined }, { idleS: 60, lifeS: 600 }] as const),
    {
      // What was noted just before does not count for it; the other process goes on meanwhile.
      still() {
        ended = endSessions(store, { issuer: person.issuer, subjects: [person.subject], sid: undefined });
      },
    },
  );
  expect(await ended).toEqual([name]);
  expect(store.entries()).toEqual([]);
});
