/** A NATS server that turns against the hosts and desks that it serves. */
import { expect, spyOn, test } from "bun:test";
import { join } from "node:path";
import { deadlineIn } from "../../src/client/carrier";
import { natsKeyMessage } from "../../src/join/messages";
import { silentLog } from "../../src/lib/log";
import { openSigningKey } from "../../src/lib/signing-key";
import { connectNats } from "../../src/nats/connect";
import { createNatsDesk } from "../../src/nats/desk";
import { keepNatsHost } from "../../src/nats/host";
import { keepConnection } from "../../src/nats/keep";
import { newNKey } from "../../src/nats/nkeys";
import { decode } from "../../src/nats/wire";
import { temporaryFolder } from "../support";
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
