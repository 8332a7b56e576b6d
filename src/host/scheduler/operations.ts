import { resolve } from "node:path";
import * as v from "valibot";
import { type Caller, requesterOf } from "../../core/caller";
import { field, flag, judged, NO_INPUT, path, withoutHostSecrets } from "../../core/fields";
import { operation } from "../../core/operation";
import { type Grant, requireOwnToken } from "../../core/rights";
import { RUN_STATUS } from "../../core/run";
import { SCRIPT_FILE } from "../../core/script";
import { badInput, Failure } from "../../lib/errors";
import type { Requester } from "../../lib/slots";
import { hostTimeZone, isStoredPath, JOB, JOB_SETTINGS, type Job, MAX_SCRIPT_PATH } from "./job";
import type { Scheduler } from "./scheduler";
import { JOB_VIEW, toView } from "./view";

export type { JobView } from "./view";

interface Uses {
  scheduler(): Promise<Scheduler>;
  executor(): Promise<{
    prepareJob(
      path: string,
      requester: Requester,
    ): Promise<{
      readonly commands: readonly string[];
      readonly secrets: readonly string[];
    }>;
    permit(commands: readonly string[], grant: Grant, secrets: readonly string[], who: string): void;
  }>;
}

/** What the operations share that change something. */
const CHANGE = {
  answeredBy: "owner",
  serverInRuns: true,
  scope: "operate",
  changes: true,
} as const;

const ONE_JOB = v.strictObject({ job_id: field(JOB_SETTINGS.job_id, "The job") });
const CHANGE_OF_ONE = { ...CHANGE, input: ONE_JOB, example: { job_id: "nightly" } } as const;

const script_path = field(
  path(JOB_SETTINGS.script_path),
  `Path on the host, of ${SCRIPT_FILE}; or \`script:\` and the name of a stored script`,
);
const cron_expression = field(
  JOB_SETTINGS.cron_expression,
  "Cron expression: minute, hour, day, month, day of week; six fields: seconds first; or `@daily` and so on",
);
const time_zone = field(
  v.optional(JOB_SETTINGS.time_zone),
  "Time zone of the cron expression, by its IANA name (default: that of the host)",
);

/** The settings of both kinds of jobs. */
const SETTINGS = {
  max_runs: field(JOB_SETTINGS.max_runs, "The maximum number of runs (default: no limit)"),
  job_id: field(v.optional(JOB_SETTINGS.job_id), "The name of the job (default: a random id)"),
  if_missed: field(
    JOB_SETTINGS.if_missed,
    "When runs were missed because svc or the host was down: run none of them (`skip`), or run once (`once`)",
  ),
  if_running: field(
    JOB_SETTINGS.if_running,
    "When the job is due while it still runs: skip that run (`skip`), or run right afterwards (`queue`)",
  ),
  timeout_s: field(
    v.optional(JOB_SETTINGS.timeout_seconds),
    "Seconds after which a run of the job is ended (default: what its script says, or an hour)",
  ),
} as const;

/** How its script runs; behind the others, which scripts may give by position. */
const RUN_SETTINGS = {
  stop_on_error: field(
    v.optional(JOB_SETTINGS.stop_on_error),
    "Stop a run at the first action that fails; `focus`: that fails to find or focus a window (default: what its script says, or true)",
  ),
  variables: field(
    withoutHostSecrets("`jobs.json` would have it: name the secret in the script of the job")(
      v.optional(judged(JOB_SETTINGS.variables)),
    ),
    "Values of variables for its script, by name; they are kept in `jobs.json`",
  ),
  desktop: field(
    v.optional(JOB_SETTINGS.desktop),
    "The desktop to run on: `new` for one that ends with each run, or the name of one that is kept (default: what its script says, or that of the host)",
  ),
} as const;

/** The input of what adds a job. */
export const NEW_JOB = v.strictObject({
  script_path,
  interval_seconds: field(
    v.optional(JOB_SETTINGS.interval_seconds),
    "Seconds between two runs, and before the first; otherwise give a cron expression",
  ),
  repeat: field(JOB_SETTINGS.repeat, "Run the job more than once"),
  ...SETTINGS,
  cron_expression: field(v.optional(cron_expression), v.getDescription(cron_expression) ?? ""),
  time_zone,
  ...RUN_SETTINGS,
});

const ADDED = v.object({ ...JOB_VIEW.entries, problem: v.nullable(v.string()) });

type NewJob = v.InferOutput<typeof NEW_JOB>;

/**
 * A job of a token, as the file has it; not scheduled yet.
 *
 * @throws `bad_input` for settings that do not go together; `forbidden` for a run that has no token of this host.
 */
export function jobOf(
  { timeout_s: timeout_seconds, stop_on_error, variables, desktop, ...given }: NewJob,
  grant: Grant,
): Job {
  requireOwnToken(grant, "a job");
  const isCron = given.cron_expression !== undefined;
  if (isCron === (given.interval_seconds !== undefined)) {
    throw badInput("interval_seconds, cron_expression: expected one of them", {
      fields: ["interval_seconds", "cron_expression"],
    });
  }
  if (!isCron && given.time_zone !== undefined)
    throw badInput("time_zone: expected with cron_expression only");
  const script_path = isStoredPath(given.script_path) ? given.script_path : resolve(given.script_path);
  if (script_path.length > MAX_SCRIPT_PATH)
    throw badInput(
      `script_path: expected at most ${MAX_SCRIPT_PATH} characters but found ${script_path.length}, with its folder`,
    );
  return v.parse(JOB, {
    ...given,
    ...(timeout_seconds !== undefined && { timeout_seconds }),
    stop_on_error: stop_on_error ?? null,
    ...(variables && Object.keys(variables).length > 0 && { variables }),
    ...(desktop !== undefined && { desktop }),
    token: grant.name,
    scopes: [...grant.scopes],
    ...(grant.without && { without: [...grant.without] }),
    script: grant.script,
    job_id: given.job_id ?? crypto.randomUUID().slice(0, 8),
    script_path,
    ...(isCron && { time_zone: given.time_zone ?? hostTimeZone() }),
  });
}

