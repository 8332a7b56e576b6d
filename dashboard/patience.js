/**
 * How long an answer may say nothing: until it begins, and then until more of it comes. A large file on a slow line takes as long as it
 * takes.
 */
import { late, stalled } from "./api-error.js";

export class Patience {
  #ms;
  #over = new AbortController();
  #hasBegun = false;
  /** Whether something has come since the time began. */
  #isHeard = false;

  /** @param {number} ms of silence after which it is over; once something has come, it may be up to twice as many */
  constructor(ms) {
    this.#ms = ms;
    this.#begin();
  }

  /** Aborted when it is over. */
  get signal() {
    return this.#over.signal;
  }

  #begin() {
    this.#isHeard = false;
    // One clock at a time, however many parts come.
    AbortSignal.timeout(this.#ms).addEventListener("abort", () => {
      if (this.#isHeard) this.#begin();
      else this.#over.abort();
    });
  }

  /** Begins the time anew: the answer has begun, or more of it has come. */
  heard() {
    this.#hasBegun = true;
    this.#isHeard = true;
  }

  /** Why the request was given up, for a person. */
  error() {
    return this.#hasBegun ? stalled(this.#ms) : late(this.#ms);
  }
}

/**
 * The file that an answer has.
 *
 * @param {Response} response
 * @param {() => void} heard is called with each part of it
 */
export async function fileOf(response, heard) {
  const parts = [];
  const reader = response.body?.getReader();
  while (reader) {
    const { done, value } = await reader.read();
    if (done) break;
    heard();
    parts.push(value);
  }
  return new Blob(parts, { type: response.headers.get("content-type") ?? "" });
}
