/** A NATS server that no longer reads what it is sent: a proxy before a real one stops. */
import { describe, expect } from "bun:test";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { join } from "node:path";
import { deadlineIn } from "../../../src/client/carrier";
import { createNatsDesk } from "../../../src/desk/nats/desk";
import { keepNatsHost } from "../../../src/host/nats/host";
import { silentLog } from "../../../src/lib/log";
import { openSigningKey } from "../../../src/lib/signing-key";
import { connectNats } from "../../../src/wire/nats/connect";
import { guarded } from "../../../src/wire/nats/guarded-connection";
import { newNKey } from "../../../src/wire/nats/nkeys";
import { testWith, until } from "../../support";
import { startNats } from "./support";

const MIB = 1_048_576;

/** Hands bytes on, both ways, until it stops to read what comes from the client. */
async function startProxy(port: number) {
  const clients = new Set<Socket>();
  let stopped = false;
  const listener = createServer((client) => {
    const server = connect(port, "127.0.0.1");
    clients.add(client);
    client.on("data", (bytes) => server.write(bytes)).on("error", () => {});
    server.on("data", (bytes) => client.write(bytes)).on("error", () => {});
    client.on("close", () => server.destroy());
    server.on("close", () => client.destroy());
    if (stopped) client.pause();
  });
  await new Promise<void>((resolve) => listener.listen(0, "127.0.0.1", resolve));
  return {
    port: (listener.address() as AddressInfo).port,
    stop() {
      stopped = true;
      for (const client of clients) client.pause();
    },
    goOn() {
      stopped = false;
      for (const client of clients) client.resume();
    },
    async [Symbol.asyncDispose]() {
      for (const client of clients) client.destroy();
      await new Promise((resolve) => listener.close(resolve));
    },
  };
}

describe.each([{ tls: false }, { tls: true }])("over TLS: $tls", ({ tls }) => {
  async function through() {
    const nats = await startNats({ tls });
    const proxy = await startProxy(nats.port);
    const urls = [`${tls ? "tls" : "nats"}://127.0.0.1:${proxy.port}`];
    return {
      ...{ nats, proxy, server: { ...nats.server, urls } },
      async [Symbol.asyncDispose]() {
        await proxy[Symbol.asyncDispose]();
        await nats[Symbol.asyncDispose]();
      },
    };
  }

  testWith("nats-server")("what waits is noticed, goes on once it reads again, and is bounded", async () => {
    await using made = await through();
    const user = await made.nats.desk();
    const connection = await connectNats({ server: made.server, ...user });
    const said: string[] = [];
    const { publish, drained } = guarded(connection, { warn: (text) => void said.push(text) });
    const send = () => publish(`svc.v1.desk.${user.id}.x`, Buffer.alloc(MIB / 2));
    made.proxy.stop();
    let sent = 0;
    await until("the queue to be full", () => {
      send();
      sent++;
      return drained() !== undefined;
    });
    expect(sent).toBeLessThan(100);
    const waits = drained();
    made.proxy.goOn();
    await waits;
    made.proxy.stop();
    await until("the end of the connection", () => {
      for (let nth = 0; nth < 10; nth++) send();
      return connection.isClosed();
    });
    await connection.closed();
    expect(said).toEqual(["the connection to the NATS server is given up: it does not read what is sent"]);
  });

  testWith("nats-server")(
    "a connection that the library gives up ends, also with much on its way",
    async () => {
      await using made = await through();
      const user = await made.nats.desk();
      const connection = await connectNats({ server: made.server, ...user });
      const { publish, drained } = guarded(connection, silentLog);
      made.proxy.stop();
      await until("the queue to be full", () => {
        publish(`svc.v1.desk.${user.id}.x`, Buffer.alloc(MIB / 2));
        return drained() !== undefined;
      });
      // As after pings without an answer.
      Object(connection).protocol.disconnect();
      await connection.closed();
    },
  );

  testWith("nats-server")("a request that waits for the server ends at its deadline", async () => {
    await using made = await through();
    const user = await made.nats.desk();
    const key = openSigningKey(join(made.nats.folder, "desk_key"));
    const desk = createNatsDesk({
      ...{ id: user.id, login: { server: made.server, ...user }, key, log: silentLog },
      hostId: () => "h",
    });
    const body = JSON.stringify({ text: "x".repeat(4 * MIB) });
    const ask = async () => {
      using carrier = await desk.via(`nats:${newNKey("U").id}`, undefined, null);
      const limits = { deadline: deadlineIn(20), maxBytes: MIB };
      return carrier.ask({ method: "POST", path: "/execute", body, once: true }, limits).catch((e) => e);
    };
    try {
      await ask();
      made.proxy.stop();
      const waited = await until("a request that is not sent", async () => {
        const errors = await Promise.all(Array.from({ length: 50 }, ask));
        return errors.find(({ fault, sent }) => fault === "timeout" && !sent);
      });
      expect(waited.message).toBe("timeout after 0.02 s");
    } finally {
      made.proxy.goOn();
      await desk.stop();
    }
  });

  testWith("nats-server")("a host that is asked for much does not gather it all", async () => {
    await using made = await through();
    const [hostIs, deskIs] = [await made.nats.host(), await made.nats.desk()];
    const key = openSigningKey(join(made.nats.folder, "desk_key"));
    let [asked, gathered] = [0, 0];
    const host = keepNatsHost({
      id: hostIs.id,
      login: () => ({ server: made.server, ...hostIs }),
      hostId: () => "h",
      deskKey: () => key.publicKey,
      records: () => undefined,
      version: "1",
      log: silentLog,
      async enter({ url }) {
        if (url.endsWith("/sessions")) return Response.json({});
        asked++;
        const pull = (controller: ReadableStreamDefaultController) => {
          gathered += MIB / 16;
          controller.enqueue(Buffer.alloc(MIB / 16));
        };
        return new Response(new ReadableStream({ pull }, { highWaterMark: 0 }));
      },
    });
    const desk = createNatsDesk({
      ...{ id: deskIs.id, login: { server: made.nats.server, ...deskIs }, key, log: silentLog },
      hostId: () => "h",
    });
    const closing = new AbortController();
    try {
      const limits = { deadline: deadlineIn(60_000), maxBytes: 64 * MIB };
      await until("the host", async () => {
        using carrier = await desk.via(`nats:${hostIs.id}`, undefined, null);
        return await carrier.ask({ method: "GET", path: "/sessions" }, limits).catch(() => undefined);
      });
      made.proxy.stop();
      for (let nth = 0; nth < 60; nth++) {
        const carrier = await desk.via(`nats:${hostIs.id}`, closing.signal, null);
        void carrier.ask({ method: "GET", path: "/status" }, limits).catch(() => {});
      }
      await until("all requests", () => asked === 60);
      // Nothing comes of what is not read: what a host makes has an end, and this waits for it.
      for (let before = -1; before !== gathered; await Bun.sleep(500)) before = gathered;
      // 60 windows would be 60 MiB.
      expect(gathered).toBeLessThan(40 * MIB);
    } finally {
      closing.abort();
      await desk.stop();
      await made.proxy[Symbol.asyncDispose]();
      await host.stop();
    }
  });
});
