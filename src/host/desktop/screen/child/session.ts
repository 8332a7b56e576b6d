/**
 * One viewer: an RFB session (RFC 6143, and the extensions of rfbproto that noVNC and TigerVNC have) on a stream of bytes.
 *
 * Promise: a viewer that does not read, reads slowly, floods or sends garbage costs this session and no other: what waits to be
 * sent and what waits to be done are bounded, and no more is read while they are full.
 */
import type { Socket } from "node:net";
import { messageOf } from "../../../../lib/errors";
import type { ViewerStats } from "../calls";
import type { ViewerClipboard } from "./clipboard";
import { createGauge } from "./gauge";
import { createHandshake } from "./handshake";
import type { Input } from "./input";
import { OWN_FORMAT } from "./plain";
import type { Screen } from "./screen";
import { END_OF_CONTINUOUS_UPDATES, FENCE_REQUEST, fence, PSEUDO, serverInit } from "./server-messages";
import { Updates } from "./updates";
import { cutMessage, ProtocolError, ReceiveBuffer, type ViewerMessage } from "./viewer-messages";
import { formFor, type Wishes } from "./wishes";

/** With so many bytes on their way to the viewer, nothing is encoded for it, and nothing more read from it. */
const MAX_UNSENT = 1_024 * 1_024;
/** How long a viewer may take to shake hands, in milliseconds: some 20 s are normal for one that asks a person. */
const HANDSHAKE_MS = 60_000;

/** How long the messages of one viewer may take at a time, in milliseconds: then other viewers, and calls of the desktop, have their turn. */
const TURN_MS = 5;

/** What a person does. */
const ACTS: ReadonlySet<ViewerMessage["kind"]> = new Set(["key", "pointer", "cut"]);

/** What a session needs. */
interface SessionOptions {
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

export class Session {
  readonly #received = new ReceiveBuffer();
  readonly #gauge = createGauge();
  readonly #wishes: Wishes;
  readonly #handshake = createHandshake((bytes) => this.#send(bytes));
  readonly #updates: Updates;
  /** Ends one that shakes hands too slowly: it would keep the place of another viewer. */
  readonly #late: Timer;
  /** When the viewer last did something that counts. */
  #lastAct: number | null = null;
  #stage: "handshake" | "running" | "ended" = "handshake";
  #hasSaidContinuous = false;
  /** Whether the rest of what was received waits for the next turn. */
  #isResting = false;

