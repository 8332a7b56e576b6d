/**
 * Jobs and history: what runs by itself and when, what runs now, and how it went.
 */
import { button, el, labelled, setText } from "./dom.js";
import { counted, duration, milliseconds } from "./format.js";
import { icon } from "./icons.js";
import { actionButton, ask, badge, nothing, notice, panel, prose, table, time } from "./parts.js";

/** Runs of a page of the history. */
const PAGE = 50;

/**
 * @typedef {object} Job
 * @property {string} job_id
 * @property {string} script_path
 * @property {number} interval_seconds
 * @property {boolean} is_cron
 * @property {string | null} cron_expression
 * @property {string | null} time_zone
 * @property {boolean} repeat
 * @property {number} runs
 * @property {boolean} enabled
 * @property {string | null} next_run_at
 * @property {string | null} last_run_at
 * @property {string | null} run_id
 */
/**
 * @typedef {object} Run
 * @property {string | null} run_id
 * @property {string} source_type
 * @property {string} source_id
 * @property {string} script_path
 * @property {string} status
 * @property {string} started_at
 * @property {string | null} finished_at
 * @property {number | null} duration_seconds
 * @property {string | null} error_text
 * @property {string[]} [commands]
 */
/** @typedef {Run & { id: number }} PastRun */

/** @type {Record<string, import("./parts.js").Tone>} */
const TONES = {
  ok: "ok",
  error: "error",
  timeout: "error",
  interrupted: "error",
  cancelled: "warn",
  running: "info",
  waiting: "info",
};

/** @param {{ status: string }} run */
export const runBadge = ({ status }) => badge(TONES[status] ?? "none", status);

/** @param {Job} job */
const timesOf = ({ is_cron, cron_expression, time_zone, interval_seconds, repeat }) =>
  is_cron
    ? el(
        "div",
        {},
        el("code", {}, cron_expression ?? ""),
        time_zone && el("div", { class: "hint" }, time_zone),
      )
    : `${repeat ? "every" : "once, after"} ${duration(interval_seconds)}`;

/** @param {Run} run */
const sourceOf = ({ source_type, source_id }) => (source_id ? `${source_type} · ${source_id}` : source_type);

/** @param {import("./view.js").View} view */
export function open(view) {
  const active = activePanel(view);
  const history = historyPanel(view);
  const jobs = jobsPanel(view, async () => {
    await Promise.all([active.now(), history.now()]);
  });
  view.root.append(el("div", { class: "stack" }, jobs, active.root, history.root));
}

/**
 * @param {import("./view.js").View} view
 * @param {() => Promise<void>} started is called once a run was started
 */
