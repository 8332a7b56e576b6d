/**
 * A WebRTC connection (libdatachannel): made, described to the other side, and read. Only for a session's own process.
 */
import type { PeerConnection } from "node-datachannel";
import { resolvesWithin } from "../lib/deadline";
import { messageOf, rejected, unavailable } from "../lib/errors";
import type { IceConfig } from "./ice";

/** Candidates of a server that does not answer are done without, milliseconds. */
const GATHER_MS = 10_000;

/** How many addresses of a peer are tried. */
const MAX_CANDIDATES = 64;

/** @throws an `unavailable` failure when there is no WebRTC on this machine. */
export async function loadLibrary(load = () => import("node-datachannel")) {
  try {
    return await load();
  } catch (error) {
    // Of the file that cannot be loaded, its folder is of no interest to a peer, who is told of this.
    const why = messageOf(error).replaceAll(/(?:[A-Z]:)?(?:[/\\][^/\\:'"]+)+[/\\]/g, "");
    throw unavailable(`WebRTC is not available here: ${why}`);
  }
}

/** @throws as {@link loadLibrary} does. */
export async function createConnection({ servers, relayOnly }: IceConfig): Promise<PeerConnection> {
  const { PeerConnection } = await loadLibrary();
  return new PeerConnection("svc", {
    iceServers: [...servers],
    // Where there is a direct way, it may be found all the same (libdatachannel issue 1587).
    iceTransportPolicy: relayOnly ? "relay" : "all",
    disableAutoNegotiation: true,
  });
}

/**
 * This side's description with all its candidates.
 *
 * @throws an `unavailable` failure when it has none: the other side could wait for this one until it gives up.
 */
export async function describe(peer: PeerConnection, type: "offer" | "answer"): Promise<string> {
  const gathered = new Promise<void>((resolve) => {
    peer.onGatheringStateChange((state) => {
      if (state === "complete") resolve();
    });
  });
  peer.setLocalDescription(type);
  await resolvesWithin(GATHER_MS, gathered);
  const { sdp } = peer.localDescription() ?? {};
  if (!sdp?.includes("a=candidate:"))
    throw unavailable("the connection has no address here: there is no network, or no TURN server answered");
  return sdp;
}

/**
 * An offer of a svc host so that the DTLS handshake is left to it (RFC 5763 gives who answers the choice). Over a relay the
 * side that answers connects first, and a handshake that reaches the other while that connects can deadlock libdatachannel
 * 0.24 (its pull request 1630): to answer it takes the lock of DTLS and then that of ICE, to connect the two the other way
 * round. Not of others: aiortc numbers its channels as the side that does not begin (RFC 8832), whatever is agreed.
 */
export const leaveHandshake = (offer: string) => offer.replace("a=setup:actpass", "a=setup:active");

/**
 * Takes the other side's description, and its candidates only when the function that it returns is called: a connection
 * that comes about in between finds no fingerprint to check the peer's certificate against, and fails (libdatachannel
 * 0.24).
 *
 * @throws a `rejected` failure when it is no description.
 */
export function takeRemote(peer: PeerConnection, sdp: string, type: "offer" | "answer"): () => void {
  const { description, candidates, mid } = splitCandidates(sdp);
  try {
    peer.setRemoteDescription(description, type);
  } catch (error) {
    throw rejected(`sdp: expected a session description but ${messageOf(error)}`);
  }
  return () => {
    for (const candidate of candidates) {
      try {
        peer.addRemoteCandidate(candidate, mid);
      } catch {
        // One that cannot be used, or that comes when all is over: the others have to do.
      }
    }
  };
}

/** How the two are connected: `host`, `srflx`, `prflx` or `relay`, of this side and the other; null until they are. */
export function routeOf(peer: PeerConnection): string | null {
  const pair = peer.getSelectedCandidatePair();
  return pair && `${pair.local.type}/${pair.remote.type}`;
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
