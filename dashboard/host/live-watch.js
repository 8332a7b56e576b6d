/**
 * Watching a screen: noVNC on a carrier, and another after a cut. Nobody controls anything from here until `control` is set; the
 * server drops what a viewer sends without it anyway.
 */
import { ApiError } from "../api-error.js";
import { el } from "../dom.js";

/** Milliseconds until a cut view is opened again: at first, and at most. */
const RETRY_FIRST = 250;
const RETRY_MOST = 5_000;
/** The same before the first picture: the host may have no screen. */
const FIRST_RETRY_MOST = 60_000;

/**
 * `opening`: the first picture is not here yet. `live`: it is. `cut`: the stream broke, and is opened again. `ended`: the host
 * ended it, or refused it.
 *
 * @typedef {"opening" | "live" | "cut" | "ended"} State
 */

/**
 * Fires `change`, `clipboard` with the text that was copied on the host in its `detail`, and `size`.
 */
export class Watch extends EventTarget {
  /** @type {State} */
  state = "opening";
  /** Why it is cut or has ended, for a person. */
  reason = "";
  /** The id of the viewer, once the host has let it in. @type {string | null} */
  viewer = null;
  /** How the stream travels, and why so, for a person; empty before it does. */
  way = "";
  /** Updates of the picture and bytes since the page was opened. */
  frames = 0;
  bytes = 0;
  width = 0;
  height = 0;
  /** @type {HTMLCanvasElement | null} */
  canvas = null;
  #place;
  #open;
  #signal;
  #control = false;
  #isWhole = true;
  #delay = RETRY_FIRST;
  /** The last picture, while there is no other. */
  #frozen = el("div", { class: "live-frozen", "aria-hidden": "true" });
  /** @type {import("../novnc.js").default | null} */
  #rfb = null;
  /** @type {import("./live-carrier.js").Carrier | null} */
  #carrier = null;
  #attempt = new AbortController();
  #timer = 0;

