/** Bodies that are sent in many small chunks. */
import { expect, test } from "bun:test";
import { connect } from "node:net";
import { readJson } from "../../src/http/body";
import { TOKEN, testServer } from "../support";

/** What is read of `text` in chunks of so many bytes, and how many of them were taken. */
async function read(text: string, size: number) {
  let taken = 0;
  const body = new ReadableStream<Uint8Array>(
    {
      pull(controller) {
        const at = taken++ * size;
        if (at < text.length) controller.enqueue(Buffer.from(text.slice(at, at + size)));
        else controller.close();
      },
    },
    { highWaterMark: 0 },
  );
  const request = new Request("http://localhost/", { method: "POST", body });
  const value = await readJson(request, { maxBytes: 1_000_000 }).catch((error: Error) => error.message);
  return { value, taken };
}

test("a body in chunks of a byte is refused after some of them; one in chunks of 64 bytes, and a small one, are read", async () => {
  const large = `"${"x".repeat(100_000)}"`;
  const tiny = await read(large, 1);
  expect(tiny.value).toBe("body: expected chunks of at least 64 bytes");
  expect(tiny.taken).toBeLessThan(2_000);
  expect((await read(large, 64)).value).toBe(JSON.parse(large));
  expect((await read(`"${"x".repeat(900)}"`, 1)).value).toBe("x".repeat(900));
});

/** The first line of the answer to a request whose body comes in chunks of a byte without end, once the server has ended the connection. */
async function answerToEndless(port: number, head: string): Promise<string> {
  const socket = connect(port, "127.0.0.1");
  const closed = new Promise((resolve) => socket.on("close", resolve));
  let answer = "";
  socket
    .on("error", () => {})
    .on("data", (bytes) => {
      answer += bytes;
    });
  socket.write(
    `${head} HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nTransfer-Encoding: chunked\r\nAuthorization: Bearer ${TOKEN}\r\n\r\n`,
  );
  const piece = "1\r\nx\r\n".repeat(1_000);
  const send = () => {
    while (!socket.destroyed && socket.write(piece));
  };
  socket.on("drain", send);
  send();
  await closed;
  return answer.slice(0, answer.indexOf("\r\n"));
}

test.each([
  ["POST /nothing", "HTTP/1.1 404 Not Found"],
  ["POST /runs/cancel", "HTTP/1.1 413 Payload Too Large"],
  ["POST /join", "HTTP/1.1 413 Payload Too Large"],
  ["GET /health", "HTTP/1.1 400 Bad Request"],
  ["GET /events", "HTTP/1.1 400 Bad Request"],
])("%s with a body without end is answered, and its connection ends", async (head, status) => {
  await using host = await testServer();
  expect(await answerToEndless(host.server.port, head)).toBe(status);
});

test("a connection goes on after a body in chunks that was read, and after one with a length that was not", async () => {
  await using host = await testServer();
  const { port } = host.server;
  const socket = connect(port, "127.0.0.1");
  let answers = "";
  const got = (count: number) =>
    new Promise<void>((resolve) => {
      const look = () => answers.split("HTTP/1.1 ").length > count && resolve();
      socket.on("data", look);
      look();
    });
  socket.on("data", (bytes) => {
    answers += bytes;
  });
  const fields = `Host: 127.0.0.1:${port}\r\nAuthorization: Bearer ${TOKEN}\r\n`;
  socket.write(
    `POST /inspector/reset HTTP/1.1\r\n${fields}Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n`,
  );
  await got(1);
  socket.write(`POST /nothing HTTP/1.1\r\n${fields}Content-Length: 2\r\n\r\n{}`);
  await got(2);
  socket.write(`GET /health HTTP/1.1\r\n${fields}\r\n`);
  await got(3);
  socket.destroy();
  expect(answers.match(/HTTP\/1.1 \d+/g)).toEqual(["HTTP/1.1 200", "HTTP/1.1 404", "HTTP/1.1 200"]);
});
