/**
 * One viewer: an RFB session (RFC 6143, and the extensions of rfbproto that noVNC and TigerVNC have) on a stream of bytes.
 *
 * Promise: a viewer that does not read, reads slowly, floods or sends garbage costs this session and no other: what waits to be
 * sent and what waits to be done are bounded, and no more is read while they are full.
 */
import type { Socket } from "node:net";
import { messageOf } from "../../../lib/errors";
import type { ViewerClipboard } from "./clipboard";
import { createGauge } from "./gauge";
import { createHandshake } from "./handshake";
import { cutMessage, type Incoming, Invalid, Unread } from "./incoming";
import type { Input } from "./input";
import { END_OF_CONTINUOUS_UPDATES, FENCE_REQUEST, fence, PSEUDO, serverInit } from "./outgoing";
import { OWN_FORMAT } from "./plain";
import type { Screen } from "./screen";
import { createUpdates } from "./updates";
import { formFor, type Wishes } from "./wishes";

/** With so many bytes on their way to the viewer, nothing is encoded for it, and nothing more read from it. */
const MAX_UNSENT = 1_024 * 1_024;
/** How long a viewer may take to shake hands, in milliseconds: some 20 s are normal for one that asks a person. */
const HANDSHAKE_MS = 60_000;

/** What a person does. */
const ACTS: ReadonlySet<Incoming["kind"]> = new Set(["key", "pointer", "cut"]);

export type Session = ReturnType<typeof createSession>;

export interface SessionOptions {
  readonly socket: Socket;
  readonly screen: Screen;
  readonly input: Input;
  readonly clipboard: ViewerClipboard;
  readonly name: string;
  /** Whether the viewer controls from the start. */
  readonly control: boolean;
  /** For tests. */
  readonly handshakeMs?: number;
  /** Called once. */
  readonly ended: (reason: string) => void;
}

export function createSession(options: SessionOptions) {
  const { socket, screen, input, clipboard, handshakeMs = HANDSHAKE_MS } = options;
  const unread = new Unread();
  const gauge = createGauge();
  const wanted = { known: new Set<number>(), format: OWN_FORMAT, hasControl: options.control };
  const wishes: Wishes = { ...wanted, form: formFor(wanted), name: options.name };
  /** When the viewer last did something that counts. */
  let lastAct: number | null = null;
  let stage: "handshake" | "running" | "ended" = "handshake";
  let hasSaidContinuous = false;

  const send = (bytes: Uint8Array) => {
    gauge.sent(bytes.length);
    socket.write(bytes);
  };
  /** Resolves when what the viewer held is released. */
  const end = async (reason: string) => {
    if (stage === "ended") return;
    stage = "ended";
    clearTimeout(late);
    updates.end();
    const released = input.end();
    clipboard.end();
    socket.destroy();
    options.ended(reason);
    await released;
  };

  const isFull = () => socket.writableLength > MAX_UNSENT || input.isFull();
  /** Reads on as far as there is room. */
  const read = () => {
    try {
      while (stage !== "ended" && !isFull() && step()) {}
    } catch (error) {
      void end(error instanceof Invalid ? `it sent what it must not: ${error.message}` : messageOf(error));
    }
    if (stage === "ended") return;
    if (isFull()) socket.pause();
    else if (socket.isPaused()) socket.resume();
  };
  input.onRoom(read);
  clipboard.onMessage((form) => {
    if (stage === "running") send(form(wishes.known.has(PSEUDO.extendedClipboard)));
  });
  const handshake = createHandshake(send);
  const updates = createUpdates({
    ...{ screen, gauge, wishes, send },
    hasRoom: () => socket.writableLength < MAX_UNSENT,
    clipboardChanged: clipboard.changed,
    fail: (reason) => void end(reason),
  });

  /** Takes one message. @returns whether there was one. */
  const step = (): boolean => {
    const bytes = unread.peek();
    if (stage === "handshake") {
      const length = handshake.take(bytes);
      unread.drop(length);
      if (handshake.isOver()) start();
      return length > 0;
    }
    const cut = cutMessage(bytes);
    if ("more" in cut) return false;
    unread.drop(cut.length);
    take(cut.message);
    return true;
  };
  const start = () => {
    clearTimeout(late);
    send(serverInit(screen.frame, wishes.name));
    stage = "running";
    updates.begin();
  };

  const take = (message: Incoming) => {
    if (wishes.hasControl && ACTS.has(message.kind)) lastAct = performance.now();
    switch (message.kind) {
      case "format":
        wishes.format = message.format;
        choose();
        return updates.resend();
      case "encodings":
        return takeEncodings(new Set(message.encodings));
      case "request":
        updates.ask(message.incremental);
        break;
      case "continuous":
        updates.setContinuous(message.on);
        if (!message.on) send(END_OF_CONTINUOUS_UPDATES);
        break;
      case "fence":
        if (message.flags & FENCE_REQUEST) {
          // Each message is done before the next is looked at: that is what all flags ask for.
          send(fence(message.flags & 7, message.payload));
        } else gauge.answered(message.payload);
        break;
      case "resize":
        updates.refuseSize();
        break;
      case "key":
      case "pointer":
        return input.take(message, screen.pointAt);
      case "cut":
        return clipboard.given(message.text);
      case "extended cut":
        return clipboard.take(message.flags, message.data);
      default:
    }
    updates.go();
  };

  const takeEncodings = (known: ReadonlySet<number>) => {
    const before = wishes.known;
    wishes.known = known;
    choose();
    if (known.has(PSEUDO.extendedClipboard)) clipboard.offer();
    if (known.has(PSEUDO.fence) && !before.has(PSEUDO.fence)) send(gauge.fence());
    // What the first fence of a window of updates needs.
    if (known.has(PSEUDO.continuousUpdates) && known.has(PSEUDO.fence) && !hasSaidContinuous) {
      hasSaidContinuous = true;
      send(END_OF_CONTINUOUS_UPDATES);
    }
    updates.resendCursor();
    updates.push();
  };
  const choose = () => {
    const form = formFor(wishes);
    if (form.hasPointer !== wishes.form.hasPointer) updates.pointerChanged();
    wishes.form = form;
  };

  socket.on("data", (chunk: Buffer) => {
    unread.add(chunk);
    read();
  });
  socket.on("drain", () => {
    read();
    updates.go();
  });
  socket.on("error", () => {});
  socket.on("close", () => void end("its connection was closed"));
  // It would keep the place of another viewer.
  const tooLate = `it did not shake hands within ${handshakeMs / 1_000} s`;
  const late = setTimeout(() => void end(tooLate), handshakeMs);
  handshake.begin();

  return {
    end,
    /** Begins with what came along with the key. */
    begin(rest: Uint8Array) {
      unread.add(rest);
      read();
    },
    /** Resolves, when control ends, once all that the viewer held is released. */
    async control(on: boolean): Promise<void> {
      wishes.hasControl = on;
      lastAct = null;
      choose();
      updates.go();
      clipboard.control(on);
      await input.control(on);
    },
    rename(text: string) {
      wishes.name = text;
      updates.renamed();
    },
    /** The last second's figures. */
    stats() {
      const { width, height } = screen.frame;
      if (wishes.known.has(PSEUDO.fence) && gauge.outstanding() === 0) send(gauge.fence());
      const idle_s = lastAct === null ? null : Math.round((performance.now() - lastAct) / 1_000);
      return { ...gauge.read(), width, height, unsent: socket.writableLength, idle_s };
    },
  };
}
