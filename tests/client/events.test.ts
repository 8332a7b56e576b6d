/** Following the events of a host: where a stream goes on, and when it ends for good. */
import { describe, expect, test } from "bun:test";
import type { RemoteServer } from "../../src/client/carrier";
import { followEvents, type StreamItem } from "../../src/client/events";
import { testServer } from "../support";
import { answering, ok, rawServer } from "./support";

const HEAD = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream; charset=utf-8\r\nConnection: close\r\n\r\n";
const message = (id: string, event: string, data: object = {}) =>
  `id: ${id}\nevent: ${event}\ndata: ${JSON.stringify(data)}\n\n`;
const serverAt = (url: string, token = "a-token"): RemoteServer => ({
  url,
  token,
  trust: { kind: "system" },
});

/** What comes first of a host, and then no more. */
async function first(count: number, server: RemoteServer, after?: string): Promise<StreamItem[]> {
  const ended = new AbortController();
  const came: StreamItem[] = [];
  for await (const one of followEvents(server, { types: ["run.*"], after, signal: ended.signal })) {
    came.push(one);
    if (came.length === count) break;
  }
  return came;
}

describe("a stream that breaks", () => {
  test("goes on after the last event or mark", async () => {
    const streams = [
      HEAD + message("b-1", "run.started", { at: "now" }) + message("b-7", "mark"),
      HEAD + message("b-8", "run.ended"),
    ];
    await using host = await rawServer((socket) =>
      socket.on("data", () => socket.end(streams.shift() ?? "")),
    );
    const came = await first(4, serverAt(host.url));
    expect(came).toMatchObject([
      { kind: "event", id: "b-1", type: "run.started", data: { at: "now" } },
      { kind: "mark", id: "b-7" },
      { kind: "cut", isOver: false },
      { kind: "event", id: "b-8", type: "run.ended" },
    ]);
    expect(host.seen.map((text) => text.slice(0, text.indexOf(" HTTP")))).toEqual([
      "GET /events?types=run.*",
      "GET /events?types=run.*&after=b-7",
    ]);
  });

  test("in the middle of an event has that event afterwards, once", async () => {
    const whole = HEAD + message("b-1", "run.started") + message("b-2", "run.ended");
    const streams = [whole.slice(0, -3), HEAD + message("b-2", "run.ended")];
    await using host = await rawServer((socket) =>
      socket.on("data", () => socket.end(streams.shift() ?? "")),
    );
    const came = await first(3, serverAt(host.url));
    expect(came).toMatchObject([{ id: "b-1" }, { kind: "cut" }, { id: "b-2" }]);
  });

  test("hands on that events are missing", async () => {
    await using host = await rawServer((socket) =>
      socket.on("data", () => socket.write(HEAD + message("c-3", "reset", { reason: "boot" }))),
    );
    expect(await first(1, serverAt(host.url), "b-1")).toMatchObject([
      { kind: "reset", id: "c-3", data: { reason: "boot" } },
    ]);
  });
});

describe("a stream ends for good", () => {
  test("where the host refuses the token, which is sent once", async () => {
    await using host = await testServer();
    const { url } = host.server;
    expect(await first(9, serverAt(url, "another-token-0123456789"))).toMatchObject([
      { kind: "cut", error: "HTTP 401", isOver: true },
    ]);
  });

  test("where the host is one of before, which has none", async () => {
    const absent = `HTTP/1.1 404 Not Found\r\nContent-Type: application/json\r\nContent-Length: 21\r\n\r\n{"error":"not found"}`;
    await using host = await answering(absent);
    expect(await first(9, serverAt(host.url))).toMatchObject([
      { kind: "cut", error: "HTTP 404: not found", isOver: true },
    ]);
  });
});

test.each([
  ["JSON", ok("{}")],
  ["a line without an end", `${HEAD}data: ${"x".repeat(100_000)}`],
  ["a long line", `${HEAD}data: ${"x".repeat(10_000)}\n\n`],
  ["an event without an end", `${HEAD}${"x: y\n".repeat(10_000)}`],
  ["data that is no object", `${HEAD}id: 1\nevent: mark\ndata: []\n\n`],
  ["bytes that are no text", `${HEAD}id: \xff\n\n`],
])("a host that sends %s is no svc host", async (_, text) => {
  await using host = await rawServer((socket) =>
    socket.on("data", () => socket.write(Buffer.from(text, "latin1"))),
  );
  expect(await first(1, serverAt(host.url))).toMatchObject([{ kind: "cut", error: "not a svc host" }]);
});

test("a stream with a deadline ends when its host goes on beyond that", async () => {
  await using host = await rawServer((socket) =>
    socket.on("data", () => {
      socket.write(HEAD);
      const timer = setInterval(() => socket.write(message("b-1", "run.started")), 5);
      socket.on("close", () => clearInterval(timer)).on("error", () => {});
    }),
  );
  const ended = new AbortController();
  for await (const one of followEvents(serverAt(host.url), { withinMs: 1_000, signal: ended.signal })) {
    if (one.kind === "event") continue;
    expect(one).toMatchObject({ kind: "cut", error: "not all within 1 s" });
    break;
  }
});

test("an error of a host that quotes the token does not show it", async () => {
  const body = '{"error":"no a-secret-token here"}';
  await using host = await answering(
    `HTTP/1.1 400 Bad Request\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
  );
  expect(await first(1, serverAt(host.url, "a-secret-token"))).toMatchObject([
    { kind: "cut", error: "HTTP 400: no *** here", isOver: true },
  ]);
});
