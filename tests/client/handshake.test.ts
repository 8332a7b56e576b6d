/** The answer that opens a WebSocket, as hostile hosts would send it. */
import { expect, test } from "bun:test";
import { Readable } from "node:stream";
import fc from "fast-check";
import { readWebSocket } from "../../src/client/handshake";
import { openWebSocket } from "../../src/client/websocket";
import { until } from "../support";
import { answering } from "./support";

/** What the protocol gets of `text` that arrives in pieces of these sizes, and whether the socket was ended. */
async function read(text: string, sizes: readonly number[]) {
  const socket = new Readable({ read() {} });
  const parsed: string[] = [];
  socket.on("error", () => {});
  readWebSocket(socket, { parse: (bytes) => void parsed.push(bytes.toString("latin1")) });
  for (let at = 0, nth = 0; at < text.length && !socket.destroyed; nth++) {
    const size = sizes[nth % sizes.length] ?? 1;
    socket.push(Buffer.from(text.slice(at, at + size), "latin1"));
    at += size;
    await new Promise(setImmediate);
  }
  // What is left of a slow turn.
  for (let nth = 0; nth < 20; nth++) await new Promise(setImmediate);
  return { parsed, isEnded: socket.destroyed };
}

const HEAD = "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\r\n";
/** On it, the parser goes around for ever. */
const NEGATIVE = "5\r\nabcde\r\n-6\r\nxxx";
const sizes = fc.array(fc.integer({ min: 1, max: 90 }), { minLength: 1, maxLength: 10 });

test("its head is parsed alone and whole, however it is cut; what follows is as it was sent", async () => {
  await fc.assert(
    fc.asyncProperty(fc.string({ unit: "binary-ascii", maxLength: 200 }), sizes, async (rest, cuts) => {
      const { parsed, isEnded } = await read(HEAD + rest, cuts);
      expect([parsed[0], parsed.slice(1).join(""), isEnded]).toEqual([HEAD, rest, false]);
    }),
  );
});

test.each([
  ["not HTTP", "SSH-2.0-OpenSSH_9\r\n\r\n"],
  ["preceded by an empty line", `\r\n\r\nHTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n${NEGATIVE}`],
  ["ended by LF alone", `HTTP/1.1 200 OK\nTransfer-Encoding: chunked\n\n${NEGATIVE}\r\n\r\n`],
  ["without end", `HTTP/1.1 200 OK\r\na: b\r\n${" ".repeat(60_000)}`],
  ["too long", `HTTP/1.1 200 OK\r\na: b\r\n${" ".repeat(60_000)}\r\n\r\n`],
])("one that is %s is parsed by nobody, and ends the socket", async (_how, text) => {
  for (const size of [1, 100, 100_000])
    expect(await read(text, [size])).toEqual({ parsed: [], isEnded: true });
});

test("what follows is parsed in slices, and none while it is paused", async () => {
  const socket = new Readable({ read() {} });
  const lengths: number[] = [];
  const flow = readWebSocket(socket, { parse: (bytes) => void lengths.push(bytes.length) });
  const rest = 1_000_000;
  socket.push(Buffer.concat([Buffer.from(HEAD), Buffer.alloc(rest)]));
  await until("some of it", () => lengths.length > 1);
  flow.pause();
  const before = lengths.length;
  socket.push(Buffer.alloc(rest));
  await new Promise(setImmediate);
  expect(lengths.length).toBe(before);
  flow.resume();
  const sum = () => lengths.reduce((all, one) => all + one, 0);
  await until("all of it", () => sum() === HEAD.length + 2 * rest);
  expect(Math.max(...lengths)).toBeLessThanOrEqual(16_384);
});

test("what many bring together takes one slice of each turn, and each has its own", async () => {
  const sockets = Array.from({ length: 20 }, () => new Readable({ read() {} }));
  const parsed = sockets.map(() => 0);
  let [inTurn, most] = [0, 0];
  for (const [nth, socket] of sockets.entries()) {
    readWebSocket(socket, {
      parse() {
        parsed[nth] = (parsed[nth] ?? 0) + 1;
        most = Math.max(most, ++inTurn);
        for (const ends = performance.now() + 1; performance.now() < ends; );
      },
    });
    socket.push(Buffer.concat([Buffer.from(HEAD), Buffer.alloc(1_000_000)]));
  }
  await until("a part of each", async () => {
    inTurn = 0;
    await new Promise(setImmediate);
    return Math.min(...parsed) > 10;
  });
  // Each takes a millisecond, and a slice five.
  expect(most).toBeLessThan(12);
  expect(Math.max(...parsed)).toBeLessThan(4 * Math.min(...parsed));
  for (const socket of sockets) socket.destroy();
});

test("a body after it is never read", async () => {
  await using server = await answering(`HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n${NEGATIVE}`);
  const about = { timeoutMs: 30_000, what: "the host" };
  const opening = openWebSocket(new URL(server.url), { trust: { kind: "any" } }, about);
  await expect(opening).rejects.toThrow("the host opens no WebSocket: HTTP 200");
});
