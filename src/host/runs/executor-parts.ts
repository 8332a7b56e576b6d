/**
 * What the executor is handed by the service.
 */
import type { performOperation } from "../../core/call";
import type { DesktopRequest } from "../../core/desktop-request";
import type { Grant } from "../../core/rights";
import type { TraceContext } from "../../core/trace-context";
import type { Log } from "../../lib/log";
import type { InputLock } from "../desktop/input-lock";
import type { RunTrace, TracedStart, TraceLooks } from "../trace/traces";
import type { CheckerParts } from "./checker";
import type { Runs } from "./runs";

/** What the executor is handed. */
export interface ExecutorParts extends CheckerParts {
  readonly service: object;
  readonly log: Log;
  runs(): Promise<Pick<Runs, "begin" | "refuse">>;
  /** What this host is called where it has joined; else its name. */
  hostLabel(): string;
  /** The values of secrets of this host. @throws a `bad_input` failure for an unknown one; `unavailable` where they cannot be read. */
  secrets(names: readonly string[]): Promise<ReadonlyMap<string, string>>;
  /** Does an action (default: this process). */
  readonly perform?: typeof performOperation | undefined;
  /** The lock on pointer and keyboard of the host's desktop. */
  inputLock(): Promise<Pick<InputLock, "holder" | "take">>;
  /**
   * Where a run works that asks for a desktop.
   *
   * @throws `unavailable` where the host has none to give; `bad_input` for settings that it does not have; `too_many`; `cancelled`.
   */
  placeFor?(request: DesktopRequest, run: string, grant: Grant, signal: AbortSignal): Promise<RunPlace>;
  /**
   * Begins to trace a run. @param asked whether the caller wants the trace, however the run ends. @returns undefined when it
   * is not traced. @throws a failure when it cannot be.
   */
  trace?(start: TracedStart, asked: boolean, looks?: TraceLooks): Promise<RunTrace | undefined>;
  /** Takes runs as spans of traces (OpenTelemetry); absent where nobody collects them. None of it throws or is awaited. */
  readonly beginSpan?: ((...run: Parameters<BeginSpan>) => Promise<RunSpan | undefined>) | undefined;
  /** Puts on record how a run ended, for its receipt; absent where no log is kept. Must not throw. */
  recordEnd?(detail: string): void;
  /** The key with which the parameters of a run are digested, hexadecimal. @throws `unavailable` where it cannot be read. */
  parametersKey?(run: string): Promise<string>;
  /** What whoever has this token can do where it is not enough; begins the end of a message, empty for nothing. */
  adviceFor?(grant: Grant): Promise<string>;
}

/** A desktop on which a run works, in place of that of the host. */
export interface RunPlace {
  readonly service: object;
  readonly inputLock: Pick<InputLock, "holder" | "take">;
  readonly looks: TraceLooks;
  /** Aborted once it has ended, with the reason as a failure: then the run ends too. */
  readonly lost?: AbortSignal | undefined;
  /** Gives it back when the run has ended. Implementations must not throw. */
  end(): Promise<void>;
}

/** A run as a span. No text that it is given has a secret. */
export interface RunSpan {
  /** Begins a span for an action. @returns what ends it; undefined where it has too many. */
  step(command: string, place: string): ((error: string | null) => void) | undefined;
  end(status: string, error: string | null): void;
}

/** Begins the span of a run. */
export type BeginSpan = (run: {
  readonly run_id: string;
  readonly source_type: string;
  readonly source_id: string;
  readonly token: string | null;
  readonly script_path: string;
  readonly commands: readonly string[];
  readonly context: TraceContext;
  /** Below which it is; absent where the run begins the trace. */
  readonly parent: TraceContext | undefined;
}) => RunSpan;
