/** A NATS server that turns against the hosts and desks that it serves. */
import { expect, spyOn, test } from "bun:test";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { join } from "node:path";
import { deadlineIn } from "../../../src/client/carrier";
import { createNatsDesk } from "../../../src/desk/nats/desk";
import { keepNatsHost } from "../../../src/host/nats/host";
import { silentLog } from "../../../src/lib/log";
import { openSigningKey } from "../../../src/lib/signing-key";
import { natsKeyMessage } from "../../../src/wire/join/messages";
import { connectNats } from "../../../src/wire/nats/connect";
import { keepConnection } from "../../../src/wire/nats/kept-connection";
import { newNKey } from "../../../src/wire/nats/nkeys";
import { decode } from "../../../src/wire/nats/wire";
import { isThorough, temporaryFolder, until } from "../../support";
import { messageOf, type Published, startHostile } from "./hostile";

const limits = () => ({ deadline: deadlineIn(60_000), maxBytes: 1_048_576 });

/** What was asked: its frames as objects, and the session that it was sealed for. */
function askIn({ data }: Published) {
  const message = decode(data);
  const [seal, ask] = (message?.frames ?? []).slice(0, 2).map((frame) => JSON.parse(String(frame)));
  return { session: message?.session, seal, ask };
}

/** A desk at a server that answers each request as `answer` says. */
async function askOver(answer: (nth: number) => { session: string; frame: object }) {
  using folder = temporaryFolder();
  const [host, user] = [newNKey("U"), newNKey("U")];
  const asked: ReturnType<typeof askIn>[] = [];
  await using hostile = await startHostile((message, peer) => {
    if (message.reply === undefined) return;
    asked.push(askIn(message));
    const { session, frame } = answer(asked.length);
    peer.send(message.reply, messageOf(session, [frame]));
  });
  const desk = createNatsDesk({
    id: user.id,
    login: { server: hostile.server, seed: user.seed, jwt: "x" },
    key: openSigningKey(join(folder.path, "key")),
    hostId: () => "h",
    log: silentLog,
  });
  try {
    const carrier = await desk.via(`nats:${host.id}`, undefined, null);
    const error = await carrier.ask({ method: "POST", path: "/execute", body: "{}" }, limits()).then(
      () => undefined,
      (cause) => cause,
    );
    return { asked, error };
  } finally {
    await desk.stop();
  }
}

const stale = { t: "refused", error: "x", stale: true };

test("a change that is signed anew for a new connection of the host has the key of the first try", async () => {
  const { asked, error } = await askOver((nth) => ({ session: String(nth).repeat(16), frame: stale }));
  expect(asked.map(({ session }) => session)).toEqual(["0".repeat(16), "1".repeat(16)]);
  expect(asked[1]?.ask.key).toBe(asked[0]?.ask.key);
  expect(asked[0]?.ask.key).toMatch(/^[0-9a-f-]{36}$/);
  expect(error).toMatchObject({ fault: "unreachable", message: "svc was started anew on this host" });
});

test("a change is not signed again for the connection that it was signed for", async () => {
  const { asked } = await askOver(() => ({ session: "0".repeat(16), frame: stale }));
  expect(asked.length).toBe(1);
});

test("a host whose server suddenly takes no messages connects anew, and goes on", async () => {
  const [host, user] = [newNKey("U"), newNKey("U")];
  const again = Promise.withResolvers<void>();
  const reply = `_INBOX.${user.id}.${"0".repeat(32)}.1`;
  const get = { t: "ask", id: 0, method: "GET", path: "/status", accept: "application/json" };
  await using hostile = await startHostile(({ subject }, peer, nth) => {
    if (subject.startsWith("_INBOX.")) again.resolve();
    if (!subject.endsWith(".hello")) return;
    if (nth === 1) peer.info(1);
    peer.send(`svc.v1.host.${host.id}.ask`, messageOf("0".repeat(16), [get]), reply);
  });
  const kept = keepNatsHost({
    id: host.id,
    login: () => ({ server: hostile.server, seed: host.seed, jwt: "x" }),
    hostId: () => "h",
    deskKey: () => "",
    enter: async () => Response.json({}),
    records: () => undefined,
    version: "1",
    log: silentLog,
    random: () => 0.001,
  });
  try {
    await again.promise;
    expect(hostile.count()).toBe(2);
  } finally {
    await kept.stop();
  }
});

test("a server gets nothing signed that is no nonce", async () => {
  const key = natsKeyMessage("spki:a", "0".repeat(32), "1");
  await using hostile = await startHostile(() => {}, key);
  const { seed } = newNKey("U");
  await expect(connectNats({ server: hostile.server, seed, jwt: "x" })).rejects.toMatchObject({
    message: "the NATS server wants something signed that is no nonce",
  });
});

