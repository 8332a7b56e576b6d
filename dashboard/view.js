/**
 * What a page of the dashboard is, and what it is given to work with.
 */
import { ApiError } from "./api.js";

/**
 * A page: one module that exports `open`, registered in `pages.js`.
 *
 * @typedef {object} Page
 * @property {(view: View) => void} open builds the page in `view.root`; called each time it is gone to
 */

/**
 * @typedef {object} View
 * @property {HTMLElement} root holds the heading; the rest is the page's own
 * @property {import("./api.js").Api} api
 * @property {AbortSignal} signal aborted when the page is left
 * @property {<T>(seconds: number, path: string | (() => string), show: (answer: T, at: Date) => void, fail?: (error: ApiError) => void) => Poll} poll
 *   asks for `path` now and then every so many seconds, while the page is open and visible; `show` is told when it was
 *   asked for, `fail` what the server says against it (that there is no answer, or that it asks to wait, the shell
 *   tells)
 */

/**
 * @typedef {object} Poll
 * @property {() => Promise<void>} now asks at once, for what is new; resolves when that was told; never rejects
 */

/**
 * @param {HTMLElement} root
 * @param {import("./api.js").Api} api
 * @param {AbortSignal} signal
 * @returns {View}
 */
export function createView(root, api, signal) {
  return {
    root,
    api,
    signal,
    poll(seconds, path, show, fail = () => {}) {
      let timer = 0;
      let rounds = 0;
      const round = async (maxAge = seconds * 900) => {
        clearTimeout(timer);
        rounds += 1;
        const nth = rounds;
        // What was asked for last is what is shown, in whatever order the answers come.
        const over = () => signal.aborted || nth !== rounds;
        const asked = typeof path === "string" ? path : path();
        const next = await attempt(() => api.get(asked, { maxAge }), show, fail, over, seconds);
        // Tabs that were opened together drift apart, and the first to ask asks for all.
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
 * @param {() => Promise<import("./api.js").Answer>} ask
 * @param {(answer: T, at: Date) => void} show
 * @param {(error: ApiError) => void} fail
 * @param {() => boolean} over whether nobody wants the answer any more
 * @param {number} seconds between one time and the next when all is well
 * @returns {Promise<number | null>} seconds until the next time, or null to ask no more
 */
async function attempt(ask, show, fail, over, seconds) {
  try {
    const { at, body } = await ask();
    if (over()) return null;
    show(/** @type {T} */ (body), new Date(at));
    return seconds;
  } catch (error) {
    if (over()) return null;
    if (!(error instanceof ApiError)) throw error;
    if (error.reason === "failed") fail(error);
    if (error.reason === "unauthorized") return null;
    return error.reason === "unreachable" ? Math.min(seconds, RETRY_S) : Math.max(seconds, error.retryAfter);
  }
}

/**
 * Calls `act` once somebody looks.
 *
 * @param {AbortSignal} signal
 * @param {() => void} act
 */
function whenVisible(signal, act) {
  if (signal.aborted) return;
  if (!document.hidden) return act();
  document.addEventListener("visibilitychange", () => whenVisible(signal, act), { once: true, signal });
}
