/**
 * The executor: puts a run of a checked list on record, then runs it.
 */
import { parseCall } from "../../core/call";
import { type Caller, isRemote, requesterOf } from "../../core/caller";
import {
  allows,
  beyond,
  type Grant,
  limitedTo,
  notPermitted,
  requireOwnToken,
  shareOf,
} from "../../core/rights";
import {
  DEFAULT_PACE_S,
  DEFAULT_TIMEOUT_S,
  type EndedRun,
  MAX_TIMEOUT_S,
  type Outcome,
  type StartedRun,
} from "../../core/run";
import { ListFault } from "../../core/script";
import { type RunDefaults, withDefaults } from "../../core/script-head";
import { childOf, withTrace } from "../../core/trace-context";
import { badInput, Failure, forbidden, messageOf, unavailable } from "../../lib/errors";
import { createRunRecord, hmacOfParameters, type RunRecord } from "../../wire/receipt/run-record";
import type { TracedStart, TraceLooks } from "../trace/traces";
import { type Action, flatten } from "./actions";
import type { ActiveRun } from "./active-run";
import { type CalledScripts, checkParameters, link } from "./called-scripts";
import { type CheckedList, checkedList } from "./checked-list";
import { Checker } from "./checker";
import type { ExecutorParts, RunPlace } from "./executor-parts";
import { turnOf } from "./input-turn";
import { mendIn } from "./mend";
import { keepable } from "./redact";
import { judge, resultOf } from "./report";
import { endOf, endsRun, endWith } from "./run-ends";
import { Runner } from "./runner";
import type { RunOptions, RunReport, RunSource } from "./types";
import { variablesOf } from "./variables";

/** The most that is kept of a run whose answer nobody waits for, in bytes: the results of 2,000 hosts. */
const MAX_UNATTENDED_BYTES = 256 * 1_024;

/** Checks and runs action lists. */
export class Executor extends Checker {
  constructor(private readonly parts: ExecutorParts) {
    super(parts);
  }

  /**
   * Runs a list to its end, also when the caller disconnects, with the rights of the caller. The report has every fault.
   *
   * @param sourceId what started it, for the history.
   * @param isRead whether it changes nothing: then the history has no row of it.
   * @throws a `forbidden` failure when the caller may not use all of it; `unavailable` when the run cannot be put on record
   *   or no further run may begin. Nothing has run then.
   */
  async run(
    list: CheckedList,
    { grant: given, begun: tellBegun, ...others }: Caller,
    options: RunOptions = {},
    sourceId = others.client ?? "",
    isRead = false,
  ): Promise<RunReport> {
    const { stop_on_error = false, timeout_s = DEFAULT_TIMEOUT_S, path = "", scope, trace: asked } = options;
    const { pace = DEFAULT_PACE_S, source = sourceOf(others.kind, sourceId, path) } = options;
    const {
      id,
      actions,
      commands,
      secrets: named,
      described,
      called = new Map(),
    } = list.called ? list : await this.link(list, path, requesterOf({ ...others, grant: given }));
    const grant = scope === undefined ? given : limitedTo(given, scope);
    const record = createRunRecord(id, others.announce, isRead ? undefined : this.parts.recordEnd);
    const caller: Caller = { ...others, grant, announce: record.announce };
    await this.permitRun(commands, named, grant, given);
    await this.precheck({ actions, called }, caller);
    if (tellBegun) requireOwnToken(grant, "wait=0");
    if (asked && !allows(grant, "screen")) throw forbidden(beyond(grant, "trace needs screen", "this run"));
    const variables = variablesOf(options.variables ?? {});
    const secrets = new Map(named.length > 0 ? await this.parts.secrets(named) : []);
    const digested = await this.parametersText(id, options.variables);
    await caller.announce(`run=${id} ${asked ? "trace=true " : ""}${digested}${described}`);
    const runs = await this.parts.runs();
    const { beginSpan } = this.parts;
    const context = caller.trace || beginSpan ? childOf(caller.trace) : undefined;
    const start = { ...begun(id, grant, source), ...(context && { trace_id: context.traceId }) };
    const active = runs.begin({
      ...{ ...start, commands, timeout_s, share: shareOf(grant), isRead },
      ...(tellBegun && { keptBytes: MAX_UNATTENDED_BYTES }),
    });
    const tracing = { ...start, commands, share: shareOf(grant) };
    const { place, trace } = await this.open(options, active, tracing, grant, record);
    tellBegun?.(id);
    using _ends = endWith(caller, active);
    const { log, perform } = this.parts;
    const service = place?.service ?? this.parts.service;
    const call = (unknown: string) => this.callLate(unknown, id, called, caller, active, secrets);
    const logging = {
      ...active,
      log(message: string) {
        caller.logged?.(message);
        return active.log(message);
      },
    };
    const span = context && (await beginSpan?.({ ...start, commands, context, parent: caller.trace }));
    let done = 0;
    const progress = (what: string) => caller.progress?.({ what, done, total: actions.length });
    const turn = turnOf(active, {
      requester: requesterOf(caller, active.signal),
      who: `run ${id.slice(0, 8)} (${[source.type, source.id].filter(Boolean).join(" ")})`,
      lock: async () => place?.inputLock ?? this.parts.inputLock(),
      waiting: (holder) => progress(`actions, waiting for ${holder}`),
    });
    const runner = new Runner({
      ...{ service, log, perform, id, path, pace, turn },
      active: logging,
      caller,
      variables,
      secrets,
      hostLabel: () => this.parts.hostLabel(),
      trace,
      step: (command, place) => span?.step(command, place),
      called,
      call,
    });
    const keep = (outcome: Outcome) => {
      active.keep(keepable(outcome, runner, tellBegun && MAX_UNATTENDED_BYTES));
      done++;
      progress("actions");
    };
    const end = endOf(active, trace, span, record);
    try {
      const outcomes = await turn.during({ actions, called }, () =>
        withTrace(context, () => runner.run(actions, stop_on_error, keep).finally(() => runner.finish())),
      );
      await place?.end();
      const { status, error } = judge(outcomes, actions.length, active.signal);
      // The text is logged and kept; the caller alone gets the outcomes.
      const scrub = (text: string) => runner.secrets.scrub(text);
      const error_text = error === null ? null : scrub(error);
      await end({ status, error_text }, scrub);
      const result = resultOf(actions, outcomes);
      const logged = active.logged.length > 0 && { log: [...active.logged] };
      const mend = status === "error" ? mendIn(outcomes) : undefined;
      const ending = { ok: status === "ok", status, error_text, outcomes };
      return { run_id: id, result, ...ending, ...logged, ...(mend && { mend }) };
    } catch (error) {
      await place?.end();
      await end({ status: "error", error_text: "internal error" }, () => "***");
      throw error;
    }
  }

