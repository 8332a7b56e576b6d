/**
 * What a page of the dashboard is, and the view that it gets.
 */
import { ApiError } from "./api.js";

/**
 * A page: one module that exports `open`, registered in `pages.js`.
 *
 * @typedef {object} Page
 * @property {(view: View) => void} open builds the page in `view.root`; called each time it is opened
 */

/**
 * @typedef {object} View
 * @property {HTMLElement} root has the heading; the page adds the rest
 * @property {import("./api.js").Api} api
 * @property {AbortSignal} signal aborted when the page is left
 * @property {May} may whether the token allows it; true while that is not known: then the server says so
 * @property {PollPath} poll asks for `path` now and then every so many seconds, while the page is open and visible
 */

/** @typedef {(scope: import("./api.js").Scope) => boolean} May */

/**
 * `show` gets each answer and when it was asked for; `fail` gets what the server says against the request (the shell
 * shows when there is no answer, or when the server asks to wait).
 *
 * @typedef {<Asked extends import("./wire").GetPath>(
 *   seconds: number,
 *   path: Asked | (() => Asked),
 *   show: (answer: import("./wire").Answer<Asked>, at: Date) => void,
 *   fail?: (error: ApiError) => void,
 * ) => Poll} PollPath
 */

/**
 * @typedef {object} Poll
 * @property {() => Promise<void>} now asks again at once; resolves when the answer is shown; never rejects
 */

/**
 * @param {HTMLElement} root
 * @param {import("./api.js").Api} api
 * @param {May} may
 * @param {AbortSignal} signal
 * @returns {View}
 */
export function createView(root, api, may, signal) {
  return {
    root,
    api,
    may,
    signal,
    poll(seconds, path, show, fail = () => {}) {
      let timer = 0;
      let rounds = 0;
      const round = async (maxAge = seconds * 900) => {
        clearTimeout(timer);
        rounds += 1;
        const nth = rounds;
        // Only the answer to the last request is shown, in whatever order they come.
        const over = () => signal.aborted || nth !== rounds;
        const asked = typeof path === "string" ? path : path();
        const next = await attempt(() => api.get(asked, { maxAge }), show, fail, over, seconds);
        // Tabs that were opened together drift apart, so that the first to ask shares its answer.
        const jitter = 1 + Math.random() / 10;
        if (next !== null) timer = setTimeout(() => whenVisible(signal, round), next * 1_000 * jitter);
      };
      signal.addEventListener("abort", () => clearTimeout(timer));
      whenVisible(signal, round);
      return { now: () => round(0) };
    },
  };
}

/** Seconds until a server that did not answer is asked again. */
const RETRY_S = 2;

/**
 * @template T
 * @param {() => Promise<import("./api.js").Answered<T>>} ask
 * @param {(answer: T, at: Date) => void} show
 * @param {(error: ApiError) => void} fail
 * @param {() => boolean} over whether the answer is no longer wanted
 * @param {number} seconds until the next request after a good answer
 * @returns {Promise<number | null>} seconds until the next request, or null for none
 */
async function attempt(ask, show, fail, over, seconds) {
  try {
    const { at, body } = await ask();
    if (over()) return null;
    show(body, new Date(at));
    return seconds;
  } catch (error) {
    if (over()) return null;
    if (!(error instanceof ApiError)) throw error;
    if (error.reason === "failed") fail(error);
    // A token does not get more scopes; each further request would be a row in the audit log.
    if (error.reason === "unauthorized" || error.status === 403) return null;
    return error.reason === "unreachable" ? Math.min(seconds, RETRY_S) : Math.max(seconds, error.retryAfter);
  }
}

/**
 * Calls `act` when the page is visible.
 *
 * @param {AbortSignal} signal
 * @param {() => void} act
 */
function whenVisible(signal, act) {
  if (signal.aborted) return;
  if (!document.hidden) return act();
  document.addEventListener("visibilitychange", () => whenVisible(signal, act), { once: true, signal });
}
