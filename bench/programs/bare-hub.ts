/**
 * What anybody would write first: a WebSocket server that takes whoever dials and keeps nothing of an answer. The baseline of
 * `hub.ts`, which it is asked like.
 */
import { type FromHost, PROTOCOL } from "../../src/wire/link/frames";

interface Data {
  readonly asked: Map<number, () => void>;
}

const open = new Set<Bun.ServerWebSocket<Data>>();
let id = 0;

async function askAll() {
  const started = performance.now();
  const ends = [...open].map((socket) => {
    const { promise, resolve } = Promise.withResolvers<void>();
    id += 1;
    socket.data.asked.set(id, resolve);
    socket.send(JSON.stringify({ t: "ask", id, method: "GET", path: "/sessions", accept: "*/*" }));
    return promise;
  });
  await Promise.all(ends);
  return { answered: ends.length, ms: performance.now() - started };
}

const server = Bun.serve<Data>({
  hostname: "127.0.0.1",
  port: 0,
  async fetch(request, server) {
    const { pathname } = new URL(request.url);
    if (pathname === "/hub") return Response.json(`ws://127.0.0.1:${server.port}`);
    if (pathname === "/ask") return Response.json(await askAll());
    if (pathname === "/links") return Response.json(open.size);
    const headers = { "sec-websocket-protocol": PROTOCOL };
    server.upgrade(request, { data: { asked: new Map() }, headers });
    return undefined;
  },
  websocket: {
    perMessageDeflate: false,
    open: (socket) => void socket.send(JSON.stringify({ t: "hello", v: 1, nonce: "" })),
    message(socket, message) {
      if (typeof message !== "string") return;
      const frame: FromHost = JSON.parse(message);
      if (frame.t === "host") {
        open.add(socket);
        socket.send(JSON.stringify({ t: "ready", label: "" }));
      } else if (frame.t === "end") {
        socket.data.asked.get(frame.id)?.();
        socket.data.asked.delete(frame.id);
      }
    },
    close: (socket) => void open.delete(socket),
  },
});
console.log(JSON.stringify({ url: `http://127.0.0.1:${server.port}` }));
