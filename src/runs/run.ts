/**
 * Running checked actions: one after the other, each outcome kept apart.
 *
 * Promise: a run ends. It executes at most {@link MAX_EXECUTED} actions and keeps a bounded amount of what they return;
 * once its signal is aborted no further action begins, and one that does not heed the signal is left behind.
 */
import { performOperation } from "../core/call";
import type { Caller } from "../core/caller";
import { checkInput, sentence } from "../core/input";
import type { Departure, NestedReport, Outcome, RunContext } from "../core/run";
import { metadataOf } from "../core/schema";
import { deadline } from "../lib/deadline";
import { badInput, cancelled, Failure, failureOf, messageOf, rejected } from "../lib/errors";
import { sizeWithin } from "../lib/json-size";
import type { Log } from "../lib/log";
import type { Action, Command } from "./actions";
import { Secrets } from "./secrets";
import { fillIn, referencesIn } from "./variables";

/** The most that one run executes: actions, and the lists inside them, every turn of a loop counted. */
const MAX_EXECUTED = 200_000;

/** How long a run may keep the event loop to itself, in milliseconds; actions that wait for nothing would for good. */
const BREATH_MS = 5;

/** The most outcomes of nested actions that a run reports, and as many again of those that failed. */
const MAX_NESTED_OUTCOMES = 2_000;

/** What the results of a run may come to. */
const MAX_RESULTS = { bytes: 64 * 1024 * 1024, depth: 1_000 };

/** How long an action may take to notice that its run was cancelled, in milliseconds. */
const HEED_MS = 5_000;

/** How long a shielded list may go on after its run was cancelled, in milliseconds. */
const SHIELD_MS = 5_000;

/** What a run is made of. */
export interface RunParts {
  /** What operations run on. */
  readonly service: object;
  readonly id: string;
  readonly caller: Caller;
  /** Aborted, with a `Failure` as its reason, when the run is to end. */
  readonly signal: AbortSignal;
  /** Ends the run: aborts `signal` for this reason. */
  readonly abort: (reason: Failure) => void;
  readonly variables: Map<string, unknown>;
  readonly log: Log;
}

/** Runs actions, and remembers what they have used up. */
export interface Runner {
  /**
   * Runs `actions` in order, until the signal is aborted. Never throws: what goes wrong is that action's outcome.
   *
   * @param each is called with every outcome as it comes.
   */
  run(
    actions: readonly Action[],
    stopOnError: boolean,
    each?: (outcome: Outcome) => void,
  ): Promise<Outcome[]>;
  /** The operation behind an outcome of this run, nested ones included. */
  operationOf(outcome: Outcome): Command | undefined;
  /** What was secret in it so far. */
  readonly secrets: Secrets;
}

export function createRunner(parts: RunParts): Runner {
  const state = new RunState(parts);
  return {
    run: (actions, stopOnError, each) => state.list(actions, parts.signal, stopOnError, each),
    operationOf: (outcome) => state.operations.get(outcome),
    secrets: state.secrets,
  };
}

class RunState {
  readonly operations = new WeakMap<object, Command>();
  readonly secrets = new Secrets();
  /** What variables were set to because it went wrong, by their names. */
  private readonly errors = new Map<string, string>();
  private executed = 0;
  private breathedAt = performance.now();
  private resultBytes = 0;
  private nested = { ok: 0, failed: 0 };
  private departure: Departure | undefined;

  constructor(private readonly parts: RunParts) {}

  async list(
    actions: readonly Action[],
    signal: AbortSignal,
    stopOnError: boolean,
    each: (outcome: Outcome) => void = () => {},
  ): Promise<Outcome[]> {
    const outcomes: Outcome[] = [];
    for (const action of actions) {
      if (signal.aborted || this.departure) break;
      const outcome = await this.action(action, signal);
      this.operations.set(outcome, action.operation);
      outcomes.push(outcome);
      each(outcome);
      if (!outcome.ok && stopOnError) break;
    }
    return outcomes;
  }

  private async action(action: Action, signal: AbortSignal): Promise<Outcome> {
    const { operation } = action;
    const { command } = operation;
    const started = performance.now();
    const took = () => Math.round((performance.now() - started) * 1_000) / 1_000;
    try {
      await this.step(signal);
      const call = async () => {
        const input = this.input(action);
        const caller = this.callerOf(action, signal);
        const answer = await performOperation(this.parts.service, operation, input, caller);
        return operation.plain ? operation.plain.of(answer) : answer;
      };
      const leaf = Object.keys(action.lists).length === 0;
      const result = (await (leaf ? deadline(call(), { signal, graceMs: HEED_MS }) : call())) ?? null;
      // What a flow command returns has been counted already: it is the results inside it.
      if (leaf && !this.fits(result)) return { command, ok: true, omitted: true, duration_ms: took() };
      return { command, ok: true, result, duration_ms: took() };
    } catch (thrown) {
      const failure = this.failureOf(thrown, signal, command);
      const detail = Object.keys(failure.more).length > 0 ? { detail: { ...failure.more } } : {};
      return { command, ok: false, error: failure.message, ...detail, duration_ms: took() };
    }
  }

