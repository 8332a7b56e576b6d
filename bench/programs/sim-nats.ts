/**
 * Simulated hosts behind a NATS server, each over a connection of its own or all over one. They speak the protocol of NATS
 * themselves: a client library for each would take more memory than all the rest.
 */
import type { Socket } from "bun";
import { pieceFrame } from "../../src/wire/link/frames";
import { nkey } from "../../src/wire/nats/nkeys";
import { decode, Outbox, subjectsOf } from "../../src/wire/nats/wire";
import type { SimulatedHost } from "./sim-host";

/** How many are connecting at once. */
const CONNECTING = 64;

/** Who a connection is, and the hosts that it stands for, by their NKeys. */
export interface NatsUser {
  readonly seed: string;
  readonly jwt?: string | undefined;
  readonly hosts: ReadonlyMap<string, SimulatedHost>;
  /** The server that it connects to. */
  readonly where: Where;
}

/** Where the server is. */
export interface Where {
  readonly hostname: string;
  readonly port: number;
}

/** Connects all of them until the scope ends. */
export function connectHosts(users: readonly NatsUser[]) {
  const sockets: Array<Socket<undefined>> = [];
  const ended = new Map<string, number>();
  let up = 0;
  const waiting = [...users];
  const work = async () => {
    for (let user = waiting.pop(); user; user = waiting.pop()) {
      const connection = connectOne(user);
      const lost = (error: unknown) => {
        const reason = String(error);
        ended.set(reason, (ended.get(reason) ?? 0) + 1);
      };
      try {
        sockets.push(await connection.up);
        up++;
        connection.lost.catch((error) => {
          up--;
          lost(error);
        });
      } catch (error) {
        lost(error);
      }
    }
  };
  for (let nth = 0; nth < CONNECTING; nth++) void work();
  return {
    up: () => up,
    ended,
    [Symbol.dispose]() {
      for (const socket of sockets) socket.terminate();
    },
  };
}

const SESSION = "5".repeat(16);

function connectOne({ seed, jwt, hosts, where }: NatsUser) {
  const up = Promise.withResolvers<Socket<undefined>>();
  const lost = Promise.withResolvers<never>();
  lost.promise.catch(() => {});
  const key = nkey(seed);
  const bySubject = new Map(Array.from(hosts, ([id, host]) => [subjectsOf(id).ask, host]));
  let unread: Buffer = Buffer.alloc(0);
  let unsent: Uint8Array[] = [];
  let problem = "closed";

  const flush = (socket: Socket<undefined>) => {
    if (unsent.length === 0) return;
    const bytes = Buffer.concat(unsent);
    const written = Math.max(0, socket.write(bytes));
    unsent = written < bytes.length ? [bytes.subarray(written)] : [];
  };
  const send = (socket: Socket<undefined>, ...parts: ReadonlyArray<string | Uint8Array>) => {
    if (unsent.length === 0) setImmediate(() => flush(socket));
    for (const part of parts) unsent.push(typeof part === "string" ? Buffer.from(part) : part);
  };
  let isGreeted = false;
  const greeted = (socket: Socket<undefined>, info: string) => {
    // A server says again what it is when that changes.
    if (isGreeted) return;
    isGreeted = true;
    const { nonce = "" } = JSON.parse(info) as { nonce?: string };
    const sig = key.sign(Buffer.from(nonce)).toString("base64url");
    const about = { verbose: false, pedantic: false, protocol: 1, headers: true, no_responders: true };
    const subs = Array.from(bySubject.keys(), (subject, nth) => `SUB ${subject} ${nth + 1}\r\n`);
    const who = { ...about, jwt, nkey: key.id, sig, lang: "sim", version: "1" };
    send(socket, `CONNECT ${JSON.stringify(who)}\r\n`, ...subs, "PING\r\n");
  };
  const take = async (socket: Socket<undefined>, subject: string, reply: string, bytes: Uint8Array) => {
    const host = bySubject.get(subject);
    const frames = decode(bytes)?.frames ?? [];
    const text = frames.find((frame) => typeof frame === "string" && frame.includes('"t":"ask"'));
    if (!host || typeof text !== "string") return;
    const { method, path } = JSON.parse(text) as { method: string; path: string };
    const body = Buffer.concat(
      frames.filter((frame) => typeof frame !== "string").map((frame) => frame.subarray(4)),
    );
    const { status, body: answer } = await host.answer(method, path, body.toString());
    const outbox = new Outbox({
      session: SESSION,
      publish: (message) => send(socket, `PUB ${reply} ${message.length}\r\n`, message, "\r\n"),
    });
    outbox.say({ t: "head", id: 0, status, type: "application/json" });
    outbox.send(pieceFrame(0, Buffer.from(JSON.stringify(answer))));
    outbox.say({ t: "end", id: 0 });
    outbox.close();
  };
  const heard = (socket: Socket<undefined>, chunk: Buffer) => {
    unread = unread.length === 0 ? chunk : Buffer.concat([unread, chunk]);
    let at = 0;
    for (let end = unread.indexOf("\r\n", at); end >= 0; end = unread.indexOf("\r\n", at)) {
      const line = unread.toString("latin1", at, end);
      if (line.startsWith("MSG ")) {
        const parts = line.split(" ");
        const start = end + 2;
        const stop = start + Number(parts.at(-1));
        if (unread.length < stop + 2) break;
        void take(socket, parts[1] ?? "", parts[3] ?? "", Buffer.from(unread.subarray(start, stop)));
        at = stop + 2;
        continue;
      }
      at = end + 2;
      if (line.startsWith("INFO ")) greeted(socket, line.slice(5));
      else if (line === "PING") send(socket, "PONG\r\n");
      else if (line === "PONG") up.resolve(socket);
      else if (line.startsWith("-ERR")) problem = line;
    }
    unread = unread.subarray(at);
    // A view of a large chunk would keep all of it.
    if (unread.length > 0) unread = Buffer.from(unread);
  };

  const fail = (reason: unknown) => {
    up.reject(reason);
    lost.reject(reason);
  };
  Bun.connect({
    ...where,
    socket: { data: heard, drain: flush, error: (_socket, error) => fail(error), close: () => fail(problem) },
  }).catch(fail);
  return { up: up.promise, lost: lost.promise };
}
