import { describe, expect, mock, test } from "bun:test";
import * as v from "valibot";
import { localCaller } from "../../src/core/caller";
import { NO_INPUT } from "../../src/core/fields";
import { operation } from "../../src/core/operation";
import { listCommands } from "../../src/host/runs/operations/commands";
import { type AppParts, createApp } from "../../src/http/app";
import { silentLog } from "../../src/lib/log";
import { nextTurn, testService } from "../support";
import { appParts } from "./app-parts";

const TOKEN = "a-token-of-the-owner";

/** An app over the table and a service; what it counted, by path. */
async function testApp(parts: Partial<AppParts> = {}) {
  const host = testService();
  const counted: string[] = [];
  const metrics: AppParts["metrics"] = {
    record_request: (...[method, path]) => counted.push(`${method} ${path}`),
    countFailedAuth() {},
  };
  const app = createApp({ ...appParts(host.service, TOKEN, metrics), ...parts });
  const server = {
    timeout() {},
    requestIP: () => ({ address: "127.0.0.1", family: "IPv4" as const, port: 1 }),
    upgrade: () => false,
  };
  const ask = (
    path: string,
    method = "GET",
    headers: Record<string, string> = { authorization: `Bearer ${TOKEN}` },
  ) => app.fetch(new Request(`http://127.0.0.1:1${path}`, { method, headers }), { server });
  return { ask, counted, [Symbol.asyncDispose]: () => host[Symbol.asyncDispose]() };
}

describe("a path without parameters", () => {
  test.each(["/health", "/health?from=a/b", "/%68ealth", "/health#top"])("is found as %s", async (path) => {
    await using app = await testApp();
    const answer = await app.ask(path);
    expect([answer.status, await answer.json(), app.counted]).toEqual([
      200,
      { status: "ok" },
      ["GET /health"],
    ]);
  });

  test.each(["/health/", "//health", "/Health", "/health/%2e"])("is not found as %s", async (path) => {
    await using app = await testApp();
    expect([(await app.ask(path)).status, app.counted]).toEqual([404, ["GET unmatched"]]);
  });

  test("answers a HEAD as a GET, without the body, and no other method", async () => {
    await using app = await testApp();
    const head = await app.ask("/health", "HEAD");
    expect([head.status, head.headers.get("content-length"), await head.text()]).toEqual([200, "15", ""]);
    expect((await app.ask("/health", "POST")).status).toBe(405);
    expect((await app.ask("/health", "DELETE")).status).toBe(405);
  });
});

describe("a route for libraries of tests", () => {
  const paced = operation({
    name: "test.paced",
    summary: "Answer what follows the path",
    scope: "read",
    http: { method: "DELETE", path: "/test/{rest}", paced: true, tail: true },
    input: v.strictObject({ rest: v.string() }),
    output: v.string(),
    run: (_service, { rest }) => rest,
  });
  const usual = operation({ ...paced, name: "test.usual", http: { method: "GET", path: "/usual/{rest}" } });
  const basic = { authorization: `Basic ${btoa(`anybody:${TOKEN}`)}` };

  test("takes the token as the password of HTTP Basic, and all of its path", async () => {
    await using app = await testApp({ operations: [paced] });
    const answer = await app.ask("/test/a/b/c", "DELETE", basic);
    expect([answer.status, await answer.json()]).toEqual([200, "a/b/c"]);
    expect((await app.ask("/test/a", "DELETE")).status).toBe(200);
  });

  test("takes it from no page, and no other route takes it", async () => {
    await using app = await testApp({ operations: [paced, usual] });
    for (const header of [{ origin: "https://elsewhere.example" }, { "sec-fetch-site": "cross-site" }])
      expect((await app.ask("/test/a", "DELETE", { ...basic, ...header })).status).toBe(401);
    expect((await app.ask("/usual/a", "GET", basic)).status).toBe(401);
    expect((await app.ask("/usual/a/b", "GET")).status).toBe(404);
  });
});

test.each(["/health", "/runs/1"])(
  "a bug in a step is logged, and %s answered with a plain 500",
  async (path) => {
    const error = mock();
    const record_request = () => {
      throw new Error("a bug");
    };
    const metrics = { record_request, countFailedAuth() {} };
    await using app = await testApp({ metrics, log: { ...silentLog, error } });
    const answer = await app.ask(path);
    expect([answer.status, await answer.json()]).toEqual([500, { error: "internal error" }]);
    expect(error.mock.calls[0]?.[0]).toBe("request failed: a bug");
  },
);

test.each(["/sessions", "/inspector/summary", "/inspector/recent", "/commands"])(
  "%s, which only reads memory, is answered in the same turn",
  async (path) => {
    await using app = await testApp();
    // The first request makes the feature, which takes all of its turn.
    await app.ask(path);
    await nextTurn();
    const answer = app.ask(path);
    expect(answer).toBeInstanceOf(Response);
    expect((await answer).status).toBe(200);
  },
);

test("a settled answer is made text once, and anew when another object comes", async () => {
  const toJSON = mock(() => "low");
  let answer = { tide: { toJSON } };
  const tide = operation({
    name: "tide.show",
    summary: "Show the tide",
    scope: "read",
    http: { method: "GET", path: "/tide", settled: true },
    input: NO_INPUT,
    output: v.any(),
    run: () => answer,
  });
  await using app = await testApp({ operations: [tide] });
  const text = async () => (await app.ask("/tide")).text();
  expect([await text(), await text()]).toEqual(['{"tide":"low"}', '{"tide":"low"}']);
  expect(toJSON).toHaveBeenCalledTimes(1);
  answer = { tide: { toJSON: mock(() => "high") } };
  expect(await text()).toBe('{"tide":"high"}');
});

test("what GET /commands lists is settled", async () => {
  await using host = testService();
  const executor = await host.service.executor();
  const list = () => listCommands.run(host.service, {}, localCaller(host.service, "api"));
  expect(await list()).toBe(await list());
  expect(await list()).toMatchObject({ commands: executor.allowed(), count: executor.allowed().length });
});
