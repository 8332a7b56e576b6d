/**
 * The process of one peer session: the native WebRTC library (libdatachannel), the connection and the files on it.
 *
 * A process each, because the library aborts its process on a broken invariant, and because two busy connections in
 * one stall each other (usrsctp): a hostile or unlucky peer costs its own session.
 */
import type { DataChannel, PeerConnection } from "node-datachannel";
import { serveParent } from "../lib/child";
import { conflict, messageOf } from "../lib/errors";
import { createConnection, describe, leaveHandshake, loadLibrary, routeOf, takeRemote } from "./connection";
import { createLanes } from "./file-channels";
import type { IceConfig } from "./ice";
import { type Inbox, openInbox } from "./inbox";
import { FILES_LABEL, type FileMessage } from "./messages";
import type { InboxPlace, SessionCalls, SessionEvents } from "./protocol";
import { createFileReceiver } from "./receive";

/** How many files travel at once to a peer that is svc; any other gets one channel, as the wire format has it. */
const CHANNELS = 4;

/** How many channels a peer may open. */
const MAX_PEER_CHANNELS = 16;

/**
 * When the side that answers begins to look for the caller, once its answer is on its way, milliseconds: the caller's own
 * look has usually found this side by then.
 */
const CALLER_READY_MS = 750;

/** How often the link is read, milliseconds. */
const STATS_MS = 1_000;

/**
 * The memory at which a session ends, bytes, and how many messages go by between two looks at it. The library keeps
 * without limit what a peer that waits for no acknowledgement sends faster than it is written, and hands it over before
 * any timer has its turn.
 */
const MAX_MEMORY = 512 * 1_048_576;
const MEMORY_MESSAGES = 64;

/** What the goodbye to the peer takes to leave, milliseconds. */
const GOODBYE_MS = 100;

/**
 * A peer that does not acknowledge gets so many bytes at a time from the SCTP layer, and after the last of them as much
 * time as a slow line (200 kbit/s) needs for them.
 */
const UNACKNOWLEDGED_BYTES = 65_536;
const LINGER_MS = 3_000;

export default async function sessionChild(): Promise<void> {
  let session: ReturnType<typeof createSession> | undefined;
  const begun = () => {
    if (!session) throw conflict("the session has not begun");
    return session;
  };
  await serveParent<SessionCalls, SessionEvents>(
    (owner) => {
      const begin = async (ice: IceConfig) => {
        if (session) throw conflict("the session has begun");
        session = createSession(await createConnection(ice), owner);
        return session;
      };
      return {
        probe: async () => (await loadLibrary()).getLibraryVersion(),
        offer: async (ice) => (await begin(ice)).offer(),
        answer: async (ice, sdp, inbox, acks) => (await begin(ice)).answer(sdp, inbox, acks),
        accept: async (sdp, acks) => begun().accept(sdp, acks),
        send: async (transfer, path, name) => begun().send(transfer, path, name),
      };
    },
    () => session?.close(),
  );
}

/** Ends the process when too much waits to be written; whoever started it is told by its last words. */
function requireMemory(): void {
  if (process.memoryUsage.rss() <= MAX_MEMORY) return;
  console.error("the peer sends faster than this disk writes");
  process.exit(1);
}

function createSession(peer: PeerConnection, owner: SessionEvents) {
  const lanes = createLanes(peer, () => acks);
  let peerChannels = 0;
  let acks = false;
  let sentUnacknowledged = false;
  let closing = false;

  peer.onStateChange((state) => {
    if (state === "connected") owner.open();
    if (closing || !["closed", "failed", "disconnected"].includes(state)) return;
    owner.closed("the peer is gone");
  });
  // Only who answers takes files; `answer` puts its own in place of this.
  peer.onDataChannel((channel) => channel.close());

  const stats = setInterval(() => {
    const rtt = peer.rtt();
    owner.stats(
      {
        rttMs: rtt >= 0 ? rtt : null,
        bytesSent: peer.bytesSent(),
        bytesReceived: peer.bytesReceived(),
      },
      routeOf(peer),
    );
  }, STATS_MS);

  const receiveOn = (channel: DataChannel, place: InboxPlace) => {
    // Opened for the first file, so that its sender is told what is wrong with it.
    let inbox: Inbox | undefined;
    const reply = (message: FileMessage) => {
      try {
        channel.sendMessage(JSON.stringify(message));
      } catch {
        // Closed meanwhile: then nobody waits for it.
      }
    };
    const receiver = createFileReceiver({
      begin(name, size) {
        inbox ??= openInbox(place);
        return inbox.begin(name, size);
      },
      reply,
      received: owner.received,
      failed: (error) => owner.trouble(messageOf(error)),
    });
    let messages = 0;
    channel.onMessage((message) => {
      messages += 1;
      if (messages % MEMORY_MESSAGES === 0) requireMemory();
      if (typeof message === "string") receiver.text(message);
      else receiver.bytes(new Uint8Array(message));
    });
    if (acks) reply({ type: "file_ready" });
    channel.onClosed(() => {
      peerChannels -= 1;
      receiver.close();
      inbox?.[Symbol.dispose]();
    });
  };

  return {
    offer(): Promise<string> {
      lanes.open();
      return describe(peer, "offer");
    },
    async accept(sdp: string, peerAcks: boolean): Promise<void> {
      acks = peerAcks;
      if (!acks) (await loadLibrary()).setSctpSettings({ sendBufferSize: UNACKNOWLEDGED_BYTES });
      takeRemote(peer, sdp, "answer")();
      if (!acks) return;
      for (let lane = 1; lane < CHANNELS; lane++) lanes.open();
    },
    async answer(sdp: string, place: InboxPlace, peerAcks: boolean): Promise<string> {
      acks = peerAcks;
      peer.onDataChannel((channel) => {
        if (channel.getLabel() !== FILES_LABEL || peerChannels >= MAX_PEER_CHANNELS) return channel.close();
        peerChannels += 1;
        receiveOn(channel, place);
      });
      const look = takeRemote(peer, peerAcks ? leaveHandshake(sdp) : sdp, "offer");
      const answer = await describe(peer, "answer");
      setTimeout(look, CALLER_READY_MS);
      return answer;
    },
    async send(transfer: number, path: string, name: string): Promise<void> {
      sentUnacknowledged ||= !acks;
      await lanes.send(path, name, (bytes) => owner.progress(transfer, bytes));
    },
    async close(): Promise<void> {
      closing = true;
      clearInterval(stats);
      lanes.close();
      // Closing drops what the network has taken and not delivered, and nobody says when it has.
      if (sentUnacknowledged) await Bun.sleep(LINGER_MS);
      peer.close();
      await Bun.sleep(GOODBYE_MS);
    },
  };
}
