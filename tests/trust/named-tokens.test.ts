import { expect, test } from "bun:test";
import { copyFileSync, readFileSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseInput } from "../../src/core/input";
import { SCOPES, type Scope } from "../../src/core/rights";
import { silentLog } from "../../src/lib/log";
import { configFiles } from "../../src/lib/paths";
import { operations } from "../../src/operations";
import { addToken, removeToken, tokenStore } from "../../src/trust/named-tokens";
import { digestToken, type GrantOf } from "../../src/trust/scopes";
import { NEW_TOKEN } from "../../src/trust/token-fields";
import { watchTokens } from "../../src/trust/tokens-in-force";
import { rowsOf } from "../host/audit/support";
import { movableClocks, post, TOKEN, temporaryFolder, testService } from "../support";

/** A server with a token for each scope. */
async function scopedServer() {
  const made = testService();
  const files = configFiles(made.configDir);
  const add = (name: string, ...scope: Scope[]) => addToken(tokenStore(files, silentLog), { name, scope });
  const tokens = {
    metrics: await add("prometheus", "metrics"),
    read: await add("anna", "read"),
    screen: await add("screen", "screen"),
    audit: await add("audit", "audit"),
    sync: await add("sync", "sync"),
    operate: await add("operate", "operate"),
    admin: await add("admin", "admin"),
    both: await add("wall", "read", "metrics"),
    own: TOKEN,
  };
  const server = await (await made.service.rest()).start({ port: 0, token: TOKEN, rate_limit: 0 });
  const ask = (who: keyof typeof tokens, path: string, init: RequestInit = {}) =>
    fetch(server.url + path, {
      ...init,
      headers: { ...init.headers, authorization: `Bearer ${tokens[who]}` },
    });
  return { ask, files, [Symbol.asyncDispose]: () => made[Symbol.asyncDispose]() };
}

const routed = operations.flatMap(({ http, scope, name }) =>
  http && !http.public ? [{ ...http, path: http.path.replaceAll(/\{\w+\}/g, "none"), scope, name }] : [],
);

for (const scope of SCOPES.filter((one) => one !== "admin")) {
  test(`a token for ${scope} is refused by every operation of another scope, before its input is looked at`, async () => {
    await using server = await scopedServer();
    const others = routed.filter((operation) => operation.scope !== scope && operation.scope !== "any");
    expect(others.length).toBeGreaterThan(20);
    for (const { method, path, name, fault } of others) {
      const response = await server.ask(scope, path, method === "POST" ? { method, body: "no JSON" } : {});
      // Some protocols say it in their own words.
      const own = fault && (await fault(403, "").text());
      if (own !== undefined && response.status !== 403)
        expect(await response.text()).toContain(/\b403\b/.test(own) ? "403" : "forbidden");
      else expect([name, response.status]).toEqual([name, 403]);
    }
  });
}

test("each scope allows its operations, several allow the union, and the host's own token allows everything", async () => {
  await using server = await scopedServer();
  const statuses = async (who: Parameters<typeof server.ask>[0]) => {
    const answers = [
      server.ask(who, "/metrics"),
      server.ask(who, "/jobs"),
      server.ask(who, "/execute", post({ actions: [["AC_set_var", { name: "a", value: 1 }]] })),
    ];
    return (await Promise.all(answers)).map(({ status }) => status);
  };
  expect(await statuses("metrics")).toEqual([200, 403, 403]);
  expect(await statuses("read")).toEqual([403, 200, 403]);
  expect(await statuses("both")).toEqual([200, 200, 403]);
  expect(await statuses("operate")).toEqual([403, 403, 200]);
  expect(await statuses("admin")).toEqual([200, 200, 200]);
  expect(await statuses("own")).toEqual([200, 200, 200]);
});

test("any token in force may ask what it allows", async () => {
  await using server = await scopedServer();
  const answer = async (who: Parameters<typeof server.ask>[0]) => (await server.ask(who, "/token")).json();
  const expires = expect.stringMatching(/^\d{4}-\d\d-\d\dT.+Z$/);
  expect(await answer("metrics")).toEqual({ name: "prometheus", scopes: ["metrics"], expires });
  expect(await answer("both")).toEqual({ name: "wall", scopes: ["read", "metrics"], expires });
  expect(await answer("own")).toEqual({ name: null, scopes: ["admin"], expires: null });
});

