/**
 * The process of one peer session: the native WebRTC library (libdatachannel), the connection and the files on it.
 *
 * A process each, because the library aborts its process on a broken invariant, and because two busy connections in
 * one stall each other (usrsctp): a hostile or unlucky peer costs its own session.
 */
import type { DataChannel, PeerConnection } from "node-datachannel";
import { answerParent } from "../lib/child";
import { conflict, messageOf, rejected, timedOut, unavailable } from "../lib/errors";
import { openInbox } from "../transfer/inbox";
import { FILES_LABEL, type FileMessage, parseMessage } from "../transfer/messages";
import { createFileReceiver } from "../transfer/receive";
import { BUFFER_BYTES, createFileSender, type FileSender } from "../transfer/send";
import { createWindow } from "../transfer/window";
import type { IceConfig } from "./ice";
import type { InboxPlace, SessionEvent, SessionRequest } from "./protocol";

/** How many files travel at once to a peer that is svc; any other gets one channel, as the wire format has it. */
const CHANNELS = 4;

/** How many channels a peer may open. */
const MAX_PEER_CHANNELS = 16;

/** Candidates of a server that does not answer are done without, milliseconds. */
const GATHER_MS = 10_000;

/** How many addresses of a peer are tried. */
const MAX_CANDIDATES = 64;

/**
 * When the side that answers begins to look for the caller, milliseconds: once the caller has the answer, its own look
 * has usually found this side.
 */
const CALLER_READY_MS = 750;

/** How often the link is read, milliseconds. */
const STATS_MS = 1_000;

/** What the goodbye to the peer takes to leave, milliseconds. */
const GOODBYE_MS = 100;

/**
 * A peer that does not acknowledge gets so many bytes at a time from the SCTP layer, and after the last of them as much
 * time as a slow line (200 kbit/s) needs for them.
 */
const UNACKNOWLEDGED_BYTES = 65_536;
const LINGER_MS = 3_000;

type Tell = (event: SessionEvent) => void;

/** A channel of ours and whether a file is on it. */
interface Lane {
  readonly channel: DataChannel;
  /** Null until the peer listens. */
  sender: FileSender | null;
  busy: boolean;
}

export default async function sessionChild(): Promise<void> {
  let session: ReturnType<typeof createSession> | undefined;
  const begin = async (ice: IceConfig, tell: Tell) => {
    if (session) throw conflict("the session has begun");
    session = createSession(await connection(ice), tell);
    return session;
  };
  await answerParent<SessionRequest, SessionEvent>(
    async (request, tell) => {
      if (request.do === "probe") return (await loadLibrary()).getLibraryVersion();
      if (request.do === "offer") return (await begin(request.ice, tell)).offer();
      if (request.do === "answer")
        return (await begin(request.ice, tell)).answer(request.sdp, request.inbox, request.acks);
      if (!session) throw conflict("the session has not begun");
      if (request.do === "accept") return session.accept(request.sdp, request.acks);
      if (request.do === "send") return session.send(request.transfer, request.path, request.name);
      return session.abort(request.transfer);
    },
    () => session?.close(),
  );
}

/** @throws an `unavailable` failure when there is no WebRTC on this machine. */
async function loadLibrary() {
  try {
    return await import("node-datachannel");
  } catch (error) {
    throw unavailable(`WebRTC is not available here: ${messageOf(error)}`);
  }
}

/** @throws as {@link loadLibrary} does. */
async function connection({ servers, relayOnly }: IceConfig): Promise<PeerConnection> {
  const { PeerConnection } = await loadLibrary();
  return new PeerConnection("svc", {
    iceServers: [...servers],
    iceTransportPolicy: relayOnly ? "relay" : "all",
    disableAutoNegotiation: true,
  });
}

