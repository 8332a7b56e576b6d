/**
 * The stream of a viewer over a WebSocket: bytes between the client and the desktop's child process, as they come.
 *
 * Neither side makes this process hold much: while the client reads slower, the child's end is not read, which the child notices and
 * skips pictures; a client that sends faster than the child reads is ended.
 */
import { connect, type Socket as LocalSocket } from "node:net";
import type { Grant } from "../../../core/rights";
import { MAX_UNSENT_BYTES, type Socket, SocketAnswer } from "../../../core/socket";
import { failureOf, messageOf } from "../../../lib/errors";
import { closeSocket, isBehind } from "../../../wire/screen/stream";
import { CLOSE } from "../../../wire/screen/viewer";
import type { AdmittedViewer } from "./admission";

/** How much a client may send before it is let in, and ahead of the child, in bytes. */
const MAX_EARLY_BYTES = 4_096;

interface Parts {
  /** Admits the viewer. Its stream does not exist yet. */
  admit(signal: AbortSignal): Promise<AdmittedViewer>;
  end(id: string, reason: string, code: number): Promise<unknown>;
  /** What the connection ends with. */
  readonly grant: Grant;
}

/** The handlers of one connection. */
export function viewerSocket({ admit, end, grant }: Parts): SocketAnswer {
  const gone = new AbortController();
  let socket: Socket | undefined;
  let local: LocalSocket | undefined;
  let id: string | undefined;
  let early: Uint8Array[] = [];
  let hasClosed = false;

  const close = (code: number, reason: string) => {
    if (hasClosed) return;
    hasClosed = true;
    closeSocket(socket, code, reason);
    local?.destroy();
  };
  /** Ends the viewer with it: its row has the reason. */
  const endWith = (code: number, reason: string) => {
    // First of all: the connection may be over as soon as it is closed, and would be the reason.
    if (id !== undefined) void end(id, reason, code);
    close(code, reason);
    gone.abort();
  };

  const relay = ({ path, key, closed, ...viewer }: AdmittedViewer) => {
    id = viewer.id;
    void closed.then(({ code, reason }) => close(code, reason));
    const made = connect({ path });
    local = made;
    made.setNoDelay?.();
    made.write(key);
    for (const bytes of early) made.write(bytes);
    early = [];
    made.on("data", (bytes: Buffer<ArrayBuffer>) => {
      socket?.send(bytes);
      if (isBehind(socket)) made.pause();
    });
    made.on("error", (error) => close(CLOSE.broken, messageOf(error)));
    // What the child says of the end, a moment later, has the reason.
    made.on("close", () => setTimeout(close, 500, CLOSE.broken, "the screen's stream has ended"));
  };

  const handlers = {
    opened(made: Socket) {
      socket = made;
      made.accept();
      admit(gone.signal).then(
        (admitted) => {
          if (hasClosed) void end(admitted.id, "its client has gone", CLOSE.gone);
          else relay(admitted);
        },
        (error) => {
          const code = Number(Object(Object(error).more).close ?? CLOSE.broken);
          close(code, failureOf(error)?.message ?? "internal error");
        },
      );
    },
    message(message: string | Uint8Array) {
      if (hasClosed) return;
      if (typeof message === "string") return endWith(CLOSE.misused, "expected bytes");
      if (local) {
        local.write(message);
        if (local.writableLength > MAX_UNSENT_BYTES)
          endWith(CLOSE.misused, "it sends more than the desktop takes");
        return;
      }
      // A client sends nothing before the server's greeting (RFC 6143, section 7.1.1).
      early.push(new Uint8Array(message));
      if (early.reduce((sum, { length }) => sum + length, 0) > MAX_EARLY_BYTES)
        endWith(CLOSE.misused, "it sends before the server has greeted");
    },
    drained() {
      // A part of it, perhaps: with more each time, too much would wait, and the connection would be ended.
      if (!isBehind(socket)) local?.resume();
    },
    stopping() {
      endWith(CLOSE.gone, "the server stops");
    },
    revoked() {
      endWith(CLOSE.token, "its token has ended");
    },
    closed() {
      hasClosed = true;
      local?.destroy();
      gone.abort();
      if (id !== undefined) void end(id, "its client has gone", CLOSE.gone);
    },
  };
  return new SocketAnswer(handlers, grant);
}
