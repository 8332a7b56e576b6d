/** What svc believes of a provider: its keys as they are now, and logout tokens of its own alone. */
import { expect, test } from "bun:test";
import { SignJWT, UnsecuredJWT } from "jose";
import { createProvider, type Provider } from "../../../src/trust/oidc/provider";
import { CLIENT, logoutToken, SECRET, signingKey, startProvider, TestBrowser } from "./provider";

const REDIRECT = "http://127.0.0.1:9/oidc/callback";

/** svc's side. Keys are looked at again for each that is not known. */
const clientOf = (issuer: string): Provider =>
  createProvider({
    ...{ issuer, client: CLIENT, secret: SECRET, ca: undefined, groupsClaim: "groups", keysMs: 0 },
  });

/** Signs in from the beginning to the end. */
async function signIn(client: Provider, account = "alice") {
  const { attempt, address } = await client.begin(REDIRECT);
  const back = await new TestBrowser().signIn(address, account, (to) => to.startsWith(REDIRECT));
  return client.complete(attempt, new URL(back).searchParams);
}

/** The beginning of a message: the whole names the code of the standard. */
const messageOf = (asked: Promise<unknown>) =>
  asked.then(
    () => "accepted",
    (error) => String(error.message),
  );

test("a provider that has exchanged its key is believed, and a token of the key before is not", async () => {
  const [first, second] = await Promise.all([signingKey("first"), signingKey("second")]);
  const before = await startProvider([REDIRECT], { keys: [first] });
  const client = clientOf(before.issuer);
  expect((await signIn(client)).person.label).toBe("alice@example.org");
  const old = await logoutToken(first, before.issuer);
  before[Symbol.dispose]();
  using after = await startProvider([REDIRECT], {
    keys: [second],
    port: Number(new URL(before.issuer).port),
  });
  expect((await signIn(client)).person.label).toBe("alice@example.org");
  expect(await messageOf(client.logout(old))).toContain("ERR_JWKS_NO_MATCHING_KEY");
  expect(after.issuer).toBe(before.issuer);
});

const now = () => Math.floor(Date.now() / 1_000);

for (const [title, change] of [
  ["of another issuer", { iss: "https://other.example.org" }],
  ["for another client", { aud: "other" }],
  ["without the event", { events: {} }],
  ["that is an ID token, with a nonce", { nonce: "n" }],
  ["of nobody", { sub: undefined, sid: undefined }],
  ["without an id", { jti: undefined }],
  ["that is old", { at: now() - 600 }],
  ["of the future", { at: now() + 600 }],
  ["that has expired", { exp: now() - 60 }],
] as const) {
  test(`a logout token ${title} is refused`, async () => {
    const key = await signingKey("first");
    using peer = await startProvider([REDIRECT], { keys: [key] });
    const client = clientOf(peer.issuer);
    expect(await messageOf(client.logout(await logoutToken(key, peer.issuer)))).toBe("accepted");
    expect(await messageOf(client.logout(await logoutToken(key, peer.issuer, change)))).toMatch(
      /is not valid|expected a logout token/,
    );
  });
}

test("a logout token that is not signed, or by who has the name of the key or the secret of the client alone, is refused", async () => {
  using peer = await startProvider([REDIRECT], { keys: [await signingKey("first")] });
  const client = clientOf(peer.issuer);
  const claims = {
    ...{ iss: peer.issuer, aud: CLIENT, sub: "alice", jti: "1", iat: now() },
    events: { "http://schemas.openid.net/event/backchannel-logout": {} },
  };
  const forged = [
    await logoutToken(await signingKey("first"), peer.issuer),
    new UnsecuredJWT(claims).encode(),
    await new SignJWT(claims)
      .setProtectedHeader({ alg: "HS256", kid: "first" })
      .sign(new TextEncoder().encode(SECRET)),
    "not.a.token",
  ];
  for (const token of forged) expect(await messageOf(client.logout(token))).toContain("is not valid");
});

test("an answer without an end is cut off, and said to be too large", async () => {
  const piece = new Uint8Array(65_536).fill(32);
  let sent = 0;
  using endless = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch: () =>
      new Response(
        new ReadableStream({
          pull(answer) {
            sent += piece.length;
            answer.enqueue(piece);
          },
        }),
        { headers: { "content-type": "application/json" } },
      ),
  });
  const began = performance.now();
  const issuer = `http://127.0.0.1:${endless.port}`;
  expect(await messageOf(clientOf(issuer).metadata())).toBe(
    `the answer of ${issuer} has more than 1048576 bytes`,
  );
  expect(performance.now() - began).toBeLessThan(5_000);
  expect(sent).toBeLessThan(64 * 1_048_576);
});
