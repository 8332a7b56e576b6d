/**
 * Following a plan that another process runs: it is asked with `plan.show` until the plan is over or paused, also while that process is
 * restarted.
 */
import type { Progress } from "../../../core/caller";
import { type Backoff, doubled, jitter } from "../../../lib/backoff";
import { sleep } from "../../../lib/deadline";
import { Failure, unavailable } from "../../../lib/errors";
import { progressOf } from "./run";
import type { Review, Summary } from "./text";

/** The pauses between two looks: short at its begin. And how many looks in a row may find nobody who runs it. */
const PAUSES: Backoff = { firstMs: 50, longestMs: 1_000 };
const MAX_MISSED = 10;

interface PlanSight {
  /**
   * The plan as it is now.
   *
   * @param only `none` leaves its hosts out.
   * @throws `unavailable` or `cancelled` where who was asked has ended.
   */
  show(only?: ["none"]): Promise<Review>;
  /** Whether there is a process that runs plans. */
  isServed(): boolean;
}

/** Whether nothing more happens to a plan by itself. */
export const isOver = ({ ended, state }: Pick<Summary, "ended" | "state">): boolean =>
  ended !== null || state === "paused";

/**
 * The plan, once it is over or paused, with its hosts.
 *
 * @param progress takes how far it is, at each look.
 * @throws the reason of the signal once it is aborted; `unavailable` when nobody has run it for some seconds; what `show` throws besides.
 */
export async function followPlan(
  id: string,
  { show, isServed }: PlanSight,
  { signal, progress }: { readonly signal: AbortSignal; readonly progress?: (step: Progress) => void },
  pauses: Backoff = PAUSES,
): Promise<Review> {
  for (let looks = 0, missed = 0; missed <= MAX_MISSED; looks++) {
    await sleep(jitter(doubled(pauses, looks)), signal);
    try {
      const plan = await show(["none"]);
      if (isOver(plan)) return await show();
      progress?.(progressOf(plan));
      missed = isServed() ? 0 : missed + 1;
    } catch (error) {
      if (!isEnd(error)) throw error;
      missed++;
    }
  }
  throw unavailable(`the server that ran the plan has ended: \`svc serve\` goes on with the plan ${id}`);
}

/** A server that ends says so to who asks, or nothing any more. */
const isEnd = (error: unknown) =>
  error instanceof Failure && (error.code === "cancelled" || error.code === "unavailable");
