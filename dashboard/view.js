/**
 * What a page of the dashboard is, and the view that it gets.
 */
import { ApiError } from "./api-error.js";

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
 * @property {PollPath} poll shows what is at a path, now and whenever it changes, while the page is open and visible
 * @property {(ends: AbortSignal) => View} until the same for a part of the page, which ends earlier
 */

/** @typedef {(scope: import("./api.js").Scope) => boolean} May */

/**
 * What a page shows of one path, and when it asks for it. Where events come, it asks when one of them concerns it.
 *
 * @template {import("./wire").GetPath} Path
 * @typedef {object} PollOptions
 * @property {Path | (() => Path)} path
 * @property {readonly string[]} on the types of events that concern it; `run.*` for all that begin so
 * @property {number} every seconds between requests where no events come; 0 for what is asked for once, and again only
 *   while the server is gone or asks to wait
 * @property {number} [rest] seconds between requests where events come: for what has no events
 * @property {(answer: import("./wire").Answer<Path>, happened: import("./events.js").Happening) => import("./wire").Answer<Path> | null} [apply]
 *   the answer after an event, so that no request is needed; the same where nothing changes, and null to ask. An event can
 *   come that the answer has already
 * @property {(answer: import("./wire").Answer<Path>, at: Date) => void} show gets each answer, and when it was asked for
 * @property {(error: ApiError) => void} [fail] gets what the server says against the request, or that it took too long (the shell
 *   shows when there is no answer, or when the server asks to wait)
 */

/** @typedef {<Path extends import("./wire").GetPath>(polled: PollOptions<Path>) => Poll} PollPath */

/**
 * @typedef {object} Poll
 * @property {() => Promise<void>} now asks again at once; resolves when the answer is shown; never rejects
 */

/** The least seconds between requests that the server answers with an error, where events come. */
export const FAILED_REST_S = 30;

/** The oldest answer of another page that is shown, in parts of the time between requests. */
const FRESH = 0.9;

/**
 * @param {HTMLElement} root
 * @param {import("./api.js").Api} api
 * @param {import("./events.js").Events} events
 * @param {May} may
 * @param {AbortSignal} signal
 * @returns {View}
 */
export function createView(root, api, events, may, signal) {
  return {
    ...{ root, api, may, signal },
    poll: (polled) => startPoll(polled, api, events, signal),
    until: (ends) => createView(root, api, events, may, AbortSignal.any([signal, ends])),
  };
}

/**
 * @template {import("./wire").GetPath} Path
 * @param {PollOptions<Path>} polled
 * @param {import("./api.js").Api} api
 * @param {import("./events.js").Events} events
 * @param {AbortSignal} signal
 * @returns {Poll}
 */
function startPoll(
  { path, on, every, rest = 0, apply = () => null, show, fail = () => {} },
  api,
  events,
  signal,
) {
  /** For the next round: of time, and of an event that leads to a request. */
  let timer = 0;
  let soon = 0;
  let rounds = 0;
  /** Whether a request is under way, and the events since it began. */
  let asking = false;
  /** @type {import("./events.js").Happening[]} */
  let meanwhile = [];
  /** Whether the token lacks the scope: it does not get more, and each further request would be a row in the audit log. */
  let refused = false;
  /** As it is shown. @type {import("./wire").Answer<Path> | null} */
  let shown = null;
  const fresh = () => {
    const age = every * FRESH * 1_000;
    return events.live ? Math.min(age, Date.now() - events.changedAt + 1) : age;
  };

  const round = async (maxAge = fresh()) => {
    clearTimeout(timer);
    clearTimeout(soon);
    soon = 0;
    rounds += 1;
    const nth = rounds;
    // Only the answer to the last request is shown, in whatever order they come.
    const over = () => signal.aborted || nth !== rounds;
    const asked = typeof path === "string" ? path : path();
    asking = true;
    meanwhile = [];
    const after = events.live && every > 0 ? Math.max(every, rest, FAILED_REST_S) : every;
    const ask = every > 0 ? () => api.get(asked, { maxAge }) : () => askOnce(api, asked);
    const wait = await attempt(ask, showNew, fail, over, after);
    if (over()) return;
    asking = false;
    refused = wait === null;
    const seconds = wait === 0 ? (events.live ? rest : every) : (wait ?? 0);
    // Tabs that were opened together drift apart, so that the first to ask shares its answer.
    const jitter = 1 + Math.random() / 10;
    if (seconds > 0) timer = setTimeout(() => whenVisible(signal, round), seconds * 1_000 * jitter);
  };

  /**
   * @param {import("./wire").Answer<Path>} answer
   * @param {Date} at
   */
  const showNew = (answer, at) => {
    asking = false;
    shown = answer;
    show(answer, at);
    for (const one of meanwhile.splice(0)) take(one);
  };

  /** @param {import("./events.js").Happening} happened */
  const take = (happened) => {
    if (asking) {
      meanwhile.push(happened);
      return;
    }
    // Data that is not whole says that something changed, not what.
    const next = shown === null || happened.data.truncated ? null : apply(shown, happened);
    if (next === null) return askSoon();
    if (next === shown) return;
    shown = next;
    show(next, new Date());
  };

  const askSoon = () => {
    soon ||= setTimeout(() => whenVisible(signal, round), events.delay());
  };

  const concerns = matching(on);
  const listen = { signal };
  const isOn = () => every > 0 && rounds > 0 && !refused;
  const again = () => {
    if (isOn()) whenVisible(signal, round);
  };
  const happened = (/** @type {Event} */ event) => {
    if (isOn() && event instanceof CustomEvent && concerns(event.detail.type)) take(event.detail);
  };
  events.addEventListener("happened", happened, listen);
  events.addEventListener("reset", again, listen);
  events.addEventListener("state", () => events.state === "asking" && again(), listen);
  signal.addEventListener("abort", () => {
    clearTimeout(timer);
    clearTimeout(soon);
  });
  whenVisible(signal, async () => {
    await events.ready();
    if (!signal.aborted && rounds === 0) void round();
  });
  return { now: () => round(0) };
}

