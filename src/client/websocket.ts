/**
 * WebSockets to servers: the one of a link, and a stream of bytes inside one: a NATS connection in networks that let only HTTPS out, or
 * the live screen of a host.
 *
 * The promise: nothing is sent before the certificate has passed. Bun's own WebSocket cannot check a pin.
 */
import type { Socket } from "node:net";
import { Duplex } from "node:stream";
import driver from "websocket-driver";
import { printable } from "../lib/sanitize";
import { RemoteError, type RemoteServer } from "./carrier";
import { CLOSED, dial, dialError } from "./dial";
import { type Flow, readWebSocket } from "./handshake";

interface DialOptions {
  readonly protocols: readonly string[];
  /** The largest message that is taken, in bytes. */
  readonly maxLength: number;
  /** What was written has gone. */
  drained(): void;
  /** Called after each write. */
  written?(): void;
}

/**
 * Dials the http or https address `url` for a WebSocket.
 *
 * @returns its messages and the connection under them; the pin of the certificate once that has passed, undefined without TLS; and the
 *   HTTP status of a server that opens none; `flow`: of messages.
 */
export function dialWebSocket(
  url: URL,
  server: Pick<RemoteServer, "trust" | "identity">,
  { protocols, maxLength, drained, written = () => {} }: DialOptions,
) {
  const address = `${url.protocol === "https:" ? "wss" : "ws"}://${url.host}${url.pathname}`;
  const protocol = driver.client(address, { protocols: [...protocols], maxLength });
  let pin: string | undefined;
  let flow: Flow | undefined;
  const socket: Socket = dial(url, server, (found) => {
    pin = found;
    socket.setNoDelay(true);
    flow = readWebSocket(socket, protocol, maxLength);
    socket.on("drain", drained);
    protocol.start();
  });
  // Whatever it is: a message, or the answer to a ping.
  protocol.io.on("data", (frame: Buffer) => {
    if (socket.destroyed) return;
    socket.write(frame);
    written();
  });
  const refusal = () => {
    const { statusCode } = protocol;
    return statusCode !== undefined && statusCode !== 101 ? `HTTP ${statusCode}` : undefined;
  };
  return {
    protocol,
    socket,
    pin: () => pin,
    refusal,
    flow: { pause: () => flow?.pause(), resume: () => flow?.resume() } satisfies Flow,
  };
}

/** The largest message of a WebSocket, in bytes: a NATS server puts all that waits into one. */
const MAX_MESSAGE_BYTES = 64 * 1_048_576;

/** What is handed on in one turn, in bytes: who reads it may look at each byte. */
const PIECE_BYTES = 65_536;

/** How many pings are answered while the other end reads none of the answers. */
const MAX_PINGS = 1_000;

interface WebSocketOptions {
  /** The subprotocols to offer (default: none). */
  readonly protocols?: readonly string[];
  /** For it to open, in milliseconds. */
  readonly timeoutMs: number;
  /** What answers, for messages: `the NATS server`. */
  readonly what: string;
  /** The largest message that is taken, in bytes (default: {@link MAX_MESSAGE_BYTES}): so much of it is in memory until its end. */
  readonly maxLength?: number;
  /** Called with what the other side has closed it with. */
  readonly closed?: (code: number, reason: string) => void;
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
  { protocols = [], timeoutMs, what, maxLength = MAX_MESSAGE_BYTES, closed }: WebSocketOptions,
): Promise<Duplex> {
  const { promise, resolve, reject } = Promise.withResolvers<Duplex>();
  let reason = CLOSED;
  let isOpen = false;
  let hasEnded = false;
  let waiting: (() => void) | undefined;
  const drained = () => {
    waiting?.();
    waiting = undefined;
  };
  const limits = { protocols, maxLength, drained };
  const { protocol, socket, refusal, flow } = dialWebSocket(url, server, limits);
  const bytes = new Duplex({
    read: () => pieces.goOn(),
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
  const pieces = inPieces((piece) => bytes.push(piece), {
    ...flow,
    emptied() {
      if (hasEnded) socket.destroy();
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
  let pings = 0;
  protocol
    .on("ping", () => {
      pings = socket.writableNeedDrain ? pings + 1 : 0;
      if (pings > MAX_PINGS) fail(new RemoteError("unreachable", `${what} does not read`, false));
    })
    .on("open", () => {
      clearTimeout(late);
      isOpen = true;
      // Whoever reads it also listens for its error.
      flow.pause();
      resolve(bytes);
    })
    .on("message", ({ data }: { data: string | Buffer }) => {
      pieces.add(typeof data === "string" ? Buffer.from(data) : data);
    })
    .on("error", (error: Error) => {
      const refused = refusal();
      reason = refused ? `${what} opens no WebSocket: ${refused}` : error.message;
    })
    .on("close", (end: { code?: number; reason?: string } | undefined) => {
      if (isOpen && end?.reason) reason = printable(end.reason, 200);
      if (isOpen && end?.code !== undefined) closed?.(end.code, reason);
      hasEnded = true;
      if (pieces.isEmpty()) socket.destroy();
    });
  return promise;
}

/**
 * Hands messages on in pieces, one in a turn: a server may put 64 MiB into one. Further messages wait meanwhile.
 *
 * @param push returns whether it takes more; `goOn` says when, if not.
 */
function inPieces(push: (piece: Buffer) => boolean, { pause, resume, emptied }: Flow & { emptied(): void }) {
  const waiting: Buffer[] = [];
  let isDue = false;
  let isFull = false;
  const hand = () => {
    isDue = false;
    const [first] = waiting;
    if (!first || isFull) return;
    if (first.length > PIECE_BYTES) waiting[0] = first.subarray(PIECE_BYTES);
    else waiting.shift();
    isFull = !push(first.subarray(0, PIECE_BYTES));
    if (waiting.length > 0 || isFull) pause();
    if (waiting.length === 0) emptied();
    later();
  };
  const later = () => {
    if (isDue || isFull) return;
    if (waiting.length === 0) return resume();
    isDue = true;
    setImmediate(hand);
  };
  return {
    isEmpty: () => waiting.length === 0,
    add(message: Buffer): void {
      waiting.push(message);
      if (waiting.length === 1 && !isDue) hand();
    },
    goOn(): void {
      isFull = false;
      later();
    },
  };
}
