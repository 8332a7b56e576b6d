/**
 * The process of one peer session: the native WebRTC library (libdatachannel), the connection, and the file transfers.
 *
 * Each session has a process of its own: the library aborts its process when an invariant is broken, and two busy
 * connections in one process stall each other (usrsctp). So a hostile peer costs its own session only.
 */
import type { Socket } from "node:net";
import type { DataChannel, PeerConnection } from "node-datachannel";
import type * as v from "valibot";
import type { SESSION } from "../../core/answer-schemas";
import { serveParent } from "../../lib/child";
import { confine } from "../../lib/confine";
import { messageOf } from "../../lib/errors";
import { CHANNEL_CLOSED } from "../../wire/screen/stream";
import { createConnection, describe, leaveHandshake, loadLibrary, routeOf, takeRemote } from "./connection";
import { createFileChannels } from "./file-channels";
import type { IceConfig } from "./ice";
import { type Inbox, type InboxPlace, openInbox } from "./inbox";
import { type Extras, FILES_LABEL, type FileMessage } from "./messages";
import { FileReceiver } from "./receive";
import {
  joinScreen,
  type LocalSocket,
  MAX_UNREAD_BYTES,
  openLocalSocket,
  RFB_LABEL,
  SCTP_SEND_BYTES,
} from "./screen-channel";

/** How many channels a peer with acknowledgements gets; any other gets one, as in the wire format. */
const CHANNELS = 4;

/** How many channels a peer may open. */
const MAX_PEER_CHANNELS = 16;

/**
 * How long after its answer the answering side starts to look for the caller, milliseconds: by then, the caller has usually
 * found this side.
 */
const CALLER_READY_MS = 750;

/** How often the counters of the link are read, milliseconds. */
const STATS_MS = 1_000;

/**
 * The memory at which a session ends, bytes, and after how many messages it is checked. When a peer does not wait for
 * acknowledgements and sends faster than the disk writes, the library buffers without limit, and no timer gets to run.
 */
const MAX_MEMORY = 512 * 1_048_576;
const MEMORY_MESSAGES = 64;

/** Why a session has ended whose connection is gone. */
const PEER_GONE = "the peer is gone";

/** How long after the connection of a screen is gone its channel may still say that the peer closed it, milliseconds. */
const PARTING_MS = 300;

/** How long the last message to the peer takes to leave, milliseconds. */
const GOODBYE_MS = 100;

/**
 * For a peer that does not acknowledge: the buffer of the SCTP layer, bytes, and how long the connection stays open after the
 * last of them, which is what a slow line (200 kbit/s) needs.
 */
const UNACKNOWLEDGED_BYTES = 65_536;
const LINGER_MS = 3_000;

/** The state of a link; its counters only grow during a connection. */
export type LinkState = Pick<
  v.InferOutput<typeof SESSION>,
  "rtt_ms" | "bytes_sent" | "bytes_received" | "route"
>;

/** What the process of a session reports. */
export interface SessionEvents {
  open(): void;
  closed(reason: string): void;
  stats(link: LinkState): void;
  /** How many bytes of a file were sent. */
  progress(transfer: number, bytes: number): void;
  /** A file of the peer is in the inbox. */
  received(): void;
  trouble(text: string): void;
  /** It runs with less of a sandbox than there should be. */
  unconfined(missing: string): void;
}

/** What the process of a session does. Callers must call one of the offers or answers once, before `accept` and `send`. */
export interface SessionCalls {
  /** Loads the library. @returns its version, and what the sandbox of this process lacks; null when it lacks nothing. */
  probe(): Promise<{ readonly version: string; readonly missing: string | null }>;
  /** Makes an offer. @returns its SDP. */
  offer(ice: IceConfig): Promise<string>;
  /** Accepts an offer. @returns the SDP of the answer. */
  answer(ice: IceConfig, sdp: string, inbox: InboxPlace, extras: Extras): Promise<string>;
  /** As `offer` and `answer`, for the channel of a live screen. @param key what the local socket wants to get first. */
  offerScreen(ice: IceConfig, key: string): Promise<string>;
  answerScreen(ice: IceConfig, sdp: string, key: string, isSvc: boolean): Promise<string>;
  accept(sdp: string, extras: Extras): Promise<void>;
  /** Sends a file; resolves when the peer has it. */
  send(transfer: number, path: string, name: string): Promise<void>;
  close(): Promise<void>;
}

