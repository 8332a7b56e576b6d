import { describe, expect, setSystemTime, test } from "bun:test";
import { hostname } from "node:os";
import { askServers } from "../../../src/client/fan-out";
import { callOperation } from "../../../src/core/call";
import { localCaller } from "../../../src/core/caller";
import { broadcastExecute } from "../../../src/desk/fleet/operations/fleet";
import { pollHosts } from "../../../src/desk/fleet/poll";
import type { PollResult } from "../../../src/desk/fleet/results";
import { listRuns } from "../../../src/host/runs/operations/runs";
import { answering, IDLE_SESSIONS, ok, rawServer } from "../../client/support";
import { testServer, testService } from "../../support";
import { host } from "./support";

const poll = (hosts: Parameters<typeof pollHosts>[0], timeoutMs = 60_000) =>
  pollHosts(hosts, { concurrency: 64, timeoutMs });
const polled = async (url: string, timeoutMs?: number): Promise<Partial<PollResult>> =>
  (await poll([host("a", url)], timeoutMs))[0] ?? {};

describe("a host is healthy", () => {
  test("when it answers as svc does", async () => {
    await using server = await testServer();
    const began = performance.now();
    const result = await polled(server.server.url);
    const took = performance.now() - began;
    expect(result).toMatchObject({ label: "a", base_url: server.server.url, healthy: true, error: null });
    expect(result.sessions).toEqual(JSON.parse(IDLE_SESSIONS));
    expect(result.latency_ms).toBeWithin(0, took + 1);
  });

  test("when it lists no jobs; otherwise they are counted", async () => {
    await using without = await rawServer((socket) => {
      socket.once("data", () => {
        socket.write(ok(IDLE_SESSIONS));
        socket.once("data", () => socket.write("HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"));
      });
    });
    await using three = await rawServer((socket) => {
      socket.once("data", () => {
        socket.write(ok(IDLE_SESSIONS));
        socket.once("data", () => socket.write(ok('{"jobs":[{},{},{}]}')));
      });
    });
    expect(await polled(without.url)).toMatchObject({ healthy: true, job_count: null });
    expect(await polled(three.url)).toMatchObject({ healthy: true, job_count: 3 });
  });
});

describe("a host is not healthy", () => {
  test("with a wrong token, which is sent only once", async () => {
    await using server = await testServer({ token: "another-token-0123456789" });
    expect(await polled(server.server.url)).toMatchObject({
      healthy: false,
      error: "HTTP 401",
      latency_ms: expect.any(Number),
    });
    const metrics = await (await server.service.metrics()).render();
    expect(metrics).toContain("service_rest_failed_auth_total 1\n");
  });

  test.each([
    ["HTML", "<html><body>It works!</body></html>"],
    ["nothing", ""],
    ["a list", "[]"],
    ["null", "null"],
    ["another type", '{"host":{"running":"yes"},"viewer":{"connected":false}}'],
    [
      "an endless name",
      JSON.stringify({ host: { running: true, host_id: "x".repeat(999) }, viewer: { connected: true } }),
    ],
  ])("when it answers %s", async (_what, body) => {
    await using server = await answering(ok(body));
    expect(await polled(server.url)).toMatchObject({
      healthy: false,
      error: "not a svc host",
      sessions: null,
    });
  });

  test("when it answers deep nesting, which is not parsed", async () => {
    await using server = await answering(ok("[".repeat(100_000)));
    const error = "answer with more than 100000 values, or 500 levels";
    expect(await polled(server.url)).toMatchObject({ healthy: false, error });
  });

  test("when it redirects; the token is not sent on", async () => {
    await using target = await answering(ok(IDLE_SESSIONS));
    await using server = await answering(
      `HTTP/1.1 302 Found\r\nLocation: ${target.url}/sessions\r\nContent-Length: 0\r\n\r\n`,
    );
    expect(await polled(server.url)).toMatchObject({ healthy: false, error: "HTTP 302" });
    expect(target.seen).toEqual([]);
  });

  test("when its jobs do not arrive in time", async () => {
    await using server = await rawServer((socket) =>
      socket.once("data", () => socket.write(ok(IDLE_SESSIONS))),
    );
    expect(await polled(server.url, 200)).toMatchObject({ healthy: false, error: "timeout after 0.2 s" });
  });

  test("when the connection is refused", async () => {
    expect(await polled("http://127.0.0.1:1")).toMatchObject({ healthy: false, error: "connection refused" });
  });

  test("and its latency is the time until the failure", async () => {
    await using hanging = await rawServer(() => {});
    const results = await poll([host("refuses", "http://127.0.0.1:1"), host("hangs", hanging.url)], 200);
    expect(results).toMatchObject([
      { error: "connection refused", latency_ms: expect.any(Number) },
      { error: "timeout after 0.2 s", latency_ms: expect.any(Number) },
    ]);
  });
});

