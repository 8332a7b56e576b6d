/**
 * A run, as the operations that are its actions and the features that start it see it.
 */
import * as v from "valibot";
import type { Failure } from "../lib/errors";
import { REFERENCE_TEXT, VARIABLE_NAME } from "./written";

/** What became of one action. */
export const OUTCOME = v.object({
  command: v.string(),
  ok: v.boolean(),
  result: v.exactOptional(v.unknown()),
  error: v.exactOptional(v.string()),
  /** The fields next to `error` in an HTTP body: the outcomes in a loop that failed, the output of a program. */
  detail: v.exactOptional(v.record(v.string(), v.unknown())),
  /** Set when it succeeded and its result was dropped, because the run had collected too much. */
  omitted: v.exactOptional(v.literal(true)),
  /** Milliseconds, to the microsecond. */
  duration_ms: v.number(),
});

export type Outcome = v.InferOutput<typeof OUTCOME>;

/** How a run may end while its process lives. */
export const RUN_ENDINGS = ["ok", "error", "cancelled", "timeout"] as const;

/** `waiting` for its turn at the input devices; `interrupted` when its process died. */
export const RUN_STATUS = ["waiting", "running", ...RUN_ENDINGS, "interrupted"] as const;

export type RunStatus = (typeof RUN_STATUS)[number];

/** Whether a list ends at an action that failed; `focus`: only when a window was not found, or did not get the focus. */
export const STOPS = v.union([v.boolean(), v.literal("focus")]);

/** {@link STOPS}, for lists: they go on. */
export const STOP_ON_ERROR = v.optional(STOPS, false);

/** The name of a variable. */
export const VARIABLE = v.pipe(
  v.string(),
  v.regex(VARIABLE_NAME, "letters, digits and _, at most 64, not beginning with a digit"),
);

/** Values of variables, by name: more than 1,000 belong in one variable. */
export const VARIABLES = v.pipe(v.record(v.string(), v.unknown()), v.maxEntries(1_000));

/** {@link VARIABLES} that a script can refer to. */
export const NAMED_VARIABLES = v.pipe(
  VARIABLES,
  v.check(
    (given) => Object.keys(given).every((name) => REFERENCE_TEXT.test(name) && /^\w+$/.test(name)),
    "names of letters, digits and _, not beginning with a digit",
  ),
);

export type StopOnError = v.InferOutput<typeof STOP_ON_ERROR>;

/** How a run ended. */
export interface EndedRun {
  readonly run_id: string;
  readonly status: RunStatus;
  /** Null when it is `ok`. */
  readonly error_text: string | null;
}

/** A run that was started and that nobody waits for. */
export interface StartedRun {
  readonly runId: string;
  /** Never rejects. */
  readonly ended: Promise<EndedRun>;
}

/** The default deadline of a run, and the longest, in seconds. */
export const DEFAULT_TIMEOUT_S = 3_600;
export const MAX_TIMEOUT_S = 86_400;

/**
 * How long keys wait after the pointer has acted, in seconds, where nothing else is said: as long as pyautogui waits after each
 * call (its `PAUSE`).
 */
export const DEFAULT_PACE_S = 0.1;

/** What became of a list inside an action. */
export interface NestedReport {
  /** Whether every action of it ran and none failed; also when `AC_break` or `AC_continue` left the list. */
  readonly ok: boolean;
  /** The first error; null when it is `ok`. */
  readonly error: string | null;
  /** The run was cancelled or its deadline passed: no action may catch that, or try again. */
  readonly cancelled: boolean;
  readonly outcomes: Outcome[];
  /** The number of outcomes left out above, because the run had collected too many. */
  readonly omitted: number;
}

/** An action that another host has run for a run. */
export interface HostStep {
  readonly host: string;
  /** Where it is, from the list of the run on: `[2].body[0]`. */
  readonly place: string;
  readonly command: string;
  /** As they were written, without secrets that the schema knows. */
  readonly arguments: unknown;
  /** When it began, by `performance.now()`, and how long it took, in milliseconds; null where that is not known. */
  readonly began: number;
  readonly duration_ms: number | null;
  /** Null where it is not known how it ended. */
  readonly ok: boolean | null;
  readonly error?: string;
}

