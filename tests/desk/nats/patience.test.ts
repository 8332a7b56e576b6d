/** Requests to hosts behind a server that is off. */
import { expect, test } from "bun:test";
import { join } from "node:path";
import { createNatsDesk } from "../../../src/desk/nats/desk";
import { silentLog } from "../../../src/lib/log";
import { openSigningKey } from "../../../src/trust/identity";
import { newNKey } from "../../../src/wire/nats/nkeys";
import { movableClocks, temporaryFolder, until } from "../../support";
import { startHostile } from "./hostile";

/** A server that accepts connections, and ends them at once or says nothing. */
function startMute() {
  const mute = { connections: 0, isSilent: false };
  const server = Bun.listen({
    ...{ hostname: "127.0.0.1", port: 0 },
    socket: {
      open(socket) {
        mute.connections++;
        if (!mute.isSilent) socket.end();
      },
      data() {},
    },
  });
  return Object.assign(mute, {
    url: `nats://127.0.0.1:${server.port}`,
    [Symbol.dispose]: () => server.stop(true),
  });
}

/** A desk at these servers, and a request to a host of it. */
function deskAt(folder: string, urls: string[]) {
  const { id, seed } = newNKey("U");
  const login = { server: { urls }, seed, jwt: "x" };
  const key = openSigningKey(join(folder, "desk_key"));
  const desk = createNatsDesk({ region: "eu", id, login, key, hostId: (host) => host, log: silentLog });
  return {
    ask: () => desk.via(`nats:eu/${id}`, undefined, null),
    state: () => desk.state()?.state,
    [Symbol.asyncDispose]: () => desk.stop(),
  };
}

const refused = {
  fault: "unreachable",
  sent: false,
  message: expect.stringMatching(/^no connection to the NATS server of eu: /),
};

test("a server that has been off for long is waited for by no request, and tried meanwhile", async () => {
  using folder = temporaryFolder();
  using clocks = movableClocks();
  using server = startMute();
  await using desk = deskAt(folder.path, [server.url]);
  await expect(desk.ask()).rejects.toMatchObject(refused);
  // From now on, whoever waits for an attempt waits for longer than this test may take.
  server.isSilent = true;
  clocks.advance(13_000);
  await expect(desk.ask()).rejects.toMatchObject(refused);
  await until("the next attempt", () => server.connections > 1);
  await expect(desk.ask()).rejects.toMatchObject(refused);
});

test("a server that is silent from the start is waited for by nobody after ten seconds", async () => {
  using folder = temporaryFolder();
  using clocks = movableClocks();
  using server = startMute();
  server.isSilent = true;
  await using desk = deskAt(folder.path, [server.url]);
  const first = desk.ask();
  first.catch(() => {});
  await until("the attempt", () => server.connections > 0);
  clocks.advance(9_800);
  const silent = { ...refused, message: "no connection to the NATS server of eu: it does not answer" };
  // What is left of the ten seconds, in place of all that the attempt takes.
  await expect(desk.ask()).rejects.toMatchObject(silent);
  clocks.advance(1_000);
  await expect(desk.ask()).rejects.toMatchObject(silent);
});

test("a few requests wait for a server that may be back, and the others fail at once", async () => {
  using folder = temporaryFolder();
  using clocks = movableClocks();
  using off = startMute();
  await using server = await startHostile(() => {});
  const urls = [off.url];
  await using desk = deskAt(folder.path, urls);
  await expect(desk.ask()).rejects.toMatchObject(refused);
  await until("the pause", () => desk.state() === "waiting");
  clocks.advance(60_000);
  urls.splice(0, 1, ...server.server.urls);
  const asked = await Promise.allSettled(Array.from({ length: 100 }, () => desk.ask()));
  expect(asked.filter(({ status }) => status === "fulfilled")).toHaveLength(64);
});

test("a URL that says nothing leaves time for the other", async () => {
  using folder = temporaryFolder();
  using silent = startMute();
  silent.isSilent = true;
  await using server = await startHostile(() => {});
  await using desk = deskAt(folder.path, [silent.url, ...server.server.urls]);
  using carrier = await desk.ask();
  expect(typeof carrier.ask).toBe("function");
});