  constructor(private readonly options: SessionOptions) {
    const { socket, screen, input, clipboard, handshakeMs = HANDSHAKE_MS } = options;
    const wanted = { known: new Set<number>(), format: OWN_FORMAT, hasControl: options.control };
    this.#wishes = { ...wanted, form: formFor(wanted), name: options.name };
    this.#updates = new Updates({
      screen,
      gauge: this.#gauge,
      wishes: this.#wishes,
      send: (bytes) => this.#send(bytes),
      hasRoom: () => socket.writableLength < MAX_UNSENT,
      clipboardChanged: clipboard.changed,
      fail: (reason) => void this.end(reason),
    });
    input.onRoom(() => this.#read());
    clipboard.onMessage((form) => {
      if (this.#stage === "running") this.#send(form(this.#knows(PSEUDO.extendedClipboard)));
    });
    socket.on("data", (chunk: Buffer) => this.take(chunk));
    socket.on("drain", () => {
      this.#read();
      this.#updates.go();
    });
    socket.on("error", () => {});
    socket.on("close", () => void this.end("its connection was closed"));
    const tooLate = `it did not shake hands within ${handshakeMs / 1_000} s`;
    this.#late = setTimeout(() => void this.end(tooLate), handshakeMs);
    this.#handshake.begin();
  }

  /** Takes bytes of the viewer: first, what came along with the key. */
  take(bytes: Uint8Array): void {
    this.#received.add(bytes);
    this.#read();
  }

  /** Resolves when what the viewer held is released. */
  async end(reason: string): Promise<void> {
    if (this.#stage === "ended") return;
    this.#stage = "ended";
    clearTimeout(this.#late);
    this.#updates.end();
    const { input, clipboard, socket } = this.options;
    const released = input.end();
    clipboard.end();
    socket.destroy();
    this.options.ended(reason);
    await released;
  }

  /** Resolves, when control ends, once all that the viewer held is released. */
  async control(on: boolean): Promise<void> {
    this.#wishes.hasControl = on;
    this.#lastAct = null;
    this.#chooseForm();
    this.#updates.go();
    this.options.clipboard.control(on);
    await this.options.input.control(on);
  }

  rename(text: string): void {
    this.#wishes.name = text;
    this.#updates.renamed();
  }

  /** The last second's figures. */
  stats(): Omit<ViewerStats, "id"> {
    const { screen, socket } = this.options;
    const { width, height } = screen.frame;
    if (this.#knows(PSEUDO.fence) && this.#gauge.outstanding() === 0) this.#send(this.#gauge.fence());
    const idle_s = this.#lastAct === null ? null : Math.round((performance.now() - this.#lastAct) / 1_000);
    return { ...this.#gauge.read(), width, height, unsent: socket.writableLength, idle_s };
  }

  #knows(encoding: number): boolean {
    return this.#wishes.known.has(encoding);
  }

  #send(bytes: Uint8Array): void {
    this.#gauge.sent(bytes.length);
    this.options.socket.write(bytes);
  }

  #isFull(): boolean {
    const { socket, input } = this.options;
    return socket.writableLength > MAX_UNSENT || input.isFull();
  }

  /** Reads on as far as there is room, and time. */
  #read(): void {
    if (this.#isResting) return;
    const until = performance.now() + TURN_MS;
    try {
      while (!this.#hasEnded() && !this.#isFull() && this.#step()) {
        if (performance.now() <= until) continue;
        this.#rest();
        break;
      }
    } catch (error) {
      const isForeign = error instanceof ProtocolError;
      void this.end(isForeign ? `it sent what it must not: ${error.message}` : messageOf(error));
    }
    if (this.#hasEnded()) return;
    const { socket } = this.options;
    if (this.#isResting || this.#isFull()) socket.pause();
    else if (socket.isPaused()) socket.resume();
  }

  #rest(): void {
    this.#isResting = true;
    setImmediate(() => {
      this.#isResting = false;
      if (!this.#hasEnded()) this.#read();
    });
  }

  #hasEnded(): boolean {
    return this.#stage === "ended";
  }

  /** Takes one message. @returns whether there was one. */
  #step(): boolean {
    const bytes = this.#received.peek();
    if (this.#stage === "handshake") {
      const length = this.#handshake.take(bytes);
      this.#received.drop(length);
      if (this.#handshake.isOver()) this.#start();
      return length > 0;
    }
    const cut = cutMessage(bytes);
    if ("more" in cut) return false;
    this.#received.drop(cut.length);
    this.#act(cut.message);
    return true;
  }

  #start(): void {
    clearTimeout(this.#late);
    this.#send(serverInit(this.options.screen.frame, this.#wishes.name));
    this.#stage = "running";
    this.#updates.begin();
  }

  #act(message: ViewerMessage) {
    const { screen, input, clipboard } = this.options;
    if (this.#wishes.hasControl && ACTS.has(message.kind)) this.#lastAct = performance.now();
    switch (message.kind) {
      case "format":
        this.#wishes.format = message.format;
        this.#chooseForm();
        return this.#updates.resend();
      case "encodings":
        return this.#takeEncodings(new Set(message.encodings));
      case "request":
        this.#updates.ask(message.incremental);
        break;
      case "continuous":
        this.#updates.setContinuous(message.on);
        if (!message.on) this.#send(END_OF_CONTINUOUS_UPDATES);
        break;
      case "fence":
        if (message.flags & FENCE_REQUEST) {
          // Each message is done before the next is looked at: that is what all flags ask for.
          this.#send(fence(message.flags & 7, message.payload));
        } else this.#gauge.answered(message.payload);
        break;
      case "resize":
        this.#updates.refuseSize();
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
    this.#updates.go();
  }

  #takeEncodings(known: ReadonlySet<number>): void {
    const before = this.#wishes.known;
    this.#wishes.known = known;
    this.#chooseForm();
    if (known.has(PSEUDO.extendedClipboard)) this.options.clipboard.offer();
    if (known.has(PSEUDO.fence) && !before.has(PSEUDO.fence)) this.#send(this.#gauge.fence());
    // What the first fence of a window of updates needs.
    if (known.has(PSEUDO.continuousUpdates) && known.has(PSEUDO.fence) && !this.#hasSaidContinuous) {
      this.#hasSaidContinuous = true;
      this.#send(END_OF_CONTINUOUS_UPDATES);
    }
    this.#updates.resendCursor();
    this.#updates.push();
  }

  #chooseForm(): void {
    const form = formFor(this.#wishes);
    if (form.hasPointer !== this.#wishes.form.hasPointer) this.#updates.pointerChanged();
    this.#wishes.form = form;
  }
}