function jobsPanel({ api, poll }, started) {
  const made = panel("Jobs", { tools: [button([icon("add"), "Add…"], () => void add())] });
  const tell = (/** @type {Error | null} */ error) => made.fail(error);

  /**
   * @param {string} path
   * @param {Job} job
   */
  const change = async (path, { job_id }) => {
    await api.post(`jobs/${path}`, { job_id });
    await polled.now();
  };

  const listed = table({
    label: "Jobs",
    columns: [
      { label: "Job", kind: "tight", cell: (/** @type {Job} */ { job_id }) => el("strong", {}, job_id) },
      { label: "Script", kind: "wide", cell: ({ script_path }) => el("code", {}, script_path) },
      { label: "Times", kind: "tight", cell: timesOf },
      {
        label: "State",
        kind: "tight",
        cell: ({ enabled, run_id }) =>
          run_id ? badge("info", "running") : enabled ? badge("ok", "on") : badge("none", "paused"),
      },
      { label: "Next", kind: "tight", cell: ({ next_run_at }) => time(next_run_at) },
      { label: "Last", kind: "tight", cell: ({ last_run_at }) => time(last_run_at) },
      { label: "Runs", kind: "number", cell: ({ runs }) => String(runs) },
      {
        label: "Actions",
        kind: "actions",
        cell: (job) =>
          el(
            "div",
            { class: "buttons" },
            actionButton([icon("play"), "Run"], () => change("run", job).then(started), tell, {
              "aria-label": `Run ${job.job_id} now`,
            }),
            job.enabled
              ? actionButton([icon("pause"), "Pause"], () => change("pause", job), tell, {
                  "aria-label": `Pause ${job.job_id}`,
                })
              : actionButton([icon("play"), "Resume"], () => change("resume", job), tell, {
                  "aria-label": `Resume ${job.job_id}`,
                }),
            actionButton([icon("remove"), "Remove"], () => remove(job), tell, {
              "aria-label": `Remove ${job.job_id}`,
            }),
          ),
      },
    ],
    key: ({ job_id }) => job_id,
    empty: () =>
      nothing("No jobs", "Add one to run a script at an interval, or at the times of a cron expression."),
  });
  made.body.append(listed.root);

  const polled = poll(
    5,
    "jobs",
    (/** @type {{ jobs: Job[], problems?: string[] }} */ answer) => {
      made.fail(null);
      made.notes.replaceChildren(...(answer.problems ?? []).map((problem) => notice("warn", problem)));
      listed.show(answer.jobs);
    },
    (error) => made.fail(error),
  );

  /** @param {Job} job */
  async function remove(job) {
    if (
      await ask(`Remove ${job.job_id}?`, "Remove", "It runs no more. A run of it that goes on is not ended.")
    )
      await change("remove", job);
  }

  async function add() {
    tell(null);
    try {
      const job = await askForJob();
      if (!job) return;
      await api.post(job.path, job.body);
      await polled.now();
    } catch (error) {
      tell(error instanceof Error ? error : new Error(String(error)));
    }
  }
  return made.root;
}

/** @returns {Promise<{ path: string, body: Record<string, unknown> } | null>} */
async function askForJob() {
  const script = el("input", {
    required: true,
    placeholder: "/home/kiosk/refresh.json",
    spellcheck: "false",
  });
  const name = el("input", { placeholder: "a random one", spellcheck: "false" });
  const kind = el(
    "select",
    {},
    el("option", { value: "interval" }, "at an interval"),
    el("option", { value: "cron" }, "by a cron expression"),
  );
  const seconds = el("input", { type: "number", min: 1, value: 900, required: true });
  const cron = el("input", { value: "30 2 * * *", required: true, spellcheck: "false" });
  const zone = el("input", { placeholder: "that of the host", spellcheck: "false" });
  const interval = labelled("Seconds between runs", seconds);
  const expression = el(
    "div",
    { class: "fields" },
    labelled("Cron expression", cron),
    labelled("Time zone", zone),
  );
  const choose = () => {
    interval.hidden = kind.value !== "interval";
    expression.hidden = kind.value === "interval";
    seconds.disabled = kind.value !== "interval";
    cron.disabled = kind.value === "interval";
  };
  kind.addEventListener("change", choose);
  choose();
  const fields = [
    labelled("Script on the host", script, "The path of a .json file."),
    labelled("Name", name),
    labelled("Runs", kind),
    interval,
    expression,
  ];
  if (!(await ask("Add a job", "Add", ...fields))) return null;
  const common = { script_path: script.value, ...(name.value && { job_id: name.value }) };
  if (kind.value === "interval")
    return { path: "jobs/add", body: { ...common, interval_seconds: Number(seconds.value) } };
  return {
    path: "jobs/add_cron",
    body: { ...common, cron_expression: cron.value, ...(zone.value && { time_zone: zone.value }) },
  };
}

