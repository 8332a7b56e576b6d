/**
 * The stream of what happens on the server (`GET /events`), for the visible tabs that have the same token: one of them reads
 * it, and passes on what it reads.
 *
 * A stream that was cut goes on behind the last event; nothing is missed without a `reset`, upon which all that is shown is
 * asked for again. Where a stream delivers nothing, as behind a proxy that holds answers back, the tabs ask every few
 * seconds instead. A hidden tab reads nothing, and goes on behind its last event once it is visible.
 */
import { ApiError } from "./api-error.js";
import { fingerprint } from "./credentials.js";
import { isLater, messagesOf } from "./event-stream.js";

/** Milliseconds within which a stream delivers something. */
const DELIVERS_WITHIN = 5_000;

/** Milliseconds without a mark, of which one comes every 15 s, after which a stream counts as cut. */
const SILENT_AFTER = 40_000;

/** Milliseconds between looks at the clock, which after a sleep of the machine is far ahead. */
const LOOK_EVERY = 5_000;

/** Milliseconds until a cut stream is opened again: at first, and at most. */
const RETRY_FIRST = 250;
const RETRY_MOST = 5_000;

/** Milliseconds until a stream is tried again where it did not work: at first, and at most. */
const BLOCKED_FIRST = 15_000;
const BLOCKED_MOST = 60_000;

/** Milliseconds after which a stream that ends counts as one that worked. */
const WORKED_AFTER = 10_000;

/** Milliseconds that a page waits for the stream before it asks for what it shows. */
const READY_WITHIN = 1_000;

/** Milliseconds that a tab waits for the answer that the reading tab shares. */
const SHARED_WITHIN = 40;

/** How many requests events may lead to at once, and milliseconds until there may be one more. */
const BURST = 10;
const ASK_EVERY = 1_000;

/** What a token has to allow, one of them, to see any event. @type {readonly import("./api.js").Scope[]} */
const SCOPES = ["read", "audit", "admin"];

/**
 * How a stream ended: whether an event came; whether no stream works here, and that for lack of a scope; and seconds that
 * the server asks to wait.
 *
 * @typedef {{ delivered: boolean, blocked: boolean, refused: boolean, retryAfter: number }} End
 */

/** @typedef {import("./event-stream.js").Happening} Happening */
/** @typedef {import("./event-stream.js").Message} Message */

/** @type {End} */
const REFUSED = { delivered: false, blocked: true, refused: true, retryAfter: 0 };

/**
 * `live`: events come. `opening`: it is not known yet whether they do. `lost`: they came, and the stream is opened again.
 * `asking`: none come, and pages ask by themselves.
 *
 * @typedef {"opening" | "live" | "lost" | "asking"} State
 */

/**
 * Fires `state`; `happened` with a {@link Happening} in its `detail`; and `reset` when events may be missing.
 */
export class Events extends EventTarget {
  /** @type {State} */
  state = "opening";
  /** When the last event or reset came: earlier answers may lack its change. In milliseconds since 1970. */
  changedAt = 0;
  /** The id of the last event; empty while what is shown is not as of any. */
  #newest = "";
  /** When the stream last delivered something, in milliseconds since 1970. */
  #heardAt = 0;
  #reads = false;
  /** Whether this tab, which does not read, knows as of which event the others are. */
  #joined = false;
  /** Ends the stream that this tab reads, or its wait for its turn to read. */
  #turn = new AbortController();
  #takeOver = false;
  #attended = new AbortController();
  /** @type {BroadcastChannel | null} */
  #others = null;
  /** When the bucket of requests is full again, in milliseconds of the monotonic clock. */
  #fullAt = 0;
  #api;

  /** @param {import("./api.js").Api} api */
  constructor(api) {
    super();
    this.#api = api;
    this.#attended.abort();
    const attend = () => this.#attend();
    api.session.addEventListener("signin", attend);
    api.session.addEventListener("signout", () => {
      this.#newest = "";
      this.#leave();
    });
    document.addEventListener("visibilitychange", attend);
    addEventListener("pageshow", attend);
    attend();
  }

  /** Whether pages need not ask by themselves. */
  get live() {
    return this.state === "live" || this.state === "lost";
  }

  /** Resolves when it is known whether events come, or after a second. */
  async ready() {
    if (this.state !== "opening") return;
    await new Promise((resolve) => {
      this.addEventListener("state", resolve, { once: true });
      setTimeout(resolve, READY_WITHIN);
    });
  }

