/**
 * The executor: checks an action list against the table, puts the run on record, then runs it.
 */
import type { Caller } from "../core/caller";
import { type Operation, redact } from "../core/operation";
import { DEFAULT_TIMEOUT_S, type EndedRun, type Outcome, type RunStatus, type StartedRun } from "../core/run";
import { badInput, cancelled, forbidden, messageOf } from "../lib/errors";
import { sizeWithin } from "../lib/json-size";
import type { Log } from "../lib/log";
import { type Action, type Command, type CommandTable, checkActions, flatten, listFields } from "./actions";
import { keepable } from "./redact";
import { Runner } from "./runner";
import { type ActiveRun, type RunReport, type RunStart, VARIABLE_NAME } from "./types";
import { MAX_FILLED } from "./variables";

export interface RunOptions {
  /** Skip the rest of the list when an action fails (default false). */
  readonly stop_on_error?: boolean;
  /** Seconds after which the run is ended (default {@link DEFAULT_TIMEOUT_S}). */
  readonly timeout_seconds?: number;
  /** The initial values of variables. */
  readonly variables?: Readonly<Record<string, unknown>>;
  /** The script file of the list, if it came from one. */
  readonly path?: string;
}

/** A list that passed the check. */
export interface CheckedList {
  readonly actions: readonly Action[];
  /** The number of actions, nested ones included. */
  readonly count: number;
  /** The names in it, nested ones included, each once. */
  readonly commands: readonly string[];
  /** For an audit row: the commands, and a digest of the arguments without secrets. */
  readonly described: string;
}

/** A checked list with the id of its run, which has not begun. */
export interface PreparedRun extends CheckedList {
  readonly id: string;
}

/** What the executor is handed. */
export interface ExecutorParts {
  /** What operations run on. */
  readonly service: object;
  readonly operations: readonly Operation[];
  readonly log: Log;
  /** Whether scripts may run programs (`--allow-shell`). */
  readonly allowShell: boolean;
  /** Registers a run. @throws an `unavailable` failure when no further run may begin. */
  begin(run: RunStart): Promise<ActiveRun>;
  /** Waits for a turn at the input devices. */
  takeTurn(signal: AbortSignal): Promise<{ end(how: "finished" | "broken"): Promise<void> }>;
}

export interface Executor {
  /** The operations scripts may call, by name, sorted. */
  readonly commands: ReadonlyMap<string, Command>;
  /** Whether this process may run `command`. */
  allows(command: Command): boolean;
  /**
   * Checks a list that will run elsewhere: whether this process may run it does not matter.
   *
   * @throws a `bad_input` failure that lists every fault.
   */
  check(actions: unknown): CheckedList;
  /**
   * Checks a list that will run here.
   *
   * @throws a `bad_input` failure that lists every fault; a `forbidden` one when this process may not run all of it.
   */
  prepare(actions: unknown): PreparedRun;
  /**
   * {@link Executor.prepare} for the script at `path`. @throws a `bad_input` failure also when it cannot be read. No
   * message quotes an argument: the caller may not be allowed to read the file.
   */
  prepareFile(path: string): Promise<PreparedRun>;
  /**
   * Runs a list to its end, also when the caller disconnects. The report has every fault.
   *
   * @throws an `unavailable` failure when the run cannot be put on record or no further run may begin: nothing has run.
   */
  run(prepared: PreparedRun, caller: Caller, options?: RunOptions): Promise<RunReport>;
  /**
   * Starts the script at `path` for nobody who waits. Never throws: what goes wrong, also before the run begins, is a
   * failed run on record.
   *
   * @param source_id what started it, for the history: the id of a job.
   */
  startFile(path: string, caller: Caller, source_id: string, timeout_seconds: number): Promise<StartedRun>;
}

