/** What a host does with its desk: when it dials, what it sends to whom, and what a hostile desk can do. */
import { expect, test } from "bun:test";
import { createHash } from "node:crypto";
import { createServer, type Socket } from "node:net";
import fc from "fast-check";
import { keepLink, REDIAL, REDIAL_REFUSED } from "../../../src/host/link/dial";
import { pauseBefore } from "../../../src/lib/backoff";
import { type Log, silentLog } from "../../../src/lib/log";
import { FROM_HUB, pieceFrame } from "../../../src/wire/link/frames";
import { until } from "../../desk/link/support";

test("a host waits a random part of a time that doubles up to a minute, and no pause is cut off", () => {
  fc.assert(
    fc.property(fc.nat(200), fc.double({ min: 0, max: 0.999_999, noNaN: true }), (attempt, part) => {
      const pause = pauseBefore(REDIAL, attempt, () => part);
      expect(pause).toBeCloseTo(part * Math.min(60_000, 1_000 * 2 ** attempt), 3);
    }),
  );
});

/** A desk that says what a test likes. */
function hostileDesk(
  opened: (ws: Bun.ServerWebSocket<undefined>) => void,
  closed: (code: number) => void = () => {},
) {
  const seen: Array<string | Buffer> = [];
  let links = 0;
  const server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch(request, bun) {
      const headers = { "sec-websocket-protocol": "svc.link.v1" };
      return bun.upgrade(request, { headers }) ? undefined : new Response("no", { status: 400 });
    },
    websocket: {
      open(ws: Bun.ServerWebSocket<undefined>) {
        links += 1;
        opened(ws);
      },
      close: (_ws, code) => closed(code),
      message: (_ws, message) => void seen.push(message),
    },
  });
  return {
    seen,
    links: () => links,
    url: `http://127.0.0.1:${server.port}`,
    [Symbol.asyncDispose]: () => server.stop(true),
  };
}

const say = (ws: Bun.ServerWebSocket<undefined>, frame: object) => ws.send(JSON.stringify(frame));

/** A host that dials at once, always. */
function hostOf(
  url: string,
  enter: (request: Request) => Promise<Response> = async () => new Response("ok"),
  log: Log = silentLog,
) {
  const link = keepLink({
    desk: () => ({ url, pins: [], host_id: "a".repeat(32) }),
    sign: () => "signature",
    ...{ enter, records: () => "r1", version: "1", log, random: () => 0.001 },
  });
  return { link, [Symbol.asyncDispose]: () => link.stop() };
}

test("a host takes any bytes from its desk, and dials again", async () => {
  const frame = fc.oneof(
    fc.string(),
    fc.json(),
    fc.uint8Array({ maxLength: 100 }),
    fc.record({
      t: fc.constantFrom(...FROM_HUB.options.map(({ entries }) => entries.t.literal)),
      id: fc.oneof(fc.integer(), fc.constantFrom(1, 2, 3)),
      method: fc.constantFrom("GET", "POST", "PUT"),
      path: fc.oneof(fc.string(), fc.webPath(), fc.constant("//evil/../x")),
      accept: fc.string(),
      nonce: fc.string(),
      v: fc.constantFrom(1, 2),
      label: fc.string(),
      address: fc.string(),
      bytes: fc.oneof(fc.integer(), fc.constantFrom(0, 3, 1_000)),
      retry_ms: fc.constantFrom(0, 1),
    }),
  );
  const rounds = fc.sample(fc.array(frame, { maxLength: 15 }), { numRuns: 80, seed: 7 });
  let nth = 0;
  await using desk = hostileDesk((ws) => {
    say(ws, { t: "hello", v: 1, nonce: "n" });
    say(ws, { t: "ready", label: "x" });
    for (const one of rounds[nth++] ?? []) {
      if (one instanceof Uint8Array) ws.send(new Uint8Array(one));
      else ws.send(typeof one === "string" ? one : JSON.stringify(one));
    }
    setTimeout(() => ws.close(), 5);
  });
  await using _host = hostOf(desk.url);
  await until(() => desk.links() > rounds.length);
});

test("a host says which records of jobs it has, to the desk that asks who it is", async () => {
  await using desk = hostileDesk((ws) => say(ws, { t: "hello", v: 1, nonce: "n" }));
  await using _host = hostOf(desk.url);
  await until(() => desk.seen.length > 0);
  expect(JSON.parse(`${desk.seen[0]}`)).toMatchObject({ t: "host", records: "r1" });
});

test("what a desk says of other hosts without end has a few lines in the log, and the last of them is shown", async () => {
  let warnings = 0;
  await using desk = hostileDesk((ws) => {
    say(ws, { t: "hello", v: 1, nonce: "n" });
    say(ws, { t: "ready", label: "x" });
    for (let nth = 1; nth <= 1_000; nth++) say(ws, { t: "twin", address: `10.0.0.${nth}` });
  });
  const log = { ...silentLog, warn: () => void warnings++ };
  await using host = hostOf(desk.url, undefined, log);
  await until(() => host.link.state().twin === "10.0.0.1000");
  expect(warnings).toBeLessThan(10);
});

