/**
 * Running checked actions, one after the other.
 *
 * Promise: a run ends. It executes at most {@link MAX_EXECUTED} actions and keeps a bounded amount of their results; once
 * its signal is aborted no further action begins, and one that ignores the signal is abandoned.
 */
import { performOperation } from "../../core/call";
import type { Caller } from "../../core/caller";
import type { Departure, Outcome, RunContext, RunTurn, StopOnError } from "../../core/run";
import { requireNeeds } from "../../core/script-head";
import { deadline } from "../../lib/deadline";
import { cancelled, Failure, failureOf, messageOf, rejected } from "../../lib/errors";
import { nextSlice } from "../../lib/turn";
import type { RunTrace } from "../trace/traces";
import { asWritten } from "./action-fields";
import type { Action, Command } from "./actions";
import type { ActiveRun } from "./active-run";
import { type CalledScript, calledPath, checkParameters, MAX_CALLS } from "./called-scripts";
import type { ExecutorParts } from "./executor-parts";
import { createInputs, isOpen } from "./input";
import { mendIn } from "./mend";
import { keepable, Secrets } from "./redact";
import { createResults } from "./results";
import { createShield } from "./shield";
import { isReference, referenceOf, referencesIn, type Variables, variablesOf } from "./variables";

/** The most that one run executes: actions and lists inside them, counted at every iteration. */
const MAX_EXECUTED = 200_000;

/** How long an action may take to notice that its run was cancelled, in milliseconds. */
const ABANDON_MS = 5_000;

/** The most actions of one run with an audit row each: the row of the run covers all of them by its digest. */
const MAX_ACTION_ROWS = 500;

interface RunParts extends Pick<ExecutorParts, "service" | "perform" | "log" | "hostLabel"> {
  readonly id: string;
  /** The path of the script; empty for a list that was sent. */
  readonly path: string;
  /** How long keys wait after the pointer has acted, in seconds. */
  readonly pace: number;
  readonly turn: RunTurn;
  /** The scripts that it calls, by their paths. */
  readonly called: ReadonlyMap<string, CalledScript>;
  /** Reads and checks one that is not among them. */
  call(path: string): Promise<CalledScript>;
  readonly active: Pick<ActiveRun, "signal" | "abort" | "hold" | "log">;
  readonly caller: Caller;
  readonly variables: Variables;
  /** The secrets of the host that it may use; those of a script that is called late are added. */
  readonly secrets: ReadonlyMap<string, string>;
  /** Begins the span of an action. @returns what ends it, with the error of one that has failed, without secrets. */
  step?(command: string, place: string): ((error: string | null) => void) | undefined;
  /** Records the actions, without secrets; absent for a run that is not traced. None of it throws. */
  readonly trace?: Pick<RunTrace, "step" | "add"> | undefined;
}

/** Runs the actions of one run, and counts what they use. */
export class Runner {
  /** The operation behind an outcome of this run, nested ones included. */
  readonly operations = new WeakMap<object, Command>();
  readonly secrets = new Secrets();
  /** The secrets of the host among them: masked in its answer too, which has all others. */
  private readonly ofHost = new Secrets();
  /** The outcomes whose result is no secret, whatever the operation says. */
  readonly open = new WeakSet<object>();
  private executed = 0;
  private announced = 0;
  private departure: Departure | undefined;
  /** How many actions have failed to find or focus a window. */
  private missed = 0;
  /** What is to be done when the run ends. */
  private readonly last: Array<() => Promise<void>> = [];

  private readonly inputs = createInputs(this.secrets, this.ofHost);
  private readonly results;
  /** Called for a shielded list; its signal is that of the list. */
  private readonly shielded;

  /** The script that runs now, and its variables. */
  private script: { readonly path: string; readonly variables: Variables; readonly depth: number };

  constructor(private readonly parts: RunParts) {
    const { path, variables, active } = parts;
    this.results = createResults(active.hold);
    this.shielded = createShield(active.signal);
    this.surround(variables);
    this.script = { path, variables, depth: 0 };
    this.learnSecrets();
  }

  /** Masks the secrets of the host from now on, whether an action uses them or not. */
  private learnSecrets(): void {
    for (const value of this.parts.secrets.values()) {
      // A program prints a line of it by itself.
      for (const text of [value, ...value.split(/\r?\n/)]) {
        this.secrets.add(text);
        this.ofHost.add(text);
      }
    }
  }

  private surround(variables: Variables): void {
    variables.surroundings = this.surroundings();
    variables.secrets = this.parts.secrets;
  }

  /** What expressions know besides variables. */
  private surroundings(): Variables["surroundings"] {
    const { id, hostLabel } = this.parts;
    return { run: () => ({ id }), host: () => ({ label: hostLabel() }), now: () => new Date() };
  }

