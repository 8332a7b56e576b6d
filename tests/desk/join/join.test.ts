/** A host joins a desk, and leaves it. */
import { expect, test } from "bun:test";
import { existsSync, readFileSync, statSync } from "node:fs";
import { hostname } from "node:os";
import { callOperation } from "../../../src/core/call";
import { localCaller } from "../../../src/core/caller";
import { poll } from "../../../src/desk/fleet/operations/fleet";
import { removeHost } from "../../../src/desk/fleet/operations/selected";
import { addJoinString, listJoinStrings, removeJoinString } from "../../../src/desk/join/operations";
import { leave } from "../../../src/host/join/operations";
import { configFiles } from "../../../src/lib/paths";
import type { Service } from "../../../src/service/service";
import { renew } from "../../../src/trust/operations/tls";
import { makeToken, replaceToken, revokeToken } from "../../../src/trust/operations/tokens";
import { ownPair } from "../../../src/trust/tls";
import { formatJoinString, newSecret, parseJoinString } from "../../../src/wire/join/join-string";
import { selfSigned } from "../../client/support";
import { temporaryFolder, testService, testWith } from "../../support";
import { joinString, joinWith, tlsServer } from "./support";

const own = (service: Service) => localCaller(service, "cli");

/** What a host keeps of a desk. */
const tracesOf = (configDir: string) => {
  const { desk, tokens } = configFiles(configDir);
  const named = existsSync(tokens) ? JSON.parse(readFileSync(tokens, "utf8")).tokens : [];
  return { desk: existsSync(desk), tokens: named.map(({ name }: { name: string }) => name) };
};

const NONE = { desk: false, tokens: [] };

const labelsOf = async ({ service }: { service: Service }) =>
  (await service.addressBook()).hosts().map(({ label }) => label);

const pollBy = (desk: { service: Service }) => callOperation(desk.service, poll, {}, own(desk.service));

test("a host joins with a string, and the desk can ask it at once, with a token and a pin of its own", async () => {
  await using desk = await tlsServer();
  await using host = await tlsServer();
  const { join_string } = await joinString(desk, { tags: ["lab"], label_prefix: "lab-" });
  const joined = await joinWith(host, join_string);
  expect(joined.label).toBe(`lab-${hostname()}`);
  const [entry] = (await desk.service.addressBook()).hosts();
  expect(entry).toMatchObject({
    label: joined.label,
    base_url: host.server.url,
    tags: ["lab"],
    pin: host.service.runningServer()?.pin,
    member: { host_id: joined.host_id },
  });
  expect(await pollBy(desk)).toMatchObject([{ label: joined.label, healthy: true }]);
  expect(tracesOf(host.configDir)).toEqual({ desk: true, tokens: ["desk"] });
  expect(statSync(host.files.desk).mode & 0o777).toBe(0o600);
  expect(readFileSync(host.files.desk, "utf8")).not.toContain(parseJoinString(join_string).secret);
});

test("whoever replaces or removes the token of the desk by hand learns that the desk needs it", async () => {
  await using desk = await tlsServer();
  await using host = testService();
  await joinWith(host, (await joinString(desk)).join_string);
  const warnings: string[] = [];
  const caller = localCaller(host.service, "cli", { warn: (text) => void warnings.push(text) });
  await callOperation(host.service, makeToken, { name: "anna", scope: ["read"] }, caller);
  await callOperation(host.service, replaceToken, { name: "anna" }, caller);
  expect(warnings).toEqual([]);
  await callOperation(host.service, replaceToken, { name: "desk" }, caller);
  await callOperation(host.service, revokeToken, { name: "desk" }, caller);
  const address = `127.0.0.1:${desk.server.port}`;
  const warning = `the desk ${address} uses desk and cannot reach this host without it: \`svc join\` again`;
  expect(warnings).toEqual([warning, warning]);
});

test("a host joins without a server, which finds its token when it starts", async () => {
  await using desk = await tlsServer();
  await using host = testService();
  const { join_string } = await joinString(desk);
  const joined = await joinWith(host, join_string, { direct: "https://10.0.0.5:9939" });
  expect(joined).toMatchObject({ url: "https://10.0.0.5:9939", served: false });
  const [entry] = (await desk.service.addressBook()).hosts();
  expect(entry?.pin).toBe(await host.service.ownPin());
  expect(tracesOf(host.configDir)).toEqual({ desk: true, tokens: ["desk"] });
});

