/**
 * The executor: checks an action list against the table, then runs it.
 */
import type { Caller } from "../caller";
import type { Log } from "../lib/log";
import type { Operation } from "../operation";
import type { Service } from "../service";
import { type Action, type CommandTable, checkActions } from "./actions";
import { type RunReport, runActions } from "./run";

export interface RunOptions {
  /** Leave the rest of the list once an action has failed. */
  readonly stopOnError?: boolean;
}

/** A list that has been checked and has an id, and has not run yet. */
export interface PreparedRun {
  readonly id: string;
  readonly actions: readonly Action[];
}

export interface Executor {
  /** The names scripts may call, sorted. */
  readonly commands: readonly string[];
  /** @throws a `bad_input` failure that lists everything wrong with the list. */
  prepare(actions: unknown): PreparedRun;
  run(prepared: PreparedRun, caller: Caller, options?: RunOptions): Promise<RunReport>;
}

/** The executor over those of `operations` that have a command name. */
export function createExecutor(service: Service, operations: readonly Operation[], log: Log): Executor {
  const named = operations.flatMap((operation) =>
    operation.command ? [[operation.command, operation] as const] : [],
  );
  const table: CommandTable = new Map(named);
  return {
    commands: named.map(([name]) => name).sort(),
    prepare: (actions) => ({ id: crypto.randomUUID(), actions: checkActions(table, actions) }),
    run: (prepared, caller, options = {}) =>
      runActions(service, prepared.actions, {
        caller,
        runId: prepared.id,
        stopOnError: options.stopOnError ?? false,
        log,
      }),
  };
}
