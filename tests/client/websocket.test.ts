import { expect, test } from "bun:test";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { openWebSocket } from "../../src/client/websocket";

const ABOUT = { protocols: ["svc.rfb", "ticket.abc"], timeoutMs: 30_000, what: "the host" };
const ANY = { trust: { kind: "any" } } as const;

/** A server that echoes bytes, ends a connection that sends `end`, and counts what it has got. */
function serveSocket() {
  const offered: Array<string | null> = [];
  let received = 0;
  const server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch(request, own) {
      offered.push(request.headers.get("sec-websocket-protocol"));
      if (new URL(request.url).pathname !== "/base/screen/rfb") return new Response("", { status: 404 });
      own.upgrade(request, { headers: { "sec-websocket-protocol": "svc.rfb" } });
      return undefined;
    },
    websocket: {
      message(ws, message) {
        received += message.length;
        if (message.toString() === "end") ws.close(4_002, "a person has said no");
        else ws.send(message);
      },
    },
  });
  return {
    url: (path: string) => new URL(path, server.url),
    offered,
    received: () => received,
    [Symbol.dispose]: () => void server.stop(true),
  };
}

test("a WebSocket is a stream of bytes with the subprotocols that were offered", async () => {
  using server = serveSocket();
  const stream = await openWebSocket(server.url("/base/screen/rfb"), ANY, ABOUT);
  stream.write(Buffer.from([0, 255, 10]));
  const [bytes] = await once(stream, "data");
  expect([...bytes]).toEqual([0, 255, 10]);
  expect(server.offered).toEqual(["svc.rfb, ticket.abc"]);
  stream.destroy();
});

test("the reason with which a WebSocket was closed is the error of its stream", async () => {
  using server = serveSocket();
  const stream = await openWebSocket(server.url("/base/screen/rfb"), ANY, ABOUT);
  stream.resume();
  stream.write("end");
  const [error] = await once(stream, "error");
  expect(error).toMatchObject({ name: "RemoteError", message: "a person has said no" });
});

test("a WebSocket that is refused says with which status", async () => {
  using server = serveSocket();
  await expect(openWebSocket(server.url("/elsewhere"), ANY, ABOUT)).rejects.toThrow(
    "the host opens no WebSocket: HTTP 404",
  );
});

/** A server that opens a WebSocket, and sends `first`, and then `bytes` again and again, as fast as they are read. @param reads whether it reads itself. */
async function serveFlood(first: Buffer, bytes: Buffer, reads: boolean) {
  let sent = 0;
  const sockets = new Set<Socket>();
  const listener = createServer((socket) => {
    sockets.add(socket);
    let isOpen = true;
    const flood = () => {
      if (!reads) socket.pause();
      while (isOpen) {
        sent += bytes.length;
        if (!socket.write(bytes)) break;
      }
    };
    socket.on("error", () => {}).on("drain", flood);
    socket.on("close", () => {
      isOpen = false;
    });
    socket.once("data", (head) => {
      const key = /sec-websocket-key: *(\S+)/i.exec(head.toString())?.[1] ?? "";
      const accept = createHash("sha1").update(`${key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`).digest("base64");
      socket.write(
        `HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ${accept}\r\n\r\n`,
      );
      socket.write(first);
      flood();
    });
  });
  await new Promise<void>((resolve) => listener.listen(0, "127.0.0.1", resolve));
  const { port } = listener.address() as AddressInfo;
  return {
    url: new URL(`http://127.0.0.1:${port}/`),
    sent: () => sent,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => listener.close(resolve));
    },
  };
}

// A first part of bytes that is not the last, and parts without bytes; pings of four bytes (RFC 6455 section 5.2).
const BEGIN = Buffer.from([0x02, 0x00]);
const EMPTY = Buffer.alloc(60_000).fill(Buffer.from([0x00, 0x00]));
const PINGS = Buffer.alloc(60_000).fill(Buffer.from([0x89, 0x04, 1, 2, 3, 4]));

test.each([
  ["a message of empty parts without end", BEGIN, EMPTY, true, "it sends a message of too many frames"],
  ["pings without end whose answers it does not read", PINGS, PINGS, false, "the host does not read"],
])("a stream ends whose other end sends %s", async (_what, first, bytes, reads, why) => {
  await using server = await serveFlood(first, bytes, reads);
  const stream = await openWebSocket(server.url, ANY, { ...ABOUT, protocols: [] });
  stream.resume();
  const [error] = await once(stream, "error");
  expect(error).toMatchObject({ name: "RemoteError", message: why });
  expect(server.sent()).toBeLessThan(32 * 1_048_576);
});

test("a large message is handed on in pieces, each in another turn", async () => {
  const size = 8 * 1_048_576;
  using server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch: (request, own) => void own.upgrade(request),
    websocket: { message: () => {}, open: (ws) => void ws.send(new Uint8Array(size)) },
  });
  const stream = await openWebSocket(new URL(server.url), ANY, { ...ABOUT, protocols: [] });
  let turn = 0;
  let isOver = false;
  const next = () => {
    turn++;
    if (!isOver) setImmediate(next);
  };
  setImmediate(next);
  const turns = new Set<number>();
  let [length, largest] = [0, 0];
  for await (const piece of stream) {
    length += piece.length;
    largest = Math.max(largest, piece.length);
    turns.add(turn);
    if (length === size) break;
  }
  isOver = true;
  expect(largest).toBeLessThanOrEqual(65_536);
  expect(turns.size).toBeGreaterThan(2);
});

// A first part of one byte that is not the last, and parts of one byte.
const FIRST = Buffer.from([0x02, 0x01, 0]);
const PARTS = Buffer.alloc(60_000).fill(Buffer.from([0x00, 0x01, 0]));

test.each([
  [
    "a message that is longer than is taken",
    Buffer.from([0x82, 127, 0, 0, 0, 0, 0, 0x10, 0, 1]),
    "too large",
  ],
  ["more parts of a message than is taken for its length", FIRST, "it sends a message of too many frames"],
])("a stream ends whose other end sends %s", async (_what, first, why) => {
  await using server = await serveFlood(first, PARTS, true);
  const about = { ...ABOUT, protocols: [], maxLength: 1_048_576 };
  const stream = await openWebSocket(server.url, ANY, about);
  stream.resume();
  const [error] = await once(stream, "error");
  expect(error).toMatchObject({ name: "RemoteError", message: expect.stringContaining(why) });
  expect(server.sent()).toBeLessThan(4 * 1_048_576);
});

test("a long frame that is masked ends a stream", async () => {
  const masked = Buffer.concat([
    Buffer.from([0x82, 0xff, 0, 0, 0, 0, 1, 0, 0, 0, 1, 2, 3, 4]),
    Buffer.alloc(60_000),
  ]);
  await using server = await serveFlood(Buffer.alloc(0), masked, true);
  const stream = await openWebSocket(server.url, ANY, { ...ABOUT, protocols: [] });
  stream.resume();
  const [error] = await once(stream, "error");
  expect(error).toMatchObject({ name: "RemoteError", message: "it sends a masked frame" });
  expect(server.sent()).toBeLessThan(16 * 1_048_576);
});
