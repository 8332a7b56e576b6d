/**
 * The server, asked over its REST API with the token of this tab.
 *
 * The token is kept in sessionStorage, so it goes with the tab, and travels in a header, never in a URL. A wrong one is
 * forgotten at once, and while the server asks to wait nothing is sent: neither ever becomes a lockout.
 */

const STORAGE_KEY = "svc-token";

/**
 * Why there is no answer: `unauthorized` (the token is wrong), `limited` (to be asked again after `retryAfter`
 * seconds), `unreachable` (no answer at all), `failed` (the server says why).
 *
 * @typedef {"unauthorized" | "limited" | "unreachable" | "failed"} Reason
 */

export class ApiError extends Error {
  /**
   * @param {Reason} reason
   * @param {string} message for a person
   * @param {number} [retryAfter] seconds
   */
  constructor(reason, message, retryAfter = 0) {
    super(message);
    this.reason = reason;
    this.retryAfter = retryAfter;
  }
}

/** Fires `signin`, and `signout` with the reason in its `detail` (empty when it was asked for). */
export class Api extends EventTarget {
  /** Where the paths of the API start; relative to this file, so that a proxy may put the server below a path. */
  base = new URL("../", import.meta.url);
  /** Nothing is sent before then, in milliseconds since 1970. */
  #silentUntil = 0;
  /** @type {Map<string, { at: number, answer: Promise<unknown> }>} */
  #answers = new Map();

  get token() {
    return sessionStorage.getItem(STORAGE_KEY);
  }

  /**
   * Keeps the token if the server takes it.
   *
   * @param {string} token
   * @throws {ApiError}
   */
  async signIn(token) {
    // What cannot be in a header cannot be a token, and would only be counted as a guess.
    if (!/^[\x21-\x7e]+$/.test(token)) throw new ApiError("unauthorized", "That is not a token.");
    await this.#send("server", token);
    sessionStorage.setItem(STORAGE_KEY, token);
    this.dispatchEvent(new Event("signin"));
  }

  /** @param {string} [reason] */
  signOut(reason = "") {
    sessionStorage.removeItem(STORAGE_KEY);
    this.#answers.clear();
    this.dispatchEvent(new CustomEvent("signout", { detail: reason }));
  }

  /**
   * The body at `path`. Panels that want the same share one request.
   *
   * @param {string} path without a leading slash
   * @param {{ maxAge?: number }} [options] how old an answer may be, in milliseconds
   * @returns {Promise<unknown>} JSON, as `/openapi.json` describes it
   * @throws {ApiError}
   */
  get(path, { maxAge = 1_000 } = {}) {
    const known = this.#answers.get(path);
    if (known && Date.now() - known.at < maxAge) return known.answer;
    const answer = this.#ask(path);
    this.#answers.set(path, { at: Date.now(), answer });
    answer.catch(() => this.#answers.delete(path));
    return answer;
  }

  /**
   * @param {string} path without a leading slash
   * @param {unknown} body
   * @returns {Promise<unknown>}
   * @throws {ApiError}
   */
  post(path, body) {
    return this.#ask(path, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(body),
    });
  }

  /**
   * @param {string} path
   * @param {RequestInit} [init]
   */
  async #ask(path, init) {
    const { token } = this;
    if (token === null) throw new ApiError("unauthorized", "Signed out.");
    try {
      return await this.#send(path, token, init);
    } catch (error) {
      const refused = error instanceof ApiError && error.reason === "unauthorized";
      if (refused && this.token === token) this.signOut("The server no longer takes this token.");
      throw error;
    }
  }

  /**
   * @param {string} path
   * @param {string} token
   * @param {RequestInit} [init]
   */
  async #send(path, token, init = {}) {
    const wait = Math.ceil((this.#silentUntil - Date.now()) / 1_000);
    if (wait > 0) throw limited(wait);
    const headers = new Headers(init.headers);
    headers.set("authorization", `Bearer ${token}`);
    const response = await fetch(new URL(path, this.base), { ...init, headers }).catch(() => {
      throw new ApiError("unreachable", "The server does not answer.");
    });
    if (response.ok) return response.json();
    if (response.status === 401) throw new ApiError("unauthorized", "The server does not take this token.");
    if (response.status === 429) {
      const seconds = Number(response.headers.get("retry-after") ?? 5);
      this.#silentUntil = Date.now() + seconds * 1_000;
      throw limited(seconds);
    }
    const body = await response.json().catch(() => ({}));
    throw new ApiError("failed", String(body.error ?? `HTTP ${response.status}`));
  }
}

/** @param {number} seconds */
function limited(seconds) {
  return new ApiError("limited", `The server asks to wait ${seconds} s.`, seconds);
}
