/**
 * The pause before the next wave of a plan. The ledger has its end as a time, which this process reads once: whatever the clock is set to,
 * before or after, the pause takes no longer than the plan says.
 */
import type { Plan } from "./ledger/rows";

/** The end of the pause before the next wave, as it was read. */
export class WavePause {
  #read: { readonly at: number; readonly due: number } | undefined;

  /** What is left of it, in milliseconds. */
  left({ wave_at: at, spec }: Pick<Plan, "wave_at" | "spec">): number {
    if (at === null) return 0;
    const now = performance.now();
    if (this.#read?.at !== at)
      this.#read = { at, due: now + Math.min(Math.max(0, at - Date.now()), spec.pause_s * 1_000) };
    return Math.max(0, this.#read.due - now);
  }
}
