/** Attack: send a change and reset the connection at once. It was made, and its row said that the client is `unknown`. */
import { expect, test } from "bun:test";
import { connect } from "node:net";
import { serveBinary } from "../support";

const ATTEMPTS = 20;

test("a change whose client has reset the connection is recorded with an address, or not made", async () => {
  await using server = await serveBinary(["--rate-limit", "0"]);
  const { hostname, port } = new URL(server.url);
  const lines = [
    "POST /inspector/reset HTTP/1.1",
    "Host: 127.0.0.1",
    `Authorization: Bearer ${server.token}`,
    "Content-Length: 0",
  ];
  for (let nth = 0; nth < ATTEMPTS; nth++) {
    const { promise: gone, resolve } = Promise.withResolvers<void>();
    const socket = connect(Number(port), hostname);
    socket.on("error", () => {}).on("close", () => resolve());
    socket.write(`${lines.join("\r\n")}\r\n\r\n`, () => socket.resetAndDestroy());
    await gone;
  }
  await server.call("/overview");
  const list = await server.call("/audit/list?limit=1000");
  const { rows } = (await list.json()) as { rows: Array<{ host_id: string }> };
  expect(new Set(rows.map(({ host_id }) => host_id))).toEqual(new Set(["127.0.0.1"]));
});
