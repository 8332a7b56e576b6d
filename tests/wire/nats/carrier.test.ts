/** Requests of a desk to a host over a real nats-server. */
import { describe, expect, spyOn } from "bun:test";
import { join } from "node:path";
import { deadlineIn } from "../../../src/client/carrier";
import { createNatsDesk } from "../../../src/desk/nats/desk";
import { keepNatsHost } from "../../../src/host/nats/host";
import { silentLog } from "../../../src/lib/log";
import { openSigningKey } from "../../../src/lib/signing-key";
import { connectNats } from "../../../src/wire/nats/connect";
import { NO_SESSION, Outbox, subjectsOf } from "../../../src/wire/nats/wire";
import { testWith, until } from "../../support";
import { startNats } from "./support";

const natsTest = testWith("nats-server");

const limits = (ms = 60_000) => ({ deadline: deadlineIn(ms), maxBytes: 64 * 1_048_576 });
const get = (path: string) => ({ method: "GET", path }) as const;
const post = (body: string) => ({ method: "POST", path: "/count", body }) as const;

/** A server, a desk, and a host that answers with what it was asked. */
async function pair({ tls = false } = {}) {
  const nats = await startNats({ tls });
  const [deskIs, hostIs] = [await nats.desk(), await nats.host()];
  const key = openSigningKey(join(nats.folder, "desk_key"));
  const asked: string[] = [];
  const signers: Array<string | undefined> = [];
  const gone = Promise.withResolvers<void>();
  const startHost = (deskKey = key.publicKey, hostId = "h", records: string | undefined = "r1") =>
    keepNatsHost({
      id: hostIs.id,
      login: () => ({ server: nats.server, ...hostIs }),
      hostId: () => hostId,
      deskKey: () => deskKey,
      records: () => records,
      version: "1",
      log: silentLog,
      random: () => 0.01,
      async enter(request, by) {
        signers.push(by);
        const { pathname, searchParams } = new URL(request.url);
        asked.push(`${request.method} ${pathname}`);
        if (pathname === "/never") {
          request.signal.addEventListener("abort", () => gone.resolve());
          return new Promise(() => {});
        }
        const bytes = Number(searchParams.get("bytes") ?? 2);
        if (request.method === "POST") return Response.json({ length: (await request.text()).length });
        return new Response(Buffer.alloc(bytes, "x"));
      },
    });
  let host = startHost();
  const downs: string[] = [];
  const ups: string[] = [];
  const desk = createNatsDesk({
    ...{ id: deskIs.id, login: { server: nats.server, ...deskIs }, key, log: silentLog },
    hostId: () => "h",
    presence: {
      label: (id) => (id === hostIs.id ? "lab" : undefined),
      up: (_id, label) => void ups.push(label),
      down: (_id, _label, error) => void downs.push(error),
      twin() {},
    },
  });
  const connected = () => until("the host", () => host.state().state === "connected");
  await connected();
  return {
    ...{ nats, desk, key, asked, signers, ups, downs, hostIs, deskIs, gone: gone.promise, connected },
    state: () => host.state().state,
    carrier: (id = hostIs.id) => desk.via(`nats:${id}`, undefined, null),
    async restartHost(deskKey?: string, hostId?: string, records?: string) {
      await host.stop();
      host = startHost(deskKey, hostId, records);
      await connected();
    },
    async [Symbol.asyncDispose]() {
      await desk.stop();
      await host.stop();
      await nats[Symbol.asyncDispose]();
    },
  };
}

describe.each([{ tls: false }, { tls: true }])("over TLS: $tls", (options) => {
  natsTest("bodies of every size arrive whole, both ways", async () => {
    await using made = await pair(options);
    const carrier = await made.carrier();
    for (const bytes of [0, 1, 65_536, 1_048_577, 20_000_000]) {
      const { body } = await carrier.ask(get(`/echo?bytes=${bytes}`), limits());
      expect(body.length).toBe(bytes);
      const sent = await carrier.ask(post("y".repeat(bytes)), limits());
      expect(JSON.parse(Buffer.from(sent.body).toString())).toEqual({ length: bytes });
    }
  });
});

natsTest("a host knows which desk has signed a request, and that nobody has signed a poll", async () => {
  await using made = await pair();
  const carrier = await made.carrier();
  await carrier.ask(get("/sessions"), limits());
  await carrier.ask(post("{}"), limits());
  expect(made.signers).toEqual([undefined, made.deskIs.id]);
});