test("escape sequences from a host are shown as text", async () => {
  const evil = {
    host: { running: true, host_id: "\u001b]0;owned\u0007\u009b2J\u202e" },
    viewer: { connected: true },
  };
  await using server = await answering(ok(JSON.stringify(evil)));
  const error = JSON.stringify({ error: "\u001b[31mred" });
  await using refusing = await answering(ok(error).replace("200 OK", "500 Oh"));
  const states = await poll([host("a", server.url), host("b", refusing.url)]);
  expect(JSON.stringify(states)).not.toMatch(/[\u0000-\u001f\u007f-\u009f\u202e]|\\u00/);
});

test("hosts that hang cost the timeout once in all, not once each", async () => {
  const asked: Array<{ destroy(): void }> = [];
  await using hanging = await rawServer((socket) => {
    asked.push(socket);
    // They are all asked while the first still hangs.
    if (asked.length === 30) for (const one of asked) one.destroy();
  });
  await using server = await testServer();
  const hosts = Array.from({ length: 60 }, (_, nth) =>
    host(`h${nth}`, nth % 2 ? server.server.url : hanging.url),
  );
  const results = await pollHosts(hosts, { concurrency: 4, timeoutMs: 30_000 });
  expect(results.map(({ error }) => error)).not.toContain("timeout after 30 s");
  expect(results.map(({ label }) => label)).toEqual(hosts.map(({ label }) => label));
  expect(results.map(({ healthy }) => healthy)).toEqual(hosts.map((_, nth) => nth % 2 === 1));
});

test("connections that wait for the next poll end with the service", async () => {
  const closed = Promise.withResolvers<void>();
  await using target = await rawServer((socket) => {
    socket.on("data", (bytes) =>
      socket.write(ok(`${bytes}`.startsWith("GET /jobs") ? '{"jobs":[]}' : IDLE_SESSIONS)),
    );
    socket.on("close", closed.resolve);
  });
  {
    await using made = await testServer();
    await (await made.service.addressBook()).add(host("a", target.url));
    expect(await (await made.call("/admin/poll")).json()).toMatchObject([{ healthy: true }]);
  }
  await closed.promise;
  // By itself, such a connection would end after 15 seconds.
}, 10_000);

test("Prometheus finds label, tags, scheme and path of each host, and no token", async () => {
  await using server = await testServer();
  const book = await server.service.addressBook();
  await book.add(host("lab 1", "https://[2001:db8::1]/svc", "lab", "floor-2"));
  await book.add(host("lab 2", "http://10.0.0.5:9939/a%20b"));
  const response = await server.call("/admin/targets");
  expect(response.headers.get("content-type")).toStartWith("application/json");
  const own = new URL(server.server.url).host;
  expect(await response.json()).toEqual([
    {
      targets: [own],
      labels: { __scheme__: "http", __metrics_path__: "/metrics", svc_host: hostname(), svc_desk: "true" },
    },
    {
      targets: ["[2001:db8::1]:443"],
      labels: {
        __scheme__: "https",
        __metrics_path__: "/svc/metrics",
        svc_host: "lab 1",
        svc_tag_lab: "true",
        svc_tag_floor_2: "true",
      },
    },
    {
      targets: ["10.0.0.5:9939"],
      // Prometheus escapes it again.
      labels: { __scheme__: "http", __metrics_path__: "/a b/metrics", svc_host: "lab 2" },
    },
  ]);
});

