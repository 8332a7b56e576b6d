/**
 * The `files` channels that this side opened: each carries one file at a time.
 */
import type { PeerConnection } from "node-datachannel";
import { timedOut, unavailable } from "../lib/errors";
import { FILES_LABEL, parseMessage } from "./messages";
import { BUFFER_BYTES, FileSender, Window } from "./send";

/** How long the peer may take until it is ready for files, milliseconds. */
const READY_MS = 20_000;

interface Channel {
  /** Null until the peer is ready for files. */
  sender: FileSender | null;
  busy: boolean;
}

export class FileChannels {
  readonly #window = new Window();
  readonly #channels = new Set<Channel>();
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
    const channel: Channel = { sender: null, busy: false };
    const ready = () => {
      channel.sender = new FileSender(outlet, { acks: this.acks(), window });
      window.notify();
    };
    data.setBufferedAmountLowThreshold(BUFFER_BYTES / 2);
    data.onBufferedAmountLow(() => window.notify());
    data.onMessage((message) => {
      if (typeof message !== "string") return;
      if (this.acks() && !channel.sender && parseMessage(message)?.type === "file_ready") ready();
      else channel.sender?.text(message);
    });
    data.onOpen(() => {
      if (!this.acks()) ready();
    });
    data.onClosed(() => {
      channel.sender?.close();
      this.#channels.delete(channel);
      window.notify();
    });
    this.#channels.add(channel);
  }

  /** Sends a file on the first free channel. @throws as {@link FileSender.send}; `timeout` when none gets ready. */
  async send(path: string, name: string, progress: (bytes: number) => void): Promise<void> {
    const { channel, sender } = await this.#take();
    try {
      await sender.send(path, name, progress);
    } finally {
      channel.busy = false;
      this.#window.notify();
    }
  }

  /** Every send that waits for a channel fails. */
  close(): void {
    this.#closed = true;
    this.#window.notify();
  }

  async #take(): Promise<{ channel: Channel; sender: FileSender }> {
    const deadline = performance.now() + READY_MS;
    for (;;) {
      if (this.#closed) throw unavailable("the session has ended");
      const channels = [...this.#channels];
      for (const channel of channels) {
        if (channel.busy || !channel.sender) continue;
        channel.busy = true;
        return { channel, sender: channel.sender };
      }
      const isReady = channels.some(({ sender }) => sender !== null);
      if (!isReady && performance.now() > deadline) throw timedOut("the peer does not accept files");
      await this.#window.changed();
    }
  }
}
