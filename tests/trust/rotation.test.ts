import { afterEach, expect, setSystemTime, test } from "bun:test";
import { existsSync, readFileSync, statSync } from "node:fs";
import { callOperation } from "../../src/core/call";
import { localCaller } from "../../src/core/caller";
import type { Scope } from "../../src/core/rights";
import { silentLog } from "../../src/lib/log";
import { configFiles } from "../../src/lib/paths";
import { addToken, removeToken, tokenStore } from "../../src/trust/named-tokens";
import { renewToken } from "../../src/trust/operations/request-token";
import { listTokens, replaceToken } from "../../src/trust/operations/tokens";
import { replaceOwnToken } from "../../src/trust/own-rotation";
import { readToken, writeToken } from "../../src/trust/owner-token";
import { rotate, type TokenRotation } from "../../src/trust/rotation";
import { post, TOKEN, testService } from "../support";

afterEach(() => void setSystemTime());

/** A server, and what clients with any token can do with it. */
async function serving(options: { token?: string } = {}) {
  const made = testService();
  const files = configFiles(made.configDir);
  const server = await (await made.service.rest()).start({ port: 0, rate_limit: 0, ...options });
  const send = (token: string, path: string, init: RequestInit = {}) =>
    fetch(server.url + path, { ...init, headers: { ...init.headers, authorization: `Bearer ${token}` } });
  /** The status of a request that every token with `read` may make. */
  const status = async (token: string) => (await send(token, "/jobs")).status;
  const asked = async (token: string, path: string, body: object = {}) => {
    const response = await send(token, path, post(body));
    return { status: response.status, body: (await response.json()) as Record<string, string> };
  };
  return {
    ...made,
    files,
    status,
    add: (name: string, ...scope: Scope[]) => addToken(tokenStore(files, silentLog), { name, scope }),
    renew: (token: string, body?: object) => asked(token, "/token/renew", body),
    confirm: (token: string) => asked(token, "/token/confirm"),
    renewed: async (token: string) => {
      const { token: next } = (await asked(token, "/token/renew")).body;
      if (next === undefined) throw new Error("no token");
      return next;
    },
    /** As `svc token rotate` does, which notifies the server. */
    async rotate(input: object) {
      const caller = localCaller(made.service, "cli");
      const answer = await callOperation(made.service, replaceToken, input, caller);
      server.refresh();
      return answer;
    },
    refresh: () => server.refresh(),
    later(hours: number) {
      setSystemTime(new Date(Date.now() + hours * 3_600_000));
      server.refresh();
    },
    replaceByHand(token: string) {
      writeToken(files.token, token);
      server.refresh();
    },
    async remove(name: string) {
      await removeToken(tokenStore(files, silentLog), name);
      server.refresh();
    },
  };
}

test("a token for reading alone renews itself, and both work until the overlap ends", async () => {
  await using host = await serving();
  const old = await host.add("anna", "read");
  const { status, body } = await host.renew(old, { overlap_s: 7_200 });
  expect([status, body.name]).toEqual([200, "anna"]);
  expect(Date.parse(body.old_until ?? "") - Date.now()).toBeWithin(7_100_000, 7_200_001);
  expect([await host.status(old), await host.status(body.token ?? "")]).toEqual([200, 200]);
  host.later(3);
  expect([await host.status(old), await host.status(body.token ?? "")]).toEqual([401, 200]);
});

test("a new token allows what the old one did, under its name, and the file holds neither", async () => {
  await using host = await serving();
  const old = await host.add("prometheus", "metrics");
  const next = await host.renewed(old);
  expect([await host.status(next), await host.status(old)]).toEqual([403, 403]);
  expect(tokenStore(host.files, silentLog).entries()).toMatchObject([
    { name: "prometheus", allows: ["metrics"], generated: true },
  ]);
  const text = readFileSync(host.files.tokens, "utf8");
  expect(text).not.toContain(old);
  expect(text).not.toContain(next);
});

