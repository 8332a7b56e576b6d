/** A NATS server that does as a test says: it lets everybody in, and routes nothing by itself. */
import { type AddressInfo, createServer, type Socket } from "node:net";
import { Outbox } from "../../../src/wire/nats/wire";

/** What somebody has published. */
export interface Published {
  readonly subject: string;
  readonly reply: string | undefined;
  readonly data: Buffer;
}

export interface Peer {
  /** Says what a server says of itself, anew. */
  info(maxPayload: number): void;
  /** Sends a message to those of its subscriptions that `subject` matches. */
  send(subject: string, data: Uint8Array, reply?: string): void;
  /** Says that something is refused. */
  refuse(what: string): void;
  /** Ends the connection. */
  drop(): void;
}

/** Whether a subscription to `pattern`, with `*` for any part, gets what is sent to `subject`. */
function isIn(pattern: string, subject: string): boolean {
  const parts = subject.split(".");
  const wanted = pattern.split(".");
  return wanted.length === parts.length && wanted.every((part, nth) => part === "*" || part === parts[nth]);
}

/** @param published is called for each message. @param nonce what users sign. */
export async function startHostile(
  published: (message: Published, peer: Peer, nth: number) => void,
  nonce = "n",
): Promise<{ readonly server: { urls: string[] }; count(): number; open(): number } & AsyncDisposable> {
  const sockets = new Set<Socket>();
  let count = 0;
  const listener = createServer((socket) => {
    const nth = ++count;
    sockets.add(socket);
    socket.on("error", () => {}).on("close", () => sockets.delete(socket));
    const sids = new Map<string, string>();
    const peer: Peer = {
      info: (max_payload) =>
        socket.write(
          `INFO ${JSON.stringify({ server_id: "X", version: "2.9.10", proto: 1, headers: true, max_payload, nonce })}\r\n`,
        ),
      send(subject, data, reply = "") {
        const [, sid = "0"] = [...sids].find(([pattern]) => isIn(pattern, subject)) ?? [];
        socket.write(`MSG ${subject} ${sid} ${reply} ${data.length}\r\n`);
        socket.write(data);
        socket.write("\r\n");
      },
      refuse: (what) => socket.write(`-ERR 'Permissions Violation for Publish to "${what}"'\r\n`),
      drop: () => socket.destroy(),
    };
    peer.info(1_048_576);
    let rest = Buffer.alloc(0);
    socket.on("data", (bytes) => {
      rest = Buffer.concat([rest, bytes as Buffer]);
      for (let end = rest.indexOf("\r\n"); end >= 0; end = rest.indexOf("\r\n")) {
        const [verb, ...words] = rest.toString("latin1", 0, end).split(" ");
        let next = end + 2;
        if (verb === "PUB") {
          const length = Number(words.at(-1));
          if (rest.length < next + length + 2) return;
          const data = Buffer.from(rest.subarray(next, next + length));
          next += length + 2;
          published({ subject: words[0] ?? "", reply: words[2] && words[1], data }, peer, nth);
        }
        if (verb === "SUB") sids.set(words[0] ?? "", words.at(-1) ?? "");
        if (verb === "PING") socket.write("PONG\r\n");
        rest = rest.subarray(next);
      }
    });
  });
  await new Promise<void>((resolve) => listener.listen(0, "127.0.0.1", resolve));
  const { port } = listener.address() as AddressInfo;
  return {
    server: { urls: [`nats://127.0.0.1:${port}`] },
    count: () => count,
    /** How many connections are open. */
    open: () => sockets.size,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => listener.close(resolve));
    },
  };
}

/** A message of these frames, the first of a conversation. */
export function messageOf(session: string, frames: readonly object[]): Uint8Array {
  let made: Uint8Array = new Uint8Array();
  const outbox = new Outbox({
    session,
    publish(message) {
      made = message;
    },
  });
  for (const frame of frames) outbox.say(frame);
  outbox.close();
  return made;
}
