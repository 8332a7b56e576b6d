/**
 * Running a checked action list: one after the other, each outcome kept apart.
 */
import type { Caller } from "../caller";
import { Failure, messageOf } from "../lib/errors";
import type { Log } from "../lib/log";
import type { Service } from "../service";
import type { Action } from "./actions";

/** What became of one action. */
export interface Outcome {
  readonly command: string;
  readonly ok: boolean;
  readonly result?: unknown;
  readonly error?: string;
  /** Milliseconds, to the microsecond. */
  readonly duration_ms: number;
}

/** What became of a list. */
export interface RunReport {
  /** The run's id, as the audit log and the history name it. */
  readonly run_id: string;
  /** `execute: <the action as JSON>` to what it returned, or to `{error}`; a repeated action's key ends in ` #2`. */
  readonly result: Record<string, unknown>;
  /** Whether every action of the list ran and none failed. */
  readonly ok: boolean;
  readonly outcomes: Outcome[];
}

/** Runs `actions` in order. Never throws: what goes wrong is that action's outcome. */
export async function runActions(
  service: Service,
  actions: readonly Action[],
  options: {
    readonly caller: Caller;
    readonly runId: string;
    readonly stopOnError: boolean;
    readonly log: Log;
  },
): Promise<RunReport> {
  const outcomes: Outcome[] = [];
  const result: Record<string, unknown> = {};
  for (const action of actions) {
    const outcome = await runAction(service, action, options);
    outcomes.push(outcome);
    result[freeKey(result, `execute: ${JSON.stringify(action.source)}`)] = outcome.ok
      ? outcome.result
      : { error: outcome.error };
    if (!outcome.ok && options.stopOnError) break;
  }
  const ok = outcomes.length === actions.length && outcomes.every((outcome) => outcome.ok);
  return { run_id: options.runId, result, ok, outcomes };
}

async function runAction(
  service: Service,
  { operation, input }: Action,
  { caller, runId, log }: { readonly caller: Caller; readonly runId: string; readonly log: Log },
): Promise<Outcome> {
  const command = operation.command;
  const started = performance.now();
  const took = () => Math.round((performance.now() - started) * 1_000) / 1_000;
  try {
    caller.signal.throwIfAborted();
    const result = (await operation.run(service, input, caller)) ?? null;
    return { command, ok: true, result, duration_ms: took() };
  } catch (thrown) {
    if (thrown instanceof Failure) return { command, ok: false, error: thrown.message, duration_ms: took() };
    if (caller.signal.aborted) return { command, ok: false, error: "cancelled", duration_ms: took() };
    log.error(`${command} failed in run ${runId}: ${messageOf(thrown)}`, thrown);
    return { command, ok: false, error: "internal error", duration_ms: took() };
  }
}

function freeKey(taken: Record<string, unknown>, key: string): string {
  if (!Object.hasOwn(taken, key)) return key;
  for (let nth = 2; ; nth++) {
    if (!Object.hasOwn(taken, `${key} #${nth}`)) return `${key} #${nth}`;
  }
}
