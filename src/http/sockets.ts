/**
 * WebSockets: a request whose operation answers with a {@link SocketAnswer} becomes a connection that stays.
 *
 * Promises. A connection outlives an exchange of the certificate. It ends with the token that it was opened with, when its client
 * neither reads nor answers, and when the server stops, after some seconds in which its feature can say so. Nothing is compressed: a
 * connection costs a tenth of the memory.
 */
import { MAX_MESSAGE_BYTES, MAX_UNSENT_BYTES, type Socket, type SocketAnswer } from "../core/socket";
import { badInput, Failure } from "../lib/errors";
import type { Exchange } from "./exchange";
import { failureResponse } from "./responses";

/** Seconds of silence after which a connection is closed; Bun sends a ping before. */
const IDLE_S = 120;

/** What a connection has besides its handlers. */
interface Connection {
  readonly answer: SocketAnswer;
  readonly open: Set<Connection>;
  readonly accept: () => void;
  readonly refuse: () => void;
  /** Aborted when it has to end. */
  readonly signal: AbortSignal | undefined;
  readonly ended: () => void;
  end?: () => void;
  aborted?: () => void;
  /** Whether its close was noticed. */
  hasEnded: boolean;
}

/** What Bun.serve needs for connections; the same for all. */
export const SOCKETS: Bun.WebSocketHandler<Connection> = {
  perMessageDeflate: false,
  maxPayloadLength: MAX_MESSAGE_BYTES,
  backpressureLimit: MAX_UNSENT_BYTES,
  closeOnBackpressureLimit: true,
  idleTimeout: IDLE_S,
  open(ws) {
    const { answer, open, signal } = ws.data;
    open.add(ws.data);
    ws.data.end = () => ws.terminate();
    ws.data.aborted = () => {
      // Other reasons are those of the server itself.
      if (signal?.reason instanceof Failure && answer.handlers.revoked) answer.handlers.revoked();
      else ws.terminate();
    };
    signal?.addEventListener("abort", ws.data.aborted);
    if (signal?.aborted) ws.terminate();
    else answer.handlers.opened(new OpenSocket(ws));
  },
  message: (ws, message) => ws.data.answer.handlers.message(message),
  ping: (ws, data) => ws.data.answer.handlers.pinged?.(data),
  drain: (ws) => ws.data.answer.handlers.drained?.(),
  close(ws, code) {
    const { data } = ws;
    if (data.hasEnded) return;
    data.hasEnded = true;
    data.open.delete(data);
    if (data.aborted) data.signal?.removeEventListener("abort", data.aborted);
    data.ended();
    data.answer.handlers.closed(code);
  },
};

/** A class, as there may be many thousands. */
class OpenSocket implements Socket {
  constructor(private readonly ws: Bun.ServerWebSocket<Connection>) {}

  send(message: string | Uint8Array<ArrayBuffer>): void {
    if (this.ws.readyState === WebSocket.OPEN) this.ws.send(message);
  }

  unsent(): number {
    return this.ws.getBufferedAmount();
  }

  close(code: number, reason: string): void {
    this.ws.close(code, reason);
  }

  terminate(): void {
    this.ws.terminate();
  }

  accept(): void {
    this.ws.data.accept();
  }

  refuse(): void {
    this.ws.data.refuse();
  }
}

/** The connections of a server. */
export interface OpenSockets {
  /**
   * Makes the connection of a request.
   *
   * @param about what to do once the client has proved who it is, or has failed to.
   * @returns the answer, which Bun has sent; a refusal where the request does not ask for the subprotocol.
   */
  upgrade(
    exchange: Exchange,
    answer: SocketAnswer,
    protocol: string,
    about: Pick<Connection, "accept" | "refuse" | "signal" | "ended">,
  ): Response;
  /** Notifies the features of open sockets that the server stops. */
  stopping(): void;
  endAll(): void;
}

export function createSockets(): OpenSockets {
  const open = new Set<Connection>();
  return {
    upgrade({ request, server, link }, answer, protocol, about) {
      const { headers } = request.raw;
      const offered = (headers.get("sec-websocket-protocol") ?? "").split(",").map((one) => one.trim());
      if (link || headers.get("upgrade")?.toLowerCase() !== "websocket" || !offered.includes(protocol)) {
        about.ended();
        return failureResponse(badInput(`expected a WebSocket with the subprotocol ${protocol}`));
      }
      const data: Connection = { ...about, answer, open, hasEnded: false };
      const isMade = server.upgrade(request.raw, { data, headers: { "sec-websocket-protocol": protocol } });
      if (isMade) return new Response(null, { status: 101 });
      about.ended();
      return failureResponse(badInput("expected a WebSocket of version 13"));
    },
    stopping() {
      for (const { answer } of open) answer.handlers.stopping();
    },
    endAll() {
      for (const { end } of open) end?.();
    },
  };
}
