/**
 * What carries the stream of a screen to the browser: a WebSocket to this server, or a data channel to the host itself; where none
 * comes up, a WebSocket to the desk, which has the stream from the host.
 */

/**
 * @typedef {object} Carrier
 * @property {WebSocket | RTCDataChannel} channel to be read from at once: the host speaks first
 * @property {Promise<string>} viewer the id of the viewer, once the host has let it in; rejects with an ApiError
 * @property {() => Promise<number | null>} roundTrip in milliseconds; null where the browser does not measure it
 * @property {() => boolean} isCut whether the network ended it, rather than the host
 * @property {string} way how the stream travels, and why so, for a person
 * @property {() => string} reason why the host ended it, as far as it says
 * @property {() => void} close
 */

/** What a viewer asks for; without `desktop`, the desktop of the host. @typedef {{ control: false, desktop?: string }} ScreenRequest */

/** Codes of WebSockets that are applications' own (RFC 6455 section 7.4.2): with them, the host says why it ended a view. */
const OWN_CODES = 4_000;

/**
 * @param {import("../api.js").Api} api
 * @param {ScreenRequest} wanted
 * @returns {Promise<Carrier>}
 */
export async function openSocket(api, wanted) {
  const admitted = await api.post("screen/ticket", wanted, { changes: false });
  return overSocket(api, "screen/rfb", admitted, "straight from this host");
}

/**
 * @param {import("../api.js").Api} api
 * @param {string} path of the WebSocket
 * @param {{ ticket: string, viewer_id: string }} admitted
 * @param {string} way
 * @returns {Carrier}
 */
function overSocket(api, path, { ticket, viewer_id }, way) {
  const address = new URL(path, api.base);
  address.protocol = address.protocol === "https:" ? "wss:" : "ws:";
  const channel = new WebSocket(address, ["svc.rfb", `ticket.${ticket}`]);
  let code = 0;
  let reason = "";
  channel.addEventListener("close", (event) => {
    ({ code, reason } = event);
  });
  return {
    channel,
    way,
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
 * @param {ScreenRequest} wanted
 * @param {AbortSignal} signal
 * @returns {Promise<Carrier & { isNear: boolean }>} `isNear`: without the help of STUN and TURN servers
 */
async function openChannel(api, offered, wanted, signal) {
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
    const answer = await api.post(offered, { type: "offer", sdp, ...wanted }, untilAllowed(signal));
    await peer.setRemoteDescription({ type: "answer", sdp: answer.sdp });
    return answer.viewer_id;
  })();
  viewer.catch(() => peer.close());
  return {
    channel,
    isNear: ice_servers.length === 0,
    way: "straight from the host, over a data channel",
    viewer,
    roundTrip: () => roundTripOf(peer),
    isCut: () => isCut,
    reason: () => "",
    close: () => peer.close(),
  };
}

/**
 * How long a data channel has to open, from the answer on, before the desk opens the stream, too, in milliseconds. `near`: without
 * STUN and TURN servers it comes up at once, inside one network, or never. `far`: a host uses the addresses of those servers 750 ms
 * after its answer. `asked`: a person had to allow the viewer, which takes seconds, and is asked once more for the second stream: then
 * the channel gets all the time that a picture may take.
 */
const CHANNEL_MS = { near: 400, far: 2_500, asked: 3_500 };
const ASKED_MS = 3_000;

/** The paths of a screen at a desk. @typedef {{ offer: "screen/offer", relay: "admin/hosts/{label}/screen/relay" }} Paths */

/**
 * The screen of a host of the desk: over a data channel, or, where none is open in time, over the desk. What comes first is used.
 *
 * @param {import("../api.js").Api} api
 * @param {Paths} paths
 * @param {ScreenRequest} wanted
 * @param {AbortSignal} signal
 * @returns {Promise<Carrier>}
 */
export async function openEither(api, paths, wanted, signal) {
  if (!("RTCPeerConnection" in globalThis))
    return openRelay(api, paths.relay, wanted, signal, "this browser has no data channels");
  const direct = await openChannel(api, paths.offer, wanted, signal);
  const offered = performance.now();
  // Why the host refuses is thrown here.
  await direct.viewer;
  const kind = direct.isNear ? "near" : "far";
  const wait = CHANNEL_MS[performance.now() - offered > ASKED_MS ? "asked" : kind];
  /** @type {Promise<Carrier | null>} */
  const opened = new Promise((resolve) => {
    direct.channel.addEventListener("open", () => resolve(direct), { once: true });
    direct.channel.addEventListener("close", () => resolve(null), { once: true });
    if (direct.channel.readyState === "open") resolve(direct);
  });
  const late = new Promise((resolve) => setTimeout(resolve, wait, null));
  const inTime = await Promise.race([opened, late]);
  if (inTime) return direct;
  const relayed = openRelay(api, paths.relay, wanted, signal, NO_CHANNEL);
  const first = await Promise.race([
    opened.then((carrier) => carrier ?? relayed),
    relayed.catch(async (error) => {
      const carrier = await opened;
      if (carrier) return carrier;
      if (error instanceof Error) error.message = `${BOTH_FAILED} ${error.message}.`;
      throw error;
    }),
  ]);
  if (first !== direct) direct.close();
  // Nobody needs it any more.
  else
    relayed.then(
      (carrier) => carrier.close(),
      () => {},
    );
  return first;
}

const BOTH_FAILED =
  "No data channel from this browser to the host came up, and this desk has no way to the screen either:";

const NO_CHANNEL = "no data channel from this browser to the host came up";

/** How a viewer is asked for: a person may have to allow it, and the page says that it waits for one. @param {AbortSignal} signal */
const untilAllowed = (signal) => ({ signal, withinMs: null, changes: false });

/**
 * @param {import("../api.js").Api} api
 * @param {Paths["relay"]} path
 * @param {ScreenRequest} wanted
 * @param {AbortSignal} signal
 * @param {string} why it is not a data channel
 */
export async function openRelay(api, path, wanted, signal, why = NO_CHANNEL) {
  const admitted = await api.post(path, wanted, untilAllowed(signal));
  return overSocket(api, "admin/screen/rfb", admitted, `over this desk, as ${why}`);
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
