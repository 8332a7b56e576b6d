/**
 * The parts of the page of a host. Each is loaded when it is opened, and asks the host where the desk does not know.
 */
import { el, setText } from "../../dom.js";
import { count, counted, milliseconds } from "../../format.js";
import { checkItems, verdictOf } from "../../host/diagnostics.js";
import { runsTable } from "../../host/runs.js";
import { actionButton, asError, badge, loading, nothing, notice, time } from "../../parts.js";
import { table } from "../../table.js";
import { wallPanel } from "../live-wall.js";
import { linkOf, rightsOf, TRUST, WAYS } from "./host-words.js";

/** @typedef {import("./host-words.js").Row} Row */

/**
 * What a part gets; it returns what takes in a row that has changed.
 *
 * @typedef {object} Part
 * @property {import("../../view.js").View} view
 * @property {string} label
 * @property {Row} row
 * @property {HTMLElement} place
 * @property {import("./host-acts.js").HostActs} acts
 * @property {(trouble: import("../../parts.js").Trouble | null) => void} tell
 */

/** @typedef {(part: Part) => (row: Row) => void} Open */

/** @type {ReadonlyArray<{ name: string, title: string, scope: import("../../api.js").Scope, open: Open }>} */
export const TABS = [
  { name: "state", title: "State", scope: "read", open: stateTab },
  { name: "screen", title: "Screen", scope: "screen", open: screenTab },
  { name: "runs", title: "Runs", scope: "read", open: (part) => asked(part, "runs", showRuns) },
  { name: "jobs", title: "Jobs", scope: "read", open: (part) => asked(part, "jobs", showJobs) },
  {
    name: "diagnostics",
    title: "Diagnostics",
    scope: "read",
    open: (part) => asked(part, "diagnostics", showChecks),
  },
  { name: "audit", title: "Audit", scope: "audit", open: auditTab },
  { name: "events", title: "Events", scope: "read", open: eventsTab },
  { name: "settings", title: "Settings", scope: "admin", open: settingsTab },
];

/** @param {ReadonlyArray<readonly [name: string, value: import("../../dom.js").Child]>} facts */
const factsOf = (facts) =>
  el(
    "dl",
    { class: "facts" },
    ...facts.flatMap(([name, value]) => [el("dt", {}, name), el("dd", {}, value)]),
  );

/** @type {Open} */
function stateTab({ view, label, row, place }) {
  const facts = el("div", {});
  /** @type {import("./host-words.js").Link | undefined} */
  let link;
  /** The states of files from which it differs, as the desk has found. */
  let drift = "";
  let last = row;
  /** @param {Row} now */
  const show = (now) => {
    last = now;
    facts.replaceChildren(
      factsOf([
        [
          "State",
          now.why ?? (now.state === "unknown" ? "nobody has asked it since this desk started" : now.state),
        ],
        ["Since", now.since === null ? "–" : time(now.since)],
        ["Way", `${WAYS[now.way]}${now.rtt_ms === null ? "" : `, ${milliseconds(now.rtt_ms)}`}`],
        ...(link ? [/** @type {const} */ (["Link", linkOf(link)])] : []),
        ["Version", now.version ?? "not known yet"],
        ["Viewers", now.clients === null ? "–" : count(now.clients)],
        ["Jobs", now.jobs === null ? "–" : count(now.jobs)],
        ["Plan", now.plan === null ? "none runs here" : el("a", { href: "#plans" }, now.plan.slice(0, 8))],
        ...(drift === "" ? [] : [/** @type {const} */ (["Differs from", drift])]),
        ["Trusted by", TRUST[now.trust]],
      ]),
    );
  };
  show(row);
  place.append(facts);
  view.poll({
    path: "fleet/states",
    on: [],
    every: 0,
    show({ states }) {
      drift = driftOf(states, label);
      show(last);
    },
    // A desk of before knows no states.
    fail() {},
  });
  if (row.way === "link")
    view.poll({
      path: "links",
      on: ["host.up", "host.down", "link.*"],
      every: 30,
      rest: 120,
      show({ links }) {
        link = links.find((one) => one.label === label);
        show(last);
      },
      // A desk without links: the row says what is known.
      fail() {},
    });
  return show;
}

