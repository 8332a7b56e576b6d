/**
 * The `files` channels that this side opened: each carries one file at a time.
 */
import type { PeerConnection } from "node-datachannel";
import { timedOut, unavailable } from "../../lib/errors";
import { type Extras, FILES_LABEL, parseMessage } from "./messages";
import { BUFFER_BYTES, FileSender, Window } from "./send";

/** How long the peer may take until it is ready for files, milliseconds. */
const READY_MS = 20_000;

/** @param extras what the peer supports; called when a channel opens. */
export function createFileChannels(peer: PeerConnection, extras: () => Extras) {
  const window = new Window();
  /** The channels that the peer is ready on, and whether each is busy. */
  const senders = new Map<FileSender, boolean>();
  let closed = false;

  const takeFree = async () => {
    const deadline = performance.now() + READY_MS;
    for (;;) {
      if (closed) throw unavailable("the session has ended");
      const [free] = [...senders].find(([, busy]) => !busy) ?? [];
      if (free) {
        senders.set(free, true);
        return free;
      }
      if (senders.size === 0 && performance.now() > deadline)
        throw timedOut("the peer does not accept files");
      await window.changed();
    }
  };

  return {
    open(): void {
      const data = peer.createDataChannel(FILES_LABEL);
      const outlet = {
        sendText: (text: string) => void data.sendMessage(text),
        sendBytes: (bytes: Uint8Array) => void data.sendMessageBinary(bytes),
        buffered: () => data.bufferedAmount(),
      };
      let sender: FileSender | undefined;
      const ready = () => {
        sender = new FileSender(outlet, { ...extras(), window });
        senders.set(sender, false);
        window.notify();
      };
      data.setBufferedAmountLowThreshold(BUFFER_BYTES / 2);
      data.onBufferedAmountLow(() => window.notify());
      data.onMessage((message) => {
        if (typeof message !== "string") return;
        if (sender) sender.text(message);
        else if (extras().acks && parseMessage(message)?.type === "file_ready") ready();
      });
      data.onOpen(() => {
        if (!extras().acks) ready();
      });
      data.onClosed(() => {
        if (sender) senders.delete(sender);
        sender?.close();
      });
    },
    /** Sends a file on the first free channel. @throws as {@link FileSender.send}; `timeout` when none gets ready. */
    async send(path: string, name: string, progress: (bytes: number) => void): Promise<void> {
      const sender = await takeFree();
      try {
        await sender.send(path, name, progress);
      } finally {
        if (senders.has(sender)) senders.set(sender, false);
        window.notify();
      }
    },
    /** Every send that waits for a channel fails. */
    close(): void {
      closed = true;
      window.notify();
    },
  };
}