test("a host that leaves is forgotten: its token ends, and nothing is left of the desk", async () => {
  await using desk = await tlsServer();
  await using host = await tlsServer();
  const { label } = await joinWith(host, (await joinString(desk)).join_string);
  const left = await callOperation(host.service, leave, {}, own(host.service));
  expect(left).toMatchObject({ label, problem: null });
  expect(await labelsOf(desk)).toEqual([]);
  expect(tracesOf(host.configDir)).toEqual(NONE);
  const again = callOperation(host.service, leave, {}, own(host.service));
  await expect(again).rejects.toThrow("this host has joined no desk");
});

test("a host leaves a desk that does not answer, and says that the desk does not know", async () => {
  await using host = await tlsServer();
  {
    await using desk = await tlsServer();
    await joinWith(host, (await joinString(desk)).join_string);
  }
  const left = await callOperation(host.service, leave, {}, own(host.service));
  expect(left.problem).toBe("connection refused");
  expect(tracesOf(host.configDir)).toEqual(NONE);
});

test("a desk that removes a host has it end its token, and says where it could not", async () => {
  await using desk = await tlsServer();
  const remove = (label: string) => callOperation(desk.service, removeHost, { label }, own(desk.service));
  await using host = await tlsServer();
  const { label } = await joinWith(host, (await joinString(desk)).join_string);
  const one = { label, revoked: true, problem: null };
  expect(await remove(label)).toEqual({ removed: true, revoked: true, problem: null, hosts: [one] });
  expect(tracesOf(host.configDir)).toEqual(NONE);

  await using away = testService();
  const joined = await joinWith(away, (await joinString(desk)).join_string, {
    direct: "https://127.0.0.1:1",
  });
  expect(await remove(joined.label)).toMatchObject({ revoked: false, problem: "connection refused" });
  expect(await remove("nobody")).toEqual({ removed: false, revoked: null, problem: null, hosts: [] });
});

test("a token that the host refuses has ended: a desk that removes the host says so", async () => {
  await using desk = await tlsServer();
  await using host = await tlsServer();
  const { label } = await joinWith(host, (await joinString(desk)).join_string);
  await (await host.service.deskTokens()).remove("desk");
  const removed = await callOperation(desk.service, removeHost, { label }, own(desk.service));
  expect(removed).toMatchObject({ removed: true, revoked: true, problem: null });
});

testWith("openssl")("a host that wants client certificates says that no desk reaches it", async () => {
  using folder = temporaryFolder();
  const { cert } = selfSigned(folder.path, "client", "DNS:client");
  await using desk = await tlsServer();
  await using host = await tlsServer({ client_ca: cert });
  const joined = await joinWith(host, (await joinString(desk)).join_string);
  expect(joined.asks_certificate).toBe(true);
  const error = "it wants a client certificate, which svc does not have";
  expect(await pollBy(desk)).toMatchObject([{ healthy: false, error }]);
});

test("another token than the desk's cannot make a host forget its desk", async () => {
  await using desk = await tlsServer();
  await using host = await tlsServer();
  await joinWith(host, (await joinString(desk)).join_string);
  const response = await fetch(`${host.server.url}/desk/forget`, {
    method: "POST",
    headers: { authorization: "Bearer test-token-0123456789" },
    tls: { rejectUnauthorized: false },
  });
  expect(response.status).toBe(409);
  expect(tracesOf(host.configDir)).toEqual({ desk: true, tokens: ["desk"] });
});

test("labels: the name of the host, then -2, or the one that it wants, all with the prefix of the string", async () => {
  await using desk = await tlsServer();
  const { join_string } = await joinString(desk, { uses: 9, label_prefix: "lab-" });
  const joinAs = async (label?: string) => {
    await using host = testService();
    const direct = "https://127.0.0.1:1";
    return (await joinWith(host, join_string, { direct, ...(label && { label }) })).label;
  };
  const name = hostname();
  expect([await joinAs(), await joinAs(), await joinAs("press"), await joinAs()]).toEqual([
    `lab-${name}`,
    `lab-${name}-2`,
    "lab-press",
    `lab-${name}-3`,
  ]);
  await expect(joinAs("press")).rejects.toThrow("label: another host is labelled lab-press");
  await expect(joinAs("lab-press")).rejects.toThrow("label: another host is labelled lab-press");
  expect(await joinAs("lab-tag:x")).toBe("lab-tag:x");
  await expect(joinAs("a,b")).rejects.toThrow("label: expected");
  expect((await desk.service.joinStrings()).list()).toMatchObject([{ used: 5 }]);
});