test("a request with what no head may have ends the link, and is no error of this host", async () => {
  for (const fields of [
    { accept: "a\nb: c" },
    { accept: "a/b", key: "\u2028" },
    { accept: "a/b", key: 'x"y' },
  ]) {
    await using desk = hostileDesk((ws) => {
      say(ws, { t: "hello", v: 1, nonce: "n" });
      say(ws, { t: "ready", label: "x" });
      say(ws, { t: "ask", id: 1, method: "GET", path: "/x", ...fields });
    });
    const errors: string[] = [];
    await using host = hostOf(desk.url, undefined, { ...silentLog, error: (text) => void errors.push(text) });
    await until(() => host.link.state().problem?.includes("frame") === true);
    expect(errors).toEqual([]);
  }
});

test("a body larger than announced, and a piece of what nobody asked, end and do not end the link", async () => {
  const ends: string[] = [];
  await using desk = hostileDesk((ws) => {
    say(ws, { t: "hello", v: 1, nonce: "n" });
    say(ws, { t: "ready", label: "x" });
    ws.send(pieceFrame(9, new Uint8Array(10)));
    say(ws, { t: "ask", id: 1, method: "POST", path: "/x", accept: "a/b", bytes: 3 });
    ws.send(pieceFrame(1, new Uint8Array(4)));
  });
  await using host = hostOf(desk.url, async (request) => {
    await request.text().catch(() => ends.push("broken"));
    return new Response("ok");
  });
  await until(() => desk.links() > 1 && host.link.state().problem?.includes("frame") === true);
});

test("more requests at once than a link carries are refused, each by itself", async () => {
  await using desk = hostileDesk((ws) => {
    say(ws, { t: "hello", v: 1, nonce: "n" });
    say(ws, { t: "ready", label: "x" });
    for (let id = 1; id <= 70; id++) say(ws, { t: "ask", id, method: "GET", path: "/x", accept: "a/b" });
  });
  let begun = 0;
  const over = Promise.withResolvers<void>();
  await using _host = hostOf(desk.url, async () => {
    begun += 1;
    await over.promise;
    return new Response();
  });
  const refused = () => desk.seen.map(String).filter((text) => text.includes("requests are under way"));
  await until(() => refused().length === 6);
  expect(begun).toBe(64);
  // Else the host would wait for them as it stops.
  over.resolve();
});

test("a desk that says hello or ready a second time, or ready at first, loses its host", async () => {
  const hello = { t: "hello", v: 1, nonce: "n" };
  const ready = { t: "ready", label: "x" };
  const faults = [[hello, hello], [ready], [hello, ready, ready], [hello, ready, hello]];
  const closed: number[] = [];
  let nth = 0;
  await using desk = hostileDesk(
    (ws) => {
      for (const frame of faults[nth++] ?? []) say(ws, frame);
    },
    (code) => closed.push(code),
  );
  await using _host = hostOf(desk.url);
  await until(() => closed.length >= faults.length);
  expect(closed.slice(0, faults.length)).toEqual(faults.map(() => 1_002));
});

test("a desk that pings without end and does not read loses its host, whose answers do not pile up", async () => {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on("error", () => {});
    socket.once("data", (head) => {
      const key = /sec-websocket-key: (.*)\r/i.exec(head.toString())?.[1] ?? "";
      const accept = createHash("sha1").update(`${key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`).digest("base64");
      socket.pause();
      socket.write(
        `HTTP/1.1 101 x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ${accept}\r\nSec-WebSocket-Protocol: svc.link.v1\r\n\r\n`,
      );
      const ping = Buffer.alloc(127, "a");
      ping.set([0x89, 125]);
      const many = Buffer.concat(Array(1_000).fill(ping));
      const flood = () => {
        while (!socket.destroyed && socket.write(many));
      };
      socket.on("drain", flood);
      flood();
    });
  });
  const { promise, resolve } = Promise.withResolvers<void>();
  server.listen(0, "127.0.0.1", resolve);
  await promise;
  const { port } = server.address() as { port: number };
  const host = hostOf(`http://127.0.0.1:${port}`);
  await until(() => host.link.state().problem !== null);
  expect(host.link.state().problem).toBe("the desk does not read");
  await host[Symbol.asyncDispose]();
  for (const socket of sockets) socket.destroy();
  server.close();
});

test("a host that has not joined says so, and dials ever more rarely", async () => {
  await using desk = hostileDesk((ws) => ws.close(4_000, "this host has not joined this desk"));
  await using host = hostOf(desk.url);
  await until(() => host.link.state().problem !== null);
  expect(host.link.state().problem).toBe(
    "this host has not joined this desk: join it again; until then it dials ever more rarely, every 15 minutes at most",
  );
  expect(pauseBefore(REDIAL_REFUSED, 20, () => 1)).toBe(900_000);
});
