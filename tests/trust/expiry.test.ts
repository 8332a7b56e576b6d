/** The life of a named token: its end, the warnings before it, its last use, and that many of them cost nothing. */
import { afterEach, expect, setSystemTime, test } from "bun:test";
import { copyFileSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { callRemote } from "../../src/client/remote-call";
import { callOperation } from "../../src/core/call";
import { localCaller } from "../../src/core/caller";
import { parseInput } from "../../src/core/input";
import { listJobs } from "../../src/host/scheduler/operations";
import { silentLog } from "../../src/lib/log";
import { configFiles } from "../../src/lib/paths";
import { noteEnded } from "../../src/trust/ended-tokens";
import { addToken, tokenStore } from "../../src/trust/named-tokens";
import { listTokens, makeToken, replaceToken, revokeToken } from "../../src/trust/operations/tokens";
import { entryOf } from "../../src/trust/rotation";
import { digestToken, hexOf } from "../../src/trust/scopes";
import { newToken } from "../../src/trust/token";
import { NEW_TOKEN, type NewToken } from "../../src/trust/token-fields";
import { createTokenList } from "../../src/trust/token-list";
import { noteTokenUse, readTokenUse } from "../../src/trust/token-use";
import { watchTokens } from "../../src/trust/tokens-in-force";
import { post, TOKEN, temporaryFolder, testService, until } from "../support";

afterEach(() => void setSystemTime());

const DAY_S = 86_400;
const later = (seconds: number) => setSystemTime(new Date(Date.now() + seconds * 1_000));
const daysFromNow = (iso: string | null | undefined) =>
  Math.round((Date.parse(iso ?? "") - Date.now()) / (DAY_S * 1_000));

/** A server, and what its owner and its clients do. */
async function serving() {
  const made = testService();
  const files = configFiles(made.configDir);
  const server = await (await made.service.rest()).start({ port: 0, rate_limit: 0, token: TOKEN });
  const owner = localCaller(made.service, "cli");
  const send = (token: string, path = "/jobs", init: RequestInit = {}) =>
    fetch(server.url + path, { ...init, headers: { authorization: `Bearer ${token}` } });
  return {
    ...made,
    files,
    server,
    send,
    status: async (token: string) => (await send(token)).status,
    add: (given: NewToken) => addToken(tokenStore(files, silentLog), given),
    rotate: (input: object) => callOperation(made.service, replaceToken, input, owner),
    list: async () => (await callOperation(made.service, listTokens, {}, owner)).tokens,
    make: (input: object) => callOperation(made.service, makeToken, input, owner),
  };
}

test("a generated token works for 90 days, one that a person chose for ever, and another time can be said", async () => {
  await using host = await serving();
  const generated = await host.make({ name: "anna", scope: ["read"] });
  expect(daysFromNow(generated.expires)).toBe(90);
  const given = await host.make({ name: "wall", scope: ["read"], token: "lab-password" });
  const never = await host.make({ name: "old", scope: ["read"], expires_s: "never" });
  const short = await host.make({ name: "short", scope: ["read"], expires_s: 3_600 });
  expect([given.expires, never.expires]).toEqual([null, null]);
  expect(await Promise.all([generated, given, never, short].map(({ token }) => host.status(token)))).toEqual([
    200, 200, 200, 200,
  ]);
  later(3_601);
  expect(await Promise.all([short, generated].map(({ token }) => host.status(token)))).toEqual([401, 200]);
  later(90 * DAY_S);
  expect(await Promise.all([generated, given, never].map(({ token }) => host.status(token)))).toEqual([
    401, 200, 200,
  ]);
});

test("a token that another host generated is no guess of a person's, and works for 90 days here too", async () => {
  await using host = await serving();
  const { expires } = await host.make({ name: "shared", scope: ["read"], token: newToken() });
  expect(daysFromNow(expires)).toBe(90);
  expect(tokenStore(host.files, silentLog).entries()).toMatchObject([{ name: "shared", generated: true }]);
});

test("a life that is no time, or longer than ten years, is refused", () => {
  const refused = (expires_s: unknown) => () =>
    parseInput(NEW_TOKEN, { name: "a", scope: ["read"], expires_s });
  for (const odd of [0, -1, 3_650 * DAY_S + 1, "always", null, Number.NaN])
    expect(refused(odd)).toThrow("expires_s: ");
});

test("a token that replaces another works as long as that one was made for, or as long as is said", async () => {
  await using host = await serving();
  const old = await host.add({ name: "anna", scope: ["read"], expires_s: 30 * DAY_S });
  later(20 * DAY_S);
  expect(daysFromNow((await host.rotate({ name: "anna", overlap_s: 3_600 })).expires)).toBe(30);
  const renewed: unknown = await (await host.send(old, "/token/renew", post({}))).json();
  expect(renewed).toMatchObject({ error: expect.stringContaining("this token was replaced") });
  expect((await host.rotate({ name: "anna", expires_s: "never" })).expires).toBeNull();
  expect((await host.rotate({ name: "anna" })).expires).toBeNull();
  expect(daysFromNow((await host.rotate({ name: "anna", expires_s: 7 * DAY_S })).expires)).toBe(7);
  await expect(host.rotate({ expires_s: 60 })).rejects.toThrow("expires_s: expected with a name");
});

test("a client that renews its token gets one with a new life", async () => {
  await using host = await serving();
  const old = await host.add({ name: "desk", scope: ["read"], expires_s: 30 * DAY_S });
  later(29 * DAY_S);
  const answer = await (await host.send(old, "/token/renew", post({}))).json();
  const { token, expires } = answer as { token: string; expires: string };
  expect(daysFromNow(expires)).toBe(30);
  later(2 * DAY_S);
  expect([await host.status(old), await host.status(token)]).toEqual([401, 200]);
});

test("an overlap does not revive a token that has expired, nor let one live longer", async () => {
  await using host = await serving();
  const old = await host.add({ name: "anna", scope: ["read"], expires_s: 60 });
  later(61);
  const { token, old_until } = await host.rotate({ name: "anna", overlap_s: DAY_S });
  expect([await host.status(old), await host.status(token), old_until]).toEqual([401, 200, null]);
  const next = await host.rotate({ name: "anna", overlap_s: DAY_S });
  expect(Date.parse(next.old_until ?? "") - Date.now()).toBeLessThan(61_000);
});

test("answers to a token in its last week say when it ends, other answers do not", async () => {
  await using host = await serving();
  const soon = await host.add({ name: "soon", scope: ["read"], expires_s: 6 * DAY_S });
  const late = await host.add({ name: "late", scope: ["read"], expires_s: 8 * DAY_S });
  const header = async (token: string, path?: string) =>
    (await host.send(token, path)).headers.get("svc-token-expires");
  const [{ expires = "" } = {}] = tokenStore(host.files, silentLog).entries();
  expect(await header(soon)).toBe(expires);
  expect(await header(soon, "/config/export")).toBe(expires);
  expect([await header(late), await header(TOKEN), await header("wrong-token")]).toEqual([null, null, null]);
  later(2 * DAY_S);
  expect(daysFromNow(await header(late))).toBe(6);
});

test("a token that was made while the clock was ahead is known by its end, once the clock is right", async () => {
  await using made = await serving();
  await made.add({ name: "anna", scope: ["read"], expires_s: DAY_S });
  const now = Date.now();
  setSystemTime(new Date(now + 400 * DAY_S * 1_000));
  await made.add({ name: "bert", scope: ["read"], expires_s: DAY_S });
  const list = createTokenList(made.files, silentLog);
  expect(list.endingLate(Date.now())).toEqual([]);
  expect(list.endingLate(now)).toEqual(["bert"]);
});

test("the day of its last use is listed, and however often it is used, the file is written once a day", async () => {
  await using host = await serving();
  const token = await host.add({ name: "anna", scope: ["read"] });
  await host.add({ name: "idle", scope: ["read"] });
  await Promise.all(Array.from({ length: 20 }, () => host.send(token)));
  const today = new Date().toISOString().slice(0, 10);
  await until("the note", async () => (await host.list())[0]?.last_used === today);
  expect((await host.list())[1]?.last_used).toBeNull();
  const { ino, mode } = statSync(host.files.tokenUse);
  expect(mode & 0o777).toBe(0o600);
  await Promise.all(Array.from({ length: 20 }, () => host.send(token)));
  await (await host.service.rest()).stop();
  expect(statSync(host.files.tokenUse).ino).toBe(ino);
});

test("the owner's token is noted where it is used over the network, and a name like a prototype's is a name", () => {
  using folder = temporaryFolder();
  const file = join(folder.path, "token_use.json");
  const uses = noteTokenUse(file, silentLog);
  uses.flush();
  expect(readTokenUse(file)).toEqual({ days: new Map(), ownerFromElsewhere: null });
  uses.note(null);
  uses.note("constructor");
  uses.flush();
  const today = new Date().toISOString().slice(0, 10);
  expect(readTokenUse(file)).toEqual({ days: new Map([["constructor", today]]), ownerFromElsewhere: today });
});

test("the uses of 20,000 names are kept, the newest, and a token has none of one before it of its name", async () => {
  await using host = await serving();
  const tokens = Array.from({ length: 20_005 }, (_, nth) => ({ name: `t${nth}`, last_used: "2026-01-01" }));
  writeFileSync(host.files.tokenUse, JSON.stringify({ tokens, owner_from_elsewhere: null }));
  await host.add({ name: "t20004", scope: ["read"] });
  expect(await host.list()).toMatchObject([{ last_used: null }]);
  const uses = noteTokenUse(host.files.tokenUse, silentLog);
  uses.note("t0");
  uses.flush();
  const { days } = readTokenUse(host.files.tokenUse);
  expect([days.size, days.has("t0"), days.has("t5"), days.has("t6")]).toEqual([20_000, true, false, true]);
});

test("a file of uses that is broken, or cannot be written, stops no request", async () => {
  using folder = temporaryFolder();
  const file = join(folder.path, "none", "token_use.json");
  const said: string[] = [];
  const uses = noteTokenUse(file, { ...silentLog, warn: (line) => void said.push(line) });
  uses.note("anna");
  uses.flush();
  expect(said.join()).toContain("the use of tokens cannot be noted");
  const broken = join(folder.path, "broken.json");
  writeFileSync(broken, "{");
  expect(readTokenUse(broken)).toEqual({ days: new Map(), ownerFromElsewhere: null });
});

test("tokens of 0.1.0 keep working, and are listed without an end and without an id", async () => {
  await using host = await serving();
  const fixture = join(import.meta.dir, "..", "fixtures", "config-0.1.0", "config", "tokens.json");
  copyFileSync(fixture, host.files.tokens);
  expect(await host.status("ES67U4aBWVXPnaWwOOwdInIjgz9FsF9N")).toBe(200);
  expect(await host.list()).toMatchObject([
    { name: "prometheus", id: null, expires: null, last_used: null },
    { name: "anna", scopes: ["read", "screen", "audit"], expires: null },
    { name: "desk", expires: null },
  ]);
  const { token, expires } = await host.rotate({ name: "anna", overlap_s: 3_600, expires_s: 90 * DAY_S });
  expect([await host.status("ES67U4aBWVXPnaWwOOwdInIjgz9FsF9N"), await host.status(token)]).toEqual([
    200, 200,
  ]);
  expect(daysFromNow(expires)).toBe(90);
});

test("the id in a token is the one that is listed", async () => {
  await using host = await serving();
  const token = await host.add({ name: "anna", scope: ["read"] });
  expect(await host.list()).toMatchObject([{ id: token.slice(5, 13) }]);
  expect(readFileSync(host.files.tokens, "utf8")).not.toContain(token.slice(14));
});

test("each of 10,000 tokens is found, and nobody else", () => {
  using folder = temporaryFolder();
  const files = configFiles(folder.path);
  const made = Array.from({ length: 10_000 }, newToken);
  const created = new Date().toISOString();
  const tokens = made.map((token, nth) => {
    return { name: `t${nth}`, allows: ["read"], created, ...entryOf(token, DAY_S), generated: true };
  });
  writeFileSync(files.tokens, JSON.stringify({ tokens }));
  const { generated } = watchTokens(files, silentLog);
  for (const [nth, token] of made.entries()) expect(generated(digestToken(token))?.name).toBe(`t${nth}`);
  for (let nth = 0; nth < 100; nth++) expect(generated(digestToken(newToken()))).toBeUndefined();
});

test("a scope that names a script which is not stored is refused when the token is made", async () => {
  await using host = await serving();
  await expect(host.make({ name: "ci", scope: ["run:nightly"] })).rejects.toThrow(
    "scope: no script is named nightly: `svc scripts add nightly FILE` stores it",
  );
  for (const odd of ["run:", "run:../x", "run", "execute"]) {
    expect(() => parseInput(NEW_TOKEN, { name: "ci", scope: [odd] })).toThrow(
      "scope[0]: expected metrics, read",
    );
  }
});

/** What the server answers to a request with the token. */
async function answerTo(
  host: Awaited<ReturnType<typeof serving>>,
  token: string,
): Promise<Record<string, unknown>> {
  const response = await host.send(token);
  const body = (await response.json()) as Record<string, unknown>;
  return { ...body, header: response.headers.get("www-authenticate") };
}

const REFUSED = { error: "unauthorized", help: "T15", header: "Bearer" };

test("who holds a token that has expired, was removed or replaced hears that, and so does the client", async () => {
  await using host = await serving();
  const expired = await host.make({ name: "anna", scope: ["read"], expires_s: 60 });
  const removed = await host.make({ name: "bob", scope: ["read"] });
  const replaced = await host.make({ name: "carl", scope: ["read"] });
  const overlapped = await host.make({ name: "dora", scope: ["read"] });
  await callOperation(host.service, revokeToken, { name: "bob" }, localCaller(host.service, "cli"));
  await host.rotate({ name: "carl" });
  await host.rotate({ name: "dora", overlap_s: 30 });
  expect(await host.status(overlapped.token)).toBe(200);
  later(61);
  for (const [{ token }, reason] of [
    [expired, /^the token anna has expired \(\d{4}-.*Z\)$/],
    [removed, /^the token bob was removed \(\d{4}-.*Z\)$/],
    [replaced, /^the token carl was replaced \(\d{4}-.*Z\)$/],
    [overlapped, /^the token dora was replaced \(\d{4}-.*Z\)$/],
  ] as const)
    expect(await answerTo(host, token)).toEqual({ ...REFUSED, reason: expect.stringMatching(reason) });
  const asking = callRemote(
    { url: host.server.url, token: expired.token, trust: { kind: "system" } as const },
    listJobs,
    {},
    30_000,
  );
  await expect(asking).rejects.toThrow(/^HTTP 401: the token anna has expired/);
});

test("a stranger learns nothing: neither a wrong token nor one that a person chose is told from another", async () => {
  await using host = await serving();
  const chosen = await host.make({ name: "wall", scope: ["read"], token: "lab-password", expires_s: 60 });
  later(61);
  for (const token of [chosen.token, newToken(), "another-password"])
    expect(await answerTo(host, token)).toEqual(REFUSED);
});

test("a token that is mistyped is told so, which anybody can see by its checksum", async () => {
  await using host = await serving();
  expect(await answerTo(host, newToken().slice(0, -1))).toEqual({
    ...REFUSED,
    reason: "the token begins like one that svc made, but is mistyped or cut off",
  });
});

test("of tokens that are over, the newest 256 are noted, and a broken note lets all go on", async () => {
  await using host = await serving();
  const { ended } = tokenStore(host.files, silentLog);
  const sha256 = (nth: number) => hexOf(digestToken(`${nth}`));
  for (let nth = 0; nth < 300; nth += 50) {
    const previous = Array.from({ length: 49 }, (_, at) => ({
      ...{ sha256: sha256(nth + at), until: new Date().toISOString(), generated: true, renews: false },
    }));
    await noteEnded(ended, "replaced", { name: "a", sha256: sha256(nth + 49), generated: true, previous });
  }
  expect(ended.entries().map((one) => one.sha256)).toEqual(
    Array.from({ length: 256 }, (_, at) => sha256(44 + at)),
  );
  writeFileSync(host.files.endedTokens, "{");
  const { token } = await host.make({ name: "bob", scope: ["read"] });
  expect(await host.status(token)).toBe(200);
  await callOperation(host.service, revokeToken, { name: "bob" }, localCaller(host.service, "cli"));
  // A running server refuses it within a second.
  await until("the refusal", async () => (await host.status(token)) === 401);
  expect((await answerTo(host, token)).reason).toStartWith("the token bob was removed");
});
