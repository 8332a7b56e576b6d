/** A request whose client holds back its body: the token counts when the body is there. */
import { expect, test } from "bun:test";
import { once } from "node:events";
import { connect } from "node:net";
import * as v from "valibot";
import { callOperation } from "../../src/core/call";
import { localCaller } from "../../src/core/caller";
import { silentLog } from "../../src/lib/log";
import { configFiles } from "../../src/lib/paths";
import { addToken, changeToken, removeToken, tokenStore } from "../../src/trust/named-tokens";
import { replaceToken } from "../../src/trust/operations/tokens";
import { rotate } from "../../src/trust/rotation";
import { NEW_TOKEN } from "../../src/trust/token-fields";
import { testService } from "../support";

/** A server whose own token is in its file, and a named token. */
async function served(scope = ["operate"], given = {}) {
  const made = testService();
  const server = await (await made.service.rest()).start({ port: 0, rate_limit: 0 });
  const store = tokenStore(configFiles(made.configDir), silentLog);
  const token = await addToken(store, v.parse(NEW_TOKEN, { name: "bob", scope, ...given }));
  return { ...made, server, store, token };
}

const RUN = { actions: [["AC_sleep", [0]]] };

/** Sends a request but for the last byte of its body, does `meanwhile`, then sends that. @returns the status of the answer. */
async function statusAfter(
  url: string,
  token: string,
  path: string,
  body: unknown,
  meanwhile: () => unknown,
): Promise<number> {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname).setEncoding("latin1");
  const text = JSON.stringify(body);
  const head = [
    `POST ${path} HTTP/1.1`,
    "Host: localhost",
    `Authorization: Bearer ${token}`,
    `Content-Length: ${text.length}`,
    // The server answers it when the head has passed the gate.
    "Expect: 100-continue",
  ];
  socket.write(`${head.join("\r\n")}\r\n\r\n${text.slice(0, -1)}`);
  await once(socket, "data");
  await meanwhile();
  socket.write(text.slice(-1));
  let answer = "";
  for await (const piece of socket) {
    answer += piece;
    const status = /HTTP\/1\.1 ([2-5]\d\d) /.exec(answer)?.[1];
    if (status === undefined) continue;
    socket.destroy();
    return Number(status);
  }
  return 0;
}

test("a token that was removed acts no more", async () => {
  await using host = await served();
  const remove = () => removeToken(host.store, "bob");
  expect(await statusAfter(host.server.url, host.token, "/execute", RUN, remove)).toBe(401);
  expect((await host.service.runs()).list()).toEqual([]);
});

test("a token that was replaced without an overlap acts no more", async () => {
  await using host = await served();
  const replace = () => changeToken(host.store, "bob", (old) => rotate(old, 0));
  expect(await statusAfter(host.server.url, host.token, "/execute", RUN, replace)).toBe(401);
});

test("a token that was replaced with an overlap still acts", async () => {
  await using host = await served();
  const replace = () => changeToken(host.store, "bob", (old) => rotate(old, 60));
  expect(await statusAfter(host.server.url, host.token, "/execute", RUN, replace)).toBe(200);
});

test("a token that has expired acts no more", async () => {
  await using host = await served();
  const expires = new Date(0).toISOString();
  const expire = () => changeToken(host.store, "bob", (old) => ({ kept: { ...old, expires } }));
  expect(await statusAfter(host.server.url, host.token, "/execute", RUN, expire)).toBe(401);
});

test("the owner's token that was replaced acts no more, also for a body beside a query", async () => {
  await using host = await served();
  const owner = localCaller(host.service, "cli");
  const replace = () => callOperation(host.service, replaceToken, {}, owner);
  for (const path of ["/execute", "/config/import?dry_run=true"]) {
    const token = host.server.token.current();
    expect(await statusAfter(host.server.url, token, path, RUN, replace)).toBe(401);
  }
});

test("a token that allows less now does no more than that", async () => {
  await using host = await served(["operate"], { token: "a-token-of-bob" });
  const replace = async () => {
    await removeToken(host.store, "bob");
    await addToken(host.store, v.parse(NEW_TOKEN, { name: "bob", scope: ["read"], token: "a-token-of-bob" }));
  };
  expect(await statusAfter(host.server.url, host.token, "/execute", RUN, replace)).toBe(403);
});