export default async function sessionChild(args: readonly string[]): Promise<void> {
  let screen: LocalSocket | undefined;
  const missing = await confine("session-child", args, loadLibrary, async ([path]) => {
    if (path !== undefined) screen = await openLocalSocket(path);
  });
  await serveParent(
    (owner: SessionEvents) => createCalls(owner, missing, screen),
    ({ close }) => close(),
  );
}

/**
 * @param missing what the sandbox of this process lacks; null when it lacks nothing.
 * @param screen the local socket of a viewer of the live screen, where the session is for one.
 */
function createCalls(
  owner: SessionEvents,
  missing: string | null,
  screen: LocalSocket | undefined,
): SessionCalls {
  let session: ConnectedSession | undefined;
  const begin = async (ice: IceConfig) => {
    if (missing !== null) owner.unconfined(missing);
    if (screen) (await loadLibrary()).setSctpSettings({ sendBufferSize: SCTP_SEND_BYTES });
    session = createSession(await createConnection(ice), owner);
    return session;
  };
  /** @throws why there is no socket. */
  const socket = (key: string) => {
    if (!screen) throw new Error("this session is not for a screen");
    return screen.use(key);
  };
  return {
    probe: async () => ({ version: (await loadLibrary()).getLibraryVersion(), missing }),
    offer: async (ice) => (await begin(ice)).offer(),
    answer: async (ice, sdp, inbox, extras) => (await begin(ice)).answer(sdp, inbox, extras),
    offerScreen: async (ice, key) => (await begin(ice)).offerScreen(socket(key)),
    answerScreen: async (ice, sdp, key, isSvc) => (await begin(ice)).answerScreen(sdp, socket(key), isSvc),
    accept: async (sdp, extras) => session?.accept(sdp, extras),
    send: async (transfer, path, name) => session?.send(transfer, path, name),
    close: async () => session?.close(),
  };
}

/** Ends the process when it uses too much memory; the log of the parent has the reason. */
function requireMemory(reason: string): void {
  if (process.memoryUsage.rss() <= MAX_MEMORY) return;
  console.error(reason);
  process.exit(1);
}

/** One connection, and what it carries. */
interface ConnectedSession extends Pick<SessionCalls, "accept" | "send" | "close"> {
  offer(): Promise<string>;
  offerScreen(socket: Socket): Promise<string>;
  answerScreen(sdp: string, socket: Socket, isSvc: boolean): Promise<string>;
  answer(sdp: string, place: InboxPlace, agreed: Extras): Promise<string>;
}

