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
 * @param {import("./api.js").Api} api
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
