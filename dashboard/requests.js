/**
 * The requests of the last hour, and how many there were since the start.
 */
import { el, setText } from "./dom.js";
import { count, duration, timeOfDay } from "./format.js";
import { figure, panel } from "./parts.js";
import { legend, plot } from "./plot.js";

/** @typedef {import("./wire").Answer<"overview">} Overview */
/** @typedef {import("./wire").Answer<"requests">} Requests */

/** Times that the plot has at most: an hour. */
const SLOTS = 120;

/** Adds the requests of an event, of which each has the counts since the start, to those of the last hour. */
export function createCounting() {
  /** The counts of the event before. @type {Overview["requests"] | null} */
  let before = null;
  return (/** @type {Requests} */ answer, /** @type {import("./events.js").Happening} */ { data }) => {
    const counts = /** @type {Overview["requests"] & { at: string }} */ (data);
    const last = before;
    before = counts;
    if (last === null || counts.total < last.total) return answer;
    const { slot_seconds } = answer;
    const first = Date.parse(answer.since) / 1_000;
    const nth = Math.floor((Date.parse(counts.at) / 1_000 - first) / slot_seconds);
    const over = Math.max(0, nth - SLOTS + 1);
    /** @param {readonly number[]} values @param {number} more */
    const add = (values, more) => {
      const all = [
        ...values,
        ...new Array(Math.max(0, Math.min(nth, 2 * SLOTS) + 1 - values.length)).fill(0),
      ];
      all[all.length - 1] += more;
      return all.slice(-SLOTS);
    };
    const bad = counts.client_errors - last.client_errors;
    const worse = counts.server_errors - last.server_errors;
    return {
      ...answer,
      since: new Date((first + over * slot_seconds) * 1_000).toISOString(),
      ok: add(answer.ok, counts.total - last.total - bad - worse),
      client_errors: add(answer.client_errors, bad),
      server_errors: add(answer.server_errors, worse),
    };
  };
}

const LINES = /** @type {const} */ ([
  { label: "answered", colour: "--accent", bars: true },
  { label: "refused (4xx)", colour: "--warn", bars: true },
  { label: "failed (5xx)", colour: "--error", bars: true },
]);

/** @param {AbortSignal} signal aborted when the page is left */
export function requestsPanel(signal) {
  const made = panel("Requests", { tools: [legend(LINES)] });
  const total = figure("Answered");
  const refused = figure("Refused (4xx)");
  const failed = figure("Failed (5xx)");
  const guesses = figure("Wrong tokens");
  const drawn = plot({
    label: "Requests over the last hour",
    lines: LINES,
    signal,
    height: 200,
    value: count,
    least: 4,
    span: 3_600,
    clock: true,
    moment: (seconds) => timeOfDay(new Date(seconds * 1_000)),
  });
  const per = el("p", { class: "hint" }, "–");
  made.body.append(
    el("dl", { class: "figures plain" }, ...[total, refused, failed, guesses].map(({ root }) => root)),
    drawn.root,
    per,
  );
  return {
    root: made.root,
    fail: made.fail,
    /** @param {Overview} overview */
    showTotals({ requests }) {
      total.show(count(requests.total));
      refused.show(count(requests.client_errors));
      failed.show(count(requests.server_errors), requests.server_errors > 0 ? "error" : "none");
      guesses.show(count(requests.failed_auth), requests.failed_auth > 0 ? "warn" : "none");
    },
    /** @param {Requests} requests */
    show({ slot_seconds, since, ok, client_errors, server_errors }) {
      made.fail(null);
      const first = Date.parse(since) / 1_000;
      const sums = ok.map((value, at) => [value, client_errors[at] ?? 0, server_errors[at] ?? 0]);
      // Bars are drawn in front of each other, the sum of all first.
      drawn.show(
        ok.map((_, at) => first + (at + 0.5) * slot_seconds),
        sums.map(([good = 0, bad = 0, worse = 0]) => good + bad + worse),
        sums.map(([, bad = 0, worse = 0]) => bad + worse),
        sums.map(([, , worse = 0]) => worse),
      );
      const all = sums.flat().reduce((sum, value) => sum + value, 0);
      drawn.describe(`Requests over the last hour: ${count(all)} in total`);
      setText(
        per,
        `Requests per ${slot_seconds} s over the last ${duration(ok.length * slot_seconds)}, by this server's clock.`,
      );
    },
  };
}