  /**
   * Runs `actions` in order, until the signal is aborted. Never throws: a failure is that action's outcome.
   *
   * @param each is called with every outcome as it comes.
   * @param around where the list is: empty for that of the run itself.
   */
  async run(
    actions: readonly Action[],
    stopOnError: StopOnError,
    each: (outcome: Outcome) => void = () => {},
    signal: AbortSignal = this.parts.active.signal,
    around = "",
  ): Promise<Outcome[]> {
    const outcomes: Outcome[] = [];
    for (const [index, action] of actions.entries()) {
      if (signal.aborted || this.departure) break;
      const missedBefore = this.missed;
      const place = `${around}[${index}]`;
      const ended = await this.traceStep(action, place);
      const endSpan = this.parts.step?.(action.operation.command, place);
      const outcome = await this.action(action, signal, place);
      endSpan?.(outcome.error === undefined ? null : this.secrets.scrub(outcome.error));
      this.operations.set(outcome, action.operation);
      await ended?.(outcome);
      outcomes.push(outcome);
      each(outcome);
      if (outcome.ok) continue;
      if (action.operation.aims) this.missed++;
      // Also when it was an action inside this one.
      if (stopOnError === true || (stopOnError === "focus" && this.missed > missedBefore)) break;
    }
    return outcomes;
  }

  /** Begins a step of the trace. @returns what ends it; undefined for a run that is not traced. */
  private async traceStep({ operation, source, lists }: Action, place: string) {
    const { trace } = this.parts;
    if (!trace) return undefined;
    const { uses, aims, scope, command, named = false } = operation;
    const pictured = uses === "input" || aims === true || scope === "screen" || named;
    const written = this.secrets.scrubAll(asWritten(operation.input, source[1]));
    const ended = await trace.step({ place, command, arguments: written, pictured, named });
    return (outcome: Outcome) => {
      const { detail, result, ...kept } = keepable(outcome, this);
      // The results of the actions inside it are in steps of their own.
      const isLeaf = Object.keys(lists).length === 0;
      const mend = isLeaf ? mendIn([{ ...kept, ...(detail && { detail }) }]) : undefined;
      return ended({ ...kept, ...(isLeaf && result !== undefined && { result }), ...(mend && { mend }) });
    };
  }

  /** Does what its actions left to do when it ends. */
  async finish(): Promise<void> {
    await Promise.all(this.last.map((work) => work()));
  }

  private async action(action: Action, signal: AbortSignal, place: string): Promise<Outcome> {
    const { operation } = action;
    const { command } = operation;
    const { perform = performOperation } = this.parts;
    const started = performance.now();
    const took = () => Math.round((performance.now() - started) * 1_000) / 1_000;
    try {
      await this.step(signal);
      let isShown = false;
      const show = () => {
        isShown = true;
      };
      let isResultShown = false;
      const call = async () => {
        isResultShown = isOpen(action, this.script.variables);
        const input = this.inputs.of(action, this.script.variables);
        const caller = this.callerOf(action, signal, place, show);
        const answer = await perform(this.parts.service, operation, input, caller);
        return operation.plain ? operation.plain.of(answer) : answer;
      };
      const leaf = Object.keys(action.lists).length === 0;
      const whole = (await (leaf ? deadline(call(), { signal, graceMs: ABANDON_MS }) : call())) ?? null;
      if (action.as !== undefined) this.script.variables.set(action.as, whole, isResultShown);
      // What a flow command returns has been counted already: it is the results inside it.
      const brief = !leaf || this.results.fits(whole) ? whole : operation.brief?.(whole);
      const isLeftOut = brief === undefined || (brief !== whole && !this.results.fits(brief));
      if (isLeftOut) return { command, ok: true, omitted: true, duration_ms: took() };
      const outcome = { command, ok: true, result: this.ofHost.mask(brief), duration_ms: took() };
      if (isShown) this.open.add(outcome);
      return outcome;
    } catch (thrown) {
      const { message, more } = this.failureOf(thrown, signal, command);
      const detail = Object.keys(more).length > 0 ? { detail: this.ofHost.mask({ ...more }) } : {};
      return { command, ok: false, error: this.ofHost.mask(message), ...detail, duration_ms: took() };
    }
  }

  /** Counts what is executed. Beyond the limit the run is over, except for a shielded list. */
  private async step(signal: AbortSignal): Promise<void> {
    this.executed++;
    if (this.executed > MAX_EXECUTED) {
      const failure = rejected(`more than ${MAX_EXECUTED} actions in one run`);
      this.parts.active.abort(failure);
      if (signal.aborted) throw failure;
    }
    // Actions that wait for nothing would never yield.
    const waits = nextSlice();
    if (waits) await waits;
  }

