/**
 * What became of an action, and the run it belongs to, as operations see them.
 */
import * as v from "valibot";

/** What became of one action. */
export const OUTCOME = v.object({
  command: v.string(),
  ok: v.boolean(),
  result: v.exactOptional(v.unknown()),
  error: v.exactOptional(v.string()),
  /** What stands beside `error` in an HTTP body: the outcomes inside a loop that failed, the output of a program. */
  detail: v.exactOptional(v.record(v.string(), v.unknown())),
  /** Set when it succeeded and its result was dropped, because the run had collected too much. */
  omitted: v.exactOptional(v.literal(true)),
  /** Milliseconds, to the microsecond. */
  duration_ms: v.number(),
});

export type Outcome = v.InferOutput<typeof OUTCOME>;

/** How a run ended, or that it has not: `waiting` for its turn at the input devices, `interrupted` by a dead process. */
export const RUN_STATUS = [
  "waiting",
  "running",
  "ok",
  "error",
  "cancelled",
  "timeout",
  "interrupted",
] as const;

export type RunStatus = (typeof RUN_STATUS)[number];

/** How a run may end while its process lives. */
export const RUN_ENDINGS = ["ok", "error", "cancelled", "timeout"] as const satisfies readonly RunStatus[];

/** Where a run may have come from: a request, a job, or this process itself. */
export const RUN_SOURCES = ["rest", "scheduler", "manual"] as const;

/** A run as it is told, over HTTP and in the history. Times are ISO 8601. */
export const RUN_RECORD = v.object({
  run_id: v.string(),
  /** `rest`, `scheduler` or `manual`. */
  source_type: v.string(),
  /** The client's address or the job's id; empty for `manual`. */
  source_id: v.string(),
  /** Empty when the list came without a file. */
  script_path: v.string(),
  /** The commands of its actions, each once. */
  commands: v.array(v.string()),
  status: v.picklist(RUN_STATUS),
  started_at: v.string(),
  finished_at: v.nullable(v.string()),
  duration_seconds: v.nullable(v.number()),
  error_text: v.nullable(v.string()),
});

export type RunRecord = v.InferOutput<typeof RUN_RECORD>;

/** What a run is known by. */
export interface RunStart {
  readonly id: string;
  /** The commands of its actions, each once. */
  readonly commands: readonly string[];
  /** Where it came from: `rest`, `scheduler` or `manual`; the client or job; the script's path or nothing. */
  readonly source: { readonly type: string; readonly id: string; readonly path: string };
  readonly timeoutSeconds: number;
  /** It has failed before it began, and is put on record however many go on. */
  readonly failed?: true;
}

/** A run that goes on. */
export interface ActiveRun {
  /** Aborted, with a `Failure` as its reason, when the run is cancelled or out of time. */
  readonly signal: AbortSignal;
  abort(reason: Error): void;
  /** Says whether it still waits for its turn. */
  is(status: "waiting" | "running"): void;
  /** Keeps what became of one of its actions; it holds no secret. */
  keep(outcome: Outcome): void;
  end(status: RunStatus, error: string | null): void;
}

/** What a variable may be called. */
export const VARIABLE_NAME = /^[A-Za-z_][A-Za-z0-9_]{0,63}$/;

/** How long a run may take unless told otherwise, and at most, in seconds. */
export const DEFAULT_TIMEOUT_S = 3_600;
export const MAX_TIMEOUT_S = 86_400;

/** What became of a list inside an action. */
export interface NestedReport {
  /** Whether every action of it ran and none failed; a list left by `AC_break` or `AC_continue` is good as well. */
  readonly ok: boolean;
  /** What went wrong, in words; null when it is `ok`. */
  readonly error: string | null;
  /** The run was cancelled or ran out of time: nobody may catch that, or try again. */
  readonly cancelled: boolean;
  readonly outcomes: Outcome[];
  /** Outcomes that are missing above, because the run had collected too many. */
  readonly omitted: number;
}

/** The run an action belongs to, and the action's own place in it. */
export interface RunContext {
  readonly id: string;
  /** What `${name}` stands for. Values may be secret. */
  readonly variables: Map<string, unknown>;
  /** Sets a variable to what went wrong, which is no secret for that: the run is going to say it too. */
  blame(name: string, error: string): void;
  /**
   * Runs the action list in the input's field `field` (none: an empty one) up to the first action that fails.
   *
   * @param options.shielded also when the run was cancelled: then it has {@link SHIELD_MS} to clean up.
   */
  list(field: string, options?: { readonly shielded?: boolean }): Promise<NestedReport>;
  /** Leaves every list up to the one that calls {@link RunContext.arrive}. */
  leave(how: Departure): void;
  /** How the lists inside were left, if they were; from here on the run goes its normal way. */
  arrive(): Departure | undefined;
}

export type Departure = "break" | "continue";

/** How long a shielded list may go on after its run was cancelled, in milliseconds. */
export const SHIELD_MS = 5_000;
