/**
 * What a plan looks like: its states in words and colours, its waves, and the facts about it.
 */
import { el, svg } from "../dom.js";
import { count, counted, duration } from "../format.js";
import { onPage } from "../page-words.js";
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

/** What ran and went wrong, or may have; and what never began. What waits is neither. */
const WENT_WRONG = /** @type {const} */ (["failed", "timeout", "refused", "unknown"]);
const NOT_REACHED = /** @type {const} */ (["unreachable", "expired"]);

/** How many hosts are in these states. @param {Plan["counts"]} counts @param {readonly string[]} states */
const hostsIn = (counts, states) => states.reduce((sum, one) => sum + (counts[one] ?? 0), 0);

/** How many hosts of a plan have failed. @param {Plan["counts"]} counts */
export const failuresIn = (counts) => hostsIn(counts, [...WENT_WRONG, "unreachable"]);

/**
 * The colour of a plan: the worst host decides about one that is over.
 *
 * @param {Pick<Plan, "state" | "counts">} plan
 * @returns {Tone}
 */
export function planTone({ state, counts }) {
  if (state !== "done") return PLAN_TONES[state];
  if (hostsIn(counts, WENT_WRONG) > 0) return "error";
  return hostsIn(counts, NOT_REACHED) > 0 ? "warn" : "ok";
}

/** The state of a plan; one that is over says how it went. @param {Pick<Plan, "state" | "counts" | "total">} plan */
export function planWords({ state, counts, total }) {
  if (state !== "done") return state;
  const wrong = hostsIn(counts, WENT_WRONG);
  const missed = hostsIn(counts, NOT_REACHED);
  if (wrong > 0) return `ended: ${count(wrong)} of ${count(total)} failed`;
  if (missed > 0) return `ended: ${count(missed)} of ${count(total)} not reached`;
  return `ended: ${count(counts.ok ?? 0)} of ${count(total)} ok`;
}

/**
 * The list of plans after an event; null where that does not say enough.
 *
 * @param {import("../wire").Answer<"plans">} answer
 * @param {import("../events.js").Happening} happened
 */
export function afterPlan(answer, { type, data }) {
  const place = answer.plans.findIndex(({ id }) => id === data.id);
  const plan = answer.plans[place];
  if (!plan) return type === "plan.created" ? null : answer;
  const counts = /** @type {Plan["counts"]} */ (data.counts);
  if (type === "plan.target") return { ...answer, plans: answer.plans.with(place, { ...plan, counts }) };
  if (type === "plan.wave") {
    const wave = Number(data.wave);
    return { ...answer, plans: answer.plans.with(place, { ...plan, wave }) };
  }
  return null;
}

/** In the order in which they are shown: failures first. @type {Record<Target["state"], Tone>} */
export const TONES = {
  failed: "error",
  timeout: "error",
  refused: "error",
  unknown: "error",
  unreachable: "warn",
  expired: "warn",
  running: "info",
  sent: "info",
  waiting: "warn",
  planned: "none",
  cancelled: "none",
  ok: "ok",
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
  targets,
}) {
  const open = hostsIn(counts, ["planned", "waiting", "sent", "running"]);
  const tone = planTone({ state, counts });
  return [
    notice(
      tone,
      el("strong", {}, planWords({ state, counts, total })),
      reason === null ? "" : `: ${reason}`,
      `. ${count(total - open)} of ${counted(total, "host")} ${total - open === 1 ? "has" : "have"} ended.`,
    ),
    countsOf(counts),
    ...reasonsOf(targets),
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

/** Reasons that are listed: more are seldom the same for many hosts. */
const REASONS = 5;

/** The states of hosts at which it failed. @type {ReadonlySet<string>} */
const FAILED = new Set([...WENT_WRONG, ...NOT_REACHED]);

/**
 * Why hosts failed, where several did for the same reason; the most frequent first.
 *
 * @param {readonly Target[]} targets those that are listed
 */
function reasonsOf(targets) {
  /** @type {Map<string, number>} */
  const hosts = new Map();
  for (const { state, error } of targets)
    if (error !== null && FAILED.has(state)) hosts.set(error, (hosts.get(error) ?? 0) + 1);
  const shared = [...hosts].filter(([, times]) => times > 1).sort(([, a], [, b]) => b - a);
  if (shared.length === 0) return [];
  const items = shared
    .slice(0, REASONS)
    .map(([error, times]) => el("li", { class: "prose" }, `${count(times)} × ${onPage(error)}`));
  return [el("ul", { class: "advice", "aria-label": "Why hosts failed" }, ...items)];
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