  /**
   * Runs `command` with `input`, as it was asked for: no variable is filled in, and it may take as long as any run. As {@link run}.
   *
   * @throws also a `bad_input` failure for an unknown command or a bad input.
   */
  async runOne(command: string, input: unknown, caller: Caller): Promise<RunReport> {
    const operation = this.commands.get(command);
    if (!operation) throw badInput(`unknown command ${command}`);
    if (operation.needs !== undefined && !this.allows(operation))
      throw notPermitted(command, operation.needs);
    const action: Action = {
      ...{ operation, input: parseCall(operation, input), as: undefined },
      ...{ deferred: [], lists: {}, remote: {} },
      ...{ source: [command, input], at: "actions[0]", pathTo: (field) => [0, 1, field] },
    };
    const isRead = operation.changes === undefined;
    return this.run(checkedList([action]), caller, { timeout_s: MAX_TIMEOUT_S }, undefined, isRead);
  }

  /**
   * Starts the script at `path`, or the stored one that it names, without waiting for its end. Never throws: what goes wrong, also before the run begins, is
   * a failed run on record.
   *
   * @param sourceId what started it, for the history: the id of a job.
   * @param given counts before what the script says of itself.
   * @param otherwise counts where neither says anything.
   */
  async startFile(
    path: string,
    caller: Caller,
    sourceId: string,
    given: RunDefaults,
    otherwise: RunDefaults = {},
  ): Promise<StartedRun> {
    const failed = async (id: string, error: unknown): Promise<EndedRun> => {
      const start = { ...begun(id, caller.grant, sourceOf(caller.kind, sourceId, path)), commands: [] };
      const { run_id, error_text } = (await this.parts.runs()).refuse(start, messageOf(error));
      return { run_id, status: "error", error_text };
    };
    try {
      const prepared = await this.prepareJob(path, requesterOf(caller));
      checkParameters({ path, parameters: prepared.parameters }, Object.keys(given.variables ?? {}));
      const options = { ...otherwise, ...withDefaults(prepared.defaults ?? {}, given), path };
      const running = this.run(prepared, caller, options, sourceId);
      return { runId: prepared.id, ended: running.catch((error) => failed(prepared.id, error)) };
    } catch (error) {
      const ended = await failed(crypto.randomUUID(), error);
      return { runId: ended.run_id, ended: Promise.resolve(ended) };
    }
  }