/**
 * Whether a type of event is one of `types`.
 *
 * @param {readonly string[]} types
 * @returns {(type: string) => boolean}
 */
const matching = (types) => (type) =>
  types.some((one) => (one.endsWith(".*") ? type.startsWith(one.slice(0, -1)) : type === one));

/**
 * What is asked for once may take as long as a host takes, so this does not report that the server is silent.
 *
 * @template {import("./wire").GetPath} Path
 * @param {import("./api.js").Api} api
 * @param {Path} path
 */
async function askOnce(api, path) {
  const at = Date.now();
  return { at, body: await api.ask(path) };
}

/** Seconds until a server that did not answer is asked again. */
const RETRY_S = 2;

/**
 * Seconds after which it is of use to ask again; 0 where the server would say the same.
 *
 * @param {ApiError} error
 */
export function againAfter({ reason, retryAfter }) {
  if (reason === "limited") return retryAfter;
  return reason === "unreachable" ? RETRY_S : 0;
}

/**
 * @template T
 * @param {() => Promise<import("./api.js").DatedAnswer<T>>} ask
 * @param {(answer: T, at: Date) => void} show
 * @param {(error: ApiError) => void} fail
 * @param {() => boolean} over whether the answer is no longer wanted
 * @param {number} after seconds until the next request after an error of this one
 * @returns {Promise<number | null>} seconds until the next request; 0 after a good answer, and null for none
 */
async function attempt(ask, show, fail, over, after) {
  try {
    const { at, body } = await ask();
    if (over()) return null;
    show(body, new Date(at));
    return 0;
  } catch (error) {
    if (over()) return null;
    if (!(error instanceof ApiError)) throw error;
    if (error.reason === "failed" || error.reason === "late") fail(error);
    if (error.reason === "unauthorized" || error.status === 403) return null;
    // What is asked for once has told who looks that there was no answer.
    if (error.reason === "late") return Math.min(after, RETRY_S);
    // However seldom it is asked for otherwise: there is nothing to look at yet.
    return againAfter(error) || after;
  }
}

/**
 * Calls `act` when the page is visible.
 *
 * @param {AbortSignal} signal
 * @param {() => void} act
 */
export function whenVisible(signal, act) {
  if (signal.aborted) return;
  if (!document.hidden) return act();
  document.addEventListener("visibilitychange", () => whenVisible(signal, act), { once: true, signal });
}

/**
 * Calls `act` soon, and never more often than once in so many milliseconds, however often it is asked to.
 *
 * @param {number} ms
 * @param {() => void} act
 * @param {AbortSignal} signal
 */
export function atMostEvery(ms, act, signal) {
  let timer = 0;
  let last = Number.NEGATIVE_INFINITY;
  signal.addEventListener("abort", () => clearTimeout(timer));
  const now = () => {
    timer = 0;
    last = performance.now();
    act();
  };
  return () => {
    timer ||= setTimeout(now, Math.max(0, last + ms - performance.now()));
  };
}
