/**
 * The overview of a host: whether it is well, its screen, what runs there now, next and last, and who looks.
 */
import { problemsIn, WAITS } from "../desk/needs.js";
import { el } from "../dom.js";
import { count, milliseconds } from "../format.js";
import { badge, panel, time } from "../parts.js";
import { afterCheck, screenQuestion } from "./diagnostics.js";
import { chip, fact } from "./overview-line.js";
import { screenPicture, viewersGlance } from "./overview-screen.js";
import { afterJob, afterRun, isActive, RUN_TONES, runName } from "./run-state.js";

/** @typedef {import("../wire").Answer<"diagnose">} Report */
/** @typedef {import("./run-state.js").ActiveRun} Run */
/** @typedef {import("../wire").Answer<"history">["runs"][number]} PastRun */
/** @typedef {import("../dom.js").Child} Child */

/**
 * Names with their values.
 *
 * @typedef {object} FactList
 * @property {HTMLElement} root
 * @property {(name: string, ...value: Child[]) => void} say none takes the name away too
 */

/** Problems and runs that are named; their own pages have all. */
const NAMED = 3;

/** Seconds between requests for approvals where events come: one that expires has an event too. */
const APPROVALS_REST_S = 300;

/**
 * A link to the page with everything.
 *
 * @param {string} page
 * @param {string} what name for screen readers
 */
const more = (page, what) =>
  el("a", { class: "more", href: `#${page}`, "aria-label": `Open ${what}` }, "Open");

/**
 * What the checks say of the display of this host: whether it has one, and its size, or why it has none.
 *
 * @param {Report} report
 * @returns {{ has: boolean, words: string } | null} null where they do not say
 */
function displayIn({ checks }) {
  const check = checks.find(({ name }) => name === "screenshot");
  if (!check) return null;
  const { ok, extra, detail } = check;
  if (extra.screen === undefined) {
    if (!ok) return null;
    const { width, height } = extra;
    return { has: true, words: typeof width === "number" ? `display ${width} × ${height}` : "display" };
  }
  const why = /^no (?:display|screen)(?:: |, as )(.+)$/.exec(detail)?.[1] ?? detail;
  return { has: false, words: why.replace(/ \(desktop\.screen\)$/, "") };
}

/**
 * @param {import("../view.js").View} view
 * @param {import("./overview-line.js").StateLine} line
 * @param {HTMLElement} place
 * @returns {import("./overview.js").Face}
 */
export function hostFace(view, line, place) {
  const { may } = view;
  const made = panel("This host", { tools: [more("jobs", "jobs and history")] });
  const question = screenQuestion(view, made.tell, () => checks.now());
  const facts = factList(["Screen", "Now", "Next", "Last", ...(may("screen") ? ["Looking"] : [])]);
  const picture = may("screen") ? screenPicture(view) : null;
  made.body.append(question.root, el("div", { class: "host-glance" }, picture?.root, facts.root));
  place.append(made.root);
  /** What is known; null before it is. @type {{ report: Report | null, waiting: number | null }} */
  const known = { report: null, waiting: may("operate") ? null : 0 };
  /** @type {import("./overview.js").HostLink} */
  let link = null;

  function show() {
    const { report, waiting } = known;
    const display = report === null ? null : displayIn(report);
    facts.say("Screen", ...screenWords(display, picture !== null));
    picture?.follow(display?.has === true);
    const own = [
      display !== null && fact(display.has ? display.words : "no display"),
      link !== null && fact(linkWords(link)),
    ];
    const isKnown = report !== null && waiting !== null;
    line.show({ ...wrongIn(report, waiting ?? 0), isKnown, facts: own });
  }

  const checks = view.poll({
    path: "diagnose",
    on: ["diagnosis.changed"],
    every: 60,
    rest: 60,
    apply: afterCheck,
    show(report) {
      line.fail("checks", null);
      question.show(report);
      known.report = report;
      show();
    },
    fail: (error) => line.fail("checks", error),
  });
  if (may("operate"))
    view.poll({
      path: "approvals",
      on: ["approval.*"],
      every: 30,
      rest: APPROVALS_REST_S,
      show({ waiting }) {
        line.fail("approvals", null);
        known.waiting = waiting;
        show();
      },
      fail: (error) => line.fail("approvals", error),
    });
  followRuns(view, line, facts);
  if (picture) made.body.append(viewersGlance(view, line, facts, picture.look));
  return {
    book() {},
    link(now) {
      link = now;
      show();
    },
  };
}

/**
 * What of a host needs somebody, as the line says it.
 *
 * @param {Report | null} report
 * @param {number} waiting approvals that wait
 */
