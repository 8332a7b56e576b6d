/** Attack: 20,000 requests in one go over one connection. All were answered before anybody else was: for a minute, with HEAD. */
import { expect, test } from "bun:test";
import { connect } from "node:net";
import { serveBinary } from "../support";

const REQUESTS = 20_000;

test.each(["GET /nope", "GET /health", "HEAD /docs/swagger-ui-bundle.js"])(
  "a flood of %s in one connection ends after a few",
  async (what) => {
    await using server = await serveBinary(["--rate-limit", "0"]);
    // The first refused requests wait for their audit rows, which ends the connection too.
    for (let nth = 0; nth < 12; nth++) await fetch(`${server.url}/nope`);
    const { hostname, port } = new URL(server.url);
    const { promise: ended, resolve } = Promise.withResolvers<void>();
    const socket = connect(Number(port), hostname);
    let answers = 0;
    const count = (text: string) => {
      answers += text.split("HTTP/1.1 ").length - 1;
      if (answers >= REQUESTS) resolve();
    };
    socket
      .setEncoding("latin1")
      .on("data", count)
      .on("error", () => {})
      .on("close", resolve);
    socket.write(`${what} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n`.repeat(REQUESTS));
    await ended;
    socket.destroy();
    expect(answers).toBeLessThan(REQUESTS / 10);
    expect((await fetch(`${server.url}/health`)).status).toBe(200);
  },
  180_000,
);
