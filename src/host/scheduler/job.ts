/**
 * A job: a script, when it runs, and what happens when a run is missed or takes too long.
 */
import * as v from "valibot";
import { DESKTOP_REQUEST } from "../../core/desktop-request";
import { between, seconds } from "../../core/fields";
import { SCOPE } from "../../core/rights";
import { MAX_TIMEOUT_S, NAMED_VARIABLES, STOPS } from "../../core/run";
import { badInput } from "../../lib/errors";
import { sizeWithin } from "../../lib/json-size";
import { skippedRun } from "./skipped-time";

/** The shortest and the longest interval, in seconds. */
const MIN_INTERVAL_S = 1;
const MAX_INTERVAL_S = 366 * 86_400;

const ISO_TIME = v.pipe(
  v.string(),
  v.isoTimestamp(),
  // isoTimestamp accepts more than Date: `…T00:00:00+02`.
  v.check((text) => !Number.isNaN(Date.parse(text)), "expected a time in ISO 8601"),
);

/** The longest absolute path of a script, in characters: what Linux opens (PATH_MAX). */
export const MAX_SCRIPT_PATH = 4_096;

/** Whether the path of a script is `script:` and the name of a stored one. */
export const isStoredPath = (path: string): boolean => path.startsWith("script:");

/** The most that the variables of a job take: the file with all jobs is written at each of their runs. */
const MAX_VARIABLES = { bytes: 16_384, depth: 32 };

/** The settings of a job, checked wherever a job comes in. */
export const JOB_SETTINGS = {
  job_id: v.pipe(v.string(), v.regex(/^[\w.-]{1,100}$/, "1 to 100 letters, digits, '.', '_' or '-'")),
  script_path: v.pipe(v.string(), v.nonEmpty(), v.maxLength(MAX_SCRIPT_PATH)),
  interval_seconds: seconds(between(MIN_INTERVAL_S, MAX_INTERVAL_S)),
  cron_expression: v.pipe(v.string(), v.nonEmpty(), v.maxLength(200)),
  /** The time zone of the cron expression, an IANA name. */
  time_zone: v.pipe(v.string(), v.nonEmpty(), v.maxLength(100)),
  /** False: it runs once and is then paused. */
  repeat: v.optional(v.boolean(), true),
  /** The maximum number of runs; then it is paused. */
  max_runs: v.optional(v.nullable(v.pipe(v.number(), v.integer(), v.minValue(1))), null),
  /** After runs were missed because svc or the host was down or asleep: run none of them, or once for all. */
  if_missed: v.optional(v.picklist(["skip", "once"]), "skip"),
  /** When a job is due while it still runs: do not run it, or run it right afterwards. */
  if_running: v.optional(v.picklist(["skip", "queue"]), "skip"),
  timeout_seconds: seconds(between(1, MAX_TIMEOUT_S)),
  stop_on_error: STOPS,
  desktop: DESKTOP_REQUEST,
  /** The values may be secret. */
  variables: v.pipe(
    NAMED_VARIABLES,
    v.check(
      (given) => sizeWithin(given, MAX_VARIABLES) !== undefined,
      `at most ${MAX_VARIABLES.bytes} bytes and ${MAX_VARIABLES.depth} levels`,
    ),
  ),
} as const;

/** The fields of a job in the file. */
const ENTRIES = {
  ...JOB_SETTINGS,
  /** 0 for a cron job. */
  interval_seconds: v.optional(v.union([v.literal(0), JOB_SETTINGS.interval_seconds]), 0),
  cron_expression: v.optional(v.nullable(JOB_SETTINGS.cron_expression), null),
  time_zone: v.optional(v.nullable(JOB_SETTINGS.time_zone), null),
  /** Left out: as its script says, else the default of runs. */
  timeout_seconds: v.exactOptional(JOB_SETTINGS.timeout_seconds),
  /** Null: as its script says, else it stops. A job of before has none, and goes on. */
  stop_on_error: v.optional(v.nullable(STOPS), false),
  variables: v.exactOptional(JOB_SETTINGS.variables),
  /** Left out: as its script says, else that of the host. */
  desktop: v.exactOptional(JOB_SETTINGS.desktop),
  enabled: v.optional(v.boolean(), true),
  /** The name of the token that added it, with which it runs; null for the owner of the host, also in files of 0.1.0. */
  token: v.optional(v.nullable(v.string()), null),
  /** What it may do. */
  scopes: v.optional(v.array(SCOPE), ["admin"]),
  /** The operations that it does not use, whatever its scopes are. */
  without: v.exactOptional(v.array(v.string())),
  /** The stored script that added it, where its token allows that script alone; it ends with the script. */
  script: v.optional(v.nullable(v.string()), null),
  /** Why it may not run any more; null while it may. */
  disabled_reason: v.optional(v.nullable(v.string()), null),
  runs: v.optional(v.pipe(v.number(), v.integer(), v.minValue(0)), 0),
  /** Null while it is paused, and in a job written by hand: its interval counts from when it is noticed. */
  next_run_at: v.optional(v.nullable(ISO_TIME), null),
  last_run_at: v.optional(v.nullable(ISO_TIME), null),
  /** Its next time before the clock was set back, or that of its only run, which was missed: it counts where it is yet to come after all. */
  former_run_at: v.exactOptional(ISO_TIME),
} as const;

/** A job in the file. Fields that svc does not know stay in it. */
export const JOB = v.pipe(
  v.looseObject(ENTRIES),
  v.check(
    (job) => job.interval_seconds > 0 !== (job.cron_expression !== null),
    "expected either interval_seconds or cron_expression",
  ),
);

export type Job = v.InferOutput<v.ObjectSchema<typeof ENTRIES, undefined>>;

/**
 * When a job runs next, in milliseconds since the epoch.
 *
 * @param after the same.
 * @param previous a scheduled time: an interval counts from it, also backwards.
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
  // croner also accepts a date as a pattern.
  if (!/^(@\w+|\S+(\s+\S+){4,5})$/.test(expression.trim()))
    throw badCron("five or six fields, or a nickname");
  const { Cron } = await import("croner");
  try {
    // When clocks change at night, a list of hours or minutes keeps all its runs, as a single one does.
    const options = { mode: "5-or-6-parts", fixedTimeRule: "no-wildcard" } as const;
    const nextBy = (place: { timezone: string } | { utcOffset: number }, ms: number) =>
      new Cron(expression, { ...options, ...place }).nextRun(new Date(ms))?.getTime() ?? null;
    const next = nextBy({ timezone }, after);
    if (next === null) return null;
    const span = { after, before: next };
    return skippedRun(expression, timezone, span, (ms, utcOffset) => nextBy({ utcOffset }, ms)) ?? next;
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
