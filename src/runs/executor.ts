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

/** Checks and runs action lists, over those operations that have a command name. */
export class Executor {
  /** The operations scripts may call, by name, sorted. */
  readonly commands: CommandTable;

  constructor(private readonly parts: ExecutorParts) {
    const named = parts.operations.filter((one): one is Command => one.command !== undefined);
    const sorted = named.toSorted((a, b) => (a.command < b.command ? -1 : 1));
    this.commands = new Map(sorted.map((operation) => [operation.command, operation]));
  }

  /** Whether this process may run the command. */
  allows({ needs }: Command): boolean {
    return needs !== "shell" || this.parts.allowShell;
  }

  /**
   * Checks a list that will run elsewhere: whether this process may run it does not matter.
   *
   * @param quote whether messages may quote arguments.
   * @throws a `bad_input` failure that lists every fault.
   */
  check(list: unknown, quote = true): CheckedList {
    const actions = checkActions(this.commands, list, { quote });
    const names = flatten(actions).map(({ operation }) => operation.command);
    const commands = [...new Set(names)];
    const digest = Bun.SHA256.hash(JSON.stringify(actions.map(redacted)), "hex");
    const described = `commands=${commands.join(",")} args=sha256:${digest}`;
    return { actions, count: names.length, commands, described };
  }

  /**
   * Checks a list that will run here.
   *
   * @throws as {@link check}; a `forbidden` failure when this process may not run all of it.
   */
  prepare(list: unknown, quote = true): PreparedRun {
    const checked = this.check(list, quote);
    const refused = flatten(checked.actions).find(({ operation }) => !this.allows(operation));
    if (!refused) return { id: crypto.randomUUID(), ...checked };
    throw forbidden(`${refused.operation.command} needs svc to be started with --allow-shell`);
  }

  /**
   * {@link prepare} for the script at `path`. @throws a `bad_input` failure also when it cannot be read. No message quotes
   * an argument: the caller may not be allowed to read the file.
   */
  async prepareFile(path: string): Promise<PreparedRun> {
    const { readScript } = await import("../core/script");
    return this.prepare(await readScript(path), false);
  }

  /**
   * Runs a list to its end, also when the caller disconnects. The report has every fault.
   *
   * @param sourceId what started it, for the history.
   * @throws an `unavailable` failure when the run cannot be put on record or no further run may begin: nothing has run.
   */
  async run(
    { id, actions, commands, described }: PreparedRun,
    caller: Caller,
    options: RunOptions = {},
    sourceId = caller.client ?? "",
  ): Promise<RunReport> {
    const { stop_on_error = false, timeout_seconds: timeoutSeconds = DEFAULT_TIMEOUT_S, path = "" } = options;
    const variables = variablesOf(options.variables ?? {});
    await caller.announce(`run=${id} ${described}`);
    const source = { type: sourceType(caller), id: sourceId, path };
    const active = await this.parts.begin({ id, commands, source, timeoutSeconds });
    const leave = () => active.abort(cancelled("the process that runs it is stopping"));
    if (caller.signal.aborted) leave();
    caller.signal.addEventListener("abort", leave, { once: true });
    const { signal, abort } = active;
    const { service, log } = this.parts;
    const runner = new Runner({ service, id, caller, signal, abort, variables, log });
    let done = 0;
    const keep = (outcome: Outcome) => {
      active.keep(keepable(outcome, runner));
      caller.progress?.({ what: "actions", done: ++done, total: actions.length });
    };
    try {
      const outcomes = await this.inTurn(active, actions, () => runner.run(actions, stop_on_error, keep));
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

  /**
   * Starts the script at `path` without waiting for its end. Never throws: what goes wrong, also before the run begins, is
   * a failed run on record.
   *
   * @param sourceId what started it, for the history: the id of a job.
   */
  async startFile(
    path: string,
    caller: Caller,
    sourceId: string,
    timeout_seconds: number,
  ): Promise<StartedRun> {
    const failed = async (id: string, error: unknown): Promise<EndedRun> => {
      const source = { type: sourceType(caller), id: sourceId, path };
      const start = { id, commands: [], source, timeoutSeconds: timeout_seconds, failed: true } as const;
      const error_text = messageOf(error);
      (await this.parts.begin(start)).end("error", error_text);
      return { run_id: id, status: "error", error_text };
    };
    try {
      const prepared = await this.prepareFile(path);
      const running = this.run(prepared, caller, { path, timeout_seconds }, sourceId);
      return { runId: prepared.id, ended: running.catch((error) => failed(prepared.id, error)) };
    } catch (error) {
      const id = crypto.randomUUID();
      return { runId: id, ended: Promise.resolve(await failed(id, error)) };
    }
  }

  /** Does `work`, which waits for its turn at the input devices if it uses them. A run that ends before its turn does nothing. */
  private async inTurn(
    active: ActiveRun,
    actions: readonly Action[],
    work: () => Promise<Outcome[]>,
  ): Promise<Outcome[]> {
    if (!flatten(actions).some(({ operation }) => operation.uses === "input")) return work();
    active.is("waiting");
    let turn: Awaited<ReturnType<ExecutorParts["takeTurn"]>>;
    try {
      turn = await this.parts.takeTurn(active.signal);
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

function redacted({ operation, input, lists }: Action): unknown {
  const plain = redact(operation.input, input);
  for (const field of listFields(operation.input)) {
    if (plain[field] !== undefined) plain[field] = (lists[field] ?? []).map(redacted);
  }
  return [operation.command, plain];
}