/**
 * The states from which a host differs, with how many differences each has.
 *
 * @param {import("../../wire").Answer<"fleet/states">["states"]} states
 * @param {string} label
 */
const driftOf = (states, label) =>
  states
    .flatMap(({ name, drifted }) => {
      const found = drifted.find((one) => one.label === label);
      return found ? [`${name} (${counted(found.differences, "difference")})`] : [];
    })
    .join(", ");

/** @type {Open} */
function screenTab({ view, label, place }) {
  const wall = wallPanel(view, new Set([label]));
  wall.open();
  place.append(wall.root);
  return () => {};
}

/**
 * What a host says, asked when its part is opened and when somebody asks again.
 *
 * @param {Part} part
 * @param {"runs" | "jobs" | "diagnostics" | "audit"} what
 * @param {(answer: Record<string, unknown>) => Node} shown
 * @returns {(row: Row) => void}
 */
function asked({ view, label, row, place }, what, shown) {
  const when = el("span", { class: "hint" });
  const answer = el("div", {}, loading());
  const again = actionButton(
    "Ask again",
    () => polled.now(),
    () => {},
  );
  place.append(el("div", { class: "buttons small" }, again, when), answer);
  const fail = (/** @type {Error} */ { message }) => {
    answer.replaceChildren(notice("warn", message));
    setText(when, "");
  };
  let wasUp = row.state === "up";
  const polled = view.poll({
    path: /** @type {"admin/hosts/{label}/look"} */ (
      `admin/hosts/${encodeURIComponent(label)}/look?what=${what}`
    ),
    on: [],
    every: 0,
    show(found, at) {
      try {
        answer.replaceChildren(shown(found));
        when.replaceChildren("as the host said ", time(at.toISOString()));
      } catch (error) {
        fail(new Error(`The answer of the host cannot be shown: ${asError(error).message}`));
      }
    },
    fail,
  });
  return ({ state }) => {
    // It is back.
    if (state === "up" && !wasUp) void polled.now();
    wasUp = state === "up";
  };
}

/** @param {Record<string, unknown>} answer */
function showRuns(answer) {
  const { runs = [] } = /** @type {Partial<import("../../wire").Answer<"runs">>} */ (answer);
  const listed = runsTable();
  listed.show(runs);
  return listed.root;
}

/** @param {Record<string, unknown>} answer */
function showJobs(answer) {
  const { jobs = [] } = /** @type {Partial<import("../../wire").Answer<"jobs">>} */ (answer);
  const listed = table({
    label: "Jobs of the host",
    columns: [
      { label: "Job", cell: (/** @type {typeof jobs[number]} */ { job_id }) => el("strong", {}, job_id) },
      {
        label: "State",
        kind: "tight",
        cell: ({ enabled }) => (enabled ? badge("ok", "on") : badge("warn", "paused")),
      },
      { label: "Script", kind: "wide", cell: ({ script_path }) => el("code", {}, script_path) },
      { label: "Next", cell: ({ next_run_at }) => time(next_run_at) },
      { label: "Last", cell: ({ last_run_at }) => time(last_run_at) },
      { label: "Runs", kind: "number", cell: ({ runs }) => count(runs) },
    ],
    key: ({ job_id }) => job_id,
    empty: () => nothing("No jobs", "Scripts that run by themselves on this host are listed here."),
  });
  listed.show(jobs);
  return listed.root;
}

/** @param {Record<string, unknown>} answer */
function showChecks(answer) {
  const report = /** @type {import("../../wire").Answer<"diagnose">} */ (/** @type {unknown} */ (answer));
  return el("div", { class: "stack" }, verdictOf(report), checkItems(report));
}

