import { expect, test } from "bun:test";
import { once } from "node:events";
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
