/**
 * The overview of a desk: what needs somebody, what runs, and what people have changed. What is empty is not there.
 */
import { el } from "../dom.js";
import { count, counted } from "../format.js";
import { afterCheck } from "../host/diagnostics.js";
import { chip, fact } from "../host/overview-line.js";
import { afterRun, isActive } from "../host/run-state.js";
import { afterHost, TROUBLED, TROUBLING } from "../nav-counts.js";
import { atMostEvery } from "../view.js";
import { changesPanel } from "./changes.js";
import { needsPanel, runningPanel } from "./fleet-panels.js";
import { STATES, wordFor } from "./hosts/host-words.js";
import { approvalNeeds, deskNeeds, hostNeeds, needyHosts, planNeeds, RUNS, WAITS } from "./needs.js";
import { afterPlan } from "./plan-parts.js";

/** @typedef {import("./needs.js").Need} Need */
/** @typedef {import("../wire").Answer<"plans">["plans"][number]} Plan */
/** @typedef {import("../host/run-state.js").ActiveRun} Run */

/** Milliseconds between two times that changes are drawn: thousands of hosts may go at once. */
const DRAWN_EVERY_MS = 250;

/** Seconds between requests; and where events come, for what has none. */
const EVERY_S = 30;
const REST_S = 300;

/** Seconds between polls of the hosts and checks of the desk where events come; and between polls of more hosts than that. */
const POLL_REST_S = 120;
const POLL_MANY_S = 600;
const MANY = 1_000;

/**
 * What is known of a desk; null before it is.
 *
 * @typedef {object} Known
 * @property {import("../wire").Answer<"admin/fleet"> | null} hosts those that need somebody
 * @property {readonly Plan[] | null} plans
 * @property {import("../wire").Answer<"approvals">["approvals"] | null} approvals
 * @property {readonly Run[]} runs that go on
 * @property {import("../wire").Answer<"diagnose"> | null} report
 */

/**
 * @param {import("../view.js").View} view
 * @param {import("../host/overview-line.js").StateLine} line
 * @param {HTMLElement} place
 * @returns {import("../host/overview.js").Face}
 */
export function deskFace(view, line, place) {
  const { may, signal } = view;
  const needs = needsPanel();
  const running = runningPanel();
  const changes = may("audit") && changesPanel(view, line);
  place.append(needs.root, el("div", { class: "stack" }, running.root, changes));
  const unasked = may("operate") ? null : [];
  /** @type {Known} */
  const known = { hosts: null, plans: unasked, approvals: unasked, runs: [], report: null };
  /** How many hosts there are. */
  let hosts = 0;
  let isPolled = false;

  const draw = atMostEvery(
    DRAWN_EVERY_MS,
    () => {
      const all = needsIn(known);
      needs.show(all);
      const plans = (known.plans ?? []).filter(({ state, stalled }) => state === "running" && !stalled);
      running.show(plans, known.runs);
      const { hosts: found, approvals, report } = known;
      const isKnown = found !== null && known.plans !== null && approvals !== null && report !== null;
      line.show({
        tones: all.map(({ tone }) => tone),
        isKnown,
        parts: [
          ...troubledChips(known),
          ...otherChips(all),
          ...runningChips(plans.length, known.runs.length),
        ],
        facts:
          hosts > 0 ? [fact(counted(hosts, "host"))] : [chip("+", "no hosts yet: let them join", "#hosts")],
      });
    },
    signal,
  );
  follow(view, line, known, draw);

  return {
    book(now) {
      hosts = now;
      draw();
      if (isPolled || hosts === 0 || !may("operate")) return;
      isPolled = true;
      // What it finds comes as events. Thousands of hosts that are added are not polled for each of them.
      view.poll({
        path: "admin/poll",
        on: [],
        every: EVERY_S,
        rest: hosts > MANY ? POLL_MANY_S : POLL_REST_S,
        show: () => line.fail("poll", null),
        fail: (error) => line.fail("poll", error),
      });
    },
    link() {},
  };
}

