/**
 * Which screen the page of the live screen shows: that of this host, or of one in the address book, or of a desktop on demand of either;
 * and where it is asked for.
 */
import { decoded } from "../address.js";
import { openEither, openRelay, openSocket } from "./live-carrier.js";

/**
 * The screen that an address names: `#live`, `#live:LABEL`, `#live::DESKTOP` or `#live:LABEL:DESKTOP`.
 *
 * @param {import("../api.js").Api} api
 * @param {string} hash
 */
export function placeIn(api, hash) {
  const [, named = "", desktop] = hash.replace(/\?.*$/s, "").split(":");
  const label = named === "" ? null : decoded(named);
  const prefix = label === null ? "" : `admin/hosts/${encodeURIComponent(label)}/`;
  /**
   * @template {string} Rest
   * @param {Rest} rest
   */
  const at = (rest) => /** @type {`screen/${Rest}`} */ (`${prefix}screen/${rest}`);
  const query = desktop === undefined ? "" : `?desktop=${encodeURIComponent(desktop)}`;
  const wanted = /** @type {const} */ ({ control: false, ...(desktop !== undefined && { desktop }) });
  /** Whether the last stream came over the desk: then no other way is tried after a cut. */
  let isRelayed = false;
  return {
    /** Of the host; null for this one. */
    label,
    /** A desktop on demand of the host; undefined for its own. */
    desktop,
    title: [label ?? "This host", desktop].filter(Boolean).join(": "),
    /** The paths of who looks at it, and of taking control. */
    state: /** @type {"screen/state"} */ (`${at("state")}${query}`),
    control: at("control"),
    /** What is at a place of it. @param {number} x @param {number} y */
    elementAt: (x, y) => api.ask(/** @type {`element_at?${string}`} */ (`${prefix}element_at?x=${x}&y=${y}`)),
    /** Opens a stream of it. @param {AbortSignal} attempt */
    async open(attempt) {
      if (label === null) return openSocket(api, wanted);
      const relay = /** @type {"admin/hosts/{label}/screen/relay"} */ (`${prefix}screen/relay`);
      const paths = { offer: at("offer"), relay };
      const carrier = isRelayed
        ? await openRelay(api, relay, wanted, attempt)
        : await openEither(api, paths, wanted, attempt);
      isRelayed = carrier.channel instanceof WebSocket;
      return carrier;
    },
  };
}
