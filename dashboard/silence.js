/**
 * When nothing is sent, as the server asks for that, and what becomes of a server that says nothing.
 */
import { limited, unreachable } from "./api-error.js";

/** Milliseconds since the last good answer after which requests go one at a time, and for which they then wait. */
const DOUBT_AFTER = 2_000;

/** Milliseconds without any good answer after which a waiting request reports trouble. */
const SLOW_AFTER = 10_000;

/** Seconds to wait after a 429 that does not say how many. */
const WAIT_S = 5;

/**
 * Fires `answered` for an answer of any kind, and `trouble` with the {@link import("./api-error.js").ApiError} in its `detail` when
 * there is no answer or the server asks to wait.
 */
export class Silence extends EventTarget {
  /** Nothing is sent before then; like the next, in milliseconds of the monotonic clock. */
  #until = 0;
  #goodAt = Number.NEGATIVE_INFINITY;
  /** @type {Promise<unknown> | null} */
  #probe = null;

  /** @throws {import("./api-error.js").ApiError} `limited` while the server wants nothing sent */
  keep() {
    const wait = Math.ceil((this.#until - performance.now()) / 1_000);
    if (wait > 0) throw limited(wait);
  }

  /** Begins one that an answer asks for. @param {Response} response @returns the error for who asked */
  begin({ headers }) {
    // A proxy may send a date (RFC 9110 section 10.2.3), which is no use if the clock of the browser is wrong.
    const seconds = Number(headers.get("retry-after")) || WAIT_S;
    this.#until = performance.now() + seconds * 1_000;
    return this.troubled(limited(seconds));
  }

  /** Tells of an answer. */
  answered() {
    this.#goodAt = performance.now();
    this.dispatchEvent(new Event("answered"));
  }

  /** Tells that there is none. @param {import("./api-error.js").ApiError} error @returns it */
  troubled(error) {
    this.dispatchEvent(new CustomEvent("trouble", { detail: error }));
    return error;
  }

  /** Forgets the last good answer: the next token is another. */
  forget() {
    this.#goodAt = Number.NEGATIVE_INFINITY;
  }

  /**
   * For repeated requests. If the token became invalid, each would count as a guess; so after a while without a good
   * answer one request goes ahead and the others wait for it, but not for long, since a token is refused at once.
   * Reports trouble while the server stays silent.
   *
   * @template T
   * @param {() => Promise<T>} ask
   * @returns {Promise<T>}
   */
  async inTurn(ask) {
    const until = performance.now() + DOUBT_AFTER;
    while (this.#probe && this.#sinceGood() > DOUBT_AFTER && performance.now() < until) {
      await Promise.race([this.#probe, new Promise((resolve) => setTimeout(resolve, DOUBT_AFTER))]);
    }
    const slow = setTimeout(() => {
      if (this.#sinceGood() > SLOW_AFTER) this.troubled(unreachable("The server has not answered for 10 s."));
    }, SLOW_AFTER);
    const answer = ask();
    const probe = answer.catch(() => {});
    this.#probe = probe;
    probe.then(() => {
      clearTimeout(slow);
      if (this.#probe === probe) this.#probe = null;
    });
    return answer;
  }

  #sinceGood() {
    return performance.now() - this.#goodAt;
  }
}
