/**
 * A stream of bytes inside a WebSocket: a NATS connection in networks that let only HTTPS out, or the live screen of a host.
 *
 * The promise: nothing is sent before the certificate has passed. Bun's own WebSocket cannot check a pin.
 */
import { Duplex } from "node:stream";
import driver from "websocket-driver";
import { printable } from "../lib/sanitize";
import { RemoteError, type RemoteServer } from "./carrier";
import { CLOSED, dial, dialError } from "./dial";
import { readWebSocket } from "./handshake";

/** The largest message of a WebSocket, in bytes: a server puts all that waits into one. */
const MAX_MESSAGE_BYTES = 64 * 1_048_576;

export interface WebSocketOptions {
  /** The subprotocols to offer (default: none). */
  readonly protocols?: readonly string[];
  /** For it to open, in milliseconds. */
  readonly timeoutMs: number;
  /** What answers, for messages: `the NATS server`. */
  readonly what: string;
}

/**
 * Resolves with the bytes of a WebSocket to the http or https address `url`. The stream ends with a {@link RemoteError} that has
 * the reason which the other side gave, if it gave one.
 *
 * @throws a {@link RemoteError}.
 */
export function openWebSocket(
  url: URL,
  server: Pick<RemoteServer, "trust" | "identity">,
  { protocols = [], timeoutMs, what }: WebSocketOptions,
): Promise<Duplex> {
  const { promise, resolve, reject } = Promise.withResolvers<Duplex>();
  const address = `${url.protocol === "https:" ? "wss" : "ws"}://${url.host}${url.pathname}`;
  const protocol = driver.client(address, { protocols, maxLength: MAX_MESSAGE_BYTES });
  let reason = CLOSED;
  let isOpen = false;
  const socket = dial(url, server, () => {
    socket.setNoDelay(true);
    readWebSocket(socket, protocol);
    socket.on("drain", drained);
    protocol.start();
  });
  let waiting: (() => void) | undefined;
  const drained = () => {
    waiting?.();
    waiting = undefined;
  };
  const bytes = new Duplex({
    read: () => void socket.resume(),
    write(chunk: Buffer, _encoding, done) {
      protocol.binary(chunk);
      if (socket.writableNeedDrain) waiting = done;
      else done();
    },
    final(done) {
      protocol.close("", 1_000);
      done();
    },
    destroy(error, done) {
      drained();
      socket.destroy();
      done(error);
    },
  });
  const fail = (why: unknown) => {
    const error = why instanceof RemoteError ? why : new RemoteError("unreachable", dialError(why), false);
    clearTimeout(late);
    reject(error);
    bytes.destroy(isOpen ? error : undefined);
  };
  const late = setTimeout(
    () => fail(new RemoteError("timeout", `${what} does not answer`, false)),
    timeoutMs,
  );
  socket.on("error", fail).on("close", () => fail(new RemoteError("unreachable", reason, false)));
  protocol.io.on("data", (frame: Buffer) => {
    if (!socket.destroyed) socket.write(frame);
  });
  protocol
    .on("open", () => {
      clearTimeout(late);
      isOpen = true;
      resolve(bytes);
    })
    .on("message", ({ data }: { data: string | Buffer }) => {
      if (!bytes.push(typeof data === "string" ? Buffer.from(data) : data)) socket.pause();
    })
    .on("error", (error: Error) => {
      const { statusCode } = protocol;
      reason =
        statusCode !== undefined && statusCode !== 101
          ? `${what} opens no WebSocket: HTTP ${statusCode}`
          : error.message;
    })
    .on("close", (end: { reason?: string } | undefined) => {
      if (isOpen && end?.reason) reason = printable(end.reason, 200);
      socket.destroy();
    });
  return promise;
}
