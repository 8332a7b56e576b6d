/**
 * A WebSocket (RFC 6455) as an operation sees it whose route is one (`socket` of `HttpRoute`): the surface makes the connection,
 * the operation says what becomes of its messages.
 */

import type { Grant } from "./rights";

/** The largest message that a client may send, in bytes; a connection with a larger one ends. */
export const MAX_MESSAGE_BYTES = 131_072;

/** How much may wait to be sent, in bytes: the connection of a client that reads less ends. */
export const MAX_UNSENT_BYTES = 4_194_304;

/** A connection that is open. */
export interface Socket {
  /** Sends a message: text, or bytes. What cannot go at once waits; nothing is sent once it is closed. */
  send(message: string | Uint8Array<ArrayBuffer>): void;
  /** How many bytes wait to be sent. */
  unsent(): number;
  /** Ends it, with a code and a reason for the client. Those that wait to be sent go first. */
  close(code: number, reason: string): void;
  /** Ends it at once. */
  terminate(): void;
  /** The client has proved who it is: the limit of connections without a token does not count it any longer. */
  accept(): void;
  /** The client has not proved who it is: that is on record as a refused request. */
  refuse(): void;
}

/** What becomes of a connection. None of these throws. */
export interface SocketHandlers {
  opened(socket: Socket): void;
  message(message: string | Uint8Array): void;
  /** The client has sent a ping, which is answered already. */
  pinged?(data: Uint8Array): void;
  /** Some of what waited to be sent has gone; called again until all has. */
  drained?(): void;
  /** The server is about to stop: it ends the connection in some seconds. */
  stopping(): void;
  /** Its token has ended: it closes the connection, whose client may want to know (default: that ends at once). */
  revoked?(): void;
  /** It has ended, whoever ended it. */
  closed(code: number): void;
}

/** What the `run` of such an operation returns. */
export class SocketAnswer {
  /** @param grant whose token the connection ends with, where the request has none (default: that of the request). */
  constructor(
    readonly handlers: SocketHandlers,
    readonly grant: Grant | null = null,
  ) {}
}
