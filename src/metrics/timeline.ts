/**
 * How many requests were answered, and how, over the last hour: a fixed number of slots of time, so that memory is
 * bounded and looking costs the same after a year.
 */

/** Seconds of one slot. */
export const SLOT_S = 30;

/** Slots that are kept: an hour. */
const SLOTS = 120;

/** One entry a slot in each list, oldest first; the last slot still counts. */
export interface TimelineReport {
  slot_seconds: number;
  /** When the first slot began. */
  since: string;
  ok: number[];
  client_errors: number[];
  server_errors: number[];
}

export interface Timeline {
  record(status: number): void;
  report(): TimelineReport;
}

interface Slot {
  /** Slots of time since 1970; tells an old round of the ring from this one. */
  readonly nth: number;
  ok: number;
  clientErrors: number;
  serverErrors: number;
}

/** @param now milliseconds since 1970, of a clock that is never put back. */
export function createTimeline(now = () => performance.timeOrigin + performance.now()): Timeline {
  const slots: Slot[] = [];
  const nthNow = () => Math.floor(now() / (SLOT_S * 1_000));
  const first = nthNow();
  const slotOf = (nth: number): Slot => {
    const found = slots[nth % SLOTS];
    return found?.nth === nth ? found : { nth, ok: 0, clientErrors: 0, serverErrors: 0 };
  };

  return {
    record(status) {
      const slot = slotOf(nthNow());
      slots[slot.nth % SLOTS] = slot;
      if (status >= 500) slot.serverErrors++;
      else if (status >= 400) slot.clientErrors++;
      else slot.ok++;
    },
    report() {
      const newest = nthNow();
      const oldest = Math.max(first, newest - SLOTS + 1);
      const shown = Array.from({ length: newest - oldest + 1 }, (_, at) => slotOf(oldest + at));
      return {
        slot_seconds: SLOT_S,
        since: new Date(oldest * SLOT_S * 1_000).toISOString(),
        ok: shown.map(({ ok }) => ok),
        client_errors: shown.map(({ clientErrors }) => clientErrors),
        server_errors: shown.map(({ serverErrors }) => serverErrors),
      };
    },
  };
}
