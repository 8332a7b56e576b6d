/**
 * Answers that are kept for a while. Tabs with the same token share theirs, so that three of them ask little more often than one.
 */
import { fingerprint } from "./credentials.js";

/** Milliseconds for which an answer is kept. */
export const FORGET_AFTER = 60_000;

/**
 * The body of an answer, and when it was asked for, in milliseconds since 1970.
 *
 * @template [T=unknown]
 * @typedef {{ at: number, body: T }} DatedAnswer
 */

export class SharedAnswers {
  /** @type {Map<string, { at: number, answer: Promise<DatedAnswer> }>} */
  #answers = new Map();
  /** @type {BroadcastChannel | null} */
  #others = null;
  #ask;

  /** @param {(path: string) => Promise<unknown>} ask asks the server */
  constructor(ask) {
    this.#ask = ask;
  }

  /**
   * The answer to `path`, asked anew where what is kept is older. Panels and tabs that want the same share one request.
   *
   * @param {string} path
   * @param {number} maxAge in milliseconds
   * @returns {Promise<DatedAnswer>}
   */
  get(path, maxAge) {
    const known = this.#answers.get(path);
    if (known && ageOf(known) < maxAge) return known.answer;
    const at = Date.now();
    const answer = this.#ask(path).then((body) => ({ at, body }));
    const asked = { at, answer };
    this.#remember(path, asked);
    const others = this.#others;
    answer.then(
      ({ body }) => {
        // Not after signing in with another token.
        if (others === this.#others) others?.postMessage({ path, at, body });
      },
      () => {
        if (this.#answers.get(path) === asked) this.#answers.delete(path);
      },
    );
    return answer;
  }

  /** Shares answers with the other tabs that have this token. @param {string} token */
  meet(token) {
    this.#others = new BroadcastChannel(`svc-${fingerprint(token)}`);
    this.#others.addEventListener("message", ({ data: { path, at, body } }) => {
      const known = this.#answers.get(path);
      if (!known || known.at < at) this.#remember(path, { at, answer: Promise.resolve({ at, body }) });
    });
  }

  /**
   * @param {string} path
   * @param {{ at: number, answer: Promise<DatedAnswer> }} answer
   */
  #remember(path, answer) {
    for (const [old, known] of this.#answers) if (ageOf(known) > FORGET_AFTER) this.#answers.delete(old);
    this.#answers.set(path, answer);
  }

  /** Forgets all. */
  leave() {
    this.#others?.close();
    this.#others = null;
    this.#answers.clear();
  }
}

/** In milliseconds; positive even if the clock was set back. @param {{ at: number }} answer */
const ageOf = ({ at }) => Math.abs(Date.now() - at);
