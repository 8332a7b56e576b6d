/**
 * Requests of the last hour by outcome: a fixed number of time slots, so that memory is bounded and reading costs the same
 * after a year.
 */
import * as v from "valibot";
import { steadyClock } from "../lib/clock";

/** Seconds of one slot. */
export const SLOT_S = 30;

/** Slots that are kept: an hour. */
const SLOTS = 120;

/** One entry per slot in each list, oldest first; the last slot is not complete. */
export const TIMELINE = v.object({
  slot_seconds: v.number(),
  /** When the first slot began. */
  since: v.string(),
  ok: v.array(v.number()),
  client_errors: v.array(v.number()),
  server_errors: v.array(v.number()),
});

export type Timeline = v.InferOutput<typeof TIMELINE>;

const NO_REQUESTS = { ok: 0, client_errors: 0, server_errors: 0 };

/** `nth` counts slots since 1970, which distinguishes rounds of the ring. */
type Slot = { readonly nth: number } & typeof NO_REQUESTS;

/** @param now milliseconds since 1970, of a clock that is never set back. */
export function createTimeline(now = steadyClock()) {
  const slots: Slot[] = [];
  const nthNow = () => Math.floor(now() / (SLOT_S * 1_000));
  const first = nthNow();
  const slotOf = (nth: number): Slot => {
    const found = slots[nth % SLOTS];
    return found?.nth === nth ? found : { nth, ...NO_REQUESTS };
  };

  let newest: Slot = { nth: -1, ...NO_REQUESTS };

  return {
    /** Counts a request by the HTTP status of its answer. */
    add(status: number): void {
      const nth = nthNow();
      if (nth !== newest.nth) {
        newest = slotOf(nth);
        slots[nth % SLOTS] = newest;
      }
      if (status < 400) newest.ok++;
      else if (status < 500) newest.client_errors++;
      else newest.server_errors++;
    },
    report(): Timeline {
      const last = nthNow();
      const oldest = Math.max(first, last - SLOTS + 1);
      const shown = Array.from({ length: last - oldest + 1 }, (_, at) => slotOf(oldest + at));
      return {
        slot_seconds: SLOT_S,
        since: new Date(oldest * SLOT_S * 1_000).toISOString(),
        ok: shown.map(({ ok }) => ok),
        client_errors: shown.map(({ client_errors }) => client_errors),
        server_errors: shown.map(({ server_errors }) => server_errors),
      };
    },
  };
}
