/**
 * Runs: those in progress, and the history.
 */
import { keptAddress } from "../address.js";
import { el, setText } from "../dom.js";
import { counted, milliseconds } from "../format.js";
import { paging } from "../paging.js";
import { actionButton, badge, nothing, panel, prose, time } from "../parts.js";
import { table } from "../table.js";
import { FAILED_REST_S, whenVisible } from "../view.js";
import { runDetails, SCREEN_BEFORE } from "./run-details.js";
import { afterRun, isActive, RUN_TONES } from "./run-state.js";

/** Runs of a page of the history. */
const PAGE = 50;

/** @typedef {import("../wire").Answer<"runs">["runs"][number]} ActiveRun */
/** @typedef {import("../wire").Answer<"history">["runs"][number]} PastRun */
/** A past run, with what the black box keeps for it. @typedef {PastRun & { kept: { from: string, to: string } | null }} ShownRun */
/** @typedef {Pick<ActiveRun | PastRun, keyof ActiveRun & keyof PastRun>} Run */

/** @type {import("../table.js").Column<Run>} */
const STARTED = { label: "Started", cell: ({ started_at }) => time(started_at) };

/** @type {import("../table.js").Column<Run>} */
const STATUS = {
  label: "Status",
  kind: "tight",
  cell: ({ status }) => badge(RUN_TONES[status] ?? "none", status),
};

/** @type {import("../table.js").Column<Run>} */
const FROM = {
  label: "From",
  cell: ({ source_type, source_id }) => (source_id ? `${source_type} · ${source_id}` : source_type),
};

/** @type {import("../table.js").Column<Run>} */
const TOOK = {
  label: "Took",
  kind: "number",
  cell: ({ duration_seconds }) => milliseconds(duration_seconds === null ? null : duration_seconds * 1_000),
};

/**
 * The runs of this server: those in progress, and the last that ended.
 *
 * @param {import("../view.js").View} view
 */
export function activePanel({ api, may, poll }) {
  const about = el("span", { class: "hint" });
  const made = panel("Runs of this server", { tools: [about] });
  const details = runDetails(api);
  const listed = table({
    label: "Runs in progress, and the last that ended",
    columns: [
      STARTED,
      STATUS,
      {
        label: "Script or commands",
        kind: "wide",
        cell: (/** @type {ActiveRun} */ { commands, script_path, waiting_for }) =>
          el(
            "div",
            {},
            script_path ? el("code", {}, script_path) : prose(commands.join(", ")),
            waiting_for && el("span", { class: "hint" }, ` waiting for ${waiting_for}`),
          ),
      },
      FROM,
      TOOK,
      {
        label: "Actions",
        kind: "actions",
        hidden: !may("operate"),
        cell: ({ status, run_id }) => [
          actionButton("Details", () => details.show(run_id), made.tell, {
            "aria-label": `Details of run ${run_id.slice(0, 8)}`,
          }),
          (status === "running" || status === "waiting") &&
            actionButton("Cancel", () => cancel(run_id), made.tell, {
              "aria-label": `Cancel run ${run_id.slice(0, 8)}`,
            }),
        ],
      },
    ],
    key: ({ run_id }) => run_id,
    empty: () =>
      nothing("Nothing has run yet", "Actions, scripts and jobs that this server runs are listed here."),
  });
  made.body.append(
    details.root,
    el("div", { class: "tall bleed", tabindex: 0, role: "group", "aria-label": "Runs" }, listed.root),
  );
  const polled = poll({
    path: "runs",
    on: ["run.*"],
    every: 5,
    apply: afterRun,
    show({ runs }) {
      made.fail(null);
      const active = runs.filter(isActive).length;
      setText(about, active > 0 ? `${counted(active, "run")} in progress` : "none in progress");
      listed.show(runs);
    },
    fail: made.fail,
  });

  /** @param {string} run_id */
  async function cancel(run_id) {
    await api.post("runs/cancel", { run_id });
    await polled.now();
  }
  return { root: made.root, now: polled.now };
}