/** @type {Open} */
function auditTab(part) {
  const { view, label, place } = part;
  const standing = el("div", {});
  place.append(standing);
  view.poll({
    path: "admin/witness",
    on: ["witness.*"],
    every: 30,
    rest: 120,
    show({ hosts, watching }) {
      const log = hosts.find((one) => one.label === label);
      const words = log
        ? [
            badge(
              log.standing === "broken" ? "error" : log.standing === "good" ? "ok" : "none",
              log.state.replaceAll("_", " "),
            ),
            " ",
            log.reason ?? (watching ? "as this desk has seen it before" : "no server looks at it"),
            " · since ",
            time(log.since),
          ]
        : ["This desk does not witness its log: the host has not joined."];
      standing.replaceChildren(el("p", {}, ...words));
    },
    // What the host says stands below.
    fail() {},
  });
  return asked(part, "audit", (answer) => {
    const {
      rows = 0,
      witnessed = null,
      patrolled = null,
    } = /** @type {Partial<import("../../wire").Answer<"audit/status">>} */ (answer);
    return factsOf([
      ["Rows", count(rows)],
      [
        "Cosigned",
        witnessed
          ? `${witnessed.row_id === null ? "while empty" : `up to row ${count(witnessed.row_id)}`} by ${counted(witnessed.by.length, "witness", "witnesses")}`
          : "by nobody yet",
      ],
      ["Verified", patrolled === null ? "not by a server" : el("code", {}, JSON.stringify(patrolled))],
    ]);
  });
}

/** How many events of a host are kept while its page is open. */
const EVENTS_KEPT = 200;

/** What happens to a host while somebody looks, the newest first. @type {Open} */
function eventsTab({ view, row, place }) {
  /** @type {Array<{ at: string, what: string }>} */
  const events = [];
  const listed = table({
    label: "Events of the host",
    columns: [
      { label: "When", cell: (/** @type {typeof events[number]} */ { at }) => time(at) },
      { label: "What", kind: "wide", cell: ({ what }) => what },
    ],
    key: ({ at, what }) => `${at} ${what}`,
    empty: () =>
      nothing(
        "Nothing has happened since this page was opened",
        "What comes is listed here; svc events keeps all of it.",
      ),
  });
  let last = row;
  listed.show([]);
  place.append(listed.root);
  if (view.may("audit")) place.append(el("p", {}, el("a", { href: "#audit" }, "Audit log of this desk")));
  return (now) => {
    const changes = [
      now.state !== last.state && `${now.state}${now.why === null ? "" : `: ${now.why}`}`,
      now.plan !== last.plan &&
        (now.plan === null ? "its part of a plan has ended" : `works on plan ${now.plan.slice(0, 8)}`),
      now.version !== last.version && now.version !== null && `svc ${now.version}`,
      now.broken !== last.broken && (now.broken ? "its audit log is broken" : "its audit log is whole"),
      now.tags.join() !== last.tags.join() && `tags: ${now.tags.join(", ") || "none"}`,
    ];
    last = now;
    const at = new Date().toISOString();
    for (const what of changes) if (what) events.unshift({ at, what });
    listed.show(events.slice(0, EVENTS_KEPT));
  };
}

/** @type {Open} */
function settingsTab({ view, label, row, place, acts, tell }) {
  const facts = el("div", {}, loading());
  const hasToken = row.trust !== "identity" && row.trust !== "server";
  const remove = async () => {
    if (await acts.remove([label])) location.assign("#hosts");
  };
  place.append(
    facts,
    el(
      "div",
      { class: "buttons" },
      actionButton("Edit…", () => acts.edit(label).then(() => polled.now()), tell),
      actionButton("Tags…", () => acts.tag([label]).then(() => polled.now()), tell),
      ...(hasToken ? [actionButton("Rotate the token…", () => acts.rotate([label]), tell)] : []),
      actionButton("Remove…", remove, tell),
    ),
  );

  const polled = view.poll({
    path: "admin/hosts",
    on: [],
    every: 0,
    show(hosts) {
      const found = hosts.find((one) => one.label === label);
      if (!found) return;
      const { base_url, tags, trust, pin, next_pin, allows } = found;
      facts.replaceChildren(
        factsOf([
          ["Address", el("code", {}, base_url)],
          ["Tags", tags.join(", ") || "none"],
          ["Trusted by", TRUST[trust]],
          ["Pin", pin === null ? "none" : el("code", {}, pin)],
          ...(next_pin === null ? [] : [/** @type {const} */ (["Next pin", el("code", {}, next_pin)])]),
          ["This desk may use there", allows === null ? "not known yet" : rightsOf(allows)],
        ]),
      );
    },
    fail({ message }) {
      facts.replaceChildren(notice("warn", message));
    },
  });
  return () => {};
}
