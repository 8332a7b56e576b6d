/**
 * A job: a script, when it runs, and what happens when that cannot be.
 */
import * as v from "valibot";
import { DEFAULT_TIMEOUT_S, MAX_TIMEOUT_S } from "../core/run";
import { badInput } from "../lib/errors";

/** When a run was missed, because svc or the host was down or asleep: leave it, or run once for all that were missed. */
export const IF_MISSED = ["skip", "once"] as const;

/** When it is time again and the last run still goes on: leave it, or run once more as soon as that has ended. */
export const IF_RUNNING = ["skip", "queue"] as const;

/** The shortest and the longest interval, in seconds. */
const MIN_INTERVAL_S = 1;
const MAX_INTERVAL_S = 366 * 86_400;

const ISO_TIME = v.pipe(
  v.string(),
  v.isoTimestamp(),
  // Not all that looks like one is read as one: `…T00:00:00+02` is not.
  v.check((text) => !Number.isNaN(Date.parse(text)), "expected a time in ISO 8601"),
);

/** What can be set of any job, checked wherever a job comes in. */
export const JOB_SETTINGS = {
  job_id: v.pipe(v.string(), v.regex(/^[\w.-]{1,100}$/, "1 to 100 letters, digits, '.', '_' or '-'")),
  script_path: v.pipe(v.string(), v.nonEmpty(), v.maxLength(4_096)),
  interval_seconds: v.pipe(v.number(), v.minValue(MIN_INTERVAL_S), v.maxValue(MAX_INTERVAL_S)),
  cron_expression: v.pipe(v.string(), v.nonEmpty(), v.maxLength(200)),
  time_zone: v.pipe(v.string(), v.nonEmpty(), v.maxLength(100)),
  max_runs: v.nullable(v.pipe(v.number(), v.integer(), v.minValue(1))),
  if_missed: v.picklist(IF_MISSED),
  if_running: v.picklist(IF_RUNNING),
  timeout_seconds: v.pipe(v.number(), v.minValue(1), v.maxValue(MAX_TIMEOUT_S)),
} as const;

/** The fields of a job in the file. */
const ENTRIES = {
  job_id: JOB_SETTINGS.job_id,
  script_path: JOB_SETTINGS.script_path,
  /** 0 for a cron job. */
  interval_seconds: v.optional(v.union([v.literal(0), JOB_SETTINGS.interval_seconds]), 0),
  cron_expression: v.optional(v.nullable(JOB_SETTINGS.cron_expression), null),
  /** IANA name; what the cron expression is read in. */
  time_zone: v.optional(v.nullable(JOB_SETTINGS.time_zone), null),
  /** False: it runs once, and is paused then. */
  repeat: v.optional(v.boolean(), true),
  /** How often it runs at most; it is paused then. */
  max_runs: v.optional(JOB_SETTINGS.max_runs, null),
  if_missed: v.optional(JOB_SETTINGS.if_missed, "skip"),
  if_running: v.optional(JOB_SETTINGS.if_running, "skip"),
  timeout_seconds: v.optional(JOB_SETTINGS.timeout_seconds, DEFAULT_TIMEOUT_S),
  enabled: v.optional(v.boolean(), true),
  /** How often it was started. */
  runs: v.optional(v.pipe(v.number(), v.integer(), v.minValue(0)), 0),
  /** Null while it is paused; a job written by hand has none either, and its times count from when it is noticed. */
  next_run_at: v.optional(v.nullable(ISO_TIME), null),
  last_run_at: v.optional(v.nullable(ISO_TIME), null),
} as const;

/** A job as it is in the file. What svc does not know of an entry stays in it. */
export const JOB = v.pipe(
  v.looseObject(ENTRIES),
  v.check(
    (job) => job.interval_seconds > 0 !== (job.cron_expression !== null),
    "expected either interval_seconds or cron_expression",
  ),
);

export type Job = v.InferOutput<v.ObjectSchema<typeof ENTRIES, undefined>>;

/**
 * When a job runs next.
 *
 * @param after milliseconds since the epoch.
 * @param previous a time that it was to run at, which the times of an interval are counted from, both ways.
 * @returns the first time after `after`, or null when there is none.
 * @throws a `bad_input` failure for an unusable cron expression or time zone.
 */
export async function nextRun(job: Job, after: number, previous?: number): Promise<number | null> {
  if (job.cron_expression !== null) return nextCronRun(job.cron_expression, job.time_zone, after);
  const interval = job.interval_seconds * 1_000;
  if (previous === undefined) return after + interval;
  return previous + (Math.floor((after - previous) / interval) + 1) * interval;
}

async function nextCronRun(
  expression: string,
  timeZone: string | null,
  after: number,
): Promise<number | null> {
  const timezone = checkTimeZone(timeZone ?? hostTimeZone());
  // croner also takes a date for a pattern.
  if (!/^(@\w+|\S+(\s+\S+){4,5})$/.test(expression.trim()))
    throw badCron("five or six fields, or a nickname");
  const { Cron } = await import("croner");
  try {
    // A list of hours or minutes names times as one of them does: each has its run in the nights when clocks change.
    const options = { timezone, mode: "5-or-6-parts", fixedTimeRule: "no-wildcard" } as const;
    return new Cron(expression, options).nextRun(new Date(after))?.getTime() ?? null;
  } catch (error) {
    throw badCron(`a cron expression (${error instanceof Error ? error.message : "unusable"})`);
  }
}

const badCron = (expected: string) => badInput(`cron_expression: expected ${expected}`);

/** @throws a `bad_input` failure when the platform knows no such time zone. */
function checkTimeZone(name: string): string {
  try {
    return new Intl.DateTimeFormat("en", { timeZone: name }).resolvedOptions().timeZone && name;
  } catch {
    throw badInput("time_zone: expected a name of the IANA time zone database (Europe/Berlin)");
  }
}

/** The IANA name of the host's time zone. */
export const hostTimeZone = () => Intl.DateTimeFormat().resolvedOptions().timeZone;
