/**
 * Connections to a hub that are no WebSocket, or send frames that are not as their heads say, or have no end: each ends at once or after
 * some seconds, and a host gets its link beside them. Raw sockets, as no client sends such.
 */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { connect, type Socket } from "node:net";
import { plainHub, rawLink } from "./support";

/** A connection has 10 s to say who it is, which is looked at every 5 s. */
const LONGEST_MS = 25_000;

let desk: Awaited<ReturnType<typeof plainHub>>;
beforeAll(async () => {
  desk = await plainHub();
});
afterAll(() => desk[Symbol.asyncDispose]());

const HEAD = [
  ...["GET /link HTTP/1.1", "Host: 127.0.0.1", "Connection: Upgrade", "Upgrade: websocket"],
  ...["Sec-WebSocket-Version: 13", "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=="],
  "Sec-WebSocket-Protocol: svc.link.v1",
].join("\r\n");
const UPGRADE = `${HEAD}\r\n\r\n`;

const [TEXT, BINARY, PING] = [1, 2, 9];

/** A frame (RFC 6455, section 5.2) with a mask of zeros. @param says how long its head says that it is. */
function frame(opcode: number, data: string, { says = data.length, end = true, masked = true } = {}): Buffer {
  const mask = masked ? 0x80 : 0;
  const [first, small] = [(end ? 0x80 : 0) | opcode, says < 126];
  const head = Buffer.alloc((small ? 2 : 10) + (masked ? 4 : 0));
  head[0] = first;
  head[1] = mask | (small ? says : 127);
  if (!small) head.writeBigUInt64BE(BigInt(says), 2);
  return Buffer.concat([head, Buffer.from(data, "latin1")]);
}

type Send = (socket: Socket) => void;

const once =
  (...pieces: Array<string | Buffer>): Send =>
  (socket) => {
    for (const piece of pieces) socket.write(piece);
  };

/** Writes pieces as fast as they are taken. */
const endless =
  (piece: Buffer, first: Buffer = Buffer.alloc(0)): Send =>
  (socket) => {
    const write = () => {
      while (!socket.destroyed && socket.write(piece));
    };
    socket.on("drain", write);
    socket.write(first);
    write();
  };

const trickle =
  (first: Buffer | string, piece: string): Send =>
  (socket) => {
    socket.write(first);
    const timer = setInterval(() => socket.write(piece), 500);
    socket.on("close", () => clearInterval(timer));
  };

/** Sends a head and what follows. @returns how much was sent until the hub ended the connection. */
function ended(head: string, then: Send): Promise<number> {
  const { promise, resolve } = Promise.withResolvers<number>();
  const socket = connect(Number(new URL(desk.server.url).port), "127.0.0.1");
  socket
    .on("data", () => {})
    // A reset is an end.
    .on("error", () => {})
    .on("close", () => resolve(socket.bytesWritten))
    .on("connect", () => {
      socket.write(head);
      then(socket);
    });
  return promise;
}

describe("a connection to the hub ends with", () => {
  test.concurrent.each<[string, string, Send]>([
    ["half a handshake", HEAD, once("\r\nX: y")],
    ["a handshake that trickles", HEAD, trickle("\r\n", "a: b\r\n")],
    ["a handshake with a body that never comes", `${HEAD}\r\nContent-Length: 99999\r\n\r\n`, once("{")],
    [
      "a handshake with a body without an end",
      `${HEAD}\r\nTransfer-Encoding: chunked\r\n\r\n`,
      once("5\r\nab"),
    ],
    ["nothing after the handshake", UPGRADE, once()],
    ["a frame that is shorter than it says", UPGRADE, once(frame(TEXT, "{", { says: 100_000 }))],
    ["a frame that trickles", UPGRADE, trickle(frame(TEXT, "{", { says: 100_000 }), " ")],
    ["a frame of a tebibyte", UPGRADE, endless(Buffer.alloc(65_536), frame(BINARY, "", { says: 2 ** 40 }))],
    [
      "a frame of 2^63 bytes",
      UPGRADE,
      once(Buffer.from([0x81, 0xff, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0])),
    ],
    [
      "a message in pieces without an end",
      UPGRADE,
      endless(frame(0, " ".repeat(4_000), { end: false }), frame(TEXT, "{", { end: false })),
    ],
    ["a frame without a mask", UPGRADE, once(frame(TEXT, "{}", { masked: false }))],
    ["a ping that is too long", UPGRADE, once(frame(PING, "x".repeat(200)))],
    ["a frame of an unknown kind", UPGRADE, once(frame(7, "x"))],
    [
      "pings without an end",
      UPGRADE,
      endless(Buffer.concat(Array.from({ length: 500 }, () => frame(PING, "")))),
    ],
    ["deep JSON", UPGRADE, once(frame(TEXT, "[".repeat(100_000)))],
    [
      "many frames at once",
      UPGRADE,
      endless(Buffer.concat(Array.from({ length: 500 }, () => frame(TEXT, "{}")))),
    ],
  ])(
    "%s",
    async (_what, head, then) => {
      const began = performance.now();
      const sent = await ended(head, then);
      expect(performance.now() - began).toBeLessThan(LONGEST_MS);
      // What the system holds of a connection is some megabytes.
      expect(sent).toBeLessThan(32 * 1_048_576);
    },
    60_000,
  );

  test.concurrent("empty pieces of a message without an end, and others are answered meanwhile", async () => {
    const empty = Buffer.concat(Array.from({ length: 500 }, () => frame(0, "", { end: false })));
    let isOver = false;
    const flood = ended(UPGRADE, endless(empty, frame(TEXT, "{", { end: false }))).then(() => {
      isOver = true;
    });
    const began = performance.now();
    while (!isOver) {
      const asked = performance.now();
      expect((await fetch(`${desk.server.url}/health`)).status).toBe(200);
      expect(performance.now() - asked).toBeLessThan(5_000);
      // The flood goes on for ten seconds: without a pause, these questions would be most of the work.
      await Bun.sleep(50);
    }
    await flood;
    expect(performance.now() - began).toBeLessThan(LONGEST_MS);
  }, 60_000);

  test.concurrent("all of them beside a host, which gets its link and answers", async () => {
    const { host_id, key, hub } = desk;
    const waiting = Array.from({ length: 300 }, () =>
      ended(UPGRADE, once(frame(TEXT, "{".padEnd(60_000), { says: 100_000 }))),
    );
    const link = await rawLink(desk);
    await link.prove(key, host_id);
    expect(hub.links()).toMatchObject([{ host_id, linked: true }]);
    link.socket.terminate();
    await Promise.all(waiting);
  }, 60_000);
});
