import { expect, test } from "bun:test";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { join } from "node:path";
import { type Channel, joinScreen, openLocalSocket } from "../../../src/host/peers/screen-channel";
import { createScreenPeers } from "../../../src/host/peers/screen-peers";
import { silentLog } from "../../../src/lib/log";
import { CHANNEL_CLOSED } from "../../../src/wire/screen/stream";
import { temporaryFolder, until } from "../../support";
import { bothEnds, KEY, listenAt } from "./screen-ends";

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
  const socket = (await openLocalSocket(listening.end.path)).use(KEY);
  const queued: Uint8Array[] = [];
  let low = () => {};
  let message = (_bytes: Buffer) => {};
  let told = () => {};
  let [isOpen, refused] = [true, 0];
  const amount = () => queued.reduce((sum, { length }) => sum + length, 0);
  const channel: Channel = {
    sendMessageBinary(bytes) {
      if (isOpen) return queued.push(new Uint8Array(bytes)) > 0;
      refused++;
      throw new Error("DataChannel is closed");
    },
    bufferedAmount: amount,
    setBufferedAmountLowThreshold() {},
    onBufferedAmountLow(call) {
      low = call;
    },
    onMessage(call) {
      message = call;
    },
    onClosed(call) {
      told = call;
    },
    ...{ onOpen() {}, isOpen: () => isOpen, close() {} },
  };
  const ended = Promise.withResolvers<string>();
  joinScreen(channel, socket, maxUnread, ended.resolve);
  return {
    ...{ queued, amount, ended: ended.promise, far: await listening.joined() },
    deliver() {
      queued.length = 0;
      low();
    },
    send: (bytes: Buffer) => message(bytes),
    /** The peer closes it: the library knows at once, and tells later. */
    close() {
      isOpen = false;
    },
    tell: () => told(),
    refused: () => refused,
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

test("what is sent to a channel that the peer has just closed is no fault: the peer has ended it", async () => {
  using home = temporaryFolder();
  using stuck = await stuckChannel(home.path, 1_000);
  stuck.close();
  stuck.far.socket.write("a key");
  await until("the key was refused", () => stuck.refused() > 0);
  stuck.tell();
  expect(await stuck.ended).toBe(CHANNEL_CLOSED);
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

test("a viewer shows its key before it is connected: the key is good for some seconds only", async () => {
  using home = temporaryFolder();
  const make = () => createScreenPeers({ log: silentLog, ice: () => ({ servers: [], relayOnly: false }) });
  const [host, viewer] = [make(), make()];
  const [far, near] = await Promise.all([
    listenAt(join(home.path, "far")),
    listenAt(join(home.path, "near")),
  ]);
  const lost = viewer.connect(async (offer) => {
    await host.answer(offer, "v1", far.end);
    await far.joined();
    throw new Error("the answer was lost");
  }, near.end);
  await expect(lost).rejects.toThrow("the answer was lost");
  for (const { close } of [far, near]) close();
  await Promise.all([host.stop(), viewer.stop()]);
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

test("a viewer whose machine vanishes frees its place on the host", async () => {
  using home = temporaryFolder();
  await using ends = await bothEnds(home.path);
  const gone = once(ends.farEnd.socket, "close");
  process.kill(ends.session.pid, "SIGKILL");
  await gone;
  expect(await ends.answering()?.closed).toBe("the peer is gone");
}, 180_000);