  /**
   * @param {HTMLElement} place for the picture
   * @param {(signal: AbortSignal, cut: () => void) => Promise<import("./live-carrier.js").Carrier>} open
   * @param {AbortSignal} signal ends it
   */
  constructor(place, open, signal) {
    super();
    this.#place = place;
    this.#open = open;
    this.#signal = signal;
    signal.addEventListener("abort", () => this.#leave());
    addEventListener("online", () => this.#soon(), { signal });
  }

  /** Begins, also after an end. */
  begin() {
    this.#delay = RETRY_FIRST;
    this.#set("opening", "");
    void this.#connect();
  }

  /** Whether keys and pointer of this page go to the host. */
  get control() {
    return this.#control;
  }

  set control(on) {
    this.#control = on;
    if (this.#rfb) this.#rfb.viewOnly = !on;
  }

  /** Whether the whole picture is fitted into its place; else it has its own size. @param {boolean} on */
  set isWhole(on) {
    this.#isWhole = on;
    this.#fit();
  }

  /** Sends a key. @type {import("./live-keys.js").Send} */
  send = (keysym, isDown) => this.#rfb?.sendKey(keysym, null, isDown);

  /** Gives the host a text to paste. @param {string} text */
  paste(text) {
    this.#rfb?.clipboardPasteFrom(text);
  }

  /** The picture of now, as PNG; null while there is none. @returns {Promise<Blob | null>} */
  picture() {
    const rfb = this.#rfb;
    return rfb ? new Promise((resolve) => rfb.toBlob(resolve, "image/png")) : Promise.resolve(null);
  }

  /** In milliseconds; null where the browser does not measure it. */
  async roundTrip() {
    return (await this.#carrier?.roundTrip()) ?? null;
  }

  async #connect() {
    this.#attempt = new AbortController();
    const signal = AbortSignal.any([this.#signal, this.#attempt.signal]);
    /** @type {PromiseWithResolvers<MessageEvent | null>} */
    const greeting = Promise.withResolvers();
    let cut = () => greeting.resolve(null);
    const loading = import("../novnc.js");
    try {
      const carrier = await this.#open(signal, () => cut());
      if (signal.aborted) return carrier.close();
      this.#carrier = carrier;
      this.way = carrier.way;
      const { channel } = carrier;
      channel.binaryType = "arraybuffer";
      const greeted = (/** @type {Event} */ event) =>
        greeting.resolve(event instanceof MessageEvent ? event : null);
      channel.addEventListener("message", greeted, { once: true });
      channel.addEventListener("close", () => greeting.resolve(null), { once: true });
      void carrier.viewer.then(
        (viewer) => signal.aborted || this.#set(this.state, this.reason, viewer),
        greeting.reject,
      );
      const first = await greeting.promise;
      const { default: RFB } = await loading;
      if (signal.aborted) return;
      const over = (/** @type {string} */ reason) => {
        if (this.#carrier !== carrier) return;
        this.#freeze();
        this.#rfb = null;
        this.#leave();
        const why = reason || carrier.reason();
        if (carrier.isCut()) this.#retry(why);
        else this.#set("ended", why || "The host ended this view.");
      };
      // noVNC sees no stream that ends before it begins.
      if (first === null) return over("");
      const rfb = new RFB(this.#place, channel);
      this.#rfb = rfb;
      cut = () => {
        rfb.disconnect();
        over("");
      };
      let refusal = "";
      rfb.addEventListener("securityfailure", ({ detail }) => {
        refusal = String(detail.reason ?? "");
      });
      rfb.addEventListener("disconnect", () => over(refusal));
      rfb.addEventListener("clipboard", ({ detail }) =>
        this.dispatchEvent(new CustomEvent("clipboard", { detail: String(detail.text) })),
      );
      this.#follow(rfb, channel);
      channel.dispatchEvent(new MessageEvent("message", { data: first.data }));
    } catch (error) {
      if (signal.aborted) return;
      this.#leave();
      this.#refused(error);
    }
  }

  /**
   * Counts what comes, and shows it as the person wants it.
   *
   * @param {import("../novnc.js").default} rfb
   * @param {WebSocket | RTCDataChannel} channel
   */
  #follow(rfb, channel) {
    channel.addEventListener("message", (event) => {
      if (event instanceof MessageEvent) this.bytes += event.data.byteLength ?? 0;
    });
    rfb.viewOnly = !this.#control;
    // The field beside it has the focus (`keyboardField`).
    rfb.focusOnClick = false;
    rfb.background = "none";
    this.#fit();
    const canvas = this.#place.querySelector("canvas:not(.live-frozen *)");
    this.canvas = canvas instanceof HTMLCanvasElement ? canvas : null;
    const read = rfb._framebufferUpdate.bind(rfb);
    rfb._framebufferUpdate = () => {
      const isWhole = read();
      if (isWhole) this.#drawn();
      return isWhole;
    };
  }

  #drawn() {
    this.frames += 1;
    const { width = 0, height = 0 } = this.canvas ?? {};
    if (this.state !== "live") {
      this.#frozen.remove();
      this.#frozen.replaceChildren();
      this.#delay = RETRY_FIRST;
      this.#set("live", "", this.viewer);
    }
    if (width === this.width && height === this.height) return;
    this.width = width;
    this.height = height;
    this.dispatchEvent(new Event("size"));
  }

  #fit() {
    if (!this.#rfb) return;
    this.#rfb.scaleViewport = this.#isWhole;
    // A finger drags a picture that is larger than its place; with a mouse there are scroll bars.
    const isTouch = matchMedia("(pointer: coarse)").matches;
    this.#rfb.clipViewport = !this.#isWhole && isTouch;
    this.#rfb.dragViewport = !this.#isWhole && isTouch && !this.#control;
  }

  /** Keeps the last picture in its place, so that a cut of some seconds leaves something to look at. */
  #freeze() {
    if (!this.canvas || this.frames === 0) return;
    this.#frozen.replaceChildren(this.canvas);
    this.#place.append(this.#frozen);
  }

  /** @param {unknown} error */
  #refused(error) {
    if (!(error instanceof ApiError))
      return this.#retry(error instanceof Error ? error.message : String(error));
    const isPassing = ["unreachable", "late", "limited"].includes(error.reason) || error.status >= 500;
    if (!isPassing) return this.#set("ended", error.message);
    this.#delay = Math.max(this.#delay, error.retryAfter * 1_000);
    this.#retry(error.message);
  }

  /** @param {string} reason */
  #retry(reason) {
    if (this.#signal.aborted) return;
    this.#set(this.frames > 0 ? "cut" : "opening", reason);
    this.#timer = setTimeout(() => this.#soon(), this.#delay);
    this.#delay = Math.min(this.#delay * 2, this.frames > 0 ? RETRY_MOST : FIRST_RETRY_MOST);
  }

  /** Connects now, where it is waiting to. */
  #soon() {
    // A carrier that waits, as for an approval, is a viewer at the host already.
    if (this.#carrier || this.#signal.aborted || this.state === "ended") return;
    clearTimeout(this.#timer);
    this.#attempt.abort();
    void this.#connect();
  }

  #leave() {
    clearTimeout(this.#timer);
    this.#attempt.abort();
    const rfb = this.#rfb;
    this.#rfb = null;
    this.#control = false;
    this.viewer = null;
    this.way = "";
    rfb?.disconnect();
    this.#carrier?.close();
    this.#carrier = null;
  }

  /**
   * @param {State} state
   * @param {string} reason
   * @param {string | null} [viewer]
   */
  #set(state, reason, viewer = null) {
    this.state = state;
    this.reason = reason;
    this.viewer = viewer;
    this.dispatchEvent(new Event("change"));
  }
}
