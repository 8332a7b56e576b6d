/**
 * Jobs and history: scheduled scripts, the runs of this server, and past runs.
 */
import { ask, fill } from "../dialog.js";
import { el, labelled } from "../dom.js";
import { count, counted, duration } from "../format.js";
import { icon } from "../icons.js";
import { actionButton, badge, nothing, notice, panel, time } from "../parts.js";
import { table } from "../table.js";
import { afterJob } from "./run-state.js";
import { activePanel, historyPanel } from "./runs.js";
import { tracesPanel } from "./traces.js";

/** @typedef {import("../wire").Answer<"jobs">["jobs"][number]} Job */

/** When a job runs, and its rules for missed and overlapping runs. @param {Job} job */
const timesOf = ({ is_cron, cron_expression, time_zone, interval_seconds, repeat, ...job }) =>
  el(
    "div",
    {},
    is_cron
      ? el("code", {}, cron_expression ?? "")
      : `${repeat ? "every" : "once, after"} ${duration(interval_seconds ?? 0)}`,
    time_zone && el("div", { class: "hint" }, time_zone),
    el("div", { class: "hint" }, job.if_missed === "once" ? "missed runs: run once" : "missed runs: skip"),
    el(
      "div",
      { class: "hint" },
      job.if_running === "queue" ? "if still running: queue" : "if still running: skip",
    ),
    job.timeout_s !== null && el("div", { class: "hint" }, `timeout ${duration(job.timeout_s)}`),
    job.stop_on_error !== null &&
      el("div", { class: "hint" }, `if an action fails: ${job.stop_on_error ? "stop" : "go on"}`),
  );

/** Whether a job has had all its runs. @param {Job} job */
const isUsedUp = ({ max_runs, runs }) => max_runs !== null && runs >= max_runs;

/** Whether a job will not run again. @param {Job} job */
const isDone = (job) => isUsedUp(job) || (!job.repeat && job.runs > 0 && !job.enabled);

/** @param {Job} job */
function stateOf(job) {
  if (job.run_id) return badge("info", "running");
  if (isDone(job)) return badge("none", "done");
  return job.enabled ? badge("ok", "on") : badge("none", "paused");
}

/** The state of a job and the number of its runs. @param {Job} job */
function runsOf(job) {
  const { runs, max_runs } = job;
  const total = max_runs === null ? counted(runs, "run") : `${count(runs)} of ${counted(max_runs, "run")}`;
  return el("div", {}, stateOf(job), el("div", { class: "hint" }, total));
}

/** @param {import("../view.js").View} view */
export function open(view) {
  const active = activePanel(view);
  const history = historyPanel(view);
  const jobs = jobsPanel(view, async () => {
    await Promise.all([active.now(), history.now()]);
  });
  const traces = tracesPanel(view);
  view.root.append(el("div", { class: "stack" }, jobs, active.root, traces.root, history.root));
}

/**
 * @param {import("../view.js").View} view
 * @param {() => Promise<void>} started called when a run was started
 */