/** The runs of another host, as it has said once. */
export function runsTable() {
  return table({
    label: "Runs of the host",
    columns: [
      STARTED,
      STATUS,
      {
        label: "Script or commands",
        kind: "wide",
        cell: (/** @type {ActiveRun} */ { commands, script_path }) =>
          script_path ? el("code", {}, script_path) : prose(commands.join(", ")),
      },
      FROM,
      TOOK,
    ],
    key: ({ run_id }) => run_id,
    empty: () => nothing("No runs", "What has run there since its server started is listed here."),
  });
}

/**
 * All past runs of this host.
 *
 * @param {import("../view.js").View} view
 */
export function historyPanel({ may, poll, signal }) {
  const pages = paging(PAGE, () => polled.now());
  const status = el(
    "select",
    { "aria-label": "Status" },
    el("option", { value: "" }, "any status"),
    ...["ok", "error", "cancelled", "timeout", "interrupted"].map((name) => el("option", {}, name)),
  );
  const source = el(
    "select",
    { "aria-label": "Source" },
    el("option", { value: "" }, "any source"),
    ...["rest", "scheduler", "plan", "manual"].map((name) => el("option", {}, name)),
  );
  for (const select of [status, source]) select.addEventListener("change", () => pages.toNewest());
  const made = panel("History", { tools: [status, source, ...pages.buttons] });
  const listed = table({
    label: "Past runs, newest first",
    columns: [
      STARTED,
      STATUS,
      {
        label: "Script",
        kind: "wide",
        cell: (/** @type {ShownRun} */ { script_path, source_type, source_id }) =>
          script_path
            ? el("code", {}, script_path)
            : el(
                "span",
                { class: "faint" },
                source_type === "plan" ? `plan ${source_id.slice(0, 8)}` : "a list of actions",
              ),
      },
      FROM,
      TOOK,
      {
        label: "Error",
        cell: ({ error_text, kept }) =>
          kept
            ? el("div", {}, prose(error_text), " ", el("a", { href: keptAddress(null, kept) }, SCREEN_BEFORE))
            : prose(error_text),
      },
    ],
    key: ({ id }) => id,
    empty: () => nothing("No runs", "Past runs of this host are listed here."),
  });
  made.body.append(listed.root);
  /** @type {readonly PastRun[]} */
  let last = [];
  /** What is kept, by run. @type {Map<string | null, { from: string, to: string }>} */
  let kept = new Map();
  /** The failed runs about which the black box was asked. */
  let askedAbout = "";
  /** Asks it what it keeps. @type {import("../view.js").Poll | null} */
  let box = null;
  /** Until it is asked again after an error; 0 where there was none. */
  let again = 0;
  signal.addEventListener("abort", () => clearTimeout(again));
  const showRuns = () => listed.show(last.map((run) => ({ ...run, kept: kept.get(run.run_id) ?? null })));

  /** Asks what is kept where another run has failed: the page that shows it needs the scope screen. */
  function askKept() {
    const failed = last.filter(({ status: how }) => how === "error" || how === "timeout");
    const about = failed.map(({ run_id }) => run_id).join(" ");
    if (about === askedAbout || again !== 0 || !may("screen")) return;
    askedAbout = about;
    if (box) {
      void box.now();
      return;
    }
    box = poll({
      path: "black-box/kept",
      on: [],
      every: 0,
      show({ runs }) {
        kept = new Map(runs.map((run) => [run.run_id, run]));
        showRuns();
      },
      // Without it, the runs are shown all the same. It is asked again, but for a host that knows of none.
      fail({ status }) {
        if (status === 0 || status >= 500) again = setTimeout(askAgain, FAILED_REST_S * 1_000);
      },
    });
  }

  function askAgain() {
    whenVisible(signal, () => {
      again = 0;
      askedAbout = "";
      askKept();
    });
  }

  const polled = poll({
    path() {
      const wanted = pages.query();
      if (status.value) wanted.set("status", status.value);
      if (source.value) wanted.set("source_type", source.value);
      return `history?${wanted}`;
    },
    on: ["run.started", "run.ended"],
    every: 10,
    show({ runs }) {
      made.fail(null);
      pages.shown(runs);
      last = runs;
      showRuns();
      askKept();
    },
    fail: made.fail,
  });
  return { root: made.root, now: polled.now };
}