test("a desk whose server suddenly takes no messages fails the request, and goes on", async () => {
  using folder = temporaryFolder();
  const user = newNKey("U");
  const desk = (server: { urls: string[] }) =>
    createNatsDesk({
      id: user.id,
      login: { server, seed: user.seed, jwt: "x" },
      key: openSigningKey(join(folder.path, "key")),
      hostId: () => "h",
      log: silentLog,
    });
  await using hostile = await startHostile(({ reply }, peer) => {
    peer.info(1);
    // After the line, so that the desk has it when this answer is there.
    if (reply !== undefined) peer.send(reply, messageOf("0".repeat(16), [{ t: "refused", error: "x" }]));
  });
  const made = desk(hostile.server);
  try {
    const carrier = await made.via(`nats:${newNKey("U").id}`, undefined, null);
    const ask = () => carrier.ask({ method: "GET", path: "/status" }, limits());
    await expect(ask()).rejects.toMatchObject({ fault: "unauthorized" });
    await expect(ask()).rejects.toMatchObject({ fault: "unreachable" });
  } finally {
    await made.stop();
  }
});

test.each(["INFO {\u001b[31m\r\n", "MSG \u001b]0;x\u0007 y z w v\r\n"])(
  "a server that sends %j is connected to anew, and printed nowhere",
  async (garbage) => {
    const printed = spyOn(console, "log").mockImplementation(() => {});
    const greeting = { server_id: "X", version: "2.9.10", proto: 1, headers: true, max_payload: 1_048_576 };
    let logins = 0;
    const again = Promise.withResolvers<void>();
    using server = Bun.listen({
      ...{ hostname: "127.0.0.1", port: 0 },
      socket: {
        open: (socket) => void socket.write(`INFO ${JSON.stringify(greeting)}\r\n`),
        data(socket, bytes) {
          if (!bytes.includes("CONNECT")) return;
          socket.write("PONG\r\n");
          if (++logins === 2) again.resolve();
          setTimeout(() => socket.write(garbage), 50);
        },
      },
    });
    const kept = keepConnection({
      login: () => ({ server: { urls: [`nats://127.0.0.1:${server.port}`] } }),
      connected: () => () => {},
      log: silentLog,
      random: () => 0.001,
    });
    try {
      await again.promise;
      expect(printed).not.toHaveBeenCalled();
    } finally {
      printed.mockRestore();
      await kept.stop();
    }
  },
);

const MIB = 1_048_576;
const GREETING = `INFO ${JSON.stringify({ server_id: "X", version: "2.9.10", proto: 1, headers: true, max_payload: MIB })}\r\n`;

/**
 * A server that sends `start`, and `more` again and again, as fast as it is read: in place of its greeting, or after the login.
 *
 * @param reads whether it reads on meanwhile.
 */
async function startFlood({ start = "", more = "x".repeat(65_536), isGreeted = true, reads = true }) {
  const sent: number[] = [];
  const sockets = new Set<Socket>();
  const listener = createServer((socket) => {
    const nth = sent.push(0) - 1;
    sockets.add(socket);
    let isOpen = true;
    const flood = () => {
      if (!reads) socket.pause();
      while (isOpen) {
        sent[nth] = (sent[nth] ?? 0) + more.length;
        if (!socket.write(more)) break;
      }
    };
    const begin = () => {
      socket.write(start);
      socket.on("drain", flood);
      flood();
    };
    socket
      .on("error", () => {})
      .on("close", () => {
        isOpen = false;
        sockets.delete(socket);
      });
    if (!isGreeted) return begin();
    socket.write(GREETING);
    socket.once("data", () => {
      socket.write("PONG\r\n");
      setImmediate(begin);
    });
  });
  await new Promise<void>((resolve) => listener.listen(0, "127.0.0.1", resolve));
  const { port } = listener.address() as AddressInfo;
  return {
    server: { urls: [`nats://127.0.0.1:${port}`] },
    /** What was sent over each connection, in bytes. */
    sent,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => listener.close(resolve));
    },
  };
}

/** A host, and a desk, at a server. */
const users = {
  host(server: { urls: string[] }) {
    const { id, seed } = newNKey("U");
    const login = () => ({ server, seed, jwt: "x" });
    const own = { id, login, hostId: () => "h", deskKey: () => "", records: () => undefined };
    const about = { ...own, version: "1", log: silentLog };
    return keepNatsHost({ ...about, enter: async () => Response.json({}), random: () => 0.001 });
  },
  desk(server: { urls: string[] }) {
    const folder = temporaryFolder();
    const { id, seed } = newNKey("U");
    const key = openSigningKey(join(folder.path, "key"));
    const login = { server, seed, jwt: "x" };
    const desk = createNatsDesk({ id, login, key, hostId: () => "h", log: silentLog });
    desk.start();
    return {
      state: desk.state,
      async stop() {
        await desk.stop();
        folder[Symbol.dispose]();
      },
    };
  },
};

