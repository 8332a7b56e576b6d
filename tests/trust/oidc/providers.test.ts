/** Which provider is believed, by which keys and by which clock. */
import { expect, setDefaultTimeout, spyOn, test } from "bun:test";
import { readFileSync } from "node:fs";
import { createProvider } from "../../../src/trust/oidc/provider";
import { selfSigned } from "../../client/support";
import { temporaryFolder, testWith } from "../../support";
import { CLIENT, logoutToken, SECRET, signingKey, startProvider, TestBrowser } from "./provider";
import { setUp } from "./support";

setDefaultTimeout(60_000);

const now = () => Math.floor(Date.now() / 1_000);

test("a code of the provider that another provider sends the browser for reaches the token endpoint of neither", async () => {
  // The desk is a client of the one that is evil.
  await using desk = await setUp();
  const evil = desk.peer;
  using honest = await startProvider([`${desk.url}/oidc/callback`]);
  const browser = new TestBrowser();
  const address = new URL(await desk.begin(browser));
  // That sends its visitors on, with what the desk has asked for.
  const sent = new URL(address.pathname + address.search, honest.issuer);
  const callback = await browser.signIn(sent.href, "alice", desk.isBack);
  expect(new URL(callback).searchParams.get("iss")).toBe(honest.issuer);
  const answer = await browser.ask(callback);
  expect([answer.status, await answer.text()]).toEqual([
    403,
    expect.stringContaining("is not valid (OAUTH_"),
  ]);
  // Nor where it does not say whose it is.
  const begun = new URL(await desk.begin(browser));
  const again = new URL(
    await browser.signIn(new URL(begun.pathname + begun.search, honest.issuer).href, "alice", desk.isBack),
  );
  again.searchParams.delete("iss");
  expect((await browser.ask(again)).status).toBe(403);
  for (const { asked } of [evil, honest]) expect(asked).not.toContain("/token");
});

for (const [title, kid] of [
  ["a key that the provider does not show", "another"],
  ["another key under the name of one that it shows", "first"],
] as const) {
  test(`an ID token that ${title} has signed is refused at a sign-in`, async () => {
    await using desk = await setUp();
    desk.peer.shown.keys = [await signingKey(kid)];
    const { back } = await desk.signIn("alice");
    const why = kid === "first" ? "ERR_JWS_SIGNATURE_VERIFICATION_FAILED" : "ERR_JWKS_NO_MATCHING_KEY";
    expect([back.status, await back.text()]).toEqual([403, expect.stringContaining(why)]);
    expect(desk.peer.asked).toContain("/token");
  });
}

test("a key that the provider has shown, and shows no more, counts for a minute at most", async () => {
  const [stolen, next] = await Promise.all([signingKey("first"), signingKey("second")]);
  await using desk = await setUp({ keys: [stolen] });
  expect((await desk.signIn("alice")).answer.status).toBe(200);
  desk.peer.shown.keys = [next];
  const later = Date.now() + 61_000;
  using _clock = spyOn(Date, "now").mockImplementation(() => later);
  const { back } = await desk.signIn("bob");
  expect([back.status, await back.text()]).toEqual([
    403,
    expect.stringContaining("ERR_JWKS_NO_MATCHING_KEY"),
  ]);
});

const REDIRECT = "http://127.0.0.1:9/oidc/callback";

const clientOf = (issuer: string) =>
  createProvider({
    ...{ issuer, client: CLIENT, secret: SECRET, ca: undefined, groupsClaim: "groups", keysMs: 0 },
  });

const wordsOf = (asked: Promise<unknown>) =>
  asked.then(
    () => "accepted",
    (error) => String(error.message),
  );

for (const aheadS of [200, -200]) {
  test(`a provider whose clock differs by ${aheadS} s signs people out by its own clock`, async () => {
    const key = await signingKey("first");
    using peer = await startProvider([REDIRECT], { keys: [key] });
    peer.shown.aheadS = aheadS;
    const client = clientOf(peer.issuer);
    const at = now() + aheadS;
    expect(await wordsOf(client.logout(await logoutToken(key, peer.issuer, { at })))).toBe("accepted");
    expect(Math.abs(client.aheadMs() / 1_000 - aheadS)).toBeLessThan(2);
  });
}

test("where words of the provider would not end a session for their time, none begins", async () => {
  const key = await signingKey("first");
  using peer = await startProvider([REDIRECT], { keys: [key] });
  // The clock that it shows is not the one that it writes times by.
  peer.shown.aheadS = 200;
  const client = clientOf(peer.issuer);
  const { attempt, address } = await client.begin(REDIRECT);
  const back = await new TestBrowser().signIn(address, "alice", (to) => to.startsWith(REDIRECT));
  const why = "compare the clock of this host with that of the provider";
  expect(await wordsOf(client.complete(attempt, new URL(back).searchParams))).toContain(why);
  expect(await wordsOf(client.logout(await logoutToken(key, peer.issuer)))).toContain(why);
});

test("a clock that was set while svc runs is noticed by what the provider signs", async () => {
  const key = await signingKey("first");
  using peer = await startProvider([REDIRECT], { keys: [key] });
  const client = clientOf(peer.issuer);
  expect(await wordsOf(client.logout(await logoutToken(key, peer.issuer)))).toBe("accepted");
  peer.shown.aheadS = 400;
  const at = now() + 400;
  expect(await wordsOf(client.logout(await logoutToken(key, peer.issuer, { at })))).toBe("accepted");
});

test("groups that are in the user info alone count", async () => {
  await using desk = await setUp({ provider: { conform: true } });
  const { answer } = await desk.signIn("alice");
  expect(answer.status).toBe(200);
  expect(desk.peer.asked).toContain("/me");
  const rows = JSON.stringify(await (await desk.call("/audit/list?limit=50")).json());
  expect(rows).toMatch(/oidc\.sign_in person=oidc:alice@example\.org~[0-9a-f]{32} group=\\+"lab-admins/);
});

testWith("openssl")(
  "a provider of https is believed by the authority of --oidc-ca, and by no other",
  async () => {
    using folder = temporaryFolder();
    const { cert, key } = selfSigned(folder.path, "provider", "IP:127.0.0.1");
    const other = selfSigned(folder.path, "other", "IP:127.0.0.1");
    const tls = { cert: readFileSync(cert, "utf8"), key: readFileSync(key, "utf8") };
    await using desk = await setUp({ provider: { tls }, service: { oidc_ca: cert } });
    expect(desk.peer.issuer).toStartWith("https:");
    expect((await desk.signIn("alice")).answer.status).toBe(200);
    for (const service of [{}, { oidc_ca: other.cert }]) {
      await using wrong = await setUp({ provider: { tls }, service });
      const refused = await wrong.call("/oidc/login?page=".padEnd(60, "A"));
      expect([refused.status, await refused.text()]).toEqual([
        503,
        expect.stringContaining("cannot be reached"),
      ]);
    }
  },
);
