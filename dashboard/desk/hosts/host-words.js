/**
 * What is said of a host: how it is, how it is reached, what it does.
 */
import { el } from "../../dom.js";
import { count, counted, milliseconds } from "../../format.js";
import { onPage } from "../../page-words.js";
import { badge, time } from "../../parts.js";
import { downKind } from "../../query.js";

/** @typedef {import("../../wire").Answer<"admin/fleet">[number]} Row */
/** @typedef {import("../../wire").Answer<"links">["links"][number]} Link */
/** @typedef {import("../../parts.js").Tone} Tone */

/** What makes sure that it is the host which answers. @type {Record<Row["trust"], string>} */
export const TRUST = {
  key: "pinned key",
  certificate: "pinned certificate",
  ca: "authority of its own",
  authorities: "usual authorities",
  server: "the NATS server",
  identity: "its identity key",
  loopback: "this machine",
  nothing: "nothing: it is not encrypted",
};

/** @type {Record<Row["way"], string>} */
export const WAYS = { link: "link", nats: "NATS", https: "HTTPS", http: "HTTP" };

/** The states of hosts, the worst first: their words, colours and signs, which differ without colour too. */
export const STATES = /** @satisfies {Record<string, readonly [text: string, tone: Tone, sign: string]>} */ ({
  twin: ["two with its identity", "error", "⧉"],
  broken: ["broken log", "error", "✕"],
  failing: ["failing", "error", "✕"],
  lost: ["lost", "error", "⌁"],
  busy: ["busy", "warn", "△"],
  unknown: ["not asked yet", "none", "○"],
  off: ["off", "none", "○"],
  up: ["healthy", "ok", "✓"],
});

/** @typedef {keyof typeof STATES} State */

/** In their order, the worst first. @type {readonly State[]} */
export const STATE_ORDER = /** @type {State[]} */ (Object.keys(STATES));

/** The worst that is so of a host. @param {Row} row @returns {State} */
export function stateOf(row) {
  const { twin, broken, state } = row;
  if (twin) return "twin";
  if (broken) return "broken";
  return state === "down" ? downKind(row, Date.now()) : state;
}

/** The word that finds the hosts in a state. @param {State} state */
export const wordFor = (state) => (state === "up" ? "healthy" : state);

/** @param {Row} row */
export function stateBadge(row) {
  const [text, tone, sign] = STATES[stateOf(row)];
  return el(
    "span",
    {
      class: `badge host-state ${tone}`,
      "data-sign": sign,
      ...(row.why !== null && { title: onPage(row.why) }),
    },
    text,
  );
}

/**
 * What a host does, or why it does nothing, in a line.
 *
 * @param {Row} row
 */
export function doing({ plan, state, why, clients, jobs }) {
  if (plan !== null) return `plan ${plan.slice(0, 8)}`;
  if (state === "down" || state === "busy") return why === null ? "" : briefly(why);
  if (state === "unknown") return "–";
  const parts = [
    clients !== null && clients > 0 && counted(clients, "viewer"),
    jobs !== null && jobs > 0 && counted(jobs, "job"),
  ];
  return parts.filter(Boolean).join(", ") || "idle";
}

/** Why a host is as it is, without when it was last seen, which has a place of its own. @param {string} why */
export const briefly = (why) => onPage(why).replace(/ \(last seen [^)]*\)$/, "");

/** Names with their values, as a list. @param {ReadonlyArray<readonly [name: string, value: import("../../dom.js").Child]>} facts */
export const factsOf = (facts) =>
  el(
    "dl",
    { class: "facts" },
    ...facts.flatMap(([name, value]) => [el("dt", {}, name), el("dd", {}, value)]),
  );

/** How many milliseconds its link takes there and back; null without a link, as a poll is no measure of the way. @param {Row} row */
export const rttMsOf = ({ way, state, rtt_ms }) => (way === "link" && state !== "down" ? rtt_ms : null);

/** {@link rttMsOf} as text. @param {Row} row */
export const rttOf = (row) => milliseconds(rttMsOf(row));

/** When it was there last. @param {Row} row */
export const seenTime = ({ seen }) => (seen === null ? el("span", { class: "faint" }, "–") : time(seen));

/** @param {number} hosts */
export const hostsOf = (hosts) => (hosts === 1 ? "1 host" : `${count(hosts)} hosts`);

/** The scopes of a desk, in the words of `svc desk set --allow`. @param {readonly string[]} allows */
export function rightsOf(allows) {
  if (allows.includes("admin")) return "everything";
  const all = ["metrics", "read", "screen", "audit", "sync", "operate"];
  return all.every((one) => allows.includes(one)) ? "all but admin" : allows.join(", ");
}

/** How the link of a host is. @param {Link} link */
export function linkOf({ linked, since, last_seen, rtt_ms, address, twin }) {
  const state = linked
    ? ["linked ", time(since), ` from ${address}${rtt_ms === null ? "" : `, ${milliseconds(rtt_ms)}`}`]
    : ["not linked, last seen ", time(last_seen)];
  return el(
    "div",
    {},
    el("div", {}, ...state),
    twin && badge("error", "two hosts with this identity"),
    twin && el("div", { class: "hint" }, `another one at ${twin.address}, `, time(twin.at)),
  );
}