const floods: ReadonlyArray<readonly [string, Parameters<typeof startFlood>[0], RegExp]> = [
  ["a greeting without end", { start: "INFO {", isGreeted: false }, /sends a line of more than 65536 bytes/],
  ["an INFO line without end", { start: "INFO {" }, /sends a line of more than 65536 bytes/],
  ["a line of a message without end", { start: "MSG " }, /sends a line of more than 65536 bytes/],
  ["an error without end", { start: "-ERR '" }, /sends a line of more than 65536 bytes/],
  ["a message of 64 MiB", { start: "MSG a 1 67108864\r\n" }, /sends a message of more than 1048576 bytes/],
  ["headers of 64 MiB", { start: "HMSG a 1 67108000 67108864\r\n" }, /a message of more than 1048576 bytes/],
  [
    "pings, and reads no answer",
    { more: "PING\r\n".repeat(10_000), reads: false },
    /the NATS server does not read/,
  ],
];

for (const who of ["host", "desk"] as const)
  test.each(floods)(
    `a ${who} ends the connection to a server that sends it %s`,
    async (_what, flood, problem) => {
      await using server = await startFlood(flood);
      const user = users[who](server.server);
      try {
        await until("the end", () => user.state()?.problem);
        expect(user.state()?.problem).toMatch(problem);
        // What the system holds of a connection is some megabytes.
        expect(server.sent[0]).toBeLessThan(16 * MIB);
      } finally {
        await user.stop();
      }
    },
  );

test("a connection that is given up before the server has greeted ends", async () => {
  const [opened, closed] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  using server = Bun.listen({
    ...{ hostname: "127.0.0.1", port: 0 },
    socket: { open: () => opened.resolve(), data() {}, close: () => closed.resolve() },
  });
  const tried = connectNats({ server: { urls: [`nats://127.0.0.1:${server.port}`] }, timeoutMs: 50 });
  await Promise.all([opened.promise, expect(tried).rejects.toMatchObject({ fault: "timeout" })]);
  await closed.promise;
});

/** Messages, as a server sends them to each subscription, whose ids a client counts from 1. */
const messages = (payload: string, sids = 8) =>
  Array.from(
    { length: sids },
    (_, nth) => `MSG a ${nth + 1} _INBOX.r ${payload.length}\r\n${payload}\r\n`,
  ).join("");
const LEGAL: ReadonlyArray<readonly [string, string]> = [
  ["messages of a few bytes", messages("x").repeat(200)],
  ["empty messages", messages("").repeat(200)],
  ["messages that are asks", messages('{"t":"ask","id":0}').repeat(100)],
  ["messages of many frames", messages("\u0001".repeat(600)).repeat(50)],
  ["messages of a mebibyte", messages("x".repeat(1_000_000), 2)],
  ["messages to nobody", "MSG a 99999 1\r\nx\r\n".repeat(2_000)],
  ["pings, and reads the answers", "PING\r\n".repeat(5_000)],
  ["answers to no pings", "PONG\r\n".repeat(5_000)],
  ["that it is well", "+OK\r\n".repeat(5_000)],
  ["what it is, again and again", GREETING.repeat(200)],
  ["that something is refused", "-ERR 'Permissions Violation for Publish to \"a\"'\r\n".repeat(1_000)],
];

/** How much a process holds of what came and was not looked at, in bytes: one turn's worth, and what the system hands over at once. */
const MAX_HELD = 64 * MIB;

for (const who of ["host", "desk"] as const)
  test.each(LEGAL)(
    `a ${who} goes on with its work, and holds little, while a server sends it %s`,
    async (_what, more) => {
      await using server = await startFlood({ more });
      const before = process.memoryUsage.rss();
      const user = users[who](server.server);
      using other = Bun.serve({ port: 0, fetch: () => new Response("here") });
      try {
        await until("the flood", () => (server.sent[0] ?? 0) > 4 * MIB || user.state()?.problem != null);
        const longest = { ms: 0 };
        for (let nth = 0; nth < (isThorough ? 15 : 5); nth++) {
          const began = performance.now();
          expect(await (await fetch(other.url)).text()).toBe("here");
          longest.ms = Math.max(longest.ms, performance.now() - began);
        }
        expect(longest.ms).toBeLessThan(2_000);
        expect(process.memoryUsage.rss() - before).toBeLessThan(4 * MAX_HELD);
        if (process.env.SVC_TABLE)
          console.log(who, _what, {
            longest: Math.round(longest.ms),
            sent: Math.round((server.sent[0] ?? 0) / MIB),
            rss: Math.round((process.memoryUsage.rss() - before) / MIB),
            problem: user.state()?.problem,
          });
      } finally {
        await user.stop();
      }
    },
  );
