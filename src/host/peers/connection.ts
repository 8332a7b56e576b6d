/**
 * A WebRTC connection (libdatachannel), its description for the other side, and its route. Only for a session's process.
 */
import type { PeerConnection } from "node-datachannel";
import { resolvesWithin } from "../../lib/deadline";
import { messageOf, rejected, unavailable } from "../../lib/errors";
import type { IceConfig } from "./ice";

/** How long STUN and TURN servers may take to answer, milliseconds. */
const GATHER_MS = 10_000;

/** The most addresses of a peer that are tried. */
const MAX_CANDIDATES = 64;

/** The WebRTC library. @throws an `unavailable` failure when it cannot be loaded. */
export async function loadLibrary(load = () => import("node-datachannel")) {
  try {
    return await load();
  } catch (error) {
    // Peers see this message: it names no folder of this host.
    const why = messageOf(error).replaceAll(/(?:[A-Z]:)?(?:[/\\][^/\\:'"]+)+[/\\]/g, "");
    throw unavailable(`WebRTC is not available here: ${why}`);
  }
}

/** A connection that uses these servers. @throws as {@link loadLibrary} does. */
export async function createConnection({ servers, relayOnly }: IceConfig): Promise<PeerConnection> {
  const { PeerConnection } = await loadLibrary();
  return new PeerConnection("svc", {
    iceServers: [...servers],
    // A direct route, where there is one, may be found all the same (libdatachannel issue 1587).
    iceTransportPolicy: relayOnly ? "relay" : "all",
    disableAutoNegotiation: true,
  });
}

/**
 * The description of this side, with all its candidates.
 *
 * @throws an `unavailable` failure when it has none.
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
    throw unavailable("this host has no address for the connection: no network, or no TURN server answered");
  return sdp;
}

/**
 * The offer of a svc host, changed so that the host starts the DTLS handshake (RFC 5763 leaves the choice to the answering
 * side). Over a relay, the answering side connects first, and a handshake that reaches the other side while it connects can
 * deadlock libdatachannel 0.24 (its pull request 1630). Not for peers of other makers: aiortc always numbers its channels as
 * the side that does not start the handshake (RFC 8832).
 */
export const leaveHandshake = (offer: string) => offer.replace("a=setup:actpass", "a=setup:active");

/**
 * Accepts the description of the other side, without its candidates (RFC 8839).
 *
 * @returns a function that adds its candidates. Earlier, a connection could succeed before there is a fingerprint to check
 *   the certificate of the peer, and then fail (libdatachannel 0.24).
 * @throws a `rejected` failure when it is not a description.
 */
export function takeRemote(peer: PeerConnection, sdp: string, type: "offer" | "answer"): () => void {
  const lines = sdp.split(/\r\n|\n/);
  const isCandidate = (line: string) => line.startsWith("a=candidate:");
  const description = lines
    .filter((line) => !isCandidate(line) && line !== "a=end-of-candidates")
    .join("\r\n");
  const mid = lines.find((line) => line.startsWith("a=mid:"))?.slice("a=mid:".length) ?? "0";
  try {
    peer.setRemoteDescription(description, type);
  } catch (error) {
    throw rejected(`sdp: expected a session description but ${messageOf(error)}`);
  }
  return () => {
    for (const line of lines.filter(isCandidate).slice(0, MAX_CANDIDATES)) {
      try {
        peer.addRemoteCandidate(line.slice("a=".length), mid);
      } catch {
        // It cannot be used, or the connection has closed.
      }
    }
  };
}

/** The candidate types (`host`, `srflx`, `prflx` or `relay`) of both sides: `host/relay`; null until they are connected. */
export function routeOf(peer: PeerConnection): string | null {
  const pair = peer.getSelectedCandidatePair();
  return pair && `${pair.local.type}/${pair.remote.type}`;
}
