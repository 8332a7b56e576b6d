/** An active run, for what runs it: it takes what becomes of the run, and its signal says when that has to end. */
import type { Publish } from "../../core/events";
import type { Outcome, RunStatus } from "../../core/run";
import { timedOut } from "../../lib/errors";
import { runLog } from "./events";
import type { HeldResults } from "./held-results";
import { type Entry, keepOutcome, toView } from "./run-entry";
import { stepsOf } from "./run-steps";

/** The most lines that are kept of what a run logs. */
export const MAX_LOG = 200;

/** A run that is active. */
export interface ActiveRun {
  /** Aborted, with a `Failure` as its reason, when the run is cancelled or its deadline passes. */
  readonly signal: AbortSignal;
  abort(reason: unknown): void;
  /** It waits for pointer and keyboard. @param holder who uses them now. */
  waits(holder: () => string): void;
  readonly logged: Readonly<Entry["log"]>;
  /** The outcomes that are kept of it. */
  readonly outcomes: readonly Outcome[];
  /** It logs `message`, which must hold no secret. @returns false when it has logged {@link MAX_LOG} lines. */
  log(message: string): boolean;
  /** It runs these commands too. */
  adds(commands: readonly string[]): void;
  goesOn(): void;
  /** Counts `bytes` of results until the run ends. @returns false, and counts nothing, when there is no room for them. */
  hold(bytes: number): boolean;
  /** Keeps the outcome of one of its actions; it must hold no secret. */
  keep(outcome: Outcome): void;
  end(status: RunStatus, error_text: string | null): void;
}

interface ActiveRunParts {
  /** When it began, by `performance.now()`. */
  readonly began: number;
  readonly timeout_s: number;
  /** Takes its events. */
  readonly publish: Publish;
  /** Counts its results. */
  readonly held: HeldResults;
  /** Called when it has ended. */
  ended(): void;
}

/** Begins the deadline of a run of the list. Callers must call its `end`. */
export function activeRun(entry: Entry, parts: ActiveRunParts): ActiveRun {
  const { began, timeout_s, publish, held, ended } = parts;
  const { control, share } = entry;
  const step = stepsOf(entry, publish);
  const tell = () => entry.keeper?.report({ run: toView(entry) });
  const late = () => control.abort(timedOut(`the run's deadline of ${timeout_s} s has passed`));
  let bytesHeld = 0;
  const deadline = setTimeout(late, timeout_s * 1_000);
  return {
    signal: control.signal,
    abort: (reason) => control.abort(reason),
    waits(holder) {
      entry.state = { ...entry.state, status: "waiting" };
      entry.holder = holder;
      tell();
      step.changed();
    },
    logged: entry.log,
    outcomes: entry.outcomes,
    log(message) {
      if (entry.log.length >= MAX_LOG) return false;
      const line = { at: new Date().toISOString(), message };
      entry.log.push(line);
      entry.keeper?.report({ log: line });
      publish(runLog, { run_id: entry.state.run_id, message });
      return true;
    },
    adds(commands) {
      entry.state = { ...entry.state, commands: [...new Set([...entry.state.commands, ...commands])] };
      tell();
    },
    goesOn() {
      entry.state = { ...entry.state, status: "running" };
      entry.holder = undefined;
      tell();
      step.changed();
    },
    hold(bytes) {
      if (!held.hold(share, bytes)) return false;
      bytesHeld += bytes;
      return true;
    },
    keep(outcome) {
      step.did(outcome);
      if (keepOutcome(entry, outcome)) entry.keeper?.report({ outcome });
    },
    end(status, error_text) {
      clearTimeout(deadline);
      step.end();
      held.release(share, bytesHeld);
      entry.holder = undefined;
      const finished_at = new Date().toISOString();
      const duration_seconds = Math.round(performance.now() - began) / 1_000;
      entry.state = { ...entry.state, status, error_text, finished_at, duration_seconds };
      ended();
    },
  };
}