test("what is not allowed is refused as in RFC 6750, without a lockout", async () => {
  await using server = await scopedServer();
  for (let nth = 0; nth < 10; nth++) {
    const refused = await server.ask("metrics", "/config/export", post({}));
    expect(refused.status).toBe(403);
    expect(refused.headers.get("www-authenticate")).toBe('Bearer error="insufficient_scope", scope="admin"');
    expect(await refused.json()).toEqual({ error: "this token allows metrics, but this needs admin" });
  }
  expect((await server.ask("metrics", "/nowhere")).status).toBe(404);
  expect((await server.ask("metrics", "/metrics")).status).toBe(200);
});

test("the audit log has the name of a named token, and none for the host's own", async () => {
  await using server = await scopedServer();
  await server.ask("metrics", "/metrics");
  await server.ask("metrics", "/jobs");
  await server.ask("own", "/jobs");
  expect(
    rowsOf(server.files.auditLog)
      .filter(({ event_type }) => event_type === "rest_api")
      .map(({ detail }) => detail),
  ).toEqual([
    "GET /metrics -> ok:200 token=prometheus",
    "GET /jobs -> failed:403 token=prometheus",
    "GET /jobs -> ok:200",
  ]);
});

test("no new token is called as rows call the token of the host, and one of an earlier svc goes on", async () => {
  const about = (name: string) => parseInput(NEW_TOKEN, { name, scope: ["read"] });
  expect(() => about("owner")).toThrow("name: expected another name than owner");
  for (const name of ["owners", "Owner", "owner-2", "an-owner"]) expect(about(name).name).toBe(name);
  await using made = testService();
  const store = tokenStore(configFiles(made.configDir), silentLog);
  // As it was added before the name was kept.
  await addToken(store, { name: "owner", scope: ["read"] });
  expect(store.entries()).toMatchObject([{ name: "owner" }]);
});

test("the file is private and holds no token", async () => {
  using folder = temporaryFolder();
  const files = configFiles(folder.path);
  const token = await addToken(tokenStore(files, silentLog), { name: "anna", scope: ["read"] });
  expect(token).toMatch(/^svct_[0-9A-Za-z]{8}_[0-9A-Za-z_-]{49}$/);
  expect(readFileSync(files.tokens, "utf8")).not.toContain(token);
  expect(statSync(files.tokens).mode & 0o777).toBe(0o600);
});

test("no two tokens have one name or are the same; a token may come from elsewhere", async () => {
  using folder = temporaryFolder();
  const files = configFiles(folder.path);
  await addToken(tokenStore(files, silentLog), { name: "anna", scope: ["read"] });
  const before = readFileSync(files.tokens, "utf8");
  const given = (name: string, token: string) =>
    addToken(tokenStore(files, silentLog), { name, scope: ["read"], token });
  await expect(given("otto", "short")).rejects.toThrow("token: expected a token of 8 to 512 visible ASCII");
  await expect(addToken(tokenStore(files, silentLog), { name: "anna", scope: ["metrics"] })).rejects.toThrow(
    "name: anna is already taken",
  );
  await expect(removeToken(tokenStore(files, silentLog), "otto")).rejects.toThrow("no token is named otto");
  expect(readFileSync(files.tokens, "utf8")).toBe(before);
  await removeToken(tokenStore(files, silentLog), "anna");
  const token = await addToken(tokenStore(files, silentLog), { name: "anna", scope: ["metrics"] });
  await expect(given("otto", token)).rejects.toThrow("token: anna already has this token");
  expect(await given("otto", "a-token-of-the-fleet")).toBe("a-token-of-the-fleet");
  expect(tokenStore(files, silentLog).entries()).toMatchObject([
    { name: "anna", allows: ["metrics"] },
    {
      name: "otto",
      allows: ["read"],
      sha256: Buffer.from(digestToken("a-token-of-the-fleet")).toString("hex"),
    },
  ]);
});

test("a scope that is asked for twice is given once", () => {
  const wanted = { name: "anna", scope: ["read", "metrics", "read"] };
  expect(parseInput(NEW_TOKEN, wanted)).toEqual({ name: "anna", scope: ["metrics", "read"] });
});

test("desk is short for every scope but admin", () => {
  const wanted = { name: "desk", scope: ["desk", "read"] };
  expect(parseInput(NEW_TOKEN, wanted)).toEqual({
    name: "desk",
    scope: ["metrics", "read", "screen", "audit", "sync", "operate"],
  });
});

