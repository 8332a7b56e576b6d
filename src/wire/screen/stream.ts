/** The stream of a viewer as a WebSocket: how a client names its ticket, and how it ends. */
import type { Duplex } from "node:stream";
import type { Socket } from "../../core/socket";
import type { Ending } from "./viewer";

/** The subprotocol of the stream. */
export const STREAM_PROTOCOL = "svc.rfb";

/** How a client offers its ticket, beside {@link STREAM_PROTOCOL} (RFC 6455 section 1.9). */
const TICKET_PREFIX = "ticket.";

/** The ticket among the subprotocols that a client offers; undefined where there is none. */
export function ticketIn(headers: Headers | undefined): string | undefined {
  const offered = (headers?.get("sec-websocket-protocol") ?? "").split(",").map((one) => one.trim());
  return offered.find((one) => one.startsWith(TICKET_PREFIX))?.slice(TICKET_PREFIX.length);
}

/** The subprotocols that a client offers with a ticket. */
export const offeredWith = (ticket: string): string[] => [STREAM_PROTOCOL, `${TICKET_PREFIX}${ticket}`];

/** Why a session of peers ends where the other side has closed the channel of its viewer, which says no more than that. */
export const CHANNEL_CLOSED = "the viewer has left";

/** The stream of a viewer at another host, as this process has it. */
export interface ScreenStream {
  readonly viewer: string;
  /** Its bytes (RFC 6143). Nothing is lost before it is read. */
  readonly bytes: Duplex;
  /** Resolves once it has ended, whoever ended it. */
  readonly ended: Promise<Ending>;
}

/** The longest reason of a close frame, in bytes (RFC 6455 section 5.5). */
const MAX_REASON = 120;

/** How long a client may take to end a connection that is closed, in milliseconds. */
const LAST_MS = 3_000;

/** Ends the connection of a viewer; at last also one that does not answer the close frame. */
export function closeSocket(socket: Socket | undefined, code: number, reason: string): void {
  socket?.close(code, closeReason(reason));
  setTimeout(() => socket?.terminate(), LAST_MS).unref();
}

/** How many bytes may wait for a client: while there are more, nothing further is read for it. */
const UNSENT_BYTES = 65_536;

/** Whether a viewer reads slower than its stream comes. */
export const isBehind = (socket: Socket | undefined): boolean => (socket?.unsent() ?? 0) > UNSENT_BYTES;

/** `text` as the reason of a close frame, which has little room. */
function closeReason(text: string): string {
  if (Buffer.byteLength(text) <= MAX_REASON) return text;
  return Buffer.from(text)
    .subarray(0, MAX_REASON)
    .toString("utf8")
    .replace(/\ufffd+$/, "");
}