test("a host that joins the same desk again keeps its label and gets a new token", async () => {
  await using desk = await tlsServer();
  await using host = await tlsServer();
  const first = await joinWith(host, (await joinString(desk, { tags: ["one"] })).join_string, { label: "a" });
  const second = await joinWith(host, (await joinString(desk, { tags: ["two"] })).join_string);
  expect(second).toEqual(first);
  expect((await desk.service.addressBook()).hosts()).toMatchObject([{ label: "a", tags: ["one", "two"] }]);
  expect(await pollBy(desk)).toMatchObject([{ healthy: true }]);
  expect(tracesOf(host.configDir).tokens).toHaveLength(1);
  const third = await joinWith(host, (await joinString(desk)).join_string, { label: "b" });
  expect([third.label, await labelsOf(desk)]).toEqual(["b", ["b"]]);
});

test("a host that did not get the answer joins with the same string, unless the desk removed it meanwhile", async () => {
  await using desk = await tlsServer();
  await using host = await tlsServer();
  const { join_string } = await joinString(desk);
  const { label } = await joinWith(host, join_string);
  expect((await joinWith(host, join_string)).label).toBe(label);
  expect((await desk.service.joinStrings()).list()).toMatchObject([{ used: 1, uses: 1 }]);
  await callOperation(desk.service, removeHost, { label }, own(desk.service));
  await expect(joinWith(host, join_string)).rejects.toThrow("this join string is used up");
});

test("a host that has joined one desk does not join another before it has left", async () => {
  await using desk = await tlsServer();
  await using other = await tlsServer();
  await using host = await tlsServer();
  await joinWith(host, (await joinString(desk)).join_string);
  const second = joinWith(host, (await joinString(other)).join_string);
  await expect(second).rejects.toThrow("leave it first with `svc leave`");
  expect(await labelsOf(other)).toEqual([]);
});

test("a string that does not hold is refused in one line, and neither side keeps anything", async () => {
  await using desk = await tlsServer();
  await using other = await tlsServer();
  await using host = await tlsServer();
  const { join_string } = await joinString(desk);
  const parts = parseJoinString(join_string);
  const removed = await joinString(desk);
  await callOperation(desk.service, removeJoinString, { id: removed.id }, own(desk.service));
  const used = await joinString(desk);
  await using first = testService();
  await joinWith(first, used.join_string, { direct: "https://127.0.0.1:1" });
  const expired = await joinString(desk);
  const db = await desk.service.joinStrings();
  const past = Date.now() - 1_000;
  const { Database } = await import("bun:sqlite");
  new Database(desk.files.joinStrings)
    .query("UPDATE strings SET expires = ? WHERE id = ?")
    .run(past, expired.id);
  const otherAddress = new URL(other.server.url).host;
  const otherPin = (await other.service.ownPin()) ?? "";

  const refused: ReadonlyArray<readonly [string, string]> = [
    ["hello", "this is no join string: expected the line that `svc join-token` prints, svcj1.…"],
    [join_string.slice(0, -20), "this join string is cut off or mistyped: copy the whole line"],
    [join_string.replace(parts.secret, newSecret()), "this join string is cut off or mistyped"],
    [
      formatJoinString({ ...parts, secret: newSecret() }),
      `the desk at ${parts.address} refuses: the secret of this join string is wrong`,
    ],
    [removed.join_string, "this desk has no such join string: it was removed, or another desk made it"],
    [used.join_string, "refuses: this join string is used up: it was for one host"],
    [expired.join_string, `refuses: this join string expired at ${new Date(past).toISOString()}`],
    [
      formatJoinString({ ...parts, address: otherAddress }),
      `the server at ${otherAddress} has another key than the join string names: nothing was sent`,
    ],
    [
      formatJoinString({ ...parts, address: otherAddress, pin: otherPin }),
      "this desk has no such join string: it was removed, or another desk made it",
    ],
    [
      formatJoinString({ ...parts, address: "127.0.0.1:1" }),
      "the desk at 127.0.0.1:1 cannot be reached: connection refused",
    ],
  ];
  const before = await labelsOf(desk);
  for (const [text, reason] of refused) {
    const error = await joinWith(host, text).catch((thrown) => thrown);
    expect(String(error.message)).toContain(reason);
    expect(String(error.message)).not.toMatch(/\n/);
    expect(String(error.message)).not.toContain(parts.secret);
  }
  expect(tracesOf(host.configDir)).toEqual(NONE);
  expect([await labelsOf(desk), await labelsOf(other)]).toEqual([before, []]);
  expect(db.list().find(({ id }) => id === parts.id)).toMatchObject({ used: 0 });
});

