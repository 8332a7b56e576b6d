/**
 * One part of a block as a job of its host, and what became of it.
 *
 * The promise: whether the job ran is decided by its state alone. Where that is not known, nobody sends it again.
 */
import type { HostStep } from "../../core/run";
import type { FailureCode } from "../../lib/errors";
import type { Delivery } from "../../wire/job/delivery";
import type { JobState } from "../../wire/job/job";
import type { Host } from "../fleet/host";

/** A job for one host. */
export interface HostJob {
  readonly target: Host;
  /** With those that bring variables back. */
  readonly actions: readonly unknown[];
  readonly commands: readonly string[];
  readonly secrets: readonly string[];
  readonly variables: Readonly<Record<string, unknown>>;
  /** The time limits to deliver and to run it, in seconds. */
  readonly delivery_timeout_s: number;
  readonly timeout_s: number;
  /** Ends it, at its host too. */
  readonly signal: AbortSignal;
}

/** What became of it: the state is undefined where it did not come back. The outcomes are those of its actions. */
export interface HostResult {
  readonly result: Delivery;
  readonly state: JobState | undefined;
}

/** How a part ended, by a word that scripts and tools may go by. `unknown`: it may have run. */
export type PartCode =
  | "ok"
  | "failed"
  | "timeout"
  | "refused"
  | "unreachable"
  | "cancelled"
  | "expired"
  | "unknown";

/** How a part ended. */
export function codeOf({ state, result }: HostResult): PartCode {
  if (state === undefined) return result.delivered ? "unknown" : "cancelled";
  if (state === "lost" || state === "interrupted" || state === "unknown") return "unknown";
  // Its host has not said that it ended it.
  if (state === "timeout") return result.run_id === undefined ? "unknown" : "timeout";
  if (state === "offline") return "unreachable";
  if (state === "unseen") return result.delivered ? "unknown" : "cancelled";
  return state;
}

/** The code of the failure of a script for each of them. */
export const FAILURE_CODES: Readonly<Record<Exclude<PartCode, "ok">, FailureCode>> = {
  failed: "rejected",
  timeout: "timeout",
  refused: "forbidden",
  unreachable: "unavailable",
  cancelled: "cancelled",
  expired: "timeout",
  unknown: "unavailable",
};

/** A step before it is known in which process it is traced: when it began counts from the start of the blocks, in milliseconds. */
export type BlockStep = Omit<HostStep, "began"> & { readonly at_ms: number };

interface HostOutcome {
  readonly command?: unknown;
  readonly ok?: unknown;
  readonly error?: unknown;
  readonly result?: unknown;
  readonly duration_ms?: unknown;
}

interface StepsOf {
  /** The label of the host, and where the body is. */
  readonly host: string;
  readonly place: string;
  /** Where the first action is in the body. */
  readonly from: number;
  /** The actions without secrets. */
  readonly shown: readonly unknown[];
  /** When the part began, and how long it took, in milliseconds. */
  readonly at_ms: number;
  readonly took_ms: number;
  readonly code: PartCode;
  readonly outcomes: readonly HostOutcome[];
}

/** The steps of a part: those that its host has reported, and the one in which it stopped where that is not among them. */
export function stepsOf({ host, place, from, shown, at_ms, took_ms, code, outcomes }: StepsOf): BlockStep[] {
  const steps: BlockStep[] = [];
  let at = at_ms;
  for (const [nth, action] of shown.entries()) {
    const outcome = outcomes[nth];
    if (!outcome) break;
    const [command, written = {}] = Array.isArray(action) ? action : [];
    // A host says what it likes: its steps stay within the time that the part took here.
    const said = Number.isFinite(outcome.duration_ms) ? Number(outcome.duration_ms) : null;
    const duration_ms = said === null ? null : Math.max(0, Math.min(said, at_ms + took_ms - at));
    const error = typeof outcome.error === "string" ? outcome.error : undefined;
    steps.push({
      host,
      place: `${place}[${from + nth}]`,
      command: `${command}`,
      arguments: written,
      at_ms: at,
      duration_ms,
      ok: outcome.ok === true,
      ...(error !== undefined && { error }),
    });
    at += duration_ms ?? 0;
  }
  const last = shown[steps.length];
  if (code === "ok" || steps.some(({ ok }) => ok === false) || last === undefined) return steps;
  const [command, written = {}] = Array.isArray(last) ? last : [];
  steps.push({
    host,
    place: `${place}[${from + steps.length}]`,
    command: `${command}`,
    arguments: written,
    at_ms: at,
    duration_ms: Math.max(0, at_ms + took_ms - at),
    ok: code === "unknown" ? null : false,
    error: code,
  });
  return steps;
}

/** Where a part stopped: the action that failed; all of it where its host has not said. @param place of the body. */
export function stopOf(
  outcomes: readonly HostOutcome[],
  actions: readonly unknown[],
  place: string,
  from: number,
): string {
  const nth = outcomes.findIndex(({ ok }) => ok !== true);
  const at = nth >= 0 ? nth : outcomes.length;
  if (outcomes.length > 0 && at < actions.length) return stepText(place, from + at, actions[at]);
  const to = from + actions.length - 1;
  return actions.length === 1 ? stepText(place, from, actions[0]) : `${place}[${from}] to [${to}]`;
}

const stepText = (place: string, at: number, action: unknown): string =>
  `${place}[${at}] (${Array.isArray(action) ? action[0] : "?"})`;