test("labels in a query are repeated, or have commas between them", async () => {
  await using made = await testServer();
  const book = await made.service.addressBook();
  for (const label of ["a", "b", "c"]) await book.add(host(label, "http://127.0.0.1:1"));
  for (const query of ["labels=a&labels=b", "labels=a,b"]) {
    const results = (await (await made.call(`/admin/poll?${query}`)).json()) as PollResult[];
    expect([query, results.map(({ label }) => label)]).toEqual([query, ["a", "b"]]);
  }
});

describe("a token that was refused", () => {
  const NOT_ASKED = "HTTP 401: unauthorized (not asked again: `svc admin poll --ask-again` asks)";

  /** A desk with two hosts at one server, of which `wrong` has another token; and what its polls say of them. */
  async function desk() {
    const target = await testServer();
    const made = await testServer();
    const book = await made.service.addressBook();
    await book.add(host("good", target.server.url));
    await book.add({ ...host("wrong", target.server.url), token: "not-its-token" });
    return {
      book,
      configDir: made.configDir,
      call: made.call,
      service: made.service,
      poll: async (query = "") => {
        const results = (await (await made.call(`/admin/poll${query}`)).json()) as PollResult[];
        return results.map(({ error }) => error);
      },
      /** How often the token was sent. */
      async guesses() {
        const text = await (await target.service.metrics()).render();
        return Number(/^service_rest_failed_auth_total (\d+)$/m.exec(text)?.[1]);
      },
      async [Symbol.asyncDispose]() {
        await made[Symbol.asyncDispose]();
        await target[Symbol.asyncDispose]();
      },
    };
  }

  test("is not sent again, while the other hosts are asked", async () => {
    await using made = await desk();
    expect(await made.poll()).toEqual([null, "HTTP 401"]);
    for (let nth = 0; nth < 10; nth++) expect(await made.poll("?on=all")).toEqual([null, NOT_ASKED]);
    expect(await made.guesses()).toBe(1);
  });

  test("is sent again for who asks for it, once the entry has changed, and after ten minutes", async () => {
    await using made = await desk();
    await made.poll();
    await made.book.set("good", () => ({ tags: ["lab"] }));
    await made.service.refresh();
    expect(await made.poll()).toEqual([null, NOT_ASKED]);
    expect(await made.poll("?ask_again=true")).toEqual([null, "HTTP 401"]);
    expect(await made.poll()).toEqual([null, NOT_ASKED]);
    await made.book.set("wrong", () => ({ token: "not-its-token" }));
    expect(await made.poll()).toEqual([null, "HTTP 401"]);
    setSystemTime(Date.now() + 10 * 60_000);
    expect(await made.poll()).toEqual([null, "HTTP 401"]);
    setSystemTime();
    expect(await made.guesses()).toBe(4);
    await made.book.set("wrong", () => ({ token: host("good").token }));
    expect(await made.poll()).toEqual([null, null]);
  });

  test("is not sent by a broadcast or by an operation on other hosts either, in any process of the desk", async () => {
    await using made = await desk();
    expect(await made.poll()).toEqual([null, "HTTP 401"]);
    await using other = testService({ configDir: made.configDir });
    const { service } = other;
    const list = { actions: [["AC_rest_api_status"]], on: "wrong" };
    const broadcast = await callOperation(service, broadcastExecute, list, localCaller(service, "cli"));
    expect(broadcast).toMatchObject([{ status: "unauthorized", delivered: false, error: NOT_ASKED }]);
    const servers = await (await service.addressBook()).servers("wrong");
    const limits = { timeoutMs: 60_000, signal: new AbortController().signal };
    expect(await askServers(servers, listRuns, {}, limits)).toMatchObject([{ ok: false, error: NOT_ASKED }]);
    expect(await made.guesses()).toBe(1);
    const again = { ...list, ask_again: true };
    const asked = await callOperation(service, broadcastExecute, again, localCaller(service, "cli"));
    expect(asked).toMatchObject([{ status: "unauthorized", error: "HTTP 401" }]);
    expect(await made.guesses()).toBe(2);
  });
});
