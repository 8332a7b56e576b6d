/**
 * The `files` channels that this side opened: each carries one file at a time.
 */
import type { PeerConnection } from "node-datachannel";
import { timedOut, unavailable } from "../lib/errors";
import { FILES_LABEL, parseMessage } from "./messages";
import { BUFFER_BYTES, FileSender, Window } from "./send";

/** How long the peer may take until it is ready for files, milliseconds. */
const READY_MS = 20_000;

export class FileChannels {
  readonly #window = new Window();
  /** The channels that the peer is ready on, and whether each is busy. */
  readonly #senders = new Map<FileSender, boolean>();
  #closed = false;

  /** @param acks whether the peer acknowledges; called when a channel opens. */
  constructor(
    private readonly peer: PeerConnection,
    private readonly acks: () => boolean,
  ) {}

  open(): void {
    const data = this.peer.createDataChannel(FILES_LABEL);
    const outlet = {
      sendText: (text: string) => void data.sendMessage(text),
      sendBytes: (bytes: Uint8Array) => void data.sendMessageBinary(bytes),
      buffered: () => data.bufferedAmount(),
    };
    const window = this.#window;
    let sender: FileSender | undefined;
    const ready = () => {
      sender = new FileSender(outlet, { acks: this.acks(), window });
      this.#senders.set(sender, false);
      window.notify();
    };
    data.setBufferedAmountLowThreshold(BUFFER_BYTES / 2);
    data.onBufferedAmountLow(() => window.notify());
    data.onMessage((message) => {
      if (typeof message !== "string") return;
      if (sender) sender.text(message);
      else if (this.acks() && parseMessage(message)?.type === "file_ready") ready();
    });
    data.onOpen(() => {
      if (!this.acks()) ready();
    });
    data.onClosed(() => {
      if (sender) this.#senders.delete(sender);
      sender?.close();
    });
  }

  /** Sends a file on the first free channel. @throws as {@link FileSender.send}; `timeout` when none gets ready. */
  async send(path: string, name: string, progress: (bytes: number) => void): Promise<void> {
    const sender = await this.#take();
    try {
      await sender.send(path, name, progress);
    } finally {
      if (this.#senders.has(sender)) this.#senders.set(sender, false);
      this.#window.notify();
    }
  }

  /** Every send that waits for a channel fails. */
  close(): void {
    this.#closed = true;
    this.#window.notify();
  }

  async #take(): Promise<FileSender> {
    const deadline = performance.now() + READY_MS;
    for (;;) {
      if (this.#closed) throw unavailable("the session has ended");
      for (const [sender, busy] of this.#senders) {
        if (busy) continue;
        this.#senders.set(sender, true);
        return sender;
      }
      if (this.#senders.size === 0 && performance.now() > deadline)
        throw timedOut("the peer does not accept files");
      await this.#window.changed();
    }
  }
}
