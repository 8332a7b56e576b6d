import { expect, test } from "bun:test";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { chmodSync, mkdirSync } from "node:fs";
import { createServer, type Socket } from "node:net";
import { join } from "node:path";
import { silentLog } from "../../src/lib/log";
import { type Channel, joinScreen, openLocalSocket } from "../../src/peers/screen-channel";
import { createScreenPeers } from "../../src/peers/screen-peers";
import { temporaryFolder, until } from "../support";

const KEY = "ab".repeat(32);

/** A local socket as the desktop's child has one; `first` resolves with who connects, once it has sent the key. */
async function listenAt(folder: string) {
  mkdirSync(folder);
  chmodSync(folder, 0o700);
  const path = join(folder, "s");
  const server = createServer({ pauseOnConnect: true });
  const connected = once(server, "connection") as Promise<[Socket]>;
  server.listen(path);
  await once(server, "listening");
  /** The connection, what came after the key, and all that comes. */
  const joined = async () => {
    const [socket] = await connected;
    const received: Buffer[] = [];
    socket.on("data", (bytes) => received.push(Buffer.from(bytes))).on("error", () => {});
    socket.resume();
    const text = () => Buffer.concat(received);
    await until("the key", () => text().length >= KEY.length);
    expect(text().subarray(0, KEY.length).toString()).toBe(KEY);
    return { socket, received: () => text().subarray(KEY.length) };
  };
  return { end: { path, key: KEY }, joined, close: () => server.close() };
}

/** A viewer's and a host's end of a data channel, each joined to a local socket. */
async function bothEnds(home: string) {
  const logged: string[] = [];
  const log = { ...silentLog, warn: (text: string) => void logged.push(text) };
  const make = () => createScreenPeers({ log, ice: () => ({ servers: [], relayOnly: false }) });
  const [host, viewer] = [make(), make()];
  const [far, near] = await Promise.all([listenAt(join(home, "far")), listenAt(join(home, "near"))]);
  let answered: Awaited<ReturnType<typeof host.answer>> | undefined;
  const session = await viewer.connect(async (offer) => {
    answered = await host.answer(offer, "v1", far.end);
    return answered;
  }, near.end);
  const [farEnd, nearEnd] = await Promise.all([far.joined(), near.joined()]);
  return {
    ...{ session, logged, farEnd, nearEnd },
    answering: () => answered?.session,
    async [Symbol.asyncDispose]() {
      await Promise.all([host.stop(), viewer.stop()]);
      far.close();
      near.close();
    },
  };
}

test("a data channel carries the bytes of a viewer both ways, in order, however many come at once", async () => {
  using home = temporaryFolder();
  await using ends = await bothEnds(home.path);
  const [picture, keys] = [randomBytes(8_000_000), randomBytes(100_000)];
  ends.farEnd.socket.write(picture);
  ends.nearEnd.socket.write(keys);
  await until("the picture", () => ends.nearEnd.received().length >= picture.length);
  await until("the keys", () => ends.farEnd.received().length >= keys.length);
  expect(ends.nearEnd.received().equals(picture)).toBe(true);
  expect(ends.farEnd.received().equals(keys)).toBe(true);
  // The process of each end is confined, its socket was open before.
  if (process.platform === "linux") expect(ends.logged).toEqual([]);
});

/** A channel that takes everything and delivers nothing, joined to a local socket; `far` is the other end of that. */
async function stuckChannel(home: string, maxUnread: number) {
  const listening = await listenAt(join(home, "s"));
  const socket = (await openLocalSocket(listening.end.path)).use();
  const queued: Uint8Array[] = [];
  let low = () => {};
  let message = (_bytes: Buffer) => {};
  const amount = () => queued.reduce((sum, { length }) => sum + length, 0);
  const channel: Channel = {
    sendMessageBinary: (bytes) => queued.push(new Uint8Array(bytes)) > 0,
    bufferedAmount: amount,
    setBufferedAmountLowThreshold() {},
    onBufferedAmountLow(call) {
      low = call;
    },
    onMessage(call) {
      message = call;
    },
    ...{ onClosed() {}, onOpen() {}, isOpen: () => true, close() {} },
  };
  const ended = Promise.withResolvers<string>();
  joinScreen(channel, socket, KEY, maxUnread, ended.resolve);
  return {
    ...{ queued, amount, ended: ended.promise, far: await listening.joined() },
    deliver() {
      queued.length = 0;
      low();
    },
    send: (bytes: Buffer) => message(bytes),
    [Symbol.dispose]() {
      socket.destroy();
      listening.close();
    },
  };
}

test("while the channel is behind, the socket is not read: who draws sees that it has to wait", async () => {
  using home = temporaryFolder();
  using stuck = await stuckChannel(home.path, 1_000);
  const { socket } = stuck.far;
  const pieces = Array.from({ length: 64 }, () => Buffer.alloc(1_048_576));
  for (const piece of pieces) socket.write(piece);
  await until("the channel is full", () => stuck.amount() > 262_144);
  // All that follows in this turn waits in the socket: more than 64 MiB minus what the kernel holds of it.
  await until("no more comes", async () => {
    const before = stuck.amount();
    await Bun.sleep(50);
    return stuck.amount() === before;
  });
  expect(stuck.amount()).toBeLessThan(8_388_608);
  expect(Math.max(...stuck.queued.map(({ length }) => length))).toBeLessThanOrEqual(65_536);
  const drained = once(socket, "drain");
  const pump = setInterval(stuck.deliver, 1);
  await drained;
  clearInterval(pump);
});

test("a peer that sends more than is taken ends its session", async () => {
  using home = temporaryFolder();
  using stuck = await stuckChannel(home.path, 1_000_000);
  stuck.far.socket.pause();
  for (let at = 0; at < 32; at++) stuck.send(Buffer.alloc(262_144));
  expect(await stuck.ended).toBe("the peer sends faster than its input is taken");
});

test("a viewer that leaves ends the socket on the host, and the process of its session", async () => {
  using home = temporaryFolder();
  await using ends = await bothEnds(home.path);
  const gone = once(ends.farEnd.socket, "close");
  ends.nearEnd.socket.destroy();
  await gone;
  expect(await ends.answering()?.closed).toBeString();
});

test("a host that ends a viewer ends the data channel, and the other side sees it", async () => {
  using home = temporaryFolder();
  await using ends = await bothEnds(home.path);
  const gone = once(ends.nearEnd.socket, "close");
  ends.farEnd.socket.destroy();
  await gone;
  expect(await ends.answering()?.closed).toBe("the screen has ended this viewer");
});

test("a session for a socket where nobody listens answers no offer", async () => {
  using home = temporaryFolder();
  const make = () => createScreenPeers({ log: silentLog, ice: () => ({ servers: [], relayOnly: false }) });
  const [host, viewer] = [make(), make()];
  const near = await listenAt(join(home.path, "near"));
  const end = { path: join(home.path, "nobody"), key: KEY };
  const connected = viewer.connect(async (offer) => host.answer(offer, "v1", end), near.end);
  await expect(connected).rejects.toThrow("the viewer's socket");
  near.close();
  await Promise.all([host.stop(), viewer.stop()]);
});
