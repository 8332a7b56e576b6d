/**
 * The host's end of a link: a WebSocket to a server whose certificate has one of the given pins.
 */
import type { RemoteServer } from "../../client/carrier";
import { CLOSED, dialError } from "../../client/dial";
import { dialWebSocket } from "../../client/websocket";
import { MAX_MESSAGE_BYTES, MAX_UNSENT_BYTES } from "../../core/socket";
import { PROTOCOL, UNSENT_BYTES } from "./frames";

interface ClientHandlers {
  /** It is open. @param pin of the certificate; undefined without TLS. */
  opened(pin: string | undefined): void;
  message(message: string | Uint8Array): void;
  /** It has ended. @param code that the other end sent; 1006 (RFC 6455 section 7.1.5) where it sent none. */
  closed(code: number, reason: string): void;
}

/** How long the other end may take to answer a close frame, in milliseconds. */
const CLOSE_MS = 3_000;

/** The code of a connection that ended without a close frame. */
const BROKEN = 1_006;

/** A WebSocket of this process as a client. */
export interface ClientSocket {
  send(message: string | Uint8Array<ArrayBuffer>): void;
  /** Resolves when another piece may be sent. */
  ready(): Promise<void> | undefined;
  /** @param answered called when the other end has answered. */
  ping(data: string, answered: () => void): void;
  close(code: number, reason: string): void;
  terminate(why?: string): void;
}

/** Opens one. An error is reported to `closed`. */
export function openClientSocket(
  url: URL,
  server: Pick<RemoteServer, "trust">,
  handlers: ClientHandlers,
): ClientSocket {
  let end = { code: BROKEN, reason: CLOSED };
  let hasEnded = false;
  const finish = () => {
    if (hasEnded) return;
    hasEnded = true;
    handlers.closed(end.code, end.reason);
  };
  let waiting: Array<() => void> = [];
  const wake = () => {
    const woken = waiting;
    waiting = [];
    for (const resolve of woken) resolve();
  };
  const { protocol, socket, pin, refusal } = dialWebSocket(url, server, {
    protocols: [PROTOCOL],
    maxLength: MAX_MESSAGE_BYTES,
    drained: wake,
    written() {
      if (socket.writableLength > MAX_UNSENT_BYTES) terminate("the desk does not read");
    },
  });
  socket
    .on("error", (error) => {
      end = { code: BROKEN, reason: dialError(error) };
    })
    .on("close", () => {
      wake();
      finish();
    });
  protocol
    .on("open", () => handlers.opened(pin()))
    .on("message", ({ data }: { data: string | Buffer }) => handlers.message(data))
    .on("error", (error: Error) => {
      end = { code: BROKEN, reason: refusal() ?? error.message };
    })
    .on("close", ({ code, reason }: { code: number; reason: string }) => {
      if (end.reason === CLOSED) end = { code, reason };
      socket.end();
      setTimeout(() => socket.destroy(), CLOSE_MS).unref();
      finish();
    });
  const terminate = (why = CLOSED) => {
    if (end.reason === CLOSED) end = { code: BROKEN, reason: why };
    socket.destroy();
  };
  return {
    send(message) {
      if (hasEnded) return;
      if (typeof message === "string") protocol.text(message);
      else protocol.binary(Buffer.from(message.buffer, message.byteOffset, message.length));
    },
    ready() {
      if (hasEnded || socket.writableLength < UNSENT_BYTES) return undefined;
      const { promise, resolve } = Promise.withResolvers<void>();
      waiting.push(resolve);
      return promise;
    },
    ping(data, answered) {
      protocol.ping(data, answered);
    },
    close(code, reason) {
      protocol.close(reason, code);
      setTimeout(() => terminate(), CLOSE_MS).unref();
    },
    terminate,
  };
}