test("the desk and the host put on record who joined and left, without a secret", async () => {
  await using desk = await tlsServer();
  await using host = await tlsServer();
  const { join_string, id } = await joinString(desk);
  const { host_id } = await joinWith(host, join_string);
  await callOperation(host.service, leave, {}, own(host.service));
  const rows = async ({ service }: { service: Service }) =>
    JSON.stringify(await (await service.audit())?.list({ limit: 50 }));
  const [there, here] = [await rows(desk), await rows(host)];
  expect(there).toContain(`POST /join -> started join.accept id=${id} host_id=${host_id}`);
  expect(there).toContain("POST /leave -> ok:200 join.release");
  expect(here).toContain('join.enter join_string=\\"***\\"');
  for (const text of [there, here]) expect(text).not.toContain(parseJoinString(join_string).secret);
});

test("a server with another key than the string names gets nothing after the handshake", async () => {
  await using desk = await tlsServer();
  await using other = await tlsServer();
  await using host = await tlsServer();
  const { key, cert } = await ownPair(other.files);
  let received = 0;
  const closed = Promise.withResolvers<void>();
  using listener = Bun.listen({
    hostname: "127.0.0.1",
    port: 0,
    tls: { key, cert },
    socket: {
      data(_socket, piece) {
        received += piece.length;
      },
      close: () => closed.resolve(),
    },
  });
  const address = `127.0.0.1:${listener.port}`;
  const { join_string } = await joinString(desk, { advertise: address });
  await expect(joinWith(host, join_string)).rejects.toThrow("another key than the join string names");
  await closed.promise;
  expect(received).toBe(0);
  expect(tracesOf(host.configDir)).toEqual(NONE);
});

test("a host is reached over https, unless it is this very machine", async () => {
  await using desk = await tlsServer();
  await using host = testService();
  const { join_string } = await joinString(desk);
  const plain = joinWith(host, join_string, { direct: "http://10.0.0.5:9939" });
  await expect(plain).rejects.toThrow("url: expected an https address");
  expect(await labelsOf(desk)).toEqual([]);
});

test("a string that names another key than the desk has says so, and one that will before it ends warns", async () => {
  await using desk = await tlsServer();
  const renewKey = (overlap_s: number) =>
    callOperation(desk.service, renew, { new_key: true, overlap_s }, own(desk.service));
  const states = async () =>
    (await callOperation(desk.service, listJoinStrings, {}, own(desk.service))).join_tokens.map(
      ({ state }) => state,
    );
  expect(await joinString(desk)).toMatchObject({ key_until: null });
  const { next_from } = await renewKey(7_200);
  expect(await joinString(desk)).toMatchObject({ key_until: null });
  expect(await joinString(desk, { expires_s: 86_400 })).toMatchObject({ key_until: next_from });
  expect(await states()).toEqual(["open", "open", "open"]);
  await renewKey(0);
  expect(await states()).toEqual(["other_key", "other_key", "other_key"]);
});

test("a join string for this machine only warns", async () => {
  await using desk = await tlsServer();
  const warningsFor = async (advertise: string) => {
    const warnings: string[] = [];
    const caller = localCaller(desk.service, "cli", { warn: (text) => warnings.push(text) });
    await callOperation(desk.service, addJoinString, { advertise }, caller);
    return warnings;
  };
  expect(await warningsFor("desk.example:9939")).toEqual([]);
  expect(await warningsFor("127.0.0.1:9939")).toEqual([
    "hosts on other machines do not reach this desk at 127.0.0.1:9939",
  ]);
});

test("a token that a host sends to a desk ends within an hour, unless the desk has taken the host in", async () => {
  await using desk = await tlsServer();
  await using host = await tlsServer();
  const daysLeft = () => {
    const [{ expires }] = JSON.parse(readFileSync(host.files.tokens, "utf8")).tokens;
    return (Date.parse(expires) - Date.now()) / 86_400_000;
  };
  // As a host leaves it that is killed while it waits for the desk.
  const tokens = await host.service.deskTokens();
  const { name, expires } = await tokens.add(["read"]);
  expect(daysLeft()).toBeLessThanOrEqual(1 / 24);
  await tokens.kept(name);
  expect(daysLeft()).toBeGreaterThan(89);
  expect(Date.parse(expires ?? "") - Date.now()).toBeGreaterThan(89 * 86_400_000);
  await tokens.remove(name);

  await joinWith(host, (await joinString(desk)).join_string);
  expect(daysLeft()).toBeGreaterThan(89);
});
