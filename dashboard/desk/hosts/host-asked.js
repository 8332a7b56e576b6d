/**
 * The parts of the page of a host that the host itself is asked for: its runs, its jobs, its checks and its audit log.
 */
import { el, setText } from "../../dom.js";
import { count, counted } from "../../format.js";
import { checkItems, verdictOf } from "../../host/diagnostics.js";
import { runsTable } from "../../host/runs.js";
import { actionButton, asError, badge, loading, nothing, notice, time } from "../../parts.js";
import { table } from "../../table.js";
import { factsOf } from "./host-words.js";

/** Its runs. @type {import("./host-tabs.js").Open} */
export const runsTab = (part) => asked(part, "runs", showRuns);

/** Its scheduled scripts. @type {import("./host-tabs.js").Open} */
export const jobsTab = (part) => asked(part, "jobs", showJobs);

/** Its diagnostic checks. @type {import("./host-tabs.js").Open} */
export const checksTab = (part) => asked(part, "diagnostics", showChecks);

/**
 * What a host says, asked when its part is opened and when somebody asks again.
 *
 * @param {import("./host-tabs.js").Part} part
 * @param {"runs" | "jobs" | "diagnostics" | "audit"} what
 * @param {(answer: Record<string, unknown>) => Node} shown
 * @returns {(row: import("./host-words.js").Row) => void}
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

/** Its audit log: how this desk sees it, and what the host says of it. @type {import("./host-tabs.js").Open} */
export function auditTab(part) {
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
            log.reason || (watching ? "as this desk has seen it before" : "no server looks at it"),
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
      ["Verified", verifiedOf(patrolled)],
    ]);
  });
}

/**
 * What the server of a host has found in its log, all rows of which it verifies in turn.
 *
 * @param {import("../../wire").Answer<"audit/status">["patrolled"]} patrolled
 */
function verifiedOf(patrolled) {
  if (patrolled === null) return "not by a server";
  const { verified_at, altered } = patrolled;
  if (altered.length > 0)
    return el("span", {}, badge("error", "altered"), ` ${counted(altered.length, "place")}`);
  return verified_at === null
    ? "its server verifies all rows for the first time"
    : el("span", {}, "all rows, ", time(verified_at));
}
