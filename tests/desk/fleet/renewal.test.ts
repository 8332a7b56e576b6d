/** The tokens of hosts are replaced before they end. */
import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { dueHosts } from "../../../src/desk/fleet/renewal";
import { configFiles } from "../../../src/lib/paths";
import { until } from "../../support";
import { joinString, joinWith, tlsServer } from "../join/support";

const DAY_MS = 86_400_000;

test("a token is replaced in its last 30 days, unless it has ended, and only where there is one", () => {
  const now = Date.now();
  const hosts = [-1, 1, 29, 31, undefined].map((days) => ({
    label: `${days}`,
    base_url: "http://127.0.0.1:1",
    token: "t",
    tags: [],
    ...(days !== undefined && { token_expires: new Date(now + days * DAY_MS).toISOString() }),
  }));
  const linked = hosts.map((host) => ({ ...host, token: undefined, base_url: "nats:UKEY" }));
  expect(dueHosts([...linked, ...hosts], now)).toEqual(hosts.slice(1, 3));
});

test("a desk that serves replaces the token of a host that has joined before it ends, and notes the new end", async () => {
  await using desk = await tlsServer();
  await using host = await tlsServer();
  const { label } = await joinWith(host, (await joinString(desk)).join_string);
  const book = await desk.service.addressBook();
  const { token, token_expires = "" } = book.host(label);
  expect(Date.parse(token_expires)).toBeGreaterThan(Date.now() + 80 * DAY_MS);
  await book.set(label, () => ({ token_expires: new Date(Date.now() + 5 * DAY_MS).toISOString() }));
  const stop = await desk.service.runJobs();
  await until("a new token", () => book.host(label).token !== token);
  stop();
  expect(Date.parse(book.host(label).token_expires ?? "")).toBeGreaterThan(Date.now() + 80 * DAY_MS);
  const used = await fetch(`${host.server.url}/sessions`, {
    headers: { authorization: `Bearer ${book.host(label).token}` },
    tls: { rejectUnauthorized: false },
  });
  expect(used.status).toBe(200);
  const { tokens } = JSON.parse(readFileSync(configFiles(host.configDir).tokens, "utf8"));
  expect(tokens).toHaveLength(1);
});
