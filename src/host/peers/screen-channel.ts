/**
 * The data channel of a live screen: the bytes of one viewer, between the channel labelled `rfb` and a local socket. Only for a
 * session's process.
 *
 * Promises. It carries bytes and knows no RFB. What comes from the socket is not read while the channel is behind, so that who
 * draws skips pictures. What comes from the peer cannot be slowed down: a peer that sends more than is read ends its session.
 */
import { connect, type Socket } from "node:net";
import type { DataChannel } from "node-datachannel";
import { messageOf } from "../../lib/errors";
import { CHANNEL_CLOSED } from "../../wire/screen/stream";

/** The label of the channel. */
export const RFB_LABEL = "rfb";

/** The most bytes in one message: RFC 8831 section 6.6 wants small ones, and 256 KiB is more than browsers take. */
const MESSAGE_BYTES = 65_536;

/**
 * How many bytes may wait in the channel before the socket is not read any longer, and with how many it is read again; and those
 * in the SCTP layer below it. What waits here is old when it is seen: on a line of 10 Mbit/s, each 128 KiB are a tenth of a second.
 */
const HIGH_BYTES = 262_144;
const LOW_BYTES = 65_536;
export const SCTP_SEND_BYTES = 524_288;

/**
 * How much the peer may have sent that the socket has not taken, bytes. What a viewer sends is keys, and clipboards of a megabyte.
 * What a host sends is pictures: as many as are under way when a slow viewer stops reading (`Fence` bounds their number).
 */
export const MAX_UNREAD_BYTES = { host: 4_194_304, viewer: 67_108_864 } as const;

/** The local socket of a viewer; it may be opened before a process is confined, and used after. */
export interface LocalSocket {
  /**
   * Sends the key by which who listens knows the viewer: at once, as it is good for some seconds only.
   *
   * @throws why it is not open.
   */
  use(key: string): Socket;
}

/** What is used of a channel. */
export type Channel = Pick<
  DataChannel,
  | "sendMessageBinary"
  | "bufferedAmount"
  | "setBufferedAmountLowThreshold"
  | "onBufferedAmountLow"
  | "onMessage"
  | "onClosed"
  | "onOpen"
  | "isOpen"
  | "close"
>;

/** Connects to the local socket at `path`. Never throws: `use` does. */
export async function openLocalSocket(path: string): Promise<LocalSocket> {
  let fault: unknown;
  const socket = connect(path);
  socket.pause();
  await new Promise<void>((settled) => {
    socket.once("connect", settled);
    socket.once("error", (error) => {
      fault = error;
      settled();
    });
  });
  return {
    use(key) {
      if (fault) throw new Error(`the viewer's socket: ${messageOf(fault)}`);
      socket.setNoDelay(true);
      socket.write(key);
      return socket;
    },
  };
}

/**
 * Joins them until one ends. The socket is not read before the channel is open.
 *
 * @param maxUnread how much may wait for the socket, bytes.
 * @param ended is called once, with the reason.
 */
export function joinScreen(
  channel: Channel,
  socket: Socket,
  maxUnread: number,
  ended: (reason: string) => void,
): void {
  let isOver = false;
  const end = (reason: string) => {
    if (isOver) return;
    isOver = true;
    socket.destroy();
    channel.close();
    ended(reason);
  };
  const send = (bytes: Uint8Array) => {
    for (let at = 0; at < bytes.length; at += MESSAGE_BYTES)
      channel.sendMessageBinary(bytes.subarray(at, at + MESSAGE_BYTES));
    if (channel.bufferedAmount() > HIGH_BYTES) socket.pause();
  };
  const begin = () => void socket.resume();
  channel.setBufferedAmountLowThreshold(LOW_BYTES);
  channel.onBufferedAmountLow(() => {
    if (!isOver) socket.resume();
  });
  channel.onMessage((message) => {
    if (isOver) return;
    socket.write(typeof message === "string" ? message : new Uint8Array(message));
    if (socket.writableLength > maxUnread) end("the peer sends faster than its input is taken");
  });
  channel.onClosed(() => end(CHANNEL_CLOSED));
  socket.on("data", (bytes: Buffer) => {
    if (isOver) return;
    try {
      send(bytes);
    } catch (error) {
      // The peer, or the network, has closed it: which of them, is told in a moment.
      if (channel.isOpen()) end(`the channel took no more: ${messageOf(error)}`);
    }
  });
  socket.on("error", () => {});
  socket.on("close", () => end("the screen has ended this viewer"));
  if (channel.isOpen()) begin();
  else channel.onOpen(begin);
}
