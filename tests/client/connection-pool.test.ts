import { expect, test } from "bun:test";
import { deadlineIn } from "../../src/client/carrier";
import { connectionTo } from "../../src/client/connection";
import { createConnectionPool } from "../../src/client/connection-pool";
import { ok, rawServer } from "./support";

const GET = { method: "GET", path: "/" } as const;
const limits = () => ({ deadline: deadlineIn(60_000), maxBytes: 1_024 });

/** A server that counts its connections. */
async function counting() {
  const open = new Set<object>();
  let count = 0;
  const server = await rawServer((socket) => {
    count++;
    open.add(socket);
    socket.on("data", () => socket.write(ok("{}"))).on("close", () => open.delete(socket));
  });
  return Object.assign(server, { count: () => count, open });
}

test("the next carrier uses the connection that the one before left", async () => {
  await using server = await counting();
  const kept = createConnectionPool();
  for (let nth = 0; nth < 3; nth++) {
    using carrier = connectionTo({ url: server.url, token: "t", trust: { kind: "system" }, kept });
    expect((await carrier.ask(GET, limits())).status).toBe(200);
  }
  expect(server.count()).toBe(1);
  kept.stop();
});

test("one that trusts otherwise, and a change, get a connection of their own", async () => {
  await using server = await counting();
  const kept = createConnectionPool();
  for (const kind of ["system", "any"] as const) {
    using carrier = connectionTo({ url: server.url, token: "t", trust: { kind }, kept });
    await carrier.ask(GET, limits());
  }
  expect(server.count()).toBe(2);
  using carrier = connectionTo({ url: server.url, token: "t", trust: { kind: "any" }, kept });
  await carrier.ask({ method: "POST", path: "/", body: "{}" }, limits());
  expect(server.count()).toBe(3);
  kept.stop();
});

test("one that failed is not left", async () => {
  await using silent = await rawServer((socket) => socket.once("data", () => socket.write(ok("{}"))));
  const kept = createConnectionPool();
  const server = { url: silent.url, token: "t", trust: { kind: "system" }, kept } as const;
  {
    using carrier = connectionTo(server);
    await carrier.ask(GET, limits());
    const late = carrier.ask(GET, { ...limits(), deadline: deadlineIn(50) });
    await expect(late).rejects.toMatchObject({ fault: "timeout" });
  }
  using carrier = connectionTo(server);
  // Its first request has an answer: the connection is a new one.
  expect((await carrier.ask(GET, limits())).status).toBe(200);
});

test("there are no more than the most", async () => {
  await using first = await counting();
  await using second = await counting();
  const kept = createConnectionPool(() => 1);
  for (const { url } of [first, second, first, second]) {
    using carrier = connectionTo({ url, token: "t", trust: { kind: "system" }, kept });
    await carrier.ask(GET, limits());
  }
  expect([first.count(), second.count()]).toEqual([1, 2]);
  kept.stop();
});

test("after the end, one that was in use is closed as well", async () => {
  await using server = await counting();
  const kept = createConnectionPool();
  const carrier = connectionTo({ url: server.url, token: "t", trust: { kind: "system" }, kept });
  await carrier.ask(GET, limits());
  const [socket] = server.open as Set<import("node:net").Socket>;
  const closed = new Promise((resolve) => socket?.once("close", resolve));
  kept.stop();
  carrier[Symbol.dispose]();
  await closed;
});

test("one that has gone silent is replaced in time: the request goes out on a new one", async () => {
  await using silent = await rawServer((socket) => socket.once("data", () => socket.write(ok("{}"))));
  const kept = createConnectionPool();
  const server = { url: silent.url, token: "t", trust: { kind: "system" }, kept } as const;
  for (let nth = 0; nth < 2; nth++) {
    using carrier = connectionTo(server);
    expect((await carrier.ask(GET, { ...limits(), deadline: deadlineIn(600) })).status).toBe(200);
  }
  kept.stop();
});

test("one that has brought the head of an answer has until the deadline for the rest", async () => {
  const [head, body] = [ok("{}").slice(0, -2), "{}"];
  let requests = 0;
  await using slow = await rawServer((socket) =>
    socket.on("data", () => {
      requests++;
      socket.write(head);
      setTimeout(() => socket.write(body), requests === 1 ? 0 : 500);
    }),
  );
  const kept = createConnectionPool();
  const server = { url: slow.url, token: "t", trust: { kind: "system" }, kept } as const;
  for (let nth = 0; nth < 2; nth++) {
    using carrier = connectionTo(server);
    expect((await carrier.ask(GET, { ...limits(), deadline: deadlineIn(900) })).status).toBe(200);
  }
  expect(requests).toBe(2);
  kept.stop();
});

test("those that wait are closed at the end", async () => {
  await using server = await counting();
  const kept = createConnectionPool();
  {
    using carrier = connectionTo({ url: server.url, token: "t", trust: { kind: "system" }, kept });
    await carrier.ask(GET, limits());
  }
  expect(server.open.size).toBe(1);
  const [socket] = server.open as Set<import("node:net").Socket>;
  const closed = new Promise((resolve) => socket?.once("close", resolve));
  kept.stop();
  await closed;
});
