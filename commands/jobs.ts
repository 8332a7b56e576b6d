/** `svc jobs`: adds scripts to the schedule of this host; lists, pauses, resumes, runs and removes them. */
import { DESKTOP_FIELDS, VARIABLE_FIELDS, withDesktop, withVariables } from "../src/cli/script-run";
import type { Group } from "../src/cli/subcommand";
import { view } from "../src/cli/view";
import { flag } from "../src/core/fields";
import {
  addJob,
  type JobView,
  listJobs,
  pauseJob,
  removeJob,
  resumeJob,
  runJob,
} from "../src/host/scheduler/operations";
import { timeText } from "../src/lib/time-text";
import { typedDuration } from "../src/lib/units";

const one = { positionals: ["job_id"], names: { job_id: "id" }, on: false } as const;

export default {
  verbs: {
    list: view(listJobs, {
      columns: ["JOB", "WHEN", "NEXT", "RUNS", "IF MISSED", "IF RUNNING", "ON ERROR", "TOKEN", "SCRIPT"],
      rows: ({ jobs }) => jobs.map(rowOf),
      none: "no jobs",
      warnings: ({ problems = [] }) => problems,
      good: ({ problems = [] }) => problems.length === 0,
      examples: [["$0 jobs list", "Every job, and when it runs next"]],
    }),
    add: view(addJob, {
      on: false,
      positionals: ["script_path"],
      names: { script_path: "script", job_id: "id", interval_seconds: "every", cron_expression: "cron" },
      hidden: ["desktop"],
      extra: { ...VARIABLE_FIELDS, ...DESKTOP_FIELDS },
      complete: (input, extra) => withDesktop(withVariables(input, extra), extra),
      text: (job) => `${job.job_id} runs next at ${timeText(`${job.next_run_at}`)}`,
      warnings: ({ problem }) =>
        problem === null ? [] : [`its script cannot be run as it is now: ${problem}`],
      examples: [
        ["$0 jobs add refresh.json --every 15m", "Every quarter of an hour"],
        ['$0 jobs add n.json --cron "30 2 * * *"', "At half past two each night"],
        ["$0 jobs add order.json --every 1h --var customer=ACME", "With the value of a variable"],
        ["$0 jobs add sweep.json --every 1h --no-stop-on-error", "It goes on after what fails"],
      ],
    }),
    remove: view(removeJob, {
      ...one,
      text: (_body, { job_id }) => `${job_id} removed`,
      examples: [["$0 jobs remove nightly", "An active run continues"]],
    }),
    pause: view(pauseJob, {
      ...one,
      text: ({ job_id }) => `${job_id} is paused`,
      examples: [["$0 jobs pause nightly", "No further run until it is resumed"]],
    }),
    resume: view(resumeJob, {
      ...one,
      text: (job) => `${job.job_id} runs next at ${timeText(`${job.next_run_at}`)}`,
      examples: [["$0 jobs resume nightly", "The interval counts from now"]],
    }),
    run: view(runJob, {
      ...one,
      // A server answers when the run has begun; without one this process waits for its end.
      hidden: ["wait"],
      extra: {
        allow_shell: flag("Let the script run programs, if no server runs here"),
        allow_audit_clear: flag("Let the script clear the audit log, if no server runs here"),
      },
      service: (given) => given,
      cancellable: true,
      text: ({ run_id, status }) => `run ${run_id}: ${status}`,
      problems: ({ error_text }) => (error_text ? [error_text] : []),
      good: ({ status }) => status === "ok" || status === "running",
      examples: [["$0 jobs run nightly", "Now, in the server if one runs here"]],
    }),
  },
} satisfies Group;

/** What a run of the job does after an action that failed. */
function onError({ stop_on_error }: JobView): string {
  if (stop_on_error === null) return "as script";
  return stop_on_error === "focus" ? "focus" : stop_on_error ? "stop" : "go on";
}

function rowOf(job: JobView): string[] {
  const times = job.is_cron
    ? [job.cron_expression ?? "cron", job.time_zone].filter(Boolean).join(" ")
    : `every ${typedDuration(job.interval_seconds)}`;
  return [
    job.job_id,
    times,
    job.enabled ? (job.next_run_at ?? "") : (job.disabled_reason ?? "paused"),
    job.max_runs === null ? `${job.runs}` : `${job.runs}/${job.max_runs}`,
    job.if_missed ?? "",
    job.if_running ?? "",
    onError(job),
    job.token ?? "",
    job.script_path,
  ];
}