/** @param {import("./view.js").View} view */
function activePanel({ api, poll }) {
  const about = el("span", { class: "hint" });
  const made = panel("Runs of this server", { tools: [about] });
  const listed = table({
    label: "Runs that go on, and the last that ended",
    columns: [
      { label: "Started", kind: "tight", cell: (/** @type {Run} */ { started_at }) => time(started_at) },
      { label: "Status", kind: "tight", cell: runBadge },
      {
        label: "What",
        kind: "wide",
        cell: ({ commands = [], script_path }) =>
          script_path ? el("code", {}, script_path) : prose(commands.join(", ")),
      },
      { label: "From", cell: (run) => sourceOf(run) },
      {
        label: "Took",
        kind: "number",
        cell: ({ duration_seconds }) =>
          milliseconds(duration_seconds === null ? null : duration_seconds * 1_000),
      },
      {
        label: "Actions",
        kind: "actions",
        cell: ({ status, run_id }) =>
          status === "running" || status === "waiting"
            ? actionButton(
                "Cancel",
                () => cancel(run_id ?? ""),
                (error) => made.fail(error),
              )
            : "",
      },
    ],
    key: ({ run_id }) => run_id ?? "",
    empty: () =>
      nothing("Nothing has run yet", "Actions, scripts and jobs that this server runs are listed here."),
  });
  made.body.append(
    el("div", { class: "tall bleed", tabindex: 0, role: "group", "aria-label": "Runs" }, listed.root),
  );
  const polled = poll(
    5,
    "runs",
    (/** @type {{ runs: Run[] }} */ { runs }) => {
      made.fail(null);
      const going = runs.filter(({ status }) => status === "running" || status === "waiting").length;
      setText(about, going > 0 ? `${counted(going, "run")} going on` : "none going on");
      listed.show(runs);
    },
    (error) => made.fail(error),
  );

  /** @param {string} run_id */
  async function cancel(run_id) {
    await api.post("runs/cancel", { run_id });
    await polled.now();
  }
  return { root: made.root, now: polled.now };
}

/** @param {import("./view.js").View} view */
function historyPanel({ poll }) {
  /** Where each page begins, the last one being shown; null for the newest runs. @type {Array<number | null>} */
  let pages = [null];
  let lowest = 0;
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
    ...["rest", "scheduler", "manual"].map((name) => el("option", {}, name)),
  );
  const newer = button("Newer", () => turnTo(pages.slice(0, -1)));
  const older = button("Older", () => turnTo([...pages, lowest]));
  for (const select of [status, source]) select.addEventListener("change", () => turnTo([null]));
  const made = panel("History", { tools: [status, source, newer, older] });
  const listed = table({
    label: "Past runs, newest first",
    columns: [
      { label: "Started", kind: "tight", cell: (/** @type {PastRun} */ { started_at }) => time(started_at) },
      { label: "Status", kind: "tight", cell: runBadge },
      {
        label: "Script",
        kind: "wide",
        cell: ({ script_path }) =>
          script_path ? el("code", {}, script_path) : el("span", { class: "faint" }, "a list of actions"),
      },
      { label: "From", cell: (run) => sourceOf(run) },
      {
        label: "Took",
        kind: "number",
        cell: ({ duration_seconds }) =>
          milliseconds(duration_seconds === null ? null : duration_seconds * 1_000),
      },
      { label: "Error", cell: ({ error_text }) => prose(error_text) },
    ],
    key: ({ id }) => id,
    empty: () => nothing("No runs", "What has run on this host is listed here, with how it went."),
  });
  made.body.append(listed.root);
  const polled = poll(
    10,
    () => {
      const wanted = new URLSearchParams({ limit: String(PAGE) });
      const before = pages.at(-1);
      if (before) wanted.set("before_id", String(before));
      if (status.value) wanted.set("status", status.value);
      if (source.value) wanted.set("source_type", source.value);
      return `history?${wanted}`;
    },
    (/** @type {{ runs: PastRun[] }} */ { runs }) => {
      made.fail(null);
      lowest = runs.at(-1)?.id ?? 0;
      newer.disabled = pages.length === 1;
      older.disabled = runs.length < PAGE;
      listed.show(runs);
    },
    (error) => made.fail(error),
  );

  /** @param {Array<number | null>} to */
  function turnTo(to) {
    pages = to;
    void polled.now();
  }
  return { root: made.root, now: polled.now };
}