/**
 * Asks for what the page shows, and follows it.
 *
 * @param {import("../view.js").View} view
 * @param {import("../host/overview-line.js").StateLine} line
 * @param {Known} known is filled in
 * @param {() => void} draw
 */
function follow({ may, poll }, line, known, draw) {
  /** @param {keyof Known} of */
  const about = (of) => ({
    every: EVERY_S,
    rest: REST_S,
    fail: (/** @type {import("../api-error.js").ApiError} */ error) => line.fail(of, error),
  });
  /** @param {Partial<Known>} found */
  function take(found) {
    for (const of of Object.keys(found)) line.fail(of, null);
    Object.assign(known, found);
    draw();
  }
  poll({
    ...about("hosts"),
    path: TROUBLED,
    on: TROUBLING,
    apply: afterHost,
    show: (hosts) => take({ hosts }),
  });
  poll({
    ...about("runs"),
    path: "runs",
    on: ["run.started", "run.step", "run.ended"],
    apply: afterRun,
    show: ({ runs }) => take({ runs: runs.filter(isActive) }),
  });
  poll({
    ...about("report"),
    path: "diagnose",
    on: ["diagnosis.changed"],
    every: 60,
    rest: POLL_REST_S,
    apply: afterCheck,
    show: (report) => take({ report }),
  });
  if (!may("operate")) return;
  poll({
    ...about("plans"),
    path: "plans",
    on: ["plan.*"],
    apply: afterPlan,
    show: ({ plans }) => take({ plans }),
  });
  poll({
    ...about("approvals"),
    path: "approvals",
    on: ["approval.*"],
    show: ({ approvals }) => take({ approvals }),
  });
}

/** What needs somebody, the worst first. @param {Known} known @returns {Need[]} */
function needsIn({ hosts, plans, approvals, report }) {
  const all = [
    ...hostNeeds(hosts ?? []),
    ...deskNeeds(report),
    ...approvalNeeds(approvals ?? []),
    ...planNeeds(plans ?? []),
  ];
  return all.toSorted((a, b) => Number(b.tone === "error") - Number(a.tone === "error"));
}

/** How many hosts need somebody, and how many approvals wait. @param {Known} known */
function troubledChips({ hosts, approvals }) {
  const states = [...needyHosts(hosts ?? [])].map(([state, rows]) => {
    const [words, , sign] = STATES[state];
    return rows.length > 0 && chip(sign, `${count(rows.length)} ${words}`, `#hosts?q=${wordFor(state)}`);
  });
  const waiting = (approvals ?? []).filter(({ state }) => state === "waiting");
  const yours = waiting.filter(({ may_decide }) => may_decide).length;
  const others = waiting.length - yours;
  const verb = (/** @type {number} */ many) => `${count(many)} ${many === 1 ? "waits" : "wait"}`;
  return [
    ...states,
    yours > 0 && chip(WAITS, `${verb(yours)} for you`, "#approvals"),
    others > 0 && chip(WAITS, `${verb(others)} for another token`, "#approvals"),
  ];
}

/** How many plans need somebody, and whether this desk itself does. @param {readonly Need[]} needs */
function otherChips(needs) {
  const plans = needs.filter(({ key }) => key.startsWith("plan ")).length;
  const isDesk = needs.some(({ key }) => key.startsWith("check "));
  return [
    isDesk && chip("✕", "this desk", "#diagnostics"),
    plans > 0 && chip("△", `${counted(plans, "plan")} to look at`, "#plans"),
  ];
}

/** How many plans and runs go on. @param {number} plans @param {number} runs */
const runningChips = (plans, runs) => [
  plans > 0 && chip(RUNS, `${counted(plans, "plan")} running`, "#plans"),
  runs > 0 && chip(RUNS, `${counted(runs, "run")} going on`, "#jobs"),
];
