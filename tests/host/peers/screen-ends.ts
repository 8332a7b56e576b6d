/**
 * What the tests of the data channel of a live screen need: local sockets as the desktop's child has them, the two ends of a channel
 * between them.
 */
import { once } from "node:events";
import { mkdirSync } from "node:fs";
import { createServer, type Socket } from "node:net";
import { join } from "node:path";
import type { IceConfig } from "../../../src/host/peers/ice";
import { createScreenPeers } from "../../../src/host/peers/screen-peers";
import { silentLog } from "../../../src/lib/log";
import { until } from "../../support";

export const KEY = "ab".repeat(32);

export const DIRECT: IceConfig = { servers: [], relayOnly: false };

/** A local socket; `joined` resolves with who connects, once it has sent the key. */
export async function listenAt(folder: string) {
  mkdirSync(folder, { mode: 0o700 });
  const path = join(folder, "s");
  const server = createServer({ pauseOnConnect: true });
  const connected = once(server, "connection") as Promise<[Socket]>;
  server.listen(path);
  await once(server, "listening");
  /** The connection, and all that came after the key. @throws where another key came. */
  const joined = async () => {
    const [socket] = await connected;
    const received: Buffer[] = [];
    socket.on("data", (bytes) => received.push(Buffer.from(bytes))).on("error", () => {});
    socket.resume();
    const all = () => Buffer.concat(received);
    await until("the key", () => all().length >= KEY.length);
    if (!all().toString("latin1").startsWith(KEY)) throw new Error("another key");
    return { socket, received: () => all().subarray(KEY.length) };
  };
  return { end: { path, key: KEY }, joined, close: () => server.close() };
}

/** A viewer's and a host's end of a data channel, each joined to a local socket. */
export async function bothEnds(home: string, ice = DIRECT) {
  const logged: string[] = [];
  const log = { ...silentLog, warn: (text: string) => void logged.push(text) };
  const make = () => createScreenPeers({ log, ice: () => ice });
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
