/**
 * What a page of the dashboard is, and what it is given to work with.
 */
import { ApiError } from "./api.js";

/**
 * A page: one module, registered in `pages.js`.
 *
 * @typedef {object} Page
 * @property {string} name its fragment in the address: `#audit`
 * @property {string} title
 * @property {(view: View) => void} open builds the page in `view.root`; called each time it is gone to
 */

/**
 * @typedef {object} View
 * @property {HTMLElement} root empty, the page's own
 * @property {import("./api.js").Api} api
 * @property {AbortSignal} signal aborted when the page is left
 * @property {<T>(seconds: number, ask: () => Promise<T>, show: (answer: T) => void) => void} every asks now and then
 *   every so many seconds, while the page is open and visible; trouble is shown above the page, and asking goes on
 */

/**
 * @param {HTMLElement} root
 * @param {import("./api.js").Api} api
 * @param {AbortSignal} signal
 * @param {(message: string) => void} trouble shows what is wrong, or that nothing is (empty)
 * @returns {View}
 */
export function createView(root, api, signal, trouble) {
  return {
    root,
    api,
    signal,
    every(seconds, ask, show) {
      const round = async () => {
        const wait = await attempt(ask, show, signal, trouble);
        if (wait !== null) again(Math.max(seconds, wait) * 1_000, signal, round);
      };
      again(0, signal, round);
    },
  };
}

/**
 * @template T
 * @param {() => Promise<T>} ask
 * @param {(answer: T) => void} show
 * @param {AbortSignal} signal
 * @param {(message: string) => void} trouble
 * @returns {Promise<number | null>} seconds to wait at least, or null to ask no more
 */
async function attempt(ask, show, signal, trouble) {
  try {
    const answer = await ask();
    if (signal.aborted) return null;
    trouble("");
    show(answer);
    return 0;
  } catch (error) {
    if (signal.aborted) return null;
    if (!(error instanceof ApiError)) throw error;
    trouble(error.reason === "unreachable" ? `${error.message} Trying again…` : error.message);
    return error.reason === "unauthorized" ? null : error.retryAfter;
  }
}

/**
 * Calls `act` after so many milliseconds, and not before somebody looks.
 *
 * @param {number} milliseconds
 * @param {AbortSignal} signal
 * @param {() => void} act
 */
function again(milliseconds, signal, act) {
  const whenVisible = () => {
    if (signal.aborted) return;
    if (!document.hidden) return act();
    document.addEventListener("visibilitychange", whenVisible, { once: true, signal });
  };
  const timer = setTimeout(whenVisible, milliseconds);
  signal.addEventListener("abort", () => clearTimeout(timer), { once: true });
}