/** Adds a job. `problem` says why its script cannot run yet: it may still be on its way. */
async function add(service: Uses, given: NewJob, caller: Caller): Promise<v.InferInput<typeof ADDED>> {
  const job = jobOf(given, caller.grant);
  const added = toView(await (await service.scheduler()).add(job));
  return { ...added, problem: await problemWith(service, job.script_path, caller) };
}

/** Why the script cannot run as it is now, or null. */
async function problemWith(service: Uses, script: string, caller: Caller): Promise<string | null> {
  const executor = await service.executor();
  try {
    const { commands, secrets } = await executor.prepareJob(script, requesterOf(caller)).catch((error) => {
      // Another process may run the jobs, with --allow-shell.
      if (error instanceof Failure && error.code === "forbidden") return { commands: [], secrets: [] };
      throw error;
    });
    executor.permit(commands, caller.grant, secrets, "this job");
    return null;
  } catch (error) {
    if (error instanceof Failure) return error.message;
    throw error;
  }
}

export const listJobs = operation({
  name: "jobs.list",
  summary: "List the scheduled jobs",
  scope: "read",
  command: "AC_scheduler_list_jobs",
  http: { method: "GET", path: "/jobs" },
  input: NO_INPUT,
  output: v.object({ jobs: v.array(JOB_VIEW), problems: v.optional(v.array(v.string()), []) }),
  async run(service: Uses) {
    const scheduler = await service.scheduler();
    return { jobs: (await scheduler.jobs()).map(toView), problems: scheduler.problems() };
  },
});

export const addJob = operation({
  ...CHANGE,
  name: "jobs.add",
  summary: "Schedule a script at an interval or by a cron expression",
  command: "AC_scheduler_add_job",
  http: { method: "POST", path: "/jobs/add" },
  example: { script_path: "/home/kiosk/refresh.json", interval_seconds: 900, job_id: "refresh" },
  input: NEW_JOB,
  output: ADDED,
  run: add,
});

const addCronJob = operation({
  ...CHANGE,
  name: "jobs.add_cron",
  summary: "Schedule a script by a cron expression",
  command: "AC_scheduler_add_cron_job",
  http: { method: "POST", path: "/jobs/add_cron" },
  leftOut: { cli: "`svc jobs add` takes a cron expression too" },
  example: {
    script_path: "/home/kiosk/nightly.json",
    cron_expression: "30 2 * * *",
    time_zone: "Europe/Berlin",
    job_id: "nightly",
  },
  input: v.strictObject({ script_path, cron_expression, time_zone, ...SETTINGS, ...RUN_SETTINGS }),
  output: ADDED,
  run: (service: Uses, input, caller) => add(service, { ...input, repeat: true }, caller),
});

export const removeJob = operation({
  ...CHANGE_OF_ONE,
  name: "jobs.remove",
  summary: "Remove a job; its active run continues",
  command: "AC_scheduler_remove_job",
  http: { method: "POST", path: "/jobs/remove" },
  output: v.object({ removed: v.literal(true) }),
  async run(service: Uses, { job_id }) {
    await (await service.scheduler()).remove(job_id);
    return { removed: true as const };
  },
});

export const pauseJob = operation({
  ...CHANGE_OF_ONE,
  name: "jobs.pause",
  summary: "Pause a job until it is resumed; its active run continues",
  command: "AC_scheduler_pause_job",
  http: { method: "POST", path: "/jobs/pause" },
  output: JOB_VIEW,
  run: async (service: Uses, { job_id }) => toView(await (await service.scheduler()).pause(job_id)),
});

export const resumeJob = operation({
  ...CHANGE_OF_ONE,
  name: "jobs.resume",
  summary: "Resume a paused job; its interval counts from now",
  command: "AC_scheduler_resume_job",
  http: { method: "POST", path: "/jobs/resume" },
  output: JOB_VIEW,
  run: async (service: Uses, { job_id }) => toView(await (await service.scheduler()).resume(job_id)),
});

export const runJob = operation({
  ...CHANGE_OF_ONE,
  name: "jobs.run",
  summary: "Run a job now; its schedule does not change",
  command: "AC_scheduler_run_job",
  http: { method: "POST", path: "/jobs/run" },
  answeredBy: "server or here",
  input: v.strictObject({
    ...ONE_JOB.entries,
    wait: flag("Return when the run has ended, not when it has started"),
  }),
  output: v.object({
    job_id: v.string(),
    run_id: v.string(),
    status: v.picklist(RUN_STATUS),
    error_text: v.nullable(v.string()),
  }),
  async run(service: Uses, { job_id, wait }, caller) {
    // The run could wait forever for the input devices, which the script around this action holds.
    if (wait && caller.run) throw badInput("wait: expected false within a script");
    // The run would end with the process.
    const waits = wait || !caller.lasts;
    const scheduler = await service.scheduler();
    const { runId, ended } = await scheduler.runNow(job_id, waits ? caller.signal : undefined);
    // A run that could not begin has ended.
    const done = await (waits ? ended : Promise.race([ended, null]));
    return { job_id, ...(done ?? { run_id: runId, status: "running" as const, error_text: null }) };
  },
});

export const operations = [listJobs, addJob, addCronJob, removeJob, pauseJob, resumeJob, runJob];