  /** A script whose path is known only now. It joins those that are `called`. */
  private async callLate(
    unknown: string,
    id: string,
    called: CalledScripts,
    caller: Caller,
    active: ActiveRun,
    secrets: Map<string, string>,
  ) {
    const known: CalledScripts = new Map(called);
    const script = await link(this.linking(requesterOf(caller, active.signal), false), unknown, known);
    const names = [...new Set([...known.values()].flatMap((one) => one.commands))];
    const named = [...new Set([...known.values()].flatMap((one) => one.secrets))];
    await this.permitRun(names, named, caller.grant, caller.grant);
    await this.precheck({ actions: script.actions, called: known }, { ...caller, signal: active.signal });
    const fresh = named.filter((name) => !secrets.has(name));
    if (fresh.length > 0)
      for (const [name, value] of await this.parts.secrets(fresh)) secrets.set(name, value);
    active.adds(names);
    // The clicks and keys of a run have no rows of their own.
    await caller.announce(`run=${id} calls ${unknown} ${script.described}`);
    // Only now: one that was refused is refused the next time too.
    for (const [path, one] of known) called.set(path, one);
    return script;
  }

  /**
   * What the service alone knows of a list that is about to run: whether there are the hosts that it names.
   *
   * @throws a failure that says which action cannot run, and why.
   */
  async precheck(
    { actions, called = new Map() }: Pick<CheckedList, "actions" | "called">,
    caller: Pick<Caller, "grant" | "signal">,
  ): Promise<void> {
    const all = [actions, ...[...called.values()].map((script) => script.actions)].flat();
    for (const { operation, input, at, pathTo } of flatten(all)) {
      if (!operation.precheck) continue;
      try {
        await operation.precheck(this.parts.service, input, caller);
      } catch (error) {
        if (!(error instanceof Failure)) throw error;
        if (error.code !== "bad_input") throw new Failure(error.code, `${at}: ${error.message}`, error.more);
        const [, field = "", message = error.message] = error.message.match(/^(\w+): (.*)$/s) ?? [];
        const offence =
          field === ""
            ? { field: at, path: pathTo(field).slice(0, -1), message }
            : { field: `${at}.${field}`, path: pathTo(field), message };
        throw new ListFault([offence], []);
      }
    }
  }

  /** As `permit`. @param given what the token allows: where that is not enough, a desk learns where it gets more. */
  private async permitRun(
    names: readonly string[],
    secrets: readonly string[],
    grant: Grant,
    given: Grant,
  ): Promise<void> {
    const refused = this.missing(names, grant, secrets);
    if (refused.length === 0) return;
    const isOfToken = this.missing(names, given, secrets).length > 0;
    const advice = (isOfToken && (await this.parts.adviceFor?.(given))) || "";
    throw forbidden(`${beyond(grant, refused.join(", "), "this run")}${advice}`);
  }

  /** What the row of a run says of its parameters; empty where it has none. */
  private async parametersText(
    id: string,
    variables: Readonly<Record<string, unknown>> = {},
  ): Promise<string> {
    const key = Object.keys(variables).length > 0 ? await this.parts.parametersKey?.(id) : undefined;
    return key === undefined ? "" : `parameters=hmac:${hmacOfParameters(key, variables)} `;
  }

  /** Opens what a run works on and is traced by. When that fails, the run has ended. */
  private async open(
    { desktop, trace: asked = false, begins }: RunOptions,
    active: ActiveRun,
    start: TracedStart,
    grant: Grant,
    record: RunRecord,
  ) {
    let place: RunPlace | undefined;
    try {
      if (desktop !== undefined)
        place = endsRun(await this.placeFor(desktop, start.run_id, grant, active.signal), active);
      const trace = await this.trace(start, asked, place?.looks);
      begins?.();
      return { place, trace };
    } catch (error) {
      await place?.end();
      record.end("error", [], null);
      active.end("error", messageOf(error));
      throw error;
    }
  }

  /** @throws as that of {@link ExecutorParts}; `unavailable` in a process that has no desktops. */
  private placeFor(...wanted: Parameters<NonNullable<ExecutorParts["placeFor"]>>): Promise<RunPlace> {
    if (!this.parts.placeFor) throw unavailable("desktop: this process has no desktops on demand");
    return this.parts.placeFor(...wanted);
  }

  /** Begins to trace a run that its caller or its job wants traced. A job runs also where that is not possible. */
  private async trace(start: TracedStart, asked: boolean, looks: TraceLooks | undefined) {
    if (!asked && start.source_type !== "scheduler") return undefined;
    try {
      return await this.parts.trace?.(start, asked, looks);
    } catch (error) {
      if (asked) throw error;
      this.parts.log.warn(`run ${start.run_id} is not traced: ${messageOf(error)}`);
      return undefined;
    }
  }
}

/** @param id the client or job. */
function sourceOf(kind: Caller["kind"], id: string, script: string): RunSource {
  if (isRemote({ kind })) return { type: "rest", id, script };
  return { type: kind === "scheduler" ? kind : "manual", id, script };
}

const begun = (run_id: string, { name: token }: Grant, { type, id, script }: RunSource) => ({
  ...{ run_id, source_type: type, source_id: id, token, script_path: script },
});