/** The turn of a run at pointer and keyboard, as its actions see it. */
export interface RunTurn {
  /** Whether the run has it now, for all of its actions. */
  isTaken(): boolean;
  /** What the run is called where others wait for it: `run 9f1c2e4a (rest 10.0.0.7)`. */
  readonly who: string;
  /** The run waits for pointer and keyboard. @param holder who uses them now. */
  waits(holder: () => string): void;
  /** It waits no longer. */
  goesOn(): void;
}

/** The run an action belongs to, and the action's own place in it. */
export interface RunContext {
  readonly id: string;
  /** Where the action is in the list of the run: `[2].body[0]`. */
  readonly place: string;
  /** The path of the script that the action is in; empty for a list that was sent. */
  readonly script: string;
  /** How long keys wait after the pointer has acted, in seconds. */
  readonly pace: number;
  readonly turn: RunTurn;
  /** What the reference `${name}` or `${name.field[0]}` stands for. @throws `bad_input` where there is no such thing. */
  valueOf(reference: string): unknown;
  /**
   * Sets a variable.
   *
   * @param shown whether the value is no secret: it may then be kept and logged.
   * @throws `bad_input` when there is no room for it.
   */
  set(name: string, value: unknown, shown: boolean): void;
  /** The action's field `field` as it was written, with `${name}` in it. */
  written(field: string): unknown;
  /** The action's field `field` with its variables as they are now; unchecked. */
  fill(field: string): unknown;
  /** The value of an expression in CEL. @throws a `bad_input` failure where it has none, or takes too long. */
  evaluate(source: string): unknown;
  /** The action's result is no secret, whatever its operation says: it may be kept and logged. */
  show(): void;
  /** Whether nothing that `value`, as it was written, refers to is a secret. */
  isShown(value: unknown): boolean;
  /** Sets a variable to an error message. It does not count as a secret: the run reports the same message. */
  blame(name: string, error: string): void;
  /**
   * Runs the action list in the input's field `field` (empty when it has none) up to the first action that fails.
   *
   * @param options.shielded run it also when the run was cancelled: all such lists of a run together for 5 seconds at most.
   * @param options.turn which turn of a loop it is, from 1 on.
   */
  list(
    field: string,
    options?: { readonly shielded?: boolean; readonly turn?: number },
  ): Promise<NestedReport>;
  /**
   * `value` with its variables filled in, for another host. What of them is secret counts as a secret of this run.
   *
   * @throws `bad_input` for an unknown variable, and where a secret of this host is in it: that stays here.
   */
  hand(value: unknown): unknown;
  /** Takes note of what another host has done for this action, where the run is traced. */
  traced(step: HostStep): void;
  /** Ends the run with this failure: no action around this one may catch it, or try again. */
  end(failure: Failure): void;
  /** Has `work` done when the run ends, however it ends: before it counts as ended. It must not throw. */
  atEnd(work: () => Promise<void>): void;
  /**
   * Runs a script, up to the first action that fails, with variables of its own.
   *
   * @param path as it was written: relative to the script of the action, or `script:` and the name of a stored one.
   * @param given what its variables are at the start.
   * @returns also what its variables were at the end.
   * @throws a `bad_input` failure where it cannot be read, or is none; `forbidden` where the caller may not run it.
   */
  call(
    path: string,
    given: Readonly<Record<string, unknown>>,
  ): Promise<NestedReport & { readonly variables: Readonly<Record<string, unknown>> }>;
  /** Logs a message, without the secrets of the run. @returns false when the run has logged too much to keep it. */
  log(message: string): boolean;
  /** Leaves every list up to the one that calls {@link RunContext.arrive}. */
  leave(how: Departure): void;
  /** How the lists inside were left, if they were. The run then continues normally. */
  arrive(): Departure | undefined;
}

export type Departure = "break" | "continue";