  private callerOf(action: Action, signal: AbortSignal, place: string, show: () => void): Caller {
    const { caller, id } = this.parts;
    // The run reports its own progress.
    const { progress: _, warn, acted, recordFailure, ...others } = caller;
    return {
      ...others,
      ...(recordFailure && {
        recordFailure: (subject: string, error: unknown) => recordFailure(this.secrets.scrub(subject), error),
      }),
      warn: warn && ((text) => warn(this.secrets.scrub(text))),
      acted:
        acted &&
        ((act) => acted(this.ofHost.isIn(act.checks) ? { ...act, checks: [] } : this.ofHost.mask(act))),
      signal,
      announce: async (subject) => {
        this.announced++;
        if (this.announced > MAX_ACTION_ROWS + 1) return;
        const isLast = this.announced > MAX_ACTION_ROWS;
        const text = isLast ? "further actions of this run have no row" : this.secrets.scrub(subject);
        await caller.announce(`run=${id} ${text}`);
      },
      run: this.context(action, signal, place, show),
    };
  }

  private context(
    { operation, input, lists }: Action,
    signal: AbortSignal,
    place: string,
    show: () => void,
  ): RunContext {
    const { path, variables } = this.script;
    return {
      id: this.parts.id,
      place,
      script: path,
      pace: this.parts.pace,
      turn: this.parts.turn,
      valueOf: (reference) => variables.resolve(referenceOf(reference)),
      set: (name, value, shown) => void variables.set(name, value, shown),
      written: (field) => input[field],
      fill: (field) => this.inputs.fill(operation, field, input[field], variables),
      evaluate: (source) => this.inputs.evaluate(source, variables),
      show,
      isShown: (value) => referencesIn(value).every((reference) => variables.isShown(reference)),
      blame: (name, error) => this.inputs.blame(name, error, variables),
      list: async (field, { shielded = false, turn } = {}) => {
        using shield = shielded ? this.shielded() : { signal, [Symbol.dispose]() {} };
        await this.step(shield.signal);
        const before = variables.turn;
        variables.turn = turn ?? before;
        const around = `${place}.${field}`;
        const outcomes = await this.run(lists[field] ?? [], true, undefined, shield.signal, around);
        variables.turn = before;
        return this.results.report(outcomes, shield.signal);
      },
      hand: (value) => this.inputs.hand(value, variables),
      traced: (step) => this.parts.trace?.add({ ...step, arguments: this.secrets.scrubAll(step.arguments) }),
      end: (failure) => this.parts.active.abort(failure),
      atEnd: (work) => void this.last.push(work),
      log: (message) => this.parts.active.log(this.secrets.scrub(message)),
      call: (written, given) => this.call(written, given, input.variables, signal, place),
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

  private async call(
    written: string,
    given: Readonly<Record<string, unknown>>,
    source: unknown,
    signal: AbortSignal,
    place: string,
  ) {
    const { script: around, parts } = this;
    const path = calledPath(written, around.path);
    if (around.depth >= MAX_CALLS)
      throw rejected(`expected at most ${MAX_CALLS} scripts that call each other`);
    const called = parts.called.get(path) ?? (await parts.call(path));
    this.learnSecrets();
    checkParameters(called, Object.keys(given));
    requireNeeds(called.needs, { ...called.variables, ...given });
    const isShown = (name: string) => {
      const value = Object.entries(source ?? {}).find(([key]) => key === name)?.[1];
      return isReference(value) && referencesIn(value).every((one) => around.variables.isShown(one));
    };
    const variables = variablesOf({ ...called.variables, ...given }, isShown);
    this.surround(variables);
    await this.step(signal);
    this.script = { path, variables, depth: around.depth + 1 };
    try {
      const outcomes = await this.run(called.actions, true, undefined, signal, `${place}.called`);
      return { ...this.results.report(outcomes, signal), variables: Object.fromEntries(variables) };
    } finally {
      this.script = around;
    }
  }

  private failureOf(thrown: unknown, signal: AbortSignal, command: string): Failure {
    if (thrown instanceof Failure) return thrown;
    if (signal.aborted) return signal.reason instanceof Failure ? signal.reason : cancelled("cancelled");
    const { log, id } = this.parts;
    const failure = failureOf(thrown);
    if (failure) {
      log.error(`${command} in run ${id}: ${this.secrets.scrub(messageOf(thrown))}`);
      return failure;
    }
    const isClean = !this.ofHost.isIn(Object(thrown).stack) && !this.ofHost.isIn(messageOf(thrown));
    log.error(
      `${command} failed in run ${id}: ${this.ofHost.mask(messageOf(thrown))}`,
      isClean ? thrown : undefined,
    );
    return new Failure("unavailable", "internal error");
  }
}