function jobsPanel({ api, may, poll }, started) {
  const made = panel("Jobs", {
    tools: [may("operate") && actionButton([icon("add"), "Add…"], add, (error) => made.tell(error))],
  });
  const { tell } = made;

  /**
   * @param {"run" | "pause" | "resume" | "remove"} change
   * @param {Job} job
   */
  const change = async (change, { job_id }) => {
    await api.post(`jobs/${change}`, { job_id });
    await polled.now();
  };

  const listed = table({
    label: "Jobs",
    columns: [
      {
        label: "Job",
        kind: "wide",
        cell: (/** @type {Job} */ { job_id, script_path }) =>
          el("div", {}, el("strong", {}, job_id), el("div", { class: "hint" }, el("code", {}, script_path))),
      },
      { label: "Schedule", kind: "wide", cell: timesOf },
      { label: "Runs", cell: runsOf },
      { label: "Next", cell: ({ next_run_at }) => time(next_run_at) },
      { label: "Last", cell: ({ last_run_at }) => time(last_run_at) },
      {
        label: "Actions",
        kind: "actions",
        hidden: !may("operate"),
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
              : !isUsedUp(job) &&
                  actionButton([icon("play"), "Resume"], () => change("resume", job), tell, {
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
      nothing(
        "No jobs",
        may("operate")
          ? "Add one to run a script at an interval or by a cron expression."
          : "Scripts that this host runs by a schedule are listed here.",
      ),
  });
  made.body.append(listed.root);

  const polled = poll({
    path: "jobs",
    on: ["job.*"],
    every: 5,
    apply: afterJob,
    show(answer) {
      made.fail(null);
      made.notes.replaceChildren(...(answer.problems ?? []).map((problem) => notice("warn", problem)));
      listed.show(answer.jobs);
    },
    fail: made.fail,
  });

  /** @param {Job} job */
  async function remove(job) {
    if (
      await ask(
        `Remove ${job.job_id}?`,
        "Remove",
        "The job is removed from the schedule. A run in progress continues.",
      )
    )
      await change("remove", job);
  }

  async function add() {
    const { fields, send } = jobForm(api);
    /** @type {string | null} */
    let problem = null;
    const post = async () => {
      ({ problem } = await send());
    };
    if (!(await fill("Add a job", "Add", post, ...fields))) return;
    if (problem) tell({ tone: "warn", message: `The job was added, but its script cannot run: ${problem}` });
    await polled.now();
  }
  return made.root;
}

/** The fields of a new job, and the request that they make. @param {import("../api.js").Api} api */
function jobForm(api) {
  const script = el("input", {
    required: true,
    placeholder: "/home/kiosk/refresh.json",
    spellcheck: "false",
  });
  const name = el("input", { placeholder: "random", spellcheck: "false" });
  const kind = select({
    interval: "at an interval",
    once: "once, after a delay",
    cron: "by a cron expression",
  });
  const seconds = el("input", { type: "number", min: 1, step: "any", value: 900, required: true });
  const cron = el("input", { value: "30 2 * * *", required: true, spellcheck: "false" });
  const zone = el("input", { placeholder: "time zone of the host", spellcheck: "false" });
  const most = el("input", { type: "number", min: 1, placeholder: "no limit" });
  const missed = select({ skip: "skip it", once: "run once for all missed runs" });
  const running = select({ skip: "skip the run", queue: "run when it ends" });
  const timeout = el("input", {
    type: "number",
    min: 1,
    max: 86_400,
    placeholder: "as the script says, or 3600",
  });
  const failed = select({ script: "as the script says, or stop", stop: "stop", on: "go on with the next" });

  const interval = labelled("Seconds", seconds, "Delay before the first run, and interval between runs.");
  const expression = [labelled("Cron expression", cron), labelled("Time zone", zone)];
  const limit = labelled("Max. runs", most);
  const choose = () => {
    const byCron = kind.value === "cron";
    interval.hidden = byCron;
    seconds.disabled = byCron;
    for (const field of expression) field.hidden = !byCron;
    cron.disabled = !byCron;
    limit.hidden = kind.value === "once";
  };
  kind.addEventListener("change", choose);
  choose();

  return {
    fields: [
      labelled("Script on the host", script, "Path of a .json, .json5, .yaml or .yml file."),
      labelled("Name", name),
      el("div", { class: "fields" }, labelled("Runs", kind), interval, ...expression, limit),
      el(
        "div",
        { class: "fields" },
        labelled("If a run was missed", missed),
        labelled("If the last run is still going", running),
        labelled("When an action fails", failed),
        labelled("Timeout in seconds", timeout),
      ),
    ],
    /** Adds the job. */
    send() {
      const common = {
        script_path: script.value,
        ...(name.value && { job_id: name.value }),
        ...(kind.value !== "once" && most.value && { max_runs: most.valueAsNumber }),
        if_missed: missed.value,
        if_running: running.value,
        ...(timeout.value && { timeout_s: timeout.valueAsNumber }),
        ...(failed.value !== "script" && { stop_on_error: failed.value === "stop" }),
      };
      if (kind.value !== "cron") {
        const repeat = kind.value === "interval";
        return api.post("jobs/add", { ...common, interval_seconds: seconds.valueAsNumber, repeat });
      }
      return api.post("jobs/add_cron", {
        ...common,
        cron_expression: cron.value,
        ...(zone.value && { time_zone: zone.value }),
      });
    },
  };
}

/**
 * @template {string} Value
 * @param {Record<Value, string>} choices the text of each value
 * @returns {HTMLSelectElement & { value: Value }}
 */
function select(choices) {
  const options = Object.entries(choices).map(([value, text]) => el("option", { value }, String(text)));
  return /** @type {HTMLSelectElement & { value: Value }} */ (el("select", {}, ...options));
}
