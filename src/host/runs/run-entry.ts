/** A run of the list: what is kept of it, and what others are shown. */
import type * as v from "valibot";
import type { Outcome } from "../../core/run";
import { sizeWithin } from "../../lib/json-size";
import type { AttachedReport } from "./attached-run";
import type { LOG_LINE, RunState, RunView } from "./types";

const MAX_KEPT_OUTCOMES = 200;

/** What is known of a run before it begins. */
export type StartField = "run_id" | "source_type" | "source_id" | "token" | "script_path" | "commands";

/** What another process keeps of a run of this one. */
export interface RunKeeper {
  /** Says how the run stands, what an action became or what it logs. */
  report(reported: AttachedReport): void;
  /** Resolves when the other has all, or this process has kept the state itself. */
  settled(): Promise<void>;
}

/** A run of the list. */
export interface Entry {
  state: RunState;
  /** Where another process keeps it. */
  keeper?: RunKeeper | undefined;
  /** Whether another process runs it: its limits, its events and its end are there. */
  readonly isElsewhere?: boolean;
  readonly share: string | null;
  readonly isRead: boolean;
  /** Set while it waits for pointer and keyboard: who uses them. */
  holder?: (() => string) | undefined;
  bytesLeft: number;
  readonly outcomes: Outcome[];
  readonly log: Array<v.InferOutput<typeof LOG_LINE>>;
  readonly control: AbortController;
  readonly done: Promise<void>;
}

/** The state of a run that begins now. */
export const newState = (
  begun: Pick<RunState, StartField> & Partial<Pick<RunState, "trace_id">>,
): RunState => ({
  ...begun,
  status: "running",
  started_at: new Date().toISOString(),
  finished_at: null,
  duration_seconds: null,
  error_text: null,
});

/** Keeps what became of an action, where there is room for it. @returns whether there was. */
export function keepOutcome(entry: Entry, outcome: Outcome): boolean {
  const bytes = sizeWithin(outcome, { bytes: entry.bytesLeft, depth: 100 });
  if (bytes === undefined || entry.outcomes.length >= MAX_KEPT_OUTCOMES) return false;
  entry.bytesLeft -= bytes;
  entry.outcomes.push(outcome);
  return true;
}

/** Who uses pointer and keyboard, by the word of the process that runs it. */
export const holderOf = (name: string | null) => (name === null ? undefined : () => name);

/** What started a run. */
export const sourceOf = ({ source_type, source_id, token }: Pick<RunState, StartField>) =>
  JSON.stringify([source_type, source_id, token]);

/** It, as it is shown. */
export const toView = ({ state, holder }: Entry): RunView => ({ ...state, waiting_for: holder?.() ?? null });
