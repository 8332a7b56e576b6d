/**
 * A connection to a server, for one request of HTTP/1.1 after the other.
 *
 * The promises: nothing is sent before the certificate has passed, and nothing that was received before counts.
 */
import { Socket } from "node:net";
import { RemoteError } from "./carrier";
import { CLOSED, dial, type TlsCheck } from "./dial";
import { type BytesReader, createReader, type Taker } from "./response";

/** What takes the response to a request. After `end` or `failed`, nothing more comes. */
export interface Receiver extends Taker {
  /** The connection is there: from here on, the request may arrive. */
  sent?(): void;
  /** All of the request is on its way. */
  written?(): void;
  /** @param error a {@link RemoteError} or a system error. */
  failed(error: unknown): void;
}

export interface Line {
  /** When it was dialled, by `performance.now()`. */
  readonly since: number;
  /** The pin that the certificate of the server had, where it must have one. */
  pin(): string | undefined;
  /** Whether it has brought a response before. */
  wasUsed(): boolean;
  /** Whether it takes another request. */
  isFree(): boolean;
  /** @param request as it goes out. */
  send(request: string, receiver: Receiver): void;
  /** Lets what comes wait. */
  pause(): void;
  resume(): void;
  /** Fails the request under way. */
  close(): void;
}

/** Dials the server at `url`. */
export function openLine(url: URL, server: TlsCheck): Line {
  let socket: Socket;
  let pin: string | undefined;
  let isReady = false;
  let isClosed = false;
  let wasUsed = false;
  let fault: unknown;
  let asked: { readonly request: string; readonly receiver: Receiver; reader: ResponseReader } | undefined;

  const write = () => {
    if (!isReady || !asked) return;
    const { request, receiver } = asked;
    receiver.sent?.();
    if (receiver.written) socket.write(request, () => receiver.written?.());
    else socket.write(request);
  };
  const closed = () => new RemoteError("unreachable", CLOSED, isReady);
  const close = (why?: unknown) => {
    const receiver = asked?.receiver;
    isClosed = true;
    asked = undefined;
    socket.destroy();
    receiver?.failed(why ?? closed());
  };
  const take = (bytes: Buffer) => {
    if (!asked) return close();
    const { reader } = asked;
    try {
      if (!reader.feed(bytes)) return;
    } catch (error) {
      return close(error);
    }
    asked = undefined;
    wasUsed = true;
    if (!reader.isKept() || reader.hasMore()) close();
  };
  const ended = () => {
    if (fault === undefined && asked?.reader.end()) asked = undefined;
    close(fault);
  };
  try {
    socket = dial(url, server, (found) => {
      pin = found;
      isReady = true;
      socket.on("data", take);
      write();
    });
  } catch {
    // TLS cannot start, because of `ca`.
    const error = new RemoteError("unreachable", "the ca to trust is no certificate", false);
    socket = new Socket().destroy(error);
  }
  socket
    .on("error", (error) => {
      fault = error;
    })
    .on("close", ended);

  return {
    since: performance.now(),
    pin: () => pin,
    wasUsed: () => wasUsed,
    isFree: () => isReady && !isClosed && asked === undefined,
    send(request, receiver) {
      asked = { request, receiver, reader: readerFor(receiver) };
      write();
    },
    pause: () => void socket.pause(),
    resume: () => void socket.resume(),
    close: () => close(),
  };
}

/** What takes the bytes of one response. */
interface ResponseReader extends BytesReader {
  /** Whether the server keeps the connection after it. */
  isKept(): boolean;
}

function readerFor(receiver: Receiver): ResponseReader {
  let isKept = false;
  const reader = createReader({
    ...receiver,
    head(head) {
      isKept = head.isKept;
      receiver.head(head);
    },
    data: (piece) => receiver.data(piece),
    end: () => receiver.end(),
  });
  return { ...reader, isKept: () => isKept };
}