function wrongIn(report, waiting) {
  const problems = report === null ? [] : problemsIn(report);
  const rest = problems.length - NAMED;
  const named = problems.slice(0, NAMED).map(({ tone, names, detail }) => {
    const sign = tone === "error" ? "✕" : "△";
    return chip(sign, `${names.join(", ")}: ${detail}`, "#diagnostics");
  });
  const waits = waiting === 1 ? "1 approval waits" : `${count(waiting)} approvals wait`;
  /** @type {Array<"error" | "warn">} */
  const tones = problems.map(({ tone }) => tone);
  if (waiting > 0) tones.push("warn");
  const parts = [
    ...named,
    rest > 0 && fact(`and ${count(rest)} more`),
    waiting > 0 && chip(WAITS, waits, "#approvals"),
  ];
  return { tones, parts };
}

/** @param {NonNullable<import("./overview.js").HostLink>} link */
const linkWords = ({ state, desk, rtt_ms }) =>
  state === "linked" ? `desk ${milliseconds(rtt_ms)}` : `desk ${desk}: not linked`;

/**
 * What stands beside “Screen”: nothing where its picture does.
 *
 * @param {ReturnType<typeof displayIn>} display
 * @param {boolean} isPictured
 * @returns {Child[]}
 */
function screenWords(display, isPictured) {
  if (display === null) return [];
  if (!display.has) return [`No display: ${display.words}`];
  return isPictured ? [] : [display.words.replace(/^d/, "D")];
}

/** Names with their values, each of which is shown once it is known. @param {readonly string[]} names @returns {FactList} */
function factList(names) {
  /** @type {Map<string, { title: HTMLElement, shown: HTMLElement }>} */
  const pairs = new Map();
  for (const name of names)
    pairs.set(name, { title: el("dt", { hidden: true }, name), shown: el("dd", { hidden: true }) });
  const all = [...pairs.values()].flatMap(({ title, shown }) => [title, shown]);
  return {
    root: el("dl", { class: "facts" }, ...all),
    say(name, ...value) {
      const pair = pairs.get(name);
      if (!pair) return;
      const { title, shown } = pair;
      const next = el("dd", {}, ...value);
      const isNone = next.childNodes.length === 0;
      for (const part of [title, shown, next]) part.hidden = isNone;
      // A link in it keeps the focus.
      if (!shown.isEqualNode(next)) shown.replaceChildren(...next.childNodes);
    },
  };
}

/**
 * What runs now, next, and ran last.
 *
 * @param {import("../view.js").View} view
 * @param {import("./overview-line.js").StateLine} line
 * @param {FactList} facts
 */
function followRuns({ poll }, line, facts) {
  /** @param {string} text */
  const toRuns = (text) => el("a", { href: "#jobs", class: "prose" }, text);
  /** Null before they are known. @type {readonly Run[] | null} */
  let runs = null;
  /** Of before this server started. @type {PastRun | null} */
  let past = null;

  /** @param {readonly Run[]} active */
  function showNow(active) {
    const rest = active.length - NAMED;
    facts.say(
      "Now",
      active.length === 0 && "idle",
      ...active
        .slice(0, NAMED)
        .map((run) =>
          el(
            "div",
            {},
            toRuns(runName(run)),
            " since ",
            time(run.started_at),
            run.waiting_for && el("span", { class: "hint" }, ` waiting for ${run.waiting_for}`),
          ),
        ),
      rest > 0 && el("div", { class: "hint" }, `and ${count(rest)} more`),
    );
  }

  function showLast() {
    const ended = (runs ?? []).filter(({ finished_at }) => finished_at !== null);
    const [newest] = ended.toSorted((a, b) => (b.finished_at ?? "").localeCompare(a.finished_at ?? ""));
    const last = newest ?? past;
    if (last === null) facts.say("Last", "nothing yet");
    else
      facts.say(
        "Last",
        badge(RUN_TONES[last.status] ?? "none", last.status),
        " ",
        toRuns(runName(last)),
        " ",
        time(last.finished_at),
        last.error_text !== null && el("div", { class: "hint prose" }, last.error_text),
      );
  }

  poll({
    path: "runs",
    on: ["run.started", "run.step", "run.ended"],
    every: 5,
    apply: afterRun,
    show(answer) {
      line.fail("runs", null);
      runs = answer.runs;
      showNow(runs.filter(isActive));
      showLast();
    },
    fail: (error) => line.fail("runs", error),
  });
  poll({
    path: "history?limit=1",
    on: [],
    every: 0,
    show(answer) {
      line.fail("history", null);
      past = answer.runs[0] ?? null;
      if (past !== null || runs !== null) showLast();
    },
    fail: (error) => line.fail("history", error),
  });
  poll({
    path: "jobs",
    on: ["job.*"],
    every: 30,
    apply: afterJob,
    show({ jobs }) {
      line.fail("jobs", null);
      const due = jobs.filter(({ enabled, next_run_at }) => enabled && next_run_at !== null);
      const [next] = due.toSorted((a, b) => (a.next_run_at ?? "").localeCompare(b.next_run_at ?? ""));
      facts.say("Next", ...(next ? [toRuns(next.job_id), " ", time(next.next_run_at)] : ["no job is due"]));
    },
    fail: (error) => line.fail("jobs", error),
  });
}