/** The executor over those operations that have a command name. */
export function createExecutor(parts: ExecutorParts): Executor {
  const named = parts.operations.filter((operation): operation is Command => operation.command !== undefined);
  const sorted = named.toSorted((a, b) => (a.command < b.command ? -1 : 1));
  const commands: CommandTable = new Map(sorted.map((operation) => [operation.command, operation]));
  const allows = ({ needs }: Command) => needs !== "shell" || parts.allowShell;

  const prepare = (list: unknown, quote = true): PreparedRun => {
    const checked = describe(checkActions(commands, list, { quote }));
    const refused = flatten(checked.actions).find(({ operation }) => !allows(operation));
    if (!refused) return { id: crypto.randomUUID(), ...checked };
    throw forbidden(`${refused.operation.command} needs svc to be started with --allow-shell`);
  };
  const prepareFile = async (path: string) => {
    const { readScript } = await import("../core/script");
    return prepare(await readScript(path), false);
  };

  return {
    commands,
    allows,
    check: (list) => describe(checkActions(commands, list)),
    prepare: (list) => prepare(list),
    prepareFile,
    run: (prepared, caller, options = {}) => run(parts, prepared, caller, options),
    async startFile(path, caller, source_id, timeout_seconds) {
      const failed = async (id: string, error: unknown): Promise<EndedRun> => {
        const source = { type: sourceType(caller), id: source_id, path };
        const timeoutSeconds = timeout_seconds;
        const active = await parts.begin({ id, commands: [], source, timeoutSeconds, failed: true });
        const error_text = messageOf(error);
        active.end("error", error_text);
        return { run_id: id, status: "error", error_text };
      };
      try {
        const prepared = await prepareFile(path);
        const running = run(parts, prepared, caller, { path, timeout_seconds }, source_id);
        return { runId: prepared.id, ended: running.catch((error) => failed(prepared.id, error)) };
      } catch (error) {
        const id = crypto.randomUUID();
        return { runId: id, ended: Promise.resolve(await failed(id, error)) };
      }
    },
  };
}

async function run(
  parts: ExecutorParts,
  { id, actions, commands, described }: PreparedRun,
  caller: Caller,
  { stop_on_error = false, timeout_seconds = DEFAULT_TIMEOUT_S, path = "", ...options }: RunOptions,
  sourceId = caller.client ?? "",
): Promise<RunReport> {
  const variables = variablesOf(options.variables ?? {});
  await caller.announce(`run=${id} ${described}`);
  const source = { type: sourceType(caller), id: sourceId, path };
  const active = await parts.begin({ id, commands, source, timeoutSeconds: timeout_seconds });
  const leave = () => active.abort(cancelled("the process that runs it is stopping"));
  if (caller.signal.aborted) leave();
  caller.signal.addEventListener("abort", leave, { once: true });
  const { signal, abort } = active;
  const { service, log } = parts;
  const runner = new Runner({ service, id, caller, signal, abort, variables, log });
  let done = 0;
  const keep = (outcome: Outcome) => {
    active.keep(keepable(outcome, runner));
    caller.progress?.({ what: "actions", done: ++done, total: actions.length });
  };
  try {
    const outcomes = await inTurn(parts, active, actions, () => runner.run(actions, stop_on_error, keep));
    const { status, error } = judge(outcomes, actions.length, signal);
    // The text is logged and kept; the caller alone gets the outcomes.
    const error_text = error === null ? null : runner.secrets.scrub(error);
    active.end(status, error_text);
    const result = resultOf(actions, outcomes);
    return { run_id: id, result, ok: status === "ok", status, error_text, outcomes };
  } catch (error) {
    active.end("error", "internal error");
    throw error;
  } finally {
    caller.signal.removeEventListener("abort", leave);
  }
}

/** Does `work`, which waits for its turn at the input devices if it uses them. A run that ends before its turn does nothing. */
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

function describe(actions: readonly Action[]): CheckedList {
  const names = flatten(actions).map(({ operation }) => operation.command);
  const commands = [...new Set(names)];
  const digest = Bun.SHA256.hash(JSON.stringify(actions.map(redacted)), "hex");
  const described = `commands=${commands.join(",")} args=sha256:${digest}`;
  return { actions, count: names.length, commands, described };
}

function redacted({ operation, input, lists }: Action): unknown {
  const plain = redact(operation.input, input);
  for (const field of listFields(operation.input)) {
    if (plain[field] !== undefined) plain[field] = (lists[field] ?? []).map(redacted);
  }
  return [operation.command, plain];
}
