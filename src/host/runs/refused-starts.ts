/**
 * Runs that failed before they began, by what started them: what fails again and again is one run, whose error says how often.
 */
import { type StartField, sourceOf } from "./run-entry";
import type { RunState } from "./types";

/** How many sources are known whose last run failed before it began. */
const MAX_REFUSED = 1_000;

/** A run that failed before it began, and how often in a row. */
interface RefusedStart {
  readonly state: RunState;
  readonly times: number;
}

export class RefusedStarts {
  private readonly refused = new Map<string, RefusedStart>();

  /** To be called when a run begins: the next one that fails is another. */
  forget(begun: Pick<RunState, StartField>): void {
    this.refused.delete(sourceOf(begun));
  }

  /** Takes one that failed now. @returns it, with the id of the first in a row. */
  add(begun: Pick<RunState, StartField>, error: string): RefusedStart {
    const source = sourceOf(begun);
    const at = new Date().toISOString();
    const before = this.refused.get(source);
    const times = (before?.times ?? 0) + 1;
    const error_text = times === 1 ? error : `${error} (${times} starts in a row failed)`;
    const end = { status: "error", error_text, finished_at: at, duration_seconds: 0 } as const;
    const start = { state: { ...(before?.state ?? { ...begun, started_at: at }), ...end }, times };
    this.refused.delete(source);
    this.refused.set(source, start);
    const [oldest] = this.refused.keys();
    if (this.refused.size > MAX_REFUSED && oldest !== undefined) this.refused.delete(oldest);
    return start;
  }
}
