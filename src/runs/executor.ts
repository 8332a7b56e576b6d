/**
 * The executor: checks an action list against the table, puts the run on record, then runs it.
 */
import type { Caller } from "../core/caller";
import { type Operation, redact } from "../core/operation";
import {
  type ActiveRun,
  DEFAULT_TIMEOUT_S,
  type Outcome,
  type RunStart,
  type RunStatus,
  VARIABLE_NAME,
} from "../core/run";
import { badInput, cancelled, forbidden, messageOf } from "../lib/errors";
import { sizeWithin } from "../lib/json-size";
import type { Log } from "../lib/log";
import type { Service } from "../service";
import { type Action, type Command, type CommandTable, checkActions, flatten, listFields } from "./actions";
import { keepable } from "./redact";
import { createRunner } from "./run";
import { MAX_FILLED } from "./variables";

export interface RunOptions {
  /** Leave the rest of the list once an action has failed (default false). */
  readonly stopOnError?: boolean;
  /** Seconds after which the run is ended (default {@link DEFAULT_TIMEOUT_S}). */
  readonly timeoutSeconds?: number;
  /** What `${name}` stands for at the start. */
  readonly variables?: Readonly<Record<string, unknown>>;
  /** The script file the list came from, if it did. */
  readonly path?: string;
  /** What started it, for the history: the id of a job. */
  readonly sourceId?: string;
}

/** A list that has been checked and has an id, and has not run yet. */
export interface PreparedRun {
  readonly id: string;
  readonly actions: readonly Action[];
}

/** A list that has been checked, and does not run here. */
export interface CheckedList {
  /** The names in it, nested ones included, once each. */
  readonly commands: readonly string[];
  /** What it is, for an audit row. */
  readonly described: string;
}

/** What became of a list. */
export interface RunReport {
  /** The run's id, as the audit log and the history name it. */
  readonly run_id: string;
  /** `execute: <the action as JSON>` to what it returned, or to `{error}`; a repeated action's key ends in ` #2`. */
  readonly result: Record<string, unknown>;
  /** Whether every action of the list ran and none failed. */
  readonly ok: boolean;
  readonly status: RunStatus;
  /** Why it is not ok, without secrets: the reason it ended early, or the first action that failed. */
  readonly error_text: string | null;
  readonly outcomes: Outcome[];
}

/** What the executor is handed. */
export interface ExecutorParts {
  readonly service: Service;
  readonly operations: readonly Operation[];
  readonly log: Log;
  /** Whether this process was started so as to run programs for scripts (`--allow-shell`). */
  readonly allowShell: boolean;
  /** Registers a run. @throws an `unavailable` failure when no further run may begin. */
  begin(run: RunStart): Promise<ActiveRun>;
  /** Waits for a turn at the input devices. */
  takeTurn(signal: AbortSignal): Promise<{ end(how: "finished" | "broken"): Promise<void> }>;
}

export interface Executor {
  /** The operations scripts may call, by name, in the order of the names. */
  readonly commands: ReadonlyMap<string, Command>;
  /** Whether this process was started so as to allow `command`. */
  allows(command: Command): boolean;
  /**
   * Checks a list that is to run elsewhere: whether this process may run it does not matter.
   *
   * @throws a `bad_input` failure that lists everything wrong with the list.
   */
  check(actions: unknown): CheckedList;
  /**
   * @throws a `bad_input` failure that lists everything wrong with the list; a `forbidden` one when this process was not
   *   started so as to allow all of it.
   */
  prepare(actions: unknown): PreparedRun;
  /**
   * {@link Executor.prepare} for the script at `path`. @throws a `bad_input` failure also when it cannot be read; none
   * quotes an argument in it, as whoever names a path may not be who may read the file.
   */
  prepareFile(path: string): Promise<PreparedRun>;
  /**
   * Runs a list to its end, also when whoever asked for it has gone. What goes wrong is in the report.
   *
   * @throws an `unavailable` failure when it cannot be put on record or no further run may begin: nothing has run.
   */
  run(prepared: PreparedRun, caller: Caller, options?: RunOptions): Promise<RunReport>;
}

/** The executor over those operations that have a command name. */
export function createExecutor(parts: ExecutorParts): Executor {
  const named = parts.operations.filter((operation): operation is Command => operation.command !== undefined);
  const sorted = named.toSorted((a, b) => (a.command < b.command ? -1 : 1));
  const commands: CommandTable = new Map(sorted.map((operation) => [operation.command, operation]));
  const allows = ({ needs }: Command) => needs !== "shell" || parts.allowShell;
  const prepare = (list: unknown, quote = true): PreparedRun => {
    const actions = checkActions(commands, list, { quote });
    const refused = flatten(actions).find(({ operation }) => !allows(operation));
    if (!refused) return { id: crypto.randomUUID(), actions };
    throw forbidden(`${refused.operation.command} needs svc to be started with --allow-shell`);
  };
  return {
    commands,
    allows,
    check(list) {
      const actions = checkActions(commands, list);
      return { commands: commandsOf(actions), described: describeList(actions) };
    },
    prepare: (list) => prepare(list),
    async prepareFile(path) {
      const { readScript } = await import("./script");
      return prepare(await readScript(path), false);
    },
    run: (prepared, caller, options = {}) => runPrepared(parts, prepared, caller, options),
  };
}

