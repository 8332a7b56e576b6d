/**
 * What needs a person, as the overview names it: hosts, those with equal causes together; approvals; plans; and what the checks of this
 * machine have found.
 */
import { hostAddress, planAddress } from "../address.js";
import { personIn } from "../credentials.js";
import { count, counted } from "../format.js";
import { isScreenless, titleOf, toneOf, worstFirst } from "../host/diagnostics.js";
import { briefly, hostsOf, STATES, stateOf, wordFor } from "./hosts/host-words.js";
import { failuresIn, planTone, planWords } from "./plan-parts.js";

/** @typedef {import("./hosts/host-words.js").Row} Row */
/** @typedef {import("./hosts/host-words.js").State} State */
/** @typedef {import("../wire").Answer<"plans">["plans"][number]} Plan */
/** @typedef {import("../wire").Answer<"approvals">["approvals"][number]} Approval */
/** @typedef {import("../wire").Answer<"diagnose">} Report */

/**
 * What needs somebody: how it is, who and what it is about, and where something is done about it.
 *
 * @typedef {object} Need
 * @property {string} key
 * @property {"error" | "warn"} tone
 * @property {string} sign
 * @property {string} state
 * @property {string} who
 * @property {string} what
 * @property {string | null} since ISO 8601
 * @property {string} href
 * @property {string} act what is done there
 */

/** What stands before what waits for a person, and before what runs. */
export const WAITS = "◷";
export const RUNS = "▸";

/** The states of hosts that need somebody. @type {readonly State[]} */
const NEEDY = ["twin", "broken", "failing", "lost"];

/** Labels that are named of hosts with the same cause. */
const LABELS = 3;

/** For how long a plan that has ended badly is named, in milliseconds. */
const NAMED_MS = 86_400_000;

/** The hosts that need somebody, in each state. @param {readonly Row[]} rows @returns {Map<State, Row[]>} the worst first */
export function needyHosts(rows) {
  /** @type {Map<State, Row[]>} */
  const found = new Map();
  for (const state of NEEDY) found.set(state, []);
  for (const row of rows) found.get(stateOf(row))?.push(row);
  return found;
}

/** Why a host is as it is. @param {Row} row @param {State} state */
function causeOf({ why }, state) {
  if (state === "twin") return "two machines have its identity";
  if (state === "broken") return "its audit log is not what this desk has seen before";
  return why === null || why === "" ? "it does not answer" : briefly(why);
}

/** The hosts that need somebody, the worst first; those with equal causes are one. @param {readonly Row[]} rows @returns {Need[]} */
export function hostNeeds(rows) {
  return [...needyHosts(rows)].flatMap(([state, some]) => {
    /** @type {Map<string, Row[]>} */
    const causes = new Map();
    for (const row of some) {
      const cause = causeOf(row, state);
      const known = causes.get(cause);
      if (known) known.push(row);
      else causes.set(cause, [row]);
    }
    const largest = [...causes].sort(([, a], [, b]) => b.length - a.length);
    return largest.map(([cause, those]) => hostNeed(state, cause, those));
  });
}

/** @param {State} state @param {string} cause @param {readonly Row[]} rows @returns {Need} */
function hostNeed(state, cause, rows) {
  const [words, , sign] = STATES[state];
  const [since = null] = rows.flatMap((row) => row.since ?? []).sort();
  const about = /** @type {const} */ ({ tone: "error", sign, state: words, since });
  const [only] = rows;
  if (only && rows.length === 1) {
    const href = hostAddress(only.label, state === "broken" ? "audit" : "");
    return { ...about, key: `host ${only.label}`, who: only.label, what: cause, href, act: "Fix" };
  }
  const tag = only?.tags.find((one) => rows.every(({ tags }) => tags.includes(one)));
  const named = rows.slice(0, LABELS).map(({ label }) => label);
  const rest = rows.length - named.length;
  return {
    ...about,
    key: `hosts ${state} ${cause}`,
    who: `${hostsOf(rows.length)}${tag === undefined ? "" : ` of ${tag}`}`,
    what: `${cause}: ${named.join(", ")}${rest > 0 ? ` and ${count(rest)} more` : ""}`,
    href: `#hosts?q=${encodeURIComponent(queryFor(state, tag, only?.why ?? ""))}`,
    act: "Show",
  };
}

/**
 * The words that find the hosts in a state with a tag and a cause.
 *
 * @param {State} state
 * @param {string | undefined} tag
 * @param {string} why as the rows have it; what stands in brackets differs
 */
