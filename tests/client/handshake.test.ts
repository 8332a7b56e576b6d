/** The answer that opens a WebSocket, as hostile hosts would send it. */
import { expect, test } from "bun:test";
import { Socket } from "node:net";
import fc from "fast-check";
import { readWebSocket } from "../../src/client/handshake";
import { openWebSocket } from "../../src/client/websocket";
import { answering } from "./support";

/** What the protocol gets of `text` that arrives in pieces of these sizes, and whether the socket was ended. */
function read(text: string, sizes: readonly number[]) {
  const socket = new Socket();
  const parsed: string[] = [];
  socket.on("error", () => {});
  readWebSocket(socket, { parse: (bytes) => void parsed.push(bytes.toString("latin1")) });
  for (let at = 0, nth = 0; at < text.length && !socket.destroyed; nth++) {
    const size = sizes[nth % sizes.length] ?? 1;
    socket.emit("data", Buffer.from(text.slice(at, at + size), "latin1"));
    at += size;
  }
  return { parsed, isEnded: socket.destroyed };
}

const HEAD = "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\r\n";
/** On it, the parser goes around for ever. */
const NEGATIVE = "5\r\nabcde\r\n-6\r\nxxx";
const sizes = fc.array(fc.integer({ min: 1, max: 90 }), { minLength: 1, maxLength: 10 });

test("its head is parsed alone and whole, however it is cut; what follows is as it was sent", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary-ascii", maxLength: 200 }), sizes, (rest, cuts) => {
      const { parsed, isEnded } = read(HEAD + rest, cuts);
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
])("one that is %s is parsed by nobody, and ends the socket", (_how, text) => {
  for (const size of [1, 100, 100_000]) expect(read(text, [size])).toEqual({ parsed: [], isEnded: true });
});

test("a body after it is never read", async () => {
  await using server = await answering(`HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n${NEGATIVE}`);
  const about = { timeoutMs: 30_000, what: "the host" };
  const opening = openWebSocket(new URL(server.url), { trust: { kind: "any" } }, about);
  await expect(opening).rejects.toThrow("the host opens no WebSocket: HTTP 200");
});