natsTest("a host says which records of jobs it has with each connection", async () => {
  await using made = await pair();
  const { presence } = made.desk;
  const says = (records: string) => until("its word", () => presence?.records(made.hostIs.id) === records);
  made.desk.start();
  await until("the desk", () => made.desk.state()?.state === "connected");
  // The desk may have come after its first word.
  await made.restartHost();
  await says("r1");
  await made.restartHost(undefined, undefined, "r2");
  await says("r2");
});

natsTest("a host that is not connected is so at once, and has done nothing", async () => {
  await using made = await pair();
  const carrier = await made.carrier((await made.nats.host()).id);
  const none = { fault: "unreachable", message: "not connected", sent: false };
  await expect(carrier.ask(get("/sessions"), limits())).rejects.toMatchObject(none);
  await expect(carrier.ask(post("y".repeat(1_000_000)), limits())).rejects.toMatchObject(none);
});

natsTest("a slow host has its deadline, and learns that nobody waits", async () => {
  await using made = await pair();
  const carrier = await made.carrier();
  // On a busy machine, the deadline may pass before the host has been asked.
  for (let ms = 300; !made.asked.includes("GET /never"); ms *= 2) {
    await expect(carrier.ask(get("/never"), limits(ms))).rejects.toMatchObject({ fault: "timeout" });
  }
  await made.gone;
});

natsTest("a request ends with its carrier, and the host learns it, also from a desk that stops", async () => {
  await using made = await pair();
  const carrier = await made.carrier();
  const asking = carrier.ask(get("/never"), limits());
  asking.catch(() => {});
  await until("the request", () => made.asked.includes("GET /never"));
  carrier[Symbol.dispose]();
  await made.desk.stop();
  await expect(asking).rejects.toMatchObject({ fault: "cancelled", sent: true });
  await made.gone;
  await expect(carrier.ask(get("/never"), limits())).rejects.toMatchObject({
    fault: "cancelled",
    sent: false,
  });
});

natsTest("an answer that is not read holds up nothing else", async () => {
  await using made = await pair();
  const [slow, quick] = [await made.carrier(), await made.carrier()];
  const { pieces } = await slow.open("/echo?bytes=30000000", deadlineIn(60_000), 60_000);
  const reading = pieces[Symbol.asyncIterator]();
  expect((await reading.next()).done).toBe(false);
  const { body } = await quick.ask(get("/echo?bytes=5000000"), limits());
  expect(body.length).toBe(5_000_000);
  slow[Symbol.dispose]();
  await expect(reading.next()).resolves.toBeDefined();
});

natsTest("a server that stops ends what is under way, and all is well once it is back", async () => {
  await using made = await pair();
  const asking = (await made.carrier()).ask(get("/never"), limits());
  await until("the request", () => made.asked.includes("GET /never"));
  await made.nats.kill();
  await expect(asking).rejects.toMatchObject({ fault: "unreachable", sent: true });
  await made.gone;
  await made.nats.start();
  await made.connected();
  await until("the desk", () => made.desk.state()?.state === "connected");
  const { status } = await (await made.carrier()).ask(post("y"), limits());
  expect(status).toBe(200);
});

natsTest("hosts come and go: the desk hears of it", async () => {
  await using made = await pair();
  made.desk.start();
  await until("the desk", () => made.desk.state()?.state === "connected");
  await made.restartHost();
  await until("the hello", () => made.ups.length > 0);
  expect(made.desk.presence?.isUp(made.hostIs.id)).toBe(true);
  await made.restartHost();
  await until("the bye", () => made.downs.length > 0);
  expect([made.ups[0], made.downs[0]]).toEqual(["lab", "it has stopped"]);
});

natsTest("a host that was started anew is asked anew, with what it is asked for", async () => {
  await using made = await pair();
  const carrier = await made.carrier();
  expect((await carrier.ask(post("y"), limits())).status).toBe(200);
  await made.restartHost();
  expect((await carrier.ask(post("y"), limits())).status).toBe(200);
});