  /** Milliseconds that a request for what an event changed waits: so many events lead to few requests. */
  delay() {
    const now = performance.now();
    this.#fullAt = Math.max(this.#fullAt, now) + ASK_EVERY;
    return Math.max(this.#reads ? 0 : SHARED_WITHIN, this.#fullAt - now - BURST * ASK_EVERY);
  }

  /** Reads along while somebody is signed in and looks. */
  #attend() {
    const { token } = this.#api.session;
    if (token === null || document.hidden) return this.#leave();
    if (!this.#attended.signal.aborted) return;
    this.#attended = new AbortController();
    const { signal } = this.#attended;
    this.#joined = false;
    this.#become("opening");
    this.#others = new BroadcastChannel(`svc-events-${fingerprint(token)}`);
    this.#others.addEventListener("message", ({ data }) => this.#hear(data));
    this.#others.postMessage({ kind: "hello" });
    const look = setInterval(() => this.#look(), LOOK_EVERY);
    const cut = () => this.#look();
    addEventListener("online", cut, { signal });
    signal.addEventListener("abort", () => clearInterval(look));
    void this.#takeTurns(`svc-events-${fingerprint(token)}`, signal);
  }

  #leave() {
    this.#attended.abort();
    this.#others?.close();
    this.#others = null;
  }

  /** Ends a stream that is silent; where another tab reads, takes over from it. */
  #look() {
    const silent = Math.abs(Date.now() - this.#heardAt) > SILENT_AFTER;
    // A tab that reads opens a lost stream anew by itself.
    const stands = this.state === "live" || (this.state === "lost" && !this.#reads);
    if (!stands || !silent) return;
    this.#heardAt = Date.now();
    this.#takeOver = !this.#reads;
    this.#become("lost");
    this.#turn.abort();
  }

  /**
   * Reads whenever no other tab does. Browsers have locks only for https and loopback; elsewhere each visible tab reads.
   *
   * @param {string} name
   * @param {AbortSignal} left
   */
  async #takeTurns(name, left) {
    while (!left.aborted) {
      this.#turn = new AbortController();
      const signal = AbortSignal.any([left, this.#turn.signal]);
      const how = this.#takeOver ? { steal: true } : { signal };
      this.#takeOver = false;
      const read = async () => {
        if (signal.aborted) return;
        this.#reads = true;
        await this.#readOn(signal);
      };
      try {
        await (navigator.locks ? navigator.locks.request(name, how, read) : read());
      } catch (error) {
        // Taken over, or no longer waiting.
        if (!(error instanceof DOMException && error.name === "AbortError")) await read();
      }
      this.#turn.abort();
      this.#reads = false;
    }
  }

  /** Reads stream after stream. @param {AbortSignal} signal */
  async #readOn(signal) {
    let failures = 0;
    let blocked = 0;
    while (!signal.aborted) {
      const began = performance.now();
      const rights = await this.#api.rights();
      const mayRead = rights === null || SCOPES.some((scope) => rights.scopes.includes(scope));
      const end = mayRead ? await this.#readOne(signal) : REFUSED;
      if (signal.aborted) return;
      if (end.delivered) blocked = 0;
      if (end.delivered && performance.now() - began > WORKED_AFTER) failures = 0;
      if (end.blocked) {
        this.#newest = "";
        this.#become("asking");
        // A token does not get more scopes.
        if (end.refused) await new Promise((resolve) => signal.addEventListener("abort", resolve));
        else await pause(backOff(BLOCKED_FIRST, BLOCKED_MOST, blocked++), signal);
      } else {
        if (this.state === "live") this.#become("lost");
        await pause(Math.max(end.retryAfter * 1_000, backOff(RETRY_FIRST, RETRY_MOST, failures++)), signal);
      }
    }
  }

  /**
   * @param {AbortSignal} signal
   * @returns {Promise<End>}
   */
  async #readOne(signal) {
    const reading = new AbortController();
    const late = setTimeout(() => reading.abort(), DELIVERS_WITHIN);
    const end = { delivered: false, blocked: false, refused: false, retryAfter: 0 };
    try {
      const headers = { accept: "text/event-stream", ...(this.#newest && { "last-event-id": this.#newest }) };
      const ends = AbortSignal.any([signal, reading.signal]);
      for await (const messages of messagesOf(this.#api.pieces("events", { headers }, ends))) {
        clearTimeout(late);
        end.delivered = true;
        for (const message of messages) {
          this.#take(message);
          this.#others?.postMessage({ kind: "message", message });
        }
      }
      end.blocked = !end.delivered;
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      end.blocked = error.reason === "failed" && !end.delivered;
      end.refused = error.status === 403;
      end.retryAfter = error.retryAfter;
    } finally {
      clearTimeout(late);
      reading.abort();
    }
    return end;
  }

  /** Of another tab. @param {any} said */
  #hear(said) {
    if (this.#reads) {
      if (said.kind === "hello") this.#tellState();
      return;
    }
    if (said.kind === "message" && this.#joined && isLater(said.message, this.#newest)) {
      this.#take(said.message);
    }
    if (said.kind === "state") {
      this.#joined = true;
      this.#heardAt = Date.now();
      const missed = said.state === "live" && said.newest !== this.#newest;
      this.#newest = said.newest;
      this.#become(said.state);
      if (missed) this.#reset();
    }
  }

  /** @param {Message} message */
  #take({ id, type, data }) {
    this.#heardAt = Date.now();
    const isFirst = this.#newest === "";
    this.#newest = id;
    this.#become("live");
    if (type === "reset" || isFirst) this.#reset();
    if (type === "mark" || type === "reset") return;
    this.changedAt = this.#heardAt;
    this.dispatchEvent(new CustomEvent("happened", { detail: { type, data } }));
  }

  #reset() {
    this.changedAt = Date.now();
    this.dispatchEvent(new Event("reset"));
  }

  /** @param {State} state */
  #become(state) {
    if (this.state === state) return;
    this.state = state;
    if (this.#reads) this.#tellState();
    this.dispatchEvent(new Event("state"));
  }

  #tellState() {
    this.#others?.postMessage({ kind: "state", state: this.state, newest: this.#newest });
  }
}

/**
 * Milliseconds before the next of so many failed attempts, spread so that not all tabs of a server come back at once.
 *
 * @param {number} first
 * @param {number} most
 * @param {number} failures
 */
const backOff = (first, most, failures) =>
  Math.min(most, first * 2 ** Math.min(failures, 20)) * (0.5 + Math.random() / 2);

/**
 * Waits, but no longer than until the network is back or `signal` is aborted.
 *
 * @param {number} ms
 * @param {AbortSignal} signal
 */
const pause = (ms, signal) =>
  new Promise((resolve) => {
    const over = new AbortController();
    const timer = setTimeout(() => over.abort(), ms);
    over.signal.addEventListener("abort", () => {
      clearTimeout(timer);
      resolve(undefined);
    });
    signal.addEventListener("abort", () => over.abort(), { signal: over.signal });
    addEventListener("online", () => over.abort(), { signal: over.signal });
  });
