/**
 * What carries the stream of a screen to the browser: a WebSocket to this server, or a data channel to the host itself.
 */

/**
 * @typedef {object} Carrier
 * @property {WebSocket | RTCDataChannel} channel to be read from at once: the host speaks first
 * @property {Promise<string>} viewer the id of the viewer, once the host has let it in; rejects with an ApiError
 * @property {() => Promise<number | null>} roundTrip in milliseconds; null where the browser does not measure it
 * @property {() => boolean} isCut whether the network ended it, rather than the host
 * @property {() => string} reason why the host ended it, as far as it says
 * @property {() => void} close
 */

/** Codes of WebSockets that are applications' own (RFC 6455 section 7.4.2): with them, the host says why it ended a view. */
const OWN_CODES = 4_000;

/**
 * @param {import("../api.js").Api} api
 * @returns {Promise<Carrier>}
 */
export async function openSocket(api) {
  const { ticket, viewer_id } = await api.post("screen/ticket", { control: false });
  const address = new URL("screen/rfb", api.base);
  address.protocol = address.protocol === "https:" ? "wss:" : "ws:";
  const channel = new WebSocket(address, ["svc.rfb", `ticket.${ticket}`]);
  let code = 0;
  let reason = "";
  channel.addEventListener("close", (event) => {
    ({ code, reason } = event);
  });
  return {
    channel,
    viewer: Promise.resolve(viewer_id),
    roundTrip: async () => null,
    isCut: () => code < OWN_CODES,
    reason: () => reason,
    close: () => channel.close(),
  };
}

/**
 * A data channel to the host: the server hands on the offer, the stream goes between the browser and the host.
 *
 * @param {import("../api.js").Api} api
 * @param {"screen/offer"} offered the path that takes the offer of this screen
 * @param {AbortSignal} signal
 * @returns {Promise<Carrier>}
 */
export async function openChannel(api, offered, signal) {
  const { ice_servers, ice_transport_policy } = await api.ask("screen/ice");
  const peer = new RTCPeerConnection({ iceServers: ice_servers, iceTransportPolicy: ice_transport_policy });
  signal.addEventListener("abort", () => peer.close());
  // A tab that is closed says nothing by itself: the host would notice after half a minute.
  addEventListener("pagehide", () => peer.close(), { signal });
  const channel = peer.createDataChannel("rfb");
  let wasConnected = false;
  let isCut = true;
  channel.addEventListener("open", () => {
    wasConnected = true;
  });
  // A host that ends a view closes the channel; where the network ends it, the connection has failed first.
  channel.addEventListener("close", () => {
    isCut = !wasConnected || peer.connectionState !== "connected";
    peer.close();
  });
  peer.addEventListener("connectionstatechange", () => {
    if (peer.connectionState === "failed") peer.close();
    // Closed from this side, a channel fires nothing.
    if (peer.connectionState === "failed" || peer.connectionState === "closed")
      channel.dispatchEvent(new Event("close"));
  });
  const viewer = (async () => {
    await peer.setLocalDescription();
    await gathered(peer, signal);
    const sdp = peer.localDescription?.sdp ?? "";
    const answer = await api.post(offered, { type: "offer", sdp, control: false }, signal);
    await peer.setRemoteDescription({ type: "answer", sdp: answer.sdp });
    return answer.viewer_id;
  })();
  viewer.catch(() => peer.close());
  return {
    channel,
    viewer,
    roundTrip: () => roundTripOf(peer),
    isCut: () => isCut,
    reason: () => "",
    close: () => peer.close(),
  };
}

/** Resolves when all candidates are in the offer: there is one request for all. @param {RTCPeerConnection} peer @param {AbortSignal} signal */
const gathered = (peer, signal) =>
  new Promise((resolve) => {
    const look = () => (peer.iceGatheringState === "complete" || signal.aborted) && resolve(null);
    peer.addEventListener("icegatheringstatechange", look, { signal });
    // A server that does not answer must not hold up the others.
    setTimeout(resolve, GATHERED_MS);
    look();
  });

/** How long the browser may ask STUN and TURN servers for its addresses, in milliseconds. */
const GATHERED_MS = 3_000;

/** @param {RTCPeerConnection} peer @returns {Promise<number | null>} */
async function roundTripOf(peer) {
  for (const report of (await peer.getStats()).values()) {
    if (report.type === "candidate-pair" && report.nominated && report.currentRoundTripTime !== undefined)
      return report.currentRoundTripTime * 1_000;
  }
  return null;
}
