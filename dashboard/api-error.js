/**
 * Why there is no answer of the REST API, in words for a person.
 */

const REFUSED = "The server does not accept this token.";

/**
 * Why there is no answer: `unauthorized` (wrong token), `limited` (ask again after `retryAfter` seconds), `unreachable` (no
 * answer at all), `late` (none within the time that it had, or no more of it), `failed` (the server says why).
 *
 * @typedef {"unauthorized" | "limited" | "unreachable" | "late" | "failed"} Reason
 */

export class ApiError extends Error {
  /**
   * @param {Reason} reason
   * @param {string} message for a person
   * @param {{ retryAfter?: number, status?: number, body?: Record<string, unknown> }} [more] `retryAfter` in seconds
   */
  constructor(reason, message, { retryAfter = 0, status = 0, body = {} } = {}) {
    super(message);
    this.reason = reason;
    this.retryAfter = retryAfter;
    this.status = status;
    /** The JSON body of the answer. */
    this.body = body;
  }
}

/** Why the page was signed out. @param {string} token @param {string} message */
export function endedWords(token, message) {
  if (token.includes(" ")) return "Your session has ended. Sign in again.";
  return message === REFUSED ? "The server no longer accepts this token." : message;
}

export const unreachable = (message = "The server does not answer.") => new ApiError("unreachable", message);

/** @param {number} ms that the answer had */
export const late = (ms) => new ApiError("late", `No answer after ${seconds(ms)} s.`);

/** @param {number} ms for which nothing more of an answer came that had begun */
export const stalled = (ms) =>
  new ApiError("late", `The answer stopped: nothing more came for ${seconds(ms)} s.`);

/** @param {number} ms */
const seconds = (ms) => Math.round(ms / 1_000);

/**
 * The error of a request that changes something: where the server does not say what became of it, nobody knows.
 *
 * @param {unknown} error
 */
export function ofAct(error) {
  if (!(error instanceof ApiError) || (error.reason !== "late" && error.reason !== "unreachable"))
    return error;
  const words = error.message.replace(/\.$/, "");
  return new ApiError(error.reason, `${words}; it may have been done: look before you do it again.`);
}

/** @param {number} seconds */
export function limited(seconds) {
  return new ApiError("limited", `The server asks to wait ${seconds} s.`, { retryAfter: seconds });
}

/**
 * Why the server refuses the token; it says more where the token is over, or mistyped.
 *
 * @param {Response} response
 */
export async function refusedWords(response) {
  const { reason } = Object(await response.json().catch(() => ({})));
  return typeof reason === "string" ? `${REFUSED.slice(0, -1)}: ${reason}.` : REFUSED;
}
