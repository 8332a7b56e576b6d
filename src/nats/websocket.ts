/**
 * The bytes of a NATS connection inside a WebSocket: for networks that let only HTTPS out.
 *
 * The promise: nothing is sent before the certificate has passed. Bun's own WebSocket cannot check a pin.
 */
import { Duplex } from "node:stream";
import driver from "websocket-driver";
import { RemoteError, type Trust } from "../client/carrier";
import { CLOSED, dial, dialError } from "../client/dial";

/** The largest message of a WebSocket, in bytes: a server puts all that waits into one. */
const MAX_MESSAGE_BYTES = 64 * 1_048_576;

/**
 * Resolves with the bytes of a WebSocket to the server at `address` (host:port).
 *
 * @param timeoutMs for it to open.
 * @throws a {@link RemoteError}.
 */
export function openWebSocket(address: string, trust: Trust, timeoutMs: number): Promise<Duplex> {
  const { promise, resolve, reject } = Promise.withResolvers<Duplex>();
  const protocol = driver.client(`wss://${address}/`, { protocols: [], maxLength: MAX_MESSAGE_BYTES });
  let reason = CLOSED;
  let isOpen = false;
  const socket = dial(new URL(`https://${address}`), { trust }, () => {
    socket.setNoDelay(true);
    socket.on("data", (bytes: Buffer) => protocol.parse(bytes)).on("drain", drained);
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
    () => fail(new RemoteError("timeout", "the NATS server does not answer", false)),
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
          ? `no WebSocket of a NATS server: HTTP ${statusCode}`
          : error.message;
    })
    .on("close", () => socket.destroy());
  return promise;
}