  /** Counts what is executed. Beyond the limit the run is over, but for the clean-up that outlives its signal a little. */
  private async step(signal: AbortSignal): Promise<void> {
    this.executed++;
    if (this.executed > MAX_EXECUTED) {
      const failure = rejected(`more than ${MAX_EXECUTED} actions in one run`);
      this.parts.abort(failure);
      if (signal.aborted) throw failure;
    }
    if (performance.now() - this.breathedAt < BREATH_MS) return;
    await new Promise((resolve) => setImmediate(resolve));
    this.breathedAt = performance.now();
  }

  /** The input with variables filled in. What was filled in may be secret, so no message quotes it. */
  private input(action: Action): Readonly<Record<string, unknown>> {
    const input = this.filledIn(action);
    for (const [field, schema] of Object.entries(action.operation.input.entries)) {
      // A list or an object is secret as a whole: its parts may be names that everybody knows.
      if (metadataOf(schema).secret && typeof input[field] === "string") this.conceal(input[field]);
    }
    return input;
  }

  private filledIn({ operation, input, deferred }: Action): Readonly<Record<string, unknown>> {
    if (deferred.length === 0) return input;
    for (const name of deferred.flatMap((field) => referencesIn(input[field]))) {
      this.conceal(this.parts.variables.get(name));
    }
    const filled = deferred.map((field) => [field, fillIn(input[field], this.parts.variables)]);
    const checked = checkInput(
      operation.input,
      { ...input, ...Object.fromEntries(filled) },
      { quote: false },
    );
    if (checked.ok) return checked.input;
    throw badInput(sentence(checked.offences));
  }

  private conceal(value: unknown): void {
    if ([...this.errors.values()].some((error) => error === value)) this.secrets.quote();
    else this.secrets.add(value);
  }

  private callerOf(action: Action, signal: AbortSignal): Caller {
    const { caller, id } = this.parts;
    return {
      ...caller,
      signal,
      announce: (subject) => caller.announce(`run=${id} ${this.secrets.scrub(subject)}`),
      run: this.context(action, signal),
    };
  }

  private context(action: Action, signal: AbortSignal): RunContext {
    return {
      id: this.parts.id,
      variables: this.parts.variables,
      blame: (name, error) => {
        this.errors.set(name, error);
        this.parts.variables.set(name, error);
      },
      list: async (field, { shielded = false } = {}) => {
        using shield = shielded ? shieldFrom(signal) : { signal, [Symbol.dispose]() {} };
        await this.step(shield.signal);
        return this.report(await this.list(action.lists[field] ?? [], shield.signal, true), shield.signal);
      },
      leave: (how) => {
        this.departure = how;
      },
      arrive: () => {
        const how = this.departure;
        this.departure = undefined;
        return how;
      },
    };
  }

  private report(all: Outcome[], signal: AbortSignal): NestedReport {
    const failed = all.find(({ ok }) => !ok);
    const outcomes = all.filter((outcome) => this.mayReport(outcome));
    const error = signal.aborted
      ? messageOf(signal.reason)
      : failed
        ? `${failed.command}: ${failed.error}`
        : null;
    return {
      ok: error === null,
      error,
      cancelled: signal.aborted,
      outcomes,
      omitted: all.length - outcomes.length,
    };
  }

  private mayReport({ ok }: Outcome): boolean {
    const kind = ok ? "ok" : "failed";
    this.nested[kind]++;
    return this.nested[kind] <= MAX_NESTED_OUTCOMES;
  }

  private fits(result: unknown): boolean {
    const bytes = sizeWithin(result, { ...MAX_RESULTS, bytes: MAX_RESULTS.bytes - this.resultBytes });
    this.resultBytes += bytes ?? 0;
    return bytes !== undefined;
  }

  private failureOf(thrown: unknown, signal: AbortSignal, command: string): Failure {
    if (thrown instanceof Failure) return thrown;
    if (signal.aborted) return signal.reason instanceof Failure ? signal.reason : cancelled("cancelled");
    const failure = failureOf(thrown);
    if (failure) {
      this.parts.log.error(`${command} in run ${this.parts.id}: ${this.secrets.scrub(messageOf(thrown))}`);
      return failure;
    }
    this.parts.log.error(`${command} failed in run ${this.parts.id}: ${messageOf(thrown)}`, thrown);
    return new Failure("unavailable", "internal error");
  }
}

/** A signal that is aborted {@link SHIELD_MS} after `signal`, or after now when that has been aborted already. */
function shieldFrom(signal: AbortSignal): Disposable & { readonly signal: AbortSignal } {
  const shield = new AbortController();
  let timer: ReturnType<typeof setTimeout> | undefined;
  const abort = () => {
    timer = setTimeout(() => shield.abort(signal.reason), SHIELD_MS);
  };
  if (signal.aborted) abort();
  signal.addEventListener("abort", abort, { once: true });
  return {
    signal: shield.signal,
    [Symbol.dispose]() {
      signal.removeEventListener("abort", abort);
      clearTimeout(timer);
    },
  };
}