function createSession(peer: PeerConnection, tell: Tell) {
  const window = createWindow();
  const lanes = new Set<Lane>();
  const aborts = new Map<number, AbortController>();
  const gathered = Promise.withResolvers<void>();
  let peerChannels = 0;
  let acks = false;
  let sentUnacknowledged = false;
  let closing = false;

  peer.onGatheringStateChange((state) => {
    if (state === "complete") gathered.resolve();
  });
  peer.onStateChange((state) => {
    if (state === "connected") tell({ kind: "open" });
    if (closing || !["closed", "failed", "disconnected"].includes(state)) return;
    tell({ kind: "closed", reason: "the peer is gone" });
  });
  // Only who answers takes files; `answer` puts its own in place of this.
  peer.onDataChannel((channel) => channel.close());

  const stats = setInterval(() => {
    const rtt = peer.rtt();
    tell({
      kind: "stats",
      counters: {
        rttMs: rtt >= 0 ? rtt : null,
        bytesSent: peer.bytesSent(),
        bytesReceived: peer.bytesReceived(),
      },
      route: routeOf(peer),
    });
  }, STATS_MS);

  const localSdp = async () => {
    await Promise.race([gathered.promise, Bun.sleep(GATHER_MS)]);
    const { sdp } = peer.localDescription() ?? {};
    if (!sdp) throw unavailable("the connection has no description");
    return sdp;
  };

  /**
   * Takes the other side's description, and only then its candidates: a connection that comes about in between finds no
   * fingerprint to check the peer's certificate against, and fails (libdatachannel 0.24).
   */
  const takeRemote = (sdp: string, type: "offer" | "answer", candidatesAfterMs = 0) => {
    const { description, candidates, mid } = splitCandidates(sdp);
    try {
      peer.setRemoteDescription(description, type);
    } catch (error) {
      throw rejected(`sdp: expected a session description but ${messageOf(error)}`);
    }
    const add = () => {
      for (const candidate of candidates) {
        try {
          peer.addRemoteCandidate(candidate, mid);
        } catch (error) {
          tell({ kind: "trouble", text: `a candidate of the peer: ${messageOf(error)}` });
        }
      }
    };
    if (candidatesAfterMs === 0) add();
    else setTimeout(add, candidatesAfterMs);
  };

  const openLane = () => {
    const channel = peer.createDataChannel(FILES_LABEL);
    const outlet = {
      sendText: (text: string) => void channel.sendMessage(text),
      sendBytes: (bytes: Uint8Array) => void channel.sendMessageBinary(bytes),
      buffered: () => channel.bufferedAmount(),
    };
    const lane: Lane = { channel, sender: null, busy: false };
    const ready = () => {
      lane.sender = createFileSender(outlet, { acks, window });
      window.notify();
    };
    channel.setBufferedAmountLowThreshold(BUFFER_BYTES / 2);
    channel.onBufferedAmountLow(() => window.notify());
    channel.onMessage((message) => {
      if (typeof message !== "string") return;
      if (acks && !lane.sender && parseMessage(message)?.type === "file_ready") ready();
      else lane.sender?.text(message);
    });
    channel.onOpen(() => {
      if (!acks) ready();
    });
    channel.onClosed(() => {
      lane.sender?.close();
      lanes.delete(lane);
      window.notify();
    });
    lanes.add(lane);
  };

  const receiveOn = (channel: DataChannel, place: InboxPlace) => {
    const inbox = openInbox(place);
    const reply = (message: FileMessage) => {
      try {
        channel.sendMessage(JSON.stringify(message));
      } catch {
        // Closed meanwhile: then nobody waits for it.
      }
    };
    const receiver = createFileReceiver({
      inbox,
      reply,
      received: (file) => tell({ kind: "received", ...file }),
      failed: (error) => tell({ kind: "trouble", text: messageOf(error) }),
    });
    channel.onMessage((message) => {
      if (typeof message === "string") receiver.text(message);
      else receiver.bytes(new Uint8Array(message));
    });
    if (acks) reply({ type: "file_ready" });
    channel.onClosed(() => {
      peerChannels -= 1;
      receiver.close();
      inbox[Symbol.dispose]();
    });
  };

  return {
    async offer(): Promise<string> {
      openLane();
      peer.setLocalDescription("offer");
      return localSdp();
    },
    async accept(sdp: string, peerAcks: boolean): Promise<void> {
      acks = peerAcks;
      if (!acks) (await loadLibrary()).setSctpSettings({ sendBufferSize: UNACKNOWLEDGED_BYTES });
      takeRemote(sdp, "answer");
      if (!acks) return;
      for (let lane = 1; lane < CHANNELS; lane++) openLane();
    },
    async answer(sdp: string, place: InboxPlace, peerAcks: boolean): Promise<string> {
      acks = peerAcks;
      peer.onDataChannel((channel) => {
        if (channel.getLabel() !== FILES_LABEL || peerChannels >= MAX_PEER_CHANNELS) return channel.close();
        peerChannels += 1;
        receiveOn(channel, place);
      });
      takeRemote(sdp, "offer", CALLER_READY_MS);
      peer.setLocalDescription("answer");
      return localSdp();
    },
    async send(transfer: number, path: string, name: string): Promise<void> {
      const abort = new AbortController();
      aborts.set(transfer, abort);
      try {
        const { lane, sender } = await takeLane(abort.signal);
        try {
          const progress = (bytes: number) => tell({ kind: "progress", transfer, bytes });
          sentUnacknowledged ||= !acks;
          await sender.send(path, name, { signal: abort.signal, progress });
        } finally {
          lane.busy = false;
          window.notify();
        }
      } finally {
        aborts.delete(transfer);
      }
    },
    abort(transfer: number): void {
      aborts.get(transfer)?.abort(timedOut("the transfer was aborted"));
      window.notify();
    },
    async close(): Promise<void> {
      closing = true;
      clearInterval(stats);
      // Closing drops what the network has taken and not delivered, and nobody says when it has.
      if (sentUnacknowledged) await Bun.sleep(LINGER_MS);
      peer.close();
      await Bun.sleep(GOODBYE_MS);
    },
  };

  async function takeLane(signal: AbortSignal): Promise<{ lane: Lane; sender: FileSender }> {
    for (;;) {
      signal.throwIfAborted();
      for (const lane of lanes) {
        if (lane.busy || !lane.sender) continue;
        lane.busy = true;
        return { lane, sender: lane.sender };
      }
      await window.changed(STATS_MS);
    }
  }
}

/** The candidates of a description (RFC 8839), and what is left of it without them. */
function splitCandidates(sdp: string) {
  const lines = sdp.split(/\r\n|\n/);
  const isCandidate = (line: string) => line.startsWith("a=candidate:");
  return {
    description: lines.filter((line) => !isCandidate(line) && line !== "a=end-of-candidates").join("\r\n"),
    candidates: lines
      .filter(isCandidate)
      .slice(0, MAX_CANDIDATES)
      .map((line) => line.slice("a=".length)),
    mid: lines.find((line) => line.startsWith("a=mid:"))?.slice("a=mid:".length) ?? "0",
  };
}

/** How the two are connected: `host`, `srflx`, `prflx` or `relay`, of this side and the other. */
function routeOf(peer: PeerConnection): string | null {
  const pair = peer.getSelectedCandidatePair();
  return pair && `${pair.local.type}/${pair.remote.type}`;
}
