import { resolve } from "node:path";
import * as v from "valibot";
import { field, NO_INPUT } from "../core/fields";
import { operation } from "../core/operation";
import { DEFAULT_TIMEOUT_S, RUN_STATUS } from "../core/run";
import { badInput, Failure } from "../lib/errors";
import type { Service } from "../service";
import { hostTimeZone, JOB_SETTINGS, type Job } from "./job";
import type { JobState } from "./scheduler";

const JOB = v.object({
  job_id: v.string(),
  script_path: v.string(),
  interval_seconds: v.number(),
  is_cron: v.boolean(),
  cron_expression: v.nullable(v.string()),
  time_zone: v.nullable(v.string()),
  repeat: v.boolean(),
  max_runs: v.nullable(v.number()),
  runs: v.number(),
  enabled: v.boolean(),
  next_run_at: v.nullable(v.string()),
  last_run_at: v.nullable(v.string()),
  /** These three are null of hosts that do not tell. */
  if_missed: v.nullable(v.string()),
  if_running: v.nullable(v.string()),
  timeout_seconds: v.nullable(v.number()),
  run_id: v.nullable(v.string()),
});

/** A job as it is told. */
export type JobTold = v.InferOutput<typeof JOB>;

const told = (job: JobState): JobTold =>
  v.parse(JOB, { ...job, is_cron: job.cron_expression !== null } satisfies JobTold);

const script_path = field(JOB_SETTINGS.script_path, "Path of a .json file on the host");
const existing = v.strictObject({ job_id: field(JOB_SETTINGS.job_id, "The job") });

/** What can be set of a job however its times are given. */
const SETTINGS = {
  max_runs: field(v.optional(JOB_SETTINGS.max_runs, null), "How often it runs at most (default: no limit)"),
  job_id: field(v.optional(JOB_SETTINGS.job_id), "What to call it (default: a random id)"),
  if_missed: field(
    v.optional(JOB_SETTINGS.if_missed, "skip"),
    "What becomes of runs that were missed while svc or the host was down: none (`skip`), or one for all (`once`)",
  ),
  if_running: field(
    v.optional(JOB_SETTINGS.if_running, "skip"),
    "What happens when it is time and the last run goes on: nothing (`skip`), or a run right after it (`queue`)",
  ),
  timeout_seconds: field(
    v.optional(JOB_SETTINGS.timeout_seconds, DEFAULT_TIMEOUT_S),
    "Seconds after which a run of it is ended",
  ),
} as const;

const NEW = { enabled: true, runs: 0, next_run_at: null, last_run_at: null } as const;

const ADDED = v.object({ ...JOB.entries, problem: v.nullable(v.string()) });

/** Adds a job. A script that cannot be run yet is no reason not to: it may be on its way. */
async function add(service: Service, given: Omit<Job, "job_id"> & { readonly job_id?: string | undefined }) {
  const job_id = given.job_id ?? crypto.randomUUID().slice(0, 8);
  const job = { ...given, job_id, script_path: resolve(given.script_path) };
  const added = told(await (await service.scheduler()).add(job));
  return { ...added, problem: await problemWith(service, job.script_path) };
}

/** Why the script cannot be run as it is now, or null. */
async function problemWith(service: Service, path: string): Promise<string | null> {
  try {
    await (await service.executor()).prepareFile(path);
    return null;
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    // Whether programs may be run is for the process that runs the jobs to say.
    return error.code === "forbidden" ? null : error.message;
  }
}

export const listJobs = operation({
  name: "jobs.list",
  summary: "List the jobs of the scheduler",
  scope: "read",
  command: "AC_scheduler_list_jobs",
  http: { method: "GET", path: "/jobs" },
  input: NO_INPUT,
  output: v.object({ jobs: v.array(JOB), problems: v.optional(v.array(v.string()), []) }),
  async run(service: Service) {
    const scheduler = await service.scheduler();
    return { jobs: (await scheduler.jobs()).map(told), problems: scheduler.problems() };
  },
});