function createSession(peer: PeerConnection, owner: SessionEvents): ConnectedSession {
  const channels = createFileChannels(peer, () => extras);
  let peerChannels = 0;
  let isScreen = false;
  let extras: Extras = { acks: false, blocks: false };
  let sentUnacknowledged = false;
  let closing = false;

  /** Whether the network has ended it, which ends its channels too. It may be asked before the word of that has come. */
  let wasCut = false;
  const noteState = (state: string) => {
    wasCut ||= state === "disconnected" || state === "failed";
    return wasCut;
  };
  peer.onIceStateChange(noteState);
  const isCut = () => noteState(peer.iceState());
  const gone = () => {
    if (!closing) owner.closed(PEER_GONE);
  };
  peer.onStateChange((state) => {
    if (state === "connected") owner.open();
    if (closing || !["closed", "failed", "disconnected"].includes(state)) return;
    // A peer that parts closes the channel of a screen too: which of the two is seen first, is chance.
    if (isScreen && !isCut()) setTimeout(gone, PARTING_MS);
    else gone();
  });
  // Only the answering side accepts files: `answer` replaces this.
  peer.onDataChannel((channel) => channel.close());

  /** The transfers whose files are put together from blocks. */
  const assembling = new Set<object>();

  const stats = setInterval(() => {
    // No message arrives while the former versions of files are read.
    if (assembling.size > 0) requireMemory("the files of the peer need too much memory");
    const rtt = peer.rtt();
    const rtt_ms = rtt >= 0 ? rtt : null;
    const [bytes_sent, bytes_received] = [peer.bytesSent(), peer.bytesReceived()];
    owner.stats({ rtt_ms, bytes_sent, bytes_received, route: routeOf(peer) });
  }, STATS_MS);

  const join = (channel: DataChannel, socket: Socket, role: keyof typeof MAX_UNREAD_BYTES) =>
    joinScreen(channel, socket, MAX_UNREAD_BYTES[role], (reason) => {
      if (!closing) owner.closed(isCut() && reason === CHANNEL_CLOSED ? PEER_GONE : reason);
    });
  const answerTo = async (sdp: string, isSvc: boolean) => {
    const look = takeRemote(peer, isSvc ? leaveHandshake(sdp) : sdp, "offer");
    const answer = await describe(peer, "answer");
    setTimeout(look, CALLER_READY_MS);
    return answer;
  };

  return {
    offer() {
      channels.open();
      return describe(peer, "offer");
    },
    offerScreen(socket) {
      isScreen = true;
      join(peer.createDataChannel(RFB_LABEL), socket, "viewer");
      return describe(peer, "offer");
    },
    answerScreen(sdp, socket, isSvc) {
      isScreen = true;
      peer.onDataChannel((channel) => {
        if (channel.getLabel() !== RFB_LABEL || peerChannels > 0) return channel.close();
        peerChannels += 1;
        join(channel, socket, "host");
      });
      return answerTo(sdp, isSvc);
    },
    async accept(sdp, agreed) {
      extras = agreed;
      const { acks } = agreed;
      if (!acks && !isScreen) (await loadLibrary()).setSctpSettings({ sendBufferSize: UNACKNOWLEDGED_BYTES });
      takeRemote(peer, sdp, "answer")();
      if (!acks || isScreen) return;
      for (let open = 1; open < CHANNELS; open++) channels.open();
    },
    async answer(sdp, place, agreed) {
      extras = agreed;
      peer.onDataChannel((channel) => {
        if (channel.getLabel() !== FILES_LABEL || peerChannels >= MAX_PEER_CHANNELS) return channel.close();
        peerChannels += 1;
        const closed = () => {
          peerChannels -= 1;
        };
        receiveFiles(channel, { place, extras: agreed, owner, assembling, closed });
      });
      return answerTo(sdp, agreed.acks);
    },
    async send(transfer, path, name) {
      sentUnacknowledged ||= !extras.acks;
      await channels.send(path, name, (bytes) => owner.progress(transfer, bytes));
    },
    async close() {
      closing = true;
      clearInterval(stats);
      channels.close();
      // Closing discards what the network has accepted and not delivered, and nothing reports the delivery.
      if (sentUnacknowledged) await Bun.sleep(LINGER_MS);
      peer.close();
      await Bun.sleep(GOODBYE_MS);
    },
  };
}

/** What a channel for files needs. */
interface ReceivingParts {
  readonly place: InboxPlace;
  /** What both sides support. */
  readonly extras: Extras;
  readonly owner: SessionEvents;
  /** The transfers whose files are put together from blocks. */
  readonly assembling: Set<object>;
  /** Called when the channel has closed. */
  closed(): void;
}

/** Takes the files that a peer sends on a channel. */
function receiveFiles(
  channel: DataChannel,
  { place, extras, owner, assembling, closed }: ReceivingParts,
): void {
  // Opened with the first file, whose sender then learns what is wrong with it.
  let inbox: Inbox | undefined;
  const reply = (message: FileMessage) => {
    try {
      channel.sendMessage(JSON.stringify(message));
    } catch {
      // The channel has closed: nobody waits for the reply.
    }
  };
  const receiver = new FileReceiver({
    begin(name, size, isResumable) {
      inbox ??= openInbox(place);
      return inbox.begin(name, size, isResumable);
    },
    reply,
    received: owner.received,
    failed: (error) => owner.trouble(messageOf(error)),
    assembling,
    blocks: extras.blocks,
  });
  let messages = 0;
  channel.onMessage((message) => {
    messages += 1;
    if (messages % MEMORY_MESSAGES === 0) requireMemory("the peer sends faster than this disk writes");
    if (typeof message === "string") receiver.text(message);
    else receiver.bytes(new Uint8Array(message));
  });
  if (extras.acks) reply({ type: "file_ready" });
  channel.onClosed(() => {
    closed();
    receiver.close();
    inbox?.[Symbol.dispose]();
  });
}
