/** Attack: a few clients open as many connections as the server takes, and everybody else's were ended as the newest. */
import { expect, test } from "bun:test";
import { connect, type Socket } from "node:net";
import { serveBinary, until } from "../support";

test.skipIf(process.platform !== "linux")(
  "a server that few clients fill has room for another one",
  async () => {
    await using server = await serveBinary(["--max-connections", "40", "--max-client-connections", "30"]);
    const { hostname, port } = new URL(server.url);
    const sockets: Socket[] = [];
    using _held = { [Symbol.dispose]: () => sockets.forEach((socket) => void socket.destroy()) };
    const open = async (localAddress: string) => {
      const { promise, resolve } = Promise.withResolvers<void>();
      const socket = connect({ host: hostname, port: Number(port), localAddress }, resolve);
      socket.on("error", () => resolve()).resume();
      sockets.push(socket);
      await promise;
      return socket;
    };
    for (let nth = 0; nth < 30; nth++) await open("127.0.1.1");
    for (let nth = 0; nth < 30; nth++) await open("127.0.1.2");
    const other = await open("127.0.1.3");
    await until(
      "the end of those that are too many",
      () => sockets.filter(({ closed }) => closed).length === 21,
    );
    const answer = new Promise<string>((resolve) => {
      other
        .setEncoding("latin1")
        .once("data", resolve)
        .once("close", () => resolve("closed"));
    });
    other.write("GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n");
    expect(await answer).toStartWith("HTTP/1.1 200");
  },
  180_000,
);