export const addJob = operation({
  name: "jobs.add",
  summary: "Run a script at an interval",
  scope: "operate",
  changes: true,
  command: "AC_scheduler_add_job",
  http: { method: "POST", path: "/jobs/add" },
  example: { script_path: "/home/kiosk/refresh.json", interval_seconds: 900, job_id: "refresh" },
  input: v.strictObject({
    script_path,
    interval_seconds: field(
      JOB_SETTINGS.interval_seconds,
      "Seconds from one run to the next, and to the first",
    ),
    repeat: field(v.optional(v.boolean(), true), "Whether it runs more than once"),
    ...SETTINGS,
  }),
  output: ADDED,
  run: (service: Service, input) =>
    add(service, { ...NEW, ...input, cron_expression: null, time_zone: null }),
});

export const addCronJob = operation({
  name: "jobs.add_cron",
  summary: "Run a script at the times of a cron expression",
  scope: "operate",
  changes: true,
  command: "AC_scheduler_add_cron_job",
  http: { method: "POST", path: "/jobs/add_cron" },
  example: {
    script_path: "/home/kiosk/nightly.json",
    cron_expression: "30 2 * * *",
    time_zone: "Europe/Berlin",
    job_id: "nightly",
  },
  input: v.strictObject({
    script_path,
    cron_expression: field(
      JOB_SETTINGS.cron_expression,
      "Minute, hour, day, month and day of the week, seconds before them if there are six; or `@daily` and the like",
    ),
    time_zone: field(
      v.optional(JOB_SETTINGS.time_zone),
      "IANA name of the time zone it is read in (default: that of the host as it is now)",
    ),
    ...SETTINGS,
  }),
  output: ADDED,
  run: (service: Service, { time_zone = hostTimeZone(), ...input }) =>
    add(service, { ...NEW, ...input, time_zone, interval_seconds: 0, repeat: true }),
});

export const removeJob = operation({
  name: "jobs.remove",
  summary: "Remove a job; a run of it that goes on is not ended",
  scope: "operate",
  changes: true,
  command: "AC_scheduler_remove_job",
  example: { job_id: "nightly" },
  http: { method: "POST", path: "/jobs/remove" },
  input: existing,
  output: v.object({ removed: v.literal(true) }),
  async run(service: Service, { job_id }) {
    await (await service.scheduler()).remove(job_id);
    return { removed: true as const };
  },
});

export const pauseJob = operation({
  name: "jobs.pause",
  summary: "Start no further run of a job until it is resumed",
  scope: "operate",
  changes: true,
  command: "AC_scheduler_pause_job",
  example: { job_id: "nightly" },
  http: { method: "POST", path: "/jobs/pause" },
  input: existing,
  output: JOB,
  run: async (service: Service, { job_id }) => told(await (await service.scheduler()).pause(job_id)),
});

export const resumeJob = operation({
  name: "jobs.resume",
  summary: "Go on with a job that was paused; its times count from now",
  scope: "operate",
  changes: true,
  command: "AC_scheduler_resume_job",
  example: { job_id: "nightly" },
  http: { method: "POST", path: "/jobs/resume" },
  input: existing,
  output: JOB,
  run: async (service: Service, { job_id }) => told(await (await service.scheduler()).resume(job_id)),
});

export const runJob = operation({
  name: "jobs.run",
  summary: "Run a job now, besides its times",
  scope: "operate",
  changes: true,
  command: "AC_scheduler_run_job",
  example: { job_id: "nightly" },
  http: { method: "POST", path: "/jobs/run" },
  input: v.strictObject({
    ...existing.entries,
    wait: field(v.optional(v.boolean(), false), "Answer when the run has ended, not when it has begun"),
  }),
  output: v.object({
    job_id: v.string(),
    run_id: v.string(),
    status: v.picklist(RUN_STATUS),
    error_text: v.nullable(v.string()),
  }),
  async run(service: Service, { job_id, wait }, caller) {
    // The run would wait for the turn at the input devices that the script around it has.
    if (wait && caller.run) throw badInput("wait: expected false within a script");
    const { runId, ended } = await (await service.scheduler()).runNow(job_id);
    // One that could not begin has ended by now.
    const done = await (wait ? ended : Promise.race([ended, null]));
    return { job_id, ...(done ?? { run_id: runId, status: "running" as const, error_text: null }) };
  },
});

export const operations = [listJobs, addJob, addCronJob, removeJob, pauseJob, resumeJob, runJob];
