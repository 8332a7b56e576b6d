/**
 * The `files` channels that this side opened: each carries one file at a time.
 */
import type { DataChannel, PeerConnection } from "node-datachannel";
import { timedOut, unavailable } from "../lib/errors";
import { FILES_LABEL, parseMessage } from "./messages";
import { BUFFER_BYTES, createFileSender, type FileSender } from "./send";
import { createWindow } from "./window";

/** How often it is looked whether a channel has become free, milliseconds; it is told, too. */
const LOOK_MS = 1_000;

/** How long the peer may take to listen for files, milliseconds. */
const LISTEN_MS = 20_000;

interface Lane {
  readonly channel: DataChannel;
  /** Null until the peer listens. */
  sender: FileSender | null;
  busy: boolean;
}

export interface Lanes {
  open(): void;
  /** Sends a file on the first channel that is free. @throws as {@link FileSender} does; `timeout` if none ever is. */
  send(path: string, name: string, progress: (bytes: number) => void): Promise<void>;
  /** What waits for a channel fails. */
  close(): void;
}

/** @param acks whether the peer acknowledges; asked when a channel opens. */
export function createLanes(peer: PeerConnection, acks: () => boolean): Lanes {
  const window = createWindow();
  const lanes = new Set<Lane>();
  let closed = false;

  const take = async (): Promise<{ lane: Lane; sender: FileSender }> => {
    const deadline = performance.now() + LISTEN_MS;
    for (;;) {
      if (closed) throw unavailable("the session is over");
      for (const lane of lanes) {
        if (lane.busy || !lane.sender) continue;
        lane.busy = true;
        return { lane, sender: lane.sender };
      }
      const listens = [...lanes].some(({ sender }) => sender !== null);
      if (!listens && performance.now() > deadline) throw timedOut("the peer does not listen for files");
      await window.changed(LOOK_MS);
    }
  };

  return {
    open() {
      const channel = peer.createDataChannel(FILES_LABEL);
      const outlet = {
        sendText: (text: string) => void channel.sendMessage(text),
        sendBytes: (bytes: Uint8Array) => void channel.sendMessageBinary(bytes),
        buffered: () => channel.bufferedAmount(),
      };
      const lane: Lane = { channel, sender: null, busy: false };
      const ready = () => {
        lane.sender = createFileSender(outlet, { acks: acks(), window });
        window.notify();
      };
      channel.setBufferedAmountLowThreshold(BUFFER_BYTES / 2);
      channel.onBufferedAmountLow(() => window.notify());
      channel.onMessage((message) => {
        if (typeof message !== "string") return;
        if (acks() && !lane.sender && parseMessage(message)?.type === "file_ready") ready();
        else lane.sender?.text(message);
      });
      channel.onOpen(() => {
        if (!acks()) ready();
      });
      channel.onClosed(() => {
        lane.sender?.close();
        lanes.delete(lane);
        window.notify();
      });
      lanes.add(lane);
    },
    async send(path, name, progress) {
      const { lane, sender } = await take();
      try {
        await sender.send(path, name, { progress });
      } finally {
        lane.busy = false;
        window.notify();
      }
    },
    close() {
      closed = true;
      window.notify();
    },
  };
}