async function runPrepared(
  parts: ExecutorParts,
  prepared: PreparedRun,
  caller: Caller,
  options: RunOptions,
): Promise<RunReport> {
  const { id, actions } = prepared;
  const variables = variablesOf(options.variables ?? {});
  await caller.announce(`run=${id} ${describeList(actions)}`);
  const active = await parts.begin({
    id,
    commands: commandsOf(actions),
    source: {
      type: sourceType(caller),
      id: options.sourceId ?? caller.client ?? "",
      path: options.path ?? "",
    },
    timeoutSeconds: options.timeoutSeconds ?? DEFAULT_TIMEOUT_S,
  });
  const leave = () => active.abort(cancelled("the process that runs it is stopping"));
  if (caller.signal.aborted) leave();
  caller.signal.addEventListener("abort", leave, { once: true });
  const { signal, abort } = active;
  const runner = createRunner({
    service: parts.service,
    id,
    caller,
    signal,
    abort,
    variables,
    log: parts.log,
  });
  const keep = (outcome: Outcome) => active.keep(keepable(outcome, runner));
  try {
    const outcomes = await inTurn(parts, active, actions, () =>
      runner.run(actions, options.stopOnError ?? false, keep),
    );
    const { status, error } = judge(outcomes, actions.length, signal);
    // It is logged and kept; the outcomes are for whoever asked.
    const error_text = error === null ? null : runner.secrets.scrub(error);
    active.end(status, error_text);
    return {
      run_id: id,
      result: resultOf(actions, outcomes),
      ok: status === "ok",
      status,
      error_text,
      outcomes,
    };
  } catch (error) {
    active.end("error", "internal error");
    throw error;
  } finally {
    caller.signal.removeEventListener("abort", leave);
  }
}

/** Lets `work` run, with the turn it needs. Without a turn, because the run was ended first, nothing has run. */
async function inTurn(
  parts: ExecutorParts,
  active: ActiveRun,
  actions: readonly Action[],
  work: () => Promise<Outcome[]>,
): Promise<Outcome[]> {
  if (!flatten(actions).some(({ operation }) => operation.uses === "input")) return work();
  active.is("waiting");
  let turn: Awaited<ReturnType<ExecutorParts["takeTurn"]>>;
  try {
    turn = await parts.takeTurn(active.signal);
  } catch (error) {
    if (!active.signal.aborted) active.abort(error instanceof Error ? error : new Error(messageOf(error)));
    return [];
  }
  active.is("running");
  let how: "finished" | "broken" = "broken";
  try {
    const outcomes = await work();
    if (outcomes.length === actions.length && outcomes.every(({ ok }) => ok)) how = "finished";
    return outcomes;
  } finally {
    await turn.end(how);
  }
}

function judge(
  outcomes: readonly Outcome[],
  expected: number,
  signal: AbortSignal,
): { status: RunStatus; error: string | null } {
  const failed = outcomes.filter(({ ok }) => !ok);
  const [first] = failed;
  if (failed.length === 0 && outcomes.length === expected) return { status: "ok", error: null };
  if (signal.aborted) return { status: endedBy(signal.reason), error: messageOf(signal.reason) };
  const more = failed.length > 1 ? ` (and ${failed.length - 1} more)` : "";
  return { status: "error", error: `${first?.command}: ${first?.error}${more}` };
}

function endedBy(reason: unknown): "cancelled" | "timeout" | "error" {
  const code = typeof reason === "object" && reason !== null && "code" in reason ? reason.code : undefined;
  return code === "cancelled" || code === "timeout" ? code : "error";
}

function resultOf(actions: readonly Action[], outcomes: readonly Outcome[]): Record<string, unknown> {
  const result: Record<string, unknown> = {};
  const seen = new Map<string, number>();
  outcomes.forEach(({ ok, result: returned, error, detail }, index) => {
    const key = `execute: ${JSON.stringify(actions[index]?.source)}`;
    const nth = (seen.get(key) ?? 0) + 1;
    seen.set(key, nth);
    result[nth === 1 ? key : `${key} #${nth}`] = ok ? (returned ?? null) : { error, ...detail };
  });
  return result;
}

function variablesOf(given: Readonly<Record<string, unknown>>): Map<string, unknown> {
  if (sizeWithin(given, MAX_FILLED) === undefined) {
    throw badInput(`variables: expected at most ${MAX_FILLED.bytes} bytes and ${MAX_FILLED.depth} levels`);
  }
  const odd = Object.keys(given).find((name) => !VARIABLE_NAME.test(name));
  if (odd === undefined) return new Map(Object.entries(given));
  throw badInput("variables: expected names of letters, digits and _, not beginning with a digit");
}

function sourceType({ kind }: Caller): string {
  return kind === "rest" || kind === "scheduler" ? kind : "manual";
}

const commandsOf = (actions: readonly Action[]) => [
  ...new Set(flatten(actions).map(({ operation }) => operation.command)),
];

/** Who runs what with which arguments, without telling a secret one: the digest covers what `redact` leaves. */
function describeList(actions: readonly Action[]): string {
  const digest = Bun.SHA256.hash(JSON.stringify(actions.map(told)), "hex");
  return `commands=${commandsOf(actions).join(",")} args=sha256:${digest}`;
}

function told({ operation, input, lists }: Action): unknown {
  const plain = { ...redact(operation.input, input) };
  for (const field of listFields(operation.input)) {
    if (plain[field] !== undefined) plain[field] = (lists[field] ?? []).map(told);
  }
  return [operation.command, plain];
}