test("a client that lost the new token renews the old one again, and nothing that was handed out ends early", async () => {
  await using host = await serving();
  const old = await host.add("desk", "operate", "read");
  const lost = await host.renewed(old);
  const kept = await host.renewed(old);
  expect(await Promise.all([old, lost, kept].map(host.status))).toEqual([200, 200, 200]);
});

test("the old token lives for the whole overlap of the last renewal", async () => {
  await using host = await serving();
  const old = await host.add("desk", "read");
  await host.renewed(old);
  host.later(23);
  await host.renewed(old);
  host.later(23);
  expect(await host.status(old)).toBe(200);
});

test("once the new token is confirmed, who has an old one gets no new one for it", async () => {
  await using host = await serving();
  const old = await host.add("desk", "read");
  const next = await host.renewed(old);
  expect(await host.confirm(old)).toMatchObject({ status: 409 });
  expect(await host.confirm(next)).toMatchObject({ status: 200, body: { name: "desk" } });
  const refused = await host.renew(old);
  expect(refused.status).toBe(403);
  expect(refused.body.error).toMatch(/^this token was replaced: it works until .+Z and cannot be renewed$/);
  expect(await host.status(old)).toBe(200);
});

test("who renews the new token has it: that confirms it as well", async () => {
  await using host = await serving();
  const old = await host.add("desk", "read");
  await host.renewed(await host.renewed(old));
  expect((await host.renew(old)).status).toBe(403);
});

test("a rotation on the host ends the old tokens at once, or lets them work without being renewed", async () => {
  await using host = await serving();
  const first = await host.add("desk", "read");
  const second = await host.renewed(first);
  const third = await host.rotate({ name: "desk", overlap_s: 3_600 });
  expect(await Promise.all([first, second, third.token].map(host.status))).toEqual([200, 200, 200]);
  expect([(await host.renew(first)).status, (await host.renew(second)).status]).toEqual([403, 403]);
  const { tokens } = await callOperation(host.service, listTokens, {}, localCaller(host.service, "cli"));
  expect(tokens).toMatchObject([{ name: "desk", old_until: third.old_until }]);
  const fourth = await host.rotate({ name: "desk" });
  expect(fourth.old_until).toBeNull();
  const all = [first, second, third.token, fourth.token];
  expect(await Promise.all(all.map(host.status))).toEqual([401, 401, 401, 200]);
});

test("a rotation on the host lets no older token work for longer than it says", async () => {
  await using host = await serving();
  const first = await host.add("desk", "read");
  const second = await host.renewed(first);
  const third = await host.rotate({ name: "desk", overlap_s: 3_600 });
  host.later(2);
  expect(await Promise.all([first, second, third.token].map(host.status))).toEqual([401, 401, 200]);
});

test("a renewal says when the token that was sent ends, whatever else is in force", async () => {
  await using host = await serving();
  const next = await host.renewed(await host.add("desk", "read"));
  const { body } = await host.renew(next, { overlap_s: 60 });
  expect(Date.parse(body.old_until ?? "") - Date.now()).toBeWithin(0, 60_001);
});

test("revoking a name ends its old tokens too", async () => {
  await using host = await serving();
  const old = await host.add("desk", "read");
  const next = await host.renewed(old);
  await host.remove("desk");
  expect([await host.status(old), await host.status(next)]).toEqual([401, 401]);
});

test("a token that is replaced again and again is refused, so that the file stays small", async () => {
  await using host = await serving();
  const old = await host.add("desk", "read");
  const statuses: number[] = [];
  for (let nth = 0; nth < 9; nth++) statuses.push((await host.renew(old)).status);
  expect(statuses).toEqual([...Array<number>(8).fill(200), 409]);
  expect((await host.renew(old)).body.error).toContain("this token was replaced 8 times");
  expect(await host.status(old)).toBe(200);
});

