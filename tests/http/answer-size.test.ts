/**
 * Whatever a client sends to any route, the answer has at most {@link MOST} times as many bytes: nobody can have the server send, or
 * keep, much more than they send themselves. What is larger (a page, a document, a file) is asked for by short requests alone.
 *
 * `SVC_TABLE=1` prints the answers that are largest beside their requests.
 */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { Operation } from "../../src/core/operation";
import { SCOPES } from "../../src/core/rights";
import { operations } from "../../src/operations";
import { makeToken } from "../host/mcp/support";
import { type StallRequest, worstOf } from "../stalls/bodies";
import { specialOf } from "../stalls/special";
import { isThorough, TOKEN, testServer } from "../support";

/** The most bytes of an answer for each byte of a request of more than 10 kB. */
const MOST = 20;

/** How long a request is, in characters. */
const LONG = 12_000;

/** How long an answer that stays open is read, in milliseconds. */
const OPEN_MS = 300;

let host: Awaited<ReturnType<typeof testServer>>;
const tokens: string[] = [TOKEN];
beforeAll(async () => {
  host = await testServer({ max_body: 10_000_000 });
  for (const scope of [...SCOPES, "run:nightly"] as const)
    tokens.push(await makeToken(host.configDir, scope.replace(":", "-"), [scope]));
  // Nobody is there to be asked for a lease: without a no, each request for one would wait for 45 s.
  const approvals = await host.service.approvals();
  const { begin } = approvals;
  approvals.begin = async (question) => {
    const begun = await begin(question);
    approvals.decide(begun.approval.id, "denied", { name: "a person", scopes: ["admin"] });
    return begun;
  };
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

/** How many bytes the answer has: of one that stays open, those that come within {@link OPEN_MS}. */
async function bytesOf({ body }: Response, staysOpen: boolean): Promise<number> {
  if (!body) return 0;
  const reader = body.getReader();
  const timer = staysOpen ? setTimeout(() => void reader.cancel().catch(() => {}), OPEN_MS) : undefined;
  let bytes = 0;
  for (let next = await reader.read(); !next.done; next = await reader.read()) bytes += next.value.length;
  clearTimeout(timer);
  return bytes;
}

/** Sends it with each of the tokens, and looks at what comes back. @returns those that it was not forbidden to. */
async function look(
  { route, body, path }: { readonly route: string; readonly body: string; readonly path: string },
  init: RequestInit,
  by: readonly string[] = tokens,
): Promise<string[]> {
  const allowed: string[] = [];
  for (const token of by) {
    const headers = { ...init.headers, authorization: `Bearer ${token}` };
    const answer = await fetch(host.server.url + path, { ...init, headers, redirect: "manual" });
    const sent = path.length + Buffer.byteLength(String(init.body ?? ""));
    const staysOpen = /event-stream|ndjson/.test(answer.headers.get("content-type") ?? "");
    const ratio = Math.round((10 * (await bytesOf(answer, staysOpen))) / sent) / 10;
    if (answer.status !== 403) allowed.push(token);
    // A short one is told apart by the length of its request alone.
    if (sent < 10_000) continue;
    seen.push({ route, body, status: answer.status, ratio });
    expect({ body, status: answer.status, ratio: ratio <= MOST ? "good" : ratio }).toEqual({
      body,
      status: answer.status,
      ratio: "good",
    });
  }
  return allowed;
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

/** Requests without a body: a long field, of the path or the query, and unknown ones, beside good values and beside bad ones. */
function* queriesOf({ http, input, example = {} }: Operation): Generator<[string, string]> {
  const long = "x".repeat(LONG);
  const fill = (text?: string) =>
    (http?.path ?? "").replaceAll(/\{(\w+)\}/g, (_, name) =>
      encodeURIComponent(text ?? `${example[name] ?? "a"}`),
    );
  const fields = Array.from({ length: LONG / 6 }, (_, n) => `f${n}=1`).join("&");
  if (http?.path.includes("{")) {
    yield ["path", fill(long)];
    yield ["path of controls", fill("\u0001".repeat(LONG / 3))];
  }
  for (const path of new Set([
    fill(),
    fill("a"),
    ...(http?.path.endsWith("{asset}") ? [fill("style.css")] : []),
  ])) {
    yield ["unknown fields", `${path}?${fields}`];
    // What has a body takes few of its fields from elsewhere.
    if (http?.method === "POST" && http.body === undefined) continue;
    yield ["one field many times", `${path}?${"limit=1&".repeat(LONG / 8)}limit=1`];
    for (const field of [...Object.keys(input.entries), "nope"]) {
      yield [field, `${path}?${field}=${long}`];
      yield [`${field} of controls`, `${path}?${field}=${"%01".repeat(LONG / 3)}`];
    }
  }
}

/**
 * Of the tokens that may ask, that which allows the least, and the owner's. What the others may not ask for is refused before any field
 * of it is looked at, and those between tell nothing more.
 */
const least = (allowed: readonly string[]) => [
  ...new Set([allowed.find((token) => token !== TOKEN) ?? TOKEN, TOKEN]),
];

/** The bodies of `/execute` are looked at in full elsewhere; here they must not run for minutes. */
const isLasting = ({ what }: StallRequest) => /a loop of steps|a text that grows/.test(what);

describe("over HTTP, an answer is at most 20 times as long as its request:", () => {
  for (const [nth, operation] of operations.entries()) {
    const { http, name } = operation;
    if (!http || http.socket) continue;
    const route = `${http.method} ${http.path}`;
    test(`${route} (${name})`, async () => {
      let by: readonly string[] = tokens;
      for (const [body, path] of queriesOf(operation)) {
        const allowed = await look({ route, body, path }, { method: http.method }, by);
        if (by === tokens) by = least(allowed);
      }
      if (http.method !== "POST") return;
      const path = http.path.replaceAll(/\{\w+\}/g, "a");
      const send = (body: string, text: string, by?: readonly string[]) =>
        look({ route, body, path }, { method: "POST", headers: JSON_TYPE, body: text }, by);
      const allowed = await send("example", JSON.stringify(operation.example ?? {}));
      const few = least(allowed);
      const kinds = Object.entries(HOSTILE);
      const [turn] = kinds[nth % kinds.length] ?? [];
      for (const [which, [kind, value]] of kinds.entries()) {
        // Of a body that is no object, every token brings every kind only in CI: elsewhere one kind at this route, another at the next.
        const others = isThorough || kind === turn ? tokens : few;
        for (const [at, [place, body]] of [...bodiesOf(operation, value)].entries()) {
          // And a field has a third of the kinds, the next one another third.
          if (!isThorough && at > 1 && (at + which + nth) % 3 !== 0) continue;
          const by = place === "itself" ? others : place === "in each field" ? few : few.slice(0, 1);
          await send(`${kind}, ${place}`, JSON.stringify(body), by);
        }
      }
      for (const { what, path, body } of worstOf({ ...operation, http }, LONG, false))
        if (body !== undefined)
          await look(
            { route, body: what, path },
            { method: "POST", headers: JSON_TYPE, body },
            few.slice(0, 1),
          );
    }, 240_000);
  }

  test("special bodies, by the owner and by a token that reads", async () => {
    for (const request of specialOf(60_000)) {
      if (isLasting(request)) continue;
      const { what, path, body } = request;
      const route = `${body === undefined ? "GET" : "POST"} ${path.replace(/\?.*/, "")}`;
      const init = body === undefined ? {} : { method: "POST", headers: JSON_TYPE, body };
      await look({ route, body: what, path }, init, tokens.slice(0, 3));
    }
  }, 240_000);
});