function queryFor(state, tag, why) {
  const [cause = ""] = why.split(" (");
  const isTold = (state === "failing" || state === "lost") && cause !== "" && !cause.includes('"');
  return [
    wordFor(state),
    tag !== undefined && !tag.includes('"') && `tag:${/[\s,:!*?]/.test(tag) ? `"${tag}"` : tag}`,
    isTold && `why:"${cause}"`,
  ]
    .filter(Boolean)
    .join(" ");
}

/** What waits for a person. @param {readonly Approval[]} approvals @returns {Need[]} */
export const approvalNeeds = (approvals) =>
  approvals
    .filter(({ state }) => state === "waiting")
    .map(({ id, what, asked_by, asked_at, may_decide, needs }) => ({
      key: `approval ${id}`,
      tone: "warn",
      sign: WAITS,
      state: "waits",
      who: personIn(asked_by) ?? asked_by ?? "the host’s own token",
      what: may_decide ? what : `${what} (another token with ${needs} decides)`,
      since: asked_at,
      href: "#approvals",
      act: may_decide ? "Decide" : "Show",
    }));

/** How many of a plan have failed, in words. @param {Plan} plan */
function failedWords({ counts, total }) {
  const failed = failuresIn(counts);
  return failed === 0 ? "" : `: ${count(failed)} of ${counted(total, "host")} failed`;
}

/**
 * The plans of this desk that wait for somebody: those that are paused or that nobody runs, and the newest where it has ended badly.
 *
 * @param {readonly Plan[]} plans the newest first
 * @returns {Need[]}
 */
export function planNeeds(plans) {
  const own = plans.filter(({ owner }) => owner === null);
  const newest = own.find(({ ended }) => ended !== null);
  return own.flatMap((plan) => planNeed(plan, plan === newest));
}

/** @param {Plan} plan @param {boolean} isNewest whether no plan has ended later @returns {Need[]} */
function planNeed(plan, isNewest) {
  const { id, state, reason, commands, stalled, applied, ended } = plan;
  const about = { key: `plan ${id}`, who: `Plan ${id.slice(0, 8)}` };
  const todo = { href: planAddress(id), act: "Show" };
  const does = ` (${commands.join(", ")})`;
  if (state === "paused") {
    const why = reason === null ? "" : `, ${reason}`;
    const what = `paused${failedWords(plan)}${why}${does}`;
    return [{ ...about, ...todo, tone: "warn", sign: "△", state: "paused", what, since: applied }];
  }
  if (stalled && state === "running") {
    const what = `nobody runs it${failedWords(plan)}${does}`;
    return [{ ...about, ...todo, tone: "warn", sign: "△", state: "stalled", what, since: applied }];
  }
  const tone = planTone(plan);
  if (!isNewest || ended === null || (tone !== "error" && tone !== "warn")) return [];
  if (Date.now() - Date.parse(ended) > NAMED_MS) return [];
  const [sign, words] = tone === "error" ? ["✕", "failed"] : ["△", "not reached"];
  const what = `${planWords(plan)}${does}`;
  return [{ ...about, ...todo, tone, sign, state: words, what, since: ended }];
}

/** What checks have found, with one cause. @typedef {{ tone: "error" | "warn", detail: string, names: string[] }} Problem */

/**
 * What is wrong with a machine, equal causes joined, the worst first. That it has no screen, about which nobody was asked, is not wrong.
 *
 * @param {Report} report
 * @returns {Problem[]}
 */
export function problemsIn(report) {
  /** @type {Map<string, Problem>} */
  const found = new Map();
  for (const check of worstFirst(report)) {
    const tone = toneOf(check);
    if ((tone !== "error" && tone !== "warn") || isScreenless(check)) continue;
    const known = found.get(check.detail);
    if (known) known.names.push(titleOf(check.name));
    else found.set(check.detail, { tone, detail: check.detail, names: [titleOf(check.name)] });
  }
  return [...found.values()];
}

/** What does not work at this desk itself. @param {Report | null} report @returns {Need[]} */
export const deskNeeds = (report) =>
  (report === null ? [] : problemsIn(report))
    .filter(({ tone }) => tone === "error")
    .map(({ tone, detail, names }) => ({
      ...{ key: `check ${names.join()}`, tone, sign: "✕", state: "failing", since: null },
      ...{ who: "This desk", what: `${names.join(", ")}: ${detail}`, href: "#diagnostics", act: "Fix" },
    }));
