/** Connections to a real nats-server: what is checked before credentials are sent. */
import { describe, expect, test } from "bun:test";
import { type AddressInfo, createServer } from "node:net";
import { connectNats } from "../../../src/wire/nats/connect";
import { freePort, startBundle } from "../../desk/nats/bundle";
import { testWith } from "../../support";
import { startNats } from "./support";

describe("over TLS", () => {
  testWith("nats-server")(
    "a server is trusted by its pin or by its authority, and by nothing else",
    async () => {
      await using nats = await startNats({ tls: true });
      const desk = await nats.desk();
      const { urls, pin } = nats.server;
      const tried = async (server: Parameters<typeof connectNats>[0]["server"]) => {
        try {
          await (await connectNats({ server, ...desk })).close();
          return "connected";
        } catch (error) {
          return String(error);
        }
      };
      expect(await tried({ urls, pin })).toBe("connected");
      expect(await tried({ urls, ca: nats.cert })).toBe("connected");
      expect(await tried({ urls })).toMatch(/^RemoteError: the certificate is not trusted/);
      expect(await tried({ urls, pin: `spki:${"A".repeat(43)}` })).toBe(
        "RemoteError: the key is not the pinned one",
      );
    },
  );

  testWith("nats-server")("a server that offers no TLS gets nothing", async () => {
    await using nats = await startNats();
    const urls = nats.server.urls.map((url) => url.replace("nats:", "tls:"));
    await expect(connectNats({ server: { urls }, ...(await nats.desk()) })).rejects.toMatchObject({
      fault: "unreachable",
    });
  });
});

testWith("nats-server")("credentials that the server refuses are said to be refused", async () => {
  await using nats = await startNats();
  const [desk, host] = [await nats.desk(), await nats.host()];
  const mixed = { server: nats.server, jwt: desk.jwt, seed: host.seed };
  await expect(connectNats(mixed)).rejects.toMatchObject({ fault: "unauthorized" });
});

describe("in a WebSocket", () => {
  /** A server that takes WebSockets as well. The bundle asks for a newer one than Debian has. */
  const withWebSocket = async () => {
    const port = freePort();
    const change = (conf: string) =>
      `${conf}\nwebsocket {\n  host: "127.0.0.1"\n  port: ${port}\n  same_origin: true\n  tls { cert_file: "./cert.pem", key_file: "./key.pem" }\n}\n`;
    return { ...(await startBundle({ change })), urls: [`wss://127.0.0.1:${port}`] };
  };

  testWith("nats-server")("host and desk exchange messages of every size", async () => {
    await using nats = await withWebSocket();
    const server = { urls: nats.urls, pin: nats.server.pin };
    const [desk, host] = [nats.first, nats.host()];
    const [asking, answering] = [
      await connectNats({ ...desk, server }),
      await connectNats({ ...host, server }),
    ];
    answering.subscribe(`svc.v1.host.${host.id}.ask`, {
      callback: (_error, message) => void message.respond(message.data),
    });
    await answering.flush();
    for (const size of [0, 1, 125, 126, 65_536, 900_000]) {
      const { promise, resolve } = Promise.withResolvers<Uint8Array>();
      const reply = `_INBOX.${desk.id}.${size}`;
      asking.subscribe(reply, { max: 1, callback: (_error, message) => resolve(message.data) });
      asking.publish(`svc.v1.host.${host.id}.ask`, Buffer.alloc(size, 7), { reply });
      expect(Buffer.from(await promise).equals(Buffer.alloc(size, 7))).toBe(true);
    }
    await Promise.all([asking.close(), answering.close()]);
  });

  testWith("nats-server")("a certificate without the pin gets nothing", async () => {
    await using nats = await withWebSocket();
    const server = { urls: nats.urls, pin: `spki:${"A".repeat(43)}` };
    await expect(connectNats({ ...nats.first, server })).rejects.toThrow("the key is not the pinned one");
    await expect(connectNats({ ...nats.first, server: { urls: nats.urls } })).rejects.toMatchObject({
      fault: "unreachable",
    });
  });

  testWith("nats-server")(
    "it is the way where plain TLS finds no server, and ends as any other",
    async () => {
      await using nats = await withWebSocket();
      const urls = [`tls://127.0.0.1:${freePort()}`, ...nats.urls];
      const connection = await connectNats({ ...nats.first, server: { ...nats.server, urls } });
      await nats[Symbol.asyncDispose]();
      await connection.closed();
      expect(connection.isClosed()).toBe(true);
    },
  );

  testWith("nats-server")("credentials that the server refuses are said to be refused", async () => {
    await using nats = await withWebSocket();
    const { seed } = nats.host();
    const server = { ...nats.server, urls: nats.urls };
    await expect(connectNats({ jwt: nats.first.jwt, seed, server })).rejects.toMatchObject({
      fault: "unauthorized",
    });
  });

  testWith("nats-server")("what is no NATS server is said to be none", async () => {
    await using nats = await startNats({ tls: true });
    using web = Bun.serve({
      port: 0,
      hostname: "127.0.0.1",
      tls: { key: Bun.file(`${nats.folder}/key.pem`), cert: Bun.file(`${nats.folder}/cert.pem`) },
      fetch: () => new Response("no", { status: 404 }),
    });
    const server = { ...nats.server, urls: [`wss://127.0.0.1:${web.port}`] };
    await expect(connectNats({ server, ...(await nats.desk()) })).rejects.toThrow("HTTP 404");
  });
});

test("what a server sends without end is parsed in slices, and others have turns meanwhile", async () => {
  const info = `INFO ${JSON.stringify({ server_id: "a", version: "2.10.0", proto: 1, max_payload: 1_048_576 })}\r\n`;
  const count = 500_000;
  const listener = createServer((socket) => {
    socket.on("error", () => {}).write(info);
    socket.on("data", (bytes) => {
      if (!bytes.includes("PING")) return;
      socket.write("PONG\r\n");
      if (bytes.includes("SUB ") || !bytes.includes("CONNECT"))
        socket.write("MSG a.b 1 0\r\n\r\n".repeat(count));
    });
  });
  await new Promise<void>((resolve) => listener.listen(0, "127.0.0.1", resolve));
  const { port } = listener.address() as AddressInfo;
  const connection = await connectNats({ server: { urls: [`nats://127.0.0.1:${port}`] } });
  let [turn, taken] = [0, 0];
  const timer = setInterval(() => turn++, 0);
  const turns = new Map<number, number>();
  const { promise, resolve } = Promise.withResolvers<void>();
  connection.subscribe("a.b", {
    max: count,
    callback() {
      turns.set(turn, (turns.get(turn) ?? 0) + 1);
      taken += 1;
      if (taken === count) resolve();
    },
  });
  await connection.flush();
  await promise;
  clearInterval(timer);
  expect(Math.max(...turns.values())).toBeLessThan(count / 4);
  await connection.close();
  await new Promise((done) => listener.close(done));
});