describe("the server, which others run, gets nothing done:", () => {
  /** Publishes `frames` as a desk would, and returns what the host answers. */
  async function forged(made: Awaited<ReturnType<typeof pair>>, session: string, frames: readonly object[]) {
    await using connection = await connectNats({ server: made.nats.server, ...made.deskIs });
    const answer = Promise.withResolvers<string>();
    const inbox = `_INBOX.${made.deskIs.id}.${"0".repeat(32)}`;
    connection.subscribe(`${inbox}.*`, {
      callback: (_error, message) => answer.resolve(Buffer.from(message.data.subarray(18)).toString()),
    });
    const outbox = new Outbox({
      session,
      publish: (message) =>
        connection.publish(subjectsOf(made.hostIs.id).ask, message, { reply: `${inbox}.1` }),
    });
    for (const frame of frames) outbox.say(frame);
    outbox.close();
    return await answer.promise;
  }
  const ask = { t: "ask", id: 0, method: "POST", path: "/count", accept: "application/json" };

  natsTest("a change that the desk has not signed", async () => {
    await using made = await pair();
    expect(await forged(made, NO_SESSION, [ask])).toContain("it is not signed by the desk");
    expect(await forged(made, NO_SESSION, [{ ...ask, method: "GET", path: "/screenshot" }])).toContain(
      "it is not signed by the desk",
    );
    expect(made.asked).toEqual([]);
  });

  /** The last seal of what was sent. */
  const sealIn = (sent: ReadonlyArray<Parameters<Outbox["add"]>>): object =>
    sent
      .map(([frame]) => (typeof frame === "string" ? JSON.parse(frame) : {}))
      .findLast(({ t }) => t === "seal") ?? {};

  natsTest("a change that the desk has signed, once more, or for something else", async () => {
    await using made = await pair();
    const add = spyOn(Outbox.prototype, "add");
    const request = { method: "POST", path: "/count", once: true } as const;
    await (await made.carrier()).ask(request, limits());
    const seal = sealIn(add.mock.calls);
    add.mockRestore();
    // The session of the host is in each of its answers.
    const session = await sessionOf(made);
    expect(await forged(made, session, [seal, { ...ask, path: "/other" }])).toContain(
      "the signature is not that",
    );
    expect(made.asked).toEqual(["POST /count"]);
  });

  natsTest("what the desk has signed before the host was cut off", async () => {
    await using made = await pair();
    const add = spyOn(Outbox.prototype, "add");
    await (await made.carrier()).ask({ method: "POST", path: "/count", once: true }, limits());
    const seal = sealIn(add.mock.calls);
    add.mockRestore();
    const session = await sessionOf(made);
    await made.nats.kill();
    await until("the host to notice", () => made.state() !== "connected");
    await made.nats.start();
    await made.connected();
    expect(await forged(made, session, [seal, ask])).toContain("an earlier connection");
    expect(await forged(made, await sessionOf(made), [seal, ask])).toContain("the signature is not that");
    expect(made.asked).toEqual(["POST /count"]);
  });

  async function sessionOf(made: Awaited<ReturnType<typeof pair>>) {
    await using connection = await connectNats({ server: made.nats.server, ...made.deskIs });
    const session = Promise.withResolvers<string>();
    connection.subscribe(`_INBOX.${made.deskIs.id}.${"1".repeat(32)}.*`, {
      callback: (_error, { data }) => session.resolve(Buffer.from(data.subarray(5, 13)).toString("hex")),
    });
    const outbox = new Outbox({
      session: NO_SESSION,
      publish: (message) =>
        connection.publish(subjectsOf(made.hostIs.id).ask, message, {
          reply: `_INBOX.${made.deskIs.id}.${"1".repeat(32)}.1`,
        }),
    });
    outbox.say({ ...ask, method: "GET", path: "/nothing" });
    outbox.close();
    return await session.promise;
  }

  natsTest("a change of a desk that the host has not joined", async () => {
    await using made = await pair();
    const other = openSigningKey(join(made.nats.folder, "other_key"));
    await made.restartHost(other.publicKey);
    await expect((await made.carrier()).ask(post("y"), limits())).rejects.toMatchObject({
      fault: "unauthorized",
      sent: false,
      message: "the host refuses: the signature is not that of the desk which this host has joined",
    });
    expect(made.asked).toEqual([]);
  });

  natsTest("a change for the host that the desk has under this key, on another one", async () => {
    await using made = await pair();
    await made.restartHost(undefined, "other");
    await expect((await made.carrier()).ask(post("y"), limits())).rejects.toMatchObject({
      fault: "unauthorized",
    });
    expect(made.asked).toEqual([]);
  });
});