test("what 0.1.0 called read is read, screen and audit, and what is called read since then is not", async () => {
  using folder = temporaryFolder();
  const files = configFiles(folder.path);
  const fixture = join(import.meta.dir, "..", "fixtures", "config-0.1.0", "config", "tokens.json");
  copyFileSync(fixture, files.tokens);
  const store = tokenStore(files, silentLog);
  await addToken(store, { name: "otto", scope: ["read"] });
  const scopes = () =>
    tokenStore(files, silentLog)
      .entries()
      .map(({ name, allows }) => [name, ...allows]);
  const expected = [
    ["prometheus", "metrics"],
    ["anna", "read", "screen", "audit"],
    ["desk", "read", "screen", "audit", "metrics"],
    ["otto", "read"],
  ];
  expect(scopes()).toEqual(expected);
  // 0.1.0 finds no scopes in the new entry: it lets nobody in with it, and so nobody to the screen.
  expect(JSON.parse(readFileSync(files.tokens, "utf8")).tokens.at(-1).scopes).toBeUndefined();
});

test("the host's own token cannot be a named token", async () => {
  using folder = temporaryFolder();
  const files = configFiles(folder.path);
  const wanted = { name: "anna", scope: ["read" as const], token: TOKEN };
  await expect(addToken(tokenStore(files, silentLog), wanted, TOKEN)).rejects.toThrow(
    "token: this is the host's own token",
  );
  expect(tokenStore(files, silentLog).entries()).toEqual([]);
  expect(await addToken(tokenStore(files, silentLog), wanted, "another-token")).toBe(TOKEN);
});

test("a broken file lets nobody in, nor does an entry with a scope that svc does not know, and the log says why", async () => {
  using folder = temporaryFolder();
  const files = configFiles(folder.path);
  const store = tokenStore(files, silentLog);
  const [anna, otto] = [
    digestToken(await addToken(store, { name: "anna", scope: ["read"] })),
    digestToken(await addToken(store, { name: "otto", scope: ["metrics"] })),
  ] as const;
  expect(watchTokens(files, silentLog).generated(anna)?.name).toBe("anna");
  const good = readFileSync(files.tokens, "utf8");
  for (const [text, reason, left] of [
    [good.replace('"read"', '"all"'), "left out tokens[0]: allows.0: metrics, read, ", "otto"],
    [
      good.slice(0, -5),
      "only the host's own token is in force: tokens.json is not a list of tokens",
      undefined,
    ],
  ] as const) {
    writeFileSync(files.tokens, text);
    const logged: string[] = [];
    const say = (line: string) => void logged.push(line);
    const { generated } = watchTokens(files, { ...silentLog, error: say, warn: say });
    expect(generated(anna)).toBeUndefined();
    expect(generated(otto)?.name).toBe(left);
    expect(logged.join()).toContain(reason);
  }
});

test("a token that svc was given, or that 0.1.0 noted, is not one that svc generated", async () => {
  using folder = temporaryFolder();
  const files = configFiles(folder.path);
  const store = tokenStore(files, silentLog);
  const made = digestToken(await addToken(store, { name: "made", scope: ["read"] }));
  const given = digestToken(await addToken(store, { name: "given", scope: ["read"], token: "lab-password" }));
  const namesIn = () => {
    const tokens = watchTokens(files, silentLog);
    const among = (grantOf: GrantOf) => [made, given].map((digest) => grantOf(digest)?.name);
    return { generated: among(tokens.generated), given: among(tokens.given) };
  };
  expect(namesIn()).toEqual({ generated: ["made", undefined], given: [undefined, "given"] });
  const text = readFileSync(files.tokens, "utf8");
  writeFileSync(files.tokens, text.replaceAll(/,\s*"generated": (true|false)/g, ""));
  expect(namesIn()).toEqual({ generated: [undefined, undefined], given: ["made", "given"] });
});

test("tokens are in force again where their file can be read again, though it was not changed: its rights may have been", async () => {
  using folder = temporaryFolder();
  using clocks = movableClocks();
  const files = configFiles(folder.path);
  const token = await addToken(tokenStore(files, silentLog), { name: "anna", scope: ["read"] });
  const whole = readFileSync(files.tokens, "utf8");
  // Size, inode and time stay the same, as where root has restored the file and then gives it to the user of svc.
  const put = (text: string) => {
    writeFileSync(files.tokens, text);
    utimesSync(files.tokens, 1, 1);
  };
  put(" ".repeat(whole.length));
  const errors: string[] = [];
  const { generated } = watchTokens(files, { ...silentLog, error: (text) => void errors.push(text) });
  expect(generated(digestToken(token))).toBeUndefined();
  clocks.advance(1_000);
  expect(generated(digestToken(token))).toBeUndefined();
  expect(errors).toHaveLength(1);
  put(whole);
  clocks.advance(1_000);
  expect(generated(digestToken(token))?.name).toBe("anna");
});
