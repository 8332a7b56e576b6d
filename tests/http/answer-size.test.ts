/**
 * Whatever a client sends to any route, the answer has at most {@link MOST} times as many bytes: nobody can have the server send, or
 * keep, much more than they send themselves. What they ask for is not looked at: files, pages, streams, results of actions.
 *
 * `SVC_TABLE=1` prints the answers that are largest beside their requests.
 */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { Operation } from "../../src/core/operation";
import { SCOPES } from "../../src/core/rights";
import { operations } from "../../src/operations";
import { makeToken } from "../host/mcp/support";
import { TOKEN, testServer } from "../support";

/** The most bytes of an answer for each byte of a request of more than 10 kB. */
const MOST = 20;

/** How long a request is, in characters. */
const LONG = 12_000;

let host: Awaited<ReturnType<typeof testServer>>;
const tokens: string[] = [TOKEN];
beforeAll(async () => {
  host = await testServer({ max_body: 10_000_000 });
  for (const scope of SCOPES) tokens.push(await makeToken(host.configDir, scope, [scope]));
});
afterAll(async () => {
  if (process.env.SVC_TABLE) console.table(seen.toSorted((a, b) => b.ratio - a.ratio).slice(0, 25));
  await host[Symbol.asyncDispose]();
});

interface Seen {
  readonly route: string;
  readonly body: string;
  readonly status: number;
  readonly ratio: number;
}
const seen: Seen[] = [];

const many = <T>(text: string, one: (n: number) => T) =>
  Array.from({ length: Math.ceil(LONG / text.length) }, (_, n) => one(n));

/** What a message might quote, name or count once for each of its parts. */
const HOSTILE: Readonly<Record<string, unknown>> = {
  text: "x".repeat(LONG),
  controls: "\u0001\u202e".repeat(LONG / 8),
  "lone surrogates": "\ud800".repeat(LONG / 6),
  "short values": many("1,", () => 1),
  "short texts": many('"a",', () => "a"),
  lists: many("[],", () => []),
  objects: many("{},", () => ({})),
  "unknown fields": many('{"a":1},', () => ({ a: 1 })),
  names: Object.fromEntries(many('"k000":1,', (n) => [`k${n}`, 1])),
  "long name": { ["x".repeat(LONG)]: many("1,", () => 1).slice(0, 100) },
  deep: JSON.parse(`${"[".repeat(400)}${many("1,", () => 1)}${"]".repeat(400)}`),
  variables: `\${${"x".repeat(LONG)}}`,
  "no such actions": many('["AC_a"],', () => ["AC_a"]),
  "actions with faults": many('["AC_sleep",{"a":1}],', () => ["AC_sleep", { a: 1 }]).slice(0, 1_000),
  "actions that fail": many('["AC_sleep","${x}"],', () => ["AC_sleep", "${x}"]).slice(0, 1_000),
};

async function look(
  route: string,
  body: string,
  path: string,
  init: RequestInit,
  by: readonly string[] = tokens,
): Promise<void> {
  for (const token of by) {
    const headers = { ...init.headers, authorization: `Bearer ${token}` };
    const answer = await fetch(host.server.url + path, { ...init, headers, redirect: "manual" });
    const sent = path.length + Buffer.byteLength(String(init.body ?? ""));
    const ratio = Math.round((10 * (await answer.bytes()).length) / sent) / 10;
    // A short one is told apart by the length of its request alone.
    if (sent < 10_000) continue;
    seen.push({ route, body, status: answer.status, ratio });
    expect({ body, status: answer.status, ratio: ratio <= MOST ? "good" : ratio }).toEqual({
      body,
      status: answer.status,
      ratio: "good",
    });
  }
}

const JSON_TYPE = { "content-type": "application/json", accept: "application/json, text/event-stream" };

/** A message of an agent. */
const rpc = (method: string, params: unknown) => ({ jsonrpc: "2.0", id: 1, method, params });

/** Messages of agents with `value` in the place of what the protocol knows. */
function* messagesOf(value: unknown): Generator<[string, unknown]> {
  const client = { name: "a", version: "1" };
  const ready = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: client };
  yield ["protocolVersion", rpc("initialize", { ...ready, protocolVersion: value })];
  yield ["capabilities", rpc("initialize", { ...ready, capabilities: value })];
  yield ["experimental", rpc("initialize", { ...ready, capabilities: { experimental: value } })];
  yield ["clientInfo", rpc("initialize", { ...ready, clientInfo: value })];
  yield ["icons", rpc("initialize", { ...ready, clientInfo: { ...client, icons: value } })];
  yield ["tool", rpc("tools/call", { name: value, arguments: {} })];
  yield ["arguments", rpc("tools/call", { name: "runs_list", arguments: value })];
  yield ["an argument", rpc("tools/call", { name: "runs_list", arguments: { limit: value } })];
  yield ["_meta", rpc("tools/list", { _meta: value })];
  yield ["cursor", rpc("tools/list", { cursor: value })];
  yield ["method", { jsonrpc: "2.0", id: 1, method: value }];
  yield ["id", { jsonrpc: "2.0", id: value, method: "ping" }];
  yield ["result", { jsonrpc: "2.0", id: 1, result: value }];
}

/** Requests with `value` in the place of each field, and with it in all of them. */
function* bodiesOf({ http, input, example }: Operation, value: unknown): Generator<[string, unknown]> {
  yield ["itself", value];
  if (http?.path === "/mcp") yield* messagesOf(value);
  if (http?.body !== undefined) return;
  const names = Object.keys(input.entries).filter((name) => !http?.path.includes(`{${name}}`));
  yield ["in each field", Object.fromEntries(names.map((name) => [name, value]))];
  for (const name of names) yield [name, { ...example, [name]: value }];
}

describe("over HTTP, an answer is at most 20 times as long as its request:", () => {
  for (const operation of operations) {
    const { http, input, name } = operation;
    if (!http || http.socket || (http.method === "GET" && (http.content || http.stream))) continue;
    const route = `${http.method} ${http.path}`;
    test(`${route} (${name})`, async () => {
      const fill = (text: string) => http.path.replaceAll(/\{\w+\}/g, encodeURIComponent(text));
      const long = "x".repeat(LONG);
      if (http.path.includes("{")) await look(route, "path", fill(long), { method: http.method });
      if (http.method === "GET") {
        for (const field of [...Object.keys(input.entries), "nope"])
          await look(route, field, `${fill("a")}?${field}=${long}`, {});
        const fields = Array.from({ length: LONG / 6 }, (_, n) => `f${n}=1`).join("&");
        await look(route, "unknown fields", `${fill("a")}?${fields}`, {});
        return;
      }
      for (const [kind, value] of Object.entries(HOSTILE)) {
        for (const [place, body] of bodiesOf(operation, value)) {
          const text = JSON.stringify(body);
          // Only the owner's token gets as far as one field that is wrong, in most routes.
          const by = place === "itself" || place === "in each field" ? tokens : [TOKEN];
          const init = { method: "POST", headers: JSON_TYPE, body: text };
          await look(route, `${kind}, ${place}`, fill("a"), init, by);
        }
      }
    }, 120_000);
  }
});
