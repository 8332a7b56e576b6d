/**
 * Streams of viewers at other hosts that go over this desk: a browser which gets no data channel to the host has them by a WebSocket.
 *
 * Promises. A stream waits for its browser for {@link TICKET_MS}, then it ends. Neither side makes this process hold much: while the
 * browser reads slower, the host's stream is not read, and the host skips pictures; a browser that sends faster than the host reads
 * is ended. How the host ends a viewer is how the WebSocket ends.
 */
import type { Caller } from "../../core/caller";
import { type Grant, shareOf } from "../../core/rights";
import { MAX_UNSENT_BYTES, type Socket, SocketAnswer, type SocketHandlers } from "../../core/socket";
import { sha256 } from "../../lib/checksum";
import { busy } from "../../lib/errors";
import { shortage } from "../../lib/quota";
import { closeSocket, isBehind, type ScreenStream } from "../../wire/screen/stream";
import { CLOSE } from "../../wire/screen/viewer";

/** How long a ticket is good, in milliseconds: the browser has it, and connects at once. */
const TICKET_MS = 15_000;

/** How many there are at once, those included that are being opened. Most need a process of this desk (`screen-peers.ts`). */
const RELAYED = { what: "viewers at other hosts over this desk", most: 16, times: 3 };

type RelayCaller = Pick<Caller, "grant" | "client">;

interface RelayedScreen extends RelayCaller {
  stream?: ScreenStream;
  timer?: Timer;
}

/** The streams that go over this desk. */
export interface ScreenRelays {
  /**
   * Opens a stream by `open`, and keeps it for who has the ticket and comes from the same address.
   *
   * @throws `too_many` while there are too many; what `open` throws.
   */
  open(
    caller: RelayCaller,
    open: () => Promise<ScreenStream>,
  ): Promise<{ readonly ticket: string; readonly viewer: string }>;
  /** Joins the stream of a ticket to a WebSocket; undefined for a ticket that is not good. */
  join(ticket: string, client: string | null): SocketAnswer | undefined;
  /** Ends those that nobody has joined; the others end with their connections. */
  stop(): void;
}

/** @param ticketMs how long a ticket is good, in milliseconds. */
export function createScreenRelays(ticketMs = TICKET_MS): ScreenRelays {
  const all = new Set<RelayedScreen>();
  /** Those that wait for their browser, by the digest of the ticket. */
  const waiting = new Map<string, RelayedScreen>();
  const forget = (digest: string, one: RelayedScreen) => {
    waiting.delete(digest);
    clearTimeout(one.timer);
  };
  return {
    async open({ grant, client }, open) {
      const users = Array.from(all, (one) => shareOf(one.grant));
      const full = shortage(RELAYED, users, shareOf(grant));
      if (full !== undefined) throw busy(full);
      const one: RelayedScreen = { grant, client };
      all.add(one);
      try {
        const stream = await open();
        one.stream = stream;
        stream.bytes.on("error", () => {}).once("close", () => all.delete(one));
        if (stream.bytes.destroyed) all.delete(one);
        const ticket = Buffer.from(crypto.getRandomValues(new Uint8Array(32))).toString("base64url");
        const digest = sha256(ticket);
        waiting.set(digest, one);
        one.timer = setTimeout(() => {
          forget(digest, one);
          stream.bytes.destroy();
        }, ticketMs);
        return { ticket, viewer: stream.viewer };
      } catch (error) {
        all.delete(one);
        throw error;
      }
    },
    join(ticket, client) {
      const digest = sha256(ticket);
      const one = waiting.get(digest);
      // Whoever has found one elsewhere does not use up that of its owner.
      if (!one?.stream || one.client !== client) return undefined;
      forget(digest, one);
      return joined(one.stream, one.grant);
    },
    stop() {
      for (const [digest, one] of waiting) {
        forget(digest, one);
        one.stream?.bytes.destroy();
      }
    },
  };
}

/** The handlers of the connection of a browser, which carries `stream`. */
function joined({ bytes, ended }: ScreenStream, grant: Grant): SocketAnswer {
  let socket: Socket | undefined;
  let hasClosed = false;
  const close = (code: number, reason: string) => {
    bytes.destroy();
    if (hasClosed) return;
    hasClosed = true;
    closeSocket(socket, code, reason);
  };
  const handlers: SocketHandlers = {
    opened(made) {
      socket = made;
      made.accept();
      void ended.then(({ code, reason }) => close(code, reason));
      bytes.on("data", (piece: Buffer<ArrayBuffer>) => {
        made.send(piece);
        if (isBehind(made)) bytes.pause();
      });
      // One that was paused explicitly stays so.
      bytes.resume();
    },
    message(message) {
      if (hasClosed) return;
      if (typeof message === "string") return close(CLOSE.misused, "expected bytes");
      if (bytes.writable) bytes.write(message);
      if (bytes.writableLength > MAX_UNSENT_BYTES) close(CLOSE.misused, "it sends more than the host takes");
    },
    drained() {
      // A part of it, perhaps: with more each time, too much would wait, and the connection would be ended.
      if (!isBehind(socket)) bytes.resume();
    },
    stopping: () => close(CLOSE.gone, "the server stops"),
    revoked: () => close(CLOSE.token, "its token has ended"),
    closed() {
      hasClosed = true;
      bytes.destroy();
    },
  };
  return new SocketAnswer(handlers, grant);
}
