/**
 * The records of a run: how it starts, what it reports, what is kept.
 */
import * as v from "valibot";
import { ON_DESKTOP } from "../../core/desktop-request";
import { between, field, flag, judged, seconds, whole } from "../../core/fields";
import { RUN_MEND } from "../../core/mend";
import { LIMIT } from "../../core/rights";
import {
  DEFAULT_PACE_S,
  DEFAULT_TIMEOUT_S,
  MAX_TIMEOUT_S,
  OUTCOME,
  RUN_STATUS,
  STOP_ON_ERROR,
  STOPS,
  VARIABLES,
} from "../../core/run";

/** Where a run may have come from: a request, a job of the scheduler, a plan of a desk, or this process itself. */
export const RUN_SOURCES = ["rest", "scheduler", "plan", "manual"] as const;

/** How a list is run. */
export const RUN_OPTIONS = v.strictObject({
  stop_on_error: field(
    STOP_ON_ERROR,
    "Skip the rest of the list when an action fails; `focus`: when one fails to find or focus a window",
  ),
  timeout_s: field(
    v.optional(seconds(between(0.001, MAX_TIMEOUT_S)), DEFAULT_TIMEOUT_S),
    "Seconds after which the run is ended",
  ),
  scope: field(
    v.optional(v.pipe(v.array(LIMIT), v.maxLength(200))),
    "Scopes that the run is limited to (default: all that its caller has); it then starts no job and no sync, and ends with its client",
  ),
  variables: field(v.optional(judged(VARIABLES), {}), "Initial values of variables, by name"),
  pace: field(
    v.optional(seconds(between(0, 10)), DEFAULT_PACE_S),
    "Seconds that keys wait after the pointer has acted, so that its click arrives before them",
  ),
  desktop: ON_DESKTOP,
  trace: flag(
    "Keep a trace: each action with its outcome, and pictures of the screen around those that look or act (needs `screen`)",
  ),
});

/** {@link RUN_OPTIONS} for a file, which may have defaults of its own. */
export const FILE_RUN_OPTIONS = v.strictObject({
  ...RUN_OPTIONS.entries,
  stop_on_error: field(
    v.optional(STOPS),
    "Skip the rest of the list when an action fails; `focus`: when one fails to find or focus a window (default: what the file says; a plain list goes on)",
  ),
  timeout_s: field(
    v.optional(seconds(between(0.001, MAX_TIMEOUT_S))),
    "Seconds after which the run is ended (default: what the file says, or an hour)",
  ),
  pace: field(
    v.optional(seconds(between(0, 10))),
    "Seconds that keys wait after the pointer has acted, so that its click arrives before them (default: what the file says, or 0.1)",
  ),
});

/** {@link RUN_OPTIONS}, the script file of the list, if it came from one, and what the process itself adds. */
export type RunOptions = v.InferInput<typeof RUN_OPTIONS> & {
  readonly path?: string;
  /** Where it came from, for the history, where its caller does not say. */
  readonly source?: RunSource;
  /** Is called when the run is on record, right before anything of it runs. What it throws ends the run. */
  begins?(): void;
};

/** Where a run came from: its kind, what it was exactly, and the script as the history shows it. */
export interface RunSource {
  readonly type: (typeof RUN_SOURCES)[number];
  readonly id: string;
  readonly script: string;
}

/** How a run ended, or where it stands. */
const ENDING = {
  status: v.picklist(RUN_STATUS),
  /**
   * Without secrets: why the run ended early, or the first action that failed; null when it is ok. In the report of a run also why
   * its results are missing.
   */
  error_text: v.nullable(v.string()),
};

/** A line of `AC_log`. */
export const LOG_LINE = v.object({ at: v.string(), message: v.string() });

/** What became of a list. */
export const RUN_REPORT = v.object({
  /** As the audit log and the history name it. */
  run_id: v.string(),
  /** `execute: <the action as JSON>` to what it returned, or to `{error}`; a repeated action's key ends in ` #2`. */
  result: v.record(v.string(), v.unknown()),
  /** Whether every action of the list ran and none failed. */
  ok: v.boolean(),
  ...ENDING,
  outcomes: v.array(OUTCOME),
  /** What it logged, if anything. */
  log: v.exactOptional(v.array(LOG_LINE)),
  /** Where it failed as an element was not as a step expects: what is there instead. */
  mend: v.exactOptional(RUN_MEND),
});

export type RunReport = v.InferOutput<typeof RUN_REPORT>;

/** Why a report has no results. */
const LEFT_OUT = "the results are left out, as this client has not read the answers that it has";

/** A report without results, which may be large. `runs.show` has some of them for a while. */
export const withoutResults = ({ log: _, mend: __, ...report }: RunReport): RunReport => ({
  ...report,
  result: {},
  error_text: [report.error_text, LEFT_OUT].filter((text) => text !== null).join("; "),
  outcomes: [],
});

/** A run in a list. Times are ISO 8601. */
const RUN_STATE = v.object({
  run_id: v.string(),
  /** One of {@link RUN_SOURCES}. */
  source_type: v.string(),
  /** The client's address, the job's id, or those of plan and job (`PLAN/JOB`); empty for `manual`. */
  source_id: v.string(),
  /** The token whose rights it has; null for the owner of the host. Hosts of 0.1.0 do not send it. */
  token: v.optional(v.nullable(v.string()), null),
  /** The trace to which it belongs (W3C trace context), where it has one. Hosts of before do not send it. */
  trace_id: v.exactOptional(v.string()),
  /** Empty when the list came without a file. */
  script_path: v.string(),
  /** The commands of its actions, each once. */
  commands: v.array(v.string()),
  ...ENDING,
  started_at: v.string(),
  finished_at: v.nullable(v.string()),
  duration_seconds: v.nullable(v.number()),
});

export type RunState = v.InferOutput<typeof RUN_STATE>;

/** A run as it stands now. */
export const RUN_VIEW = v.object({
  ...RUN_STATE.entries,
  /** While it is `waiting`, who uses pointer and keyboard, in words. Hosts of before it do not send it. */
  waiting_for: v.optional(v.nullable(v.string()), null),
});

export type RunView = v.InferOutput<typeof RUN_VIEW>;

/** A row of the history. Rows of another tool may have no id, and a status of its own. */
export const HISTORY_ROW = v.object({
  id: v.number(),
  ...v.omit(RUN_STATE, ["commands", "trace_id"]).entries,
  run_id: v.nullable(v.string()),
  status: v.string(),
});

export type HistoryRow = v.InferOutput<typeof HISTORY_ROW>;

const TEXT = v.optional(v.pipe(v.string(), v.maxLength(1_000)));

/** Which rows of the history to find. A field that is left out does not filter. */
export const HISTORY_QUERY = v.strictObject({
  limit: field(v.optional(whole(1, 10_000), 100), "The maximum number of runs"),
  source_type: field(v.optional(v.picklist(RUN_SOURCES)), "Only runs from this source"),
  source_id: field(TEXT, "Only runs of this client, job or plan (its id, or how the id begins)"),
  status: field(v.optional(v.picklist(RUN_STATUS)), "Only runs with this status"),
  before_id: field(
    v.optional(v.pipe(v.number(), v.safeInteger())),
    "Only runs with a lower id: the last id of a page gives the next page",
  ),
});

export type HistoryQuery = v.InferOutput<typeof HISTORY_QUERY>;