test("the host's own token renews itself too, in its private file, and the old one works on", async () => {
  await using host = await serving();
  const old = readToken(host.files.token) ?? "";
  const { status, body } = await host.renew(old);
  expect([status, body.name]).toEqual([200, null as never]);
  expect(readToken(host.files.token)).toBe(body.token);
  expect([await host.status(old), await host.status(body.token ?? "")]).toEqual([200, 200]);
  expect(statSync(host.files.previousTokens).mode & 0o777).toBe(0o600);
  expect(readFileSync(host.files.previousTokens, "utf8")).not.toContain(old);
  expect((await host.confirm(body.token ?? "")).status).toBe(200);
  expect((await host.renew(old)).status).toBe(403);
  host.later(25);
  expect([await host.status(old), await host.status(body.token ?? "")]).toEqual([401, 200]);
});

test("an old token of the host ends when its owner replaces the token, by svc or by hand", async () => {
  await using host = await serving();
  const first = readToken(host.files.token) ?? "";
  const second = (await host.rotate({ overlap_s: 3_600 })).token;
  expect([await host.status(first), await host.status(second)]).toEqual([200, 200]);
  host.replaceByHand("chosen-by-hand");
  expect(await Promise.all([first, second, "chosen-by-hand"].map(host.status))).toEqual([401, 401, 200]);
  const { token } = await host.rotate({});
  expect([await host.status("chosen-by-hand"), await host.status(token)]).toEqual([401, 200]);
});

test("a rotation that is killed before the new token is written ends no older overlap", async () => {
  await using host = await serving();
  const first = readToken(host.files.token) ?? "";
  const second = (await host.rotate({ overlap_s: 3_600 })).token;
  const killed = (old: TokenRotation) => ({
    kept: rotate(old, 3_600).kept,
    get token(): string {
      throw new Error("killed");
    },
  });
  expect(() => replaceOwnToken(host.files, host.files.token, killed)).toThrow("killed");
  host.refresh();
  expect([await host.status(first), await host.status(second)]).toEqual([200, 200]);
  const third = (await host.rotate({ overlap_s: 3_600 })).token;
  expect(await Promise.all([first, second, third].map(host.status))).toEqual([200, 200, 200]);
  host.replaceByHand(second);
  expect(await Promise.all([first, second, third].map(host.status))).toEqual([401, 200, 401]);
});

test("a damaged note of old tokens lets none of them in, and is named when the token is to be renewed", async () => {
  await using host = await serving();
  const old = readToken(host.files.token) ?? "";
  const next = await host.renewed(old);
  await Bun.write(host.files.previousTokens, "{");
  host.refresh();
  expect([await host.status(old), await host.status(next)]).toEqual([401, 200]);
  expect(await host.renew(next)).toMatchObject({
    status: 503,
    body: {
      error:
        "rest_token_previous.json is not a note of replaced tokens: restore it from a backup, or delete it, which ends them",
    },
  });
});

test("a token that is not in a file cannot be renewed, nor can that of a caller without one", async () => {
  await using host = await serving({ token: TOKEN });
  expect(await host.renew(TOKEN)).toMatchObject({
    status: 409,
    body: { error: "the token comes from SVC_TOKEN: change it there and start svc again" },
  });
  const call = () => callOperation(host.service, renewToken, {}, localCaller(host.service, "api"));
  expect(call).toThrow("there is none");
});

test("a rotation makes a token where the file is missing or holds none", async () => {
  await using made = testService();
  const { token: file } = configFiles(made.configDir);
  const rotate = () => callOperation(made.service, replaceToken, {}, localCaller(made.service, "cli"));
  for (const before of [undefined, "short\n"]) {
    if (before !== undefined) await Bun.write(file, before);
    expect((await rotate()).token).toBe(readToken(file) ?? "");
  }
  expect(existsSync(configFiles(made.configDir).previousTokens)).toBe(false);
});

test("of rotations at once, each replaces the token of the one before", async () => {
  await using host = await serving();
  const old = readToken(host.files.token) ?? "";
  const rotations = await Promise.all([1, 2, 3].map(() => host.rotate({ overlap_s: 600 })));
  const tokens = [old, ...rotations.map(({ token }) => token)];
  expect(new Set(tokens).size).toBe(4);
  expect(tokens).toContain(readToken(host.files.token) ?? "");
  expect(await Promise.all(tokens.map(host.status))).toEqual([200, 200, 200, 200]);
});
