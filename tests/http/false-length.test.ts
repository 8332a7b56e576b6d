/**
 * A body that is not as its head says, or has no end: the connection ends at once, or after some seconds. Raw sockets, as no
 * client sends such.
 */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { connect, type Socket } from "node:net";
import { TOKEN, testServer } from "../support";

/** The idle timeout is 10 s, looked at every few seconds. */
const LONGEST_MS = 20_000;

let host: Awaited<ReturnType<typeof testServer>>;
beforeAll(async () => {
  host = await testServer();
});
afterAll(() => host[Symbol.asyncDispose]());

const CHUNK = `10000\r\n${"a".repeat(65_536)}\r\n`;

/** Writes pieces as fast as they are taken. */
const endless = (piece: string) => (socket: Socket) => {
  const write = () => {
    while (!socket.destroyed && socket.write(piece));
  };
  socket.on("drain", write);
  write();
};

const trickle = (piece: string) => (socket: Socket) => {
  const timer = setInterval(() => socket.write(piece), 1_000);
  socket.on("close", () => clearInterval(timer));
};

/** Sends a head and what follows. @returns what came back until the server ended the connection, and how much had been sent. */
function ended(head: string, then: (socket: Socket) => void) {
  const { promise, resolve } = Promise.withResolvers<{ readonly answer: string; readonly sent: number }>();
  const socket = connect(Number(new URL(host.server.url).port), "127.0.0.1");
  let answer = "";
  socket.on("data", (bytes) => {
    answer += bytes.toString("latin1");
  });
  // A reset is an end.
  socket.on("error", () => {});
  socket.on("close", () => resolve({ answer, sent: socket.bytesWritten }));
  socket.on("connect", () => {
    socket.write(head);
    then(socket);
  });
  return promise;
}

const head = (more: string) =>
  `POST /execute/check HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer ${TOKEN}\r\nContent-Type: application/json\r\n${more}`;
const CHUNKED = "Transfer-Encoding: chunked\r\n\r\n";

describe("a connection ends with", () => {
  test.concurrent.each([
    ["a body that is shorter than it says", head("Content-Length: 900000\r\n\r\n{"), () => {}, "408"],
    ["a body that trickles", head("Content-Length: 900000\r\n\r\n"), trickle(" "), "408"],
    ["chunks that trickle", head(CHUNKED), trickle("1\r\n \r\n"), "408"],
    ["a length that is too large", head("Content-Length: 99999999999\r\n\r\n"), endless(CHUNK), "413"],
    ["chunks without an end", head(CHUNKED), endless(CHUNK), ""],
    ["the size of a chunk without an end", head(CHUNKED), endless("0".repeat(65_536)), ""],
    ["the extension of a chunk without an end", head(`${CHUNKED}1;`), endless("a".repeat(65_536)), ""],
    ["a trailer without an end", head(`${CHUNKED}0\r\n`), endless(`a: ${"b".repeat(1_000)}\r\n`), ""],
    ["a header without an end", head(""), endless(`a: ${"b".repeat(1_000)}\r\n`), ""],
    ["headers that trickle", head(""), trickle("a: b\r\n"), ""],
  ] as const)(
    "%s",
    async (_what, start, then, status) => {
      const began = performance.now();
      const { answer } = await ended(start, then);
      expect(performance.now() - began).toBeLessThan(LONGEST_MS);
      // The idle timeout may come before the limit of the body: then there is no answer.
      const isCutOff = answer === "" && status === "408";
      if (status !== "" && !isCutOff) expect(answer).toStartWith(`HTTP/1.1 ${status}`);
    },
    60_000,
  );
});

test("a body that is longer than it says is answered once, and its rest is no request", async () => {
  const { answer } = await ended(
    head("Content-Length: 2\r\nConnection: close\r\n\r\n{}GET /status HTTP/1.1\r\n\r\n"),
    () => {},
  );
  expect(answer.match(/HTTP\/1\.1 \d+/g)).toEqual(["HTTP/1.1 400"]);
}, 60_000);
