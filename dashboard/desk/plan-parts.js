/**
 * What a plan looks like: its states in words and colours, its waves, and the facts about it.
 */
import { el, svg } from "../dom.js";
import { count, counted, duration } from "../format.js";
import { badge, notice, prose, time } from "../parts.js";

/** @typedef {import("../wire").Answer<"plans/{id}">} Plan */
/** @typedef {Plan["targets"][number]} Target */
/** @typedef {import("../parts.js").Tone} Tone */
/** @typedef {{ nth: number, hosts: number, begun: boolean, counts: Plan["counts"] }} Wave */

/** @type {Record<Plan["state"], Tone>} */
const PLAN_TONES = {
  new: "none",
  running: "info",
  paused: "warn",
  done: "ok",
  cancelled: "none",
  expired: "warn",
};

const FAILED = /** @type {const} */ (["failed", "timeout", "unreachable", "refused", "unknown"]);

/** How many hosts of a plan have failed. @param {Plan["counts"]} counts */
export const failuresIn = (counts) => FAILED.reduce((sum, one) => sum + (counts[one] ?? 0), 0);

/** The colour of a plan: one that is done is good only where no host has failed. @param {Pick<Plan, "state" | "counts">} plan */
export const planTone = ({ state, counts }) =>
  state === "done" && failuresIn(counts) > 0 ? "error" : PLAN_TONES[state];

/** In the order in which they are shown. @type {Record<Target["state"], Tone>} */
export const TONES = {
  ok: "ok",
  running: "info",
  sent: "info",
  waiting: "warn",
  planned: "none",
  failed: "error",
  timeout: "error",
  unreachable: "error",
  refused: "error",
  unknown: "error",
  cancelled: "none",
  expired: "warn",
};

export const STATES = /** @type {Array<Target["state"]>} */ (Object.keys(TONES));

/** How many hosts are in each state. @param {Plan["counts"]} counts */
export const countsOf = (counts) =>
  el(
    "div",
    { class: "tags" },
    ...STATES.map(
      (state) => (counts[state] ?? 0) > 0 && badge(TONES[state], `${count(counts[state] ?? 0)} ${state}`),
    ),
  );

/**
 * The states as parts of a line; the numbers stand beside it.
 *
 * @param {Plan["counts"]} counts
 */
export function barOf(counts) {
  const parts = STATES.flatMap((state) => ({ tone: TONES[state], hosts: counts[state] ?? 0 }));
  const total = parts.reduce((sum, { hosts }) => sum + hosts, 0);
  let x = 0;
  const rects = parts.map(({ tone, hosts }) => {
    const width = (100 * hosts) / Math.max(1, total);
    x += width;
    return svg("rect", { class: tone, x: x - width, y: 0, width, height: 1 });
  });
  return svg(
    "svg",
    { class: "bar", viewBox: "0 0 100 1", preserveAspectRatio: "none", "aria-hidden": "true" },
    ...rects,
  );
}

/** @param {Plan} plan @returns {Wave[]} */
export const wavesOf = ({ waves, wave, applied, wave_counts }) =>
  wave_counts.map((counts, at) => ({
    nth: at + 1,
    hosts: (waves[at] ?? 0) - (waves[at - 1] ?? 0),
    begun: applied !== null && at < wave,
    counts,
  }));

/** @param {Plan} plan */
export function aboutOf({
  id,
  state,
  reason,
  on,
  commands,
  counts,
  total,
  queue,
  maker,
  token,
  kind,
  digest,
  created,
  applied,
  expires,
  ended,
  owner,
}) {
  const open = ["planned", "waiting", "sent", "running"].reduce((sum, one) => sum + (counts[one] ?? 0), 0);
  const tone = planTone({ state, counts });
  return [
    notice(
      tone,
      el("strong", {}, state),
      reason === null ? "" : `: ${reason}`,
      `. ${count(total - open)} of ${counted(total, "host")} ${total - open === 1 ? "has" : "have"} ended.`,
    ),
    countsOf(counts),
    el(
      "dl",
      { class: "facts" },
      ...factsOf("Plan", el("code", {}, id), kind === "broadcast" && " (a broadcast)"),
      ...(owner ? factsOf("Desk", prose(owner.desk), " runs and changes it, heard ", time(owner.heard)) : []),
      ...factsOf("Hosts", prose(on), queue && " (those that are off get it when they are back)"),
      ...factsOf("Commands", prose(commands.join(", "))),
      ...factsOf("Digest", el("code", {}, digest)),
      ...factsOf("Made", time(created), ` by ${maker ?? "the owner"}`),
      ...factsOf("Applied", time(applied), applied !== null && ` by ${token ?? "the owner"}`),
      ...factsOf(ended === null ? "Expires" : "Ended", time(ended ?? expires)),
    ),
  ];
}

/**
 * What a plan does at each host, and within which limits.
 *
 * @param {Plan} plan
 */
export function reviewOf({ actions, files, stop_on_error, scope, ...limits }) {
  const { pause_s, max_failures, strict_waves, max_parallel, delivery_timeout_s, timeout_s, expires_s } =
    limits;
  const ends = stop_on_error === true ? "the first action that fails" : "a failure to find or focus a window";
  const limitsOf = [
    `a pause of ${pause_s} s between waves`,
    strict_waves
      ? "paused after the first failure in a wave smaller than the hosts after it"
      : `paused after more than ${counted(max_failures, "failure")}`,
    max_parallel !== null && `${count(max_parallel)} hosts at once`,
    `${delivery_timeout_s} s to deliver`,
    `${timeout_s} s to run`,
    `expires ${duration(expires_s)} after it is applied`,
    stop_on_error && `a host stops at ${ends}`,
    scope !== null && `limited to the scopes ${scope.join(", ")}`,
  ];
  return [
    el("p", {}, `Limits: ${limitsOf.filter(Boolean).join("; ")}.`),
    ...[{ name: "Actions", actions }, ...files].flatMap(({ name, actions: list }) => [
      el("p", {}, name),
      list !== null &&
        el("pre", { class: "json", tabindex: 0 }, JSON.stringify(list, null, 2).slice(0, 20_000)),
    ]),
  ];
}

/** @param {string} name @param {...import("../dom.js").Child} value */
const factsOf = (name, ...value) => [el("dt", {}, name), el("dd", {}, ...value)];
