/** How a host answers its desk, in spans of the monotonic clock: what tells a log that stands still from one that is quiet. */
import type { AnswerTimes } from "./states";

export interface AnswerClock {
  /** A good checkpoint of `size` leaves came. */
  heard(size: number): void;
  /** None came. */
  missed(): void;
  /** Cosignatures are being handed back: no answer yet. */
  asked(): void;
  /** They were answered. Whatever it is, the request leaves a row, unless the host can write none: that must be noticed. */
  answered(size: number): void;
  spans(): AnswerTimes;
}

/** @returns what a desk knows of one host since it began to watch it, now. */
export function createAnswerClock(): AnswerClock {
  let heard = performance.now();
  let unanswered = 0;
  /** Since when the log must have more leaves than `size`, and whether a look has failed since. */
  let owed: { since: number; size: number; outage?: "now" | "over" } | undefined;
  return {
    heard(size: number): void {
      heard = performance.now();
      if (owed && size > owed.size) owed = undefined;
      if (owed?.outage === "now") owed.outage = "over";
    },
    missed(): void {
      if (!owed || owed.outage === "over") return;
      // A host that was restarted gets the whole time again, once: else one that fails now and then would owe for ever.
      owed.since = performance.now();
      owed.outage = "now";
    },
    asked(): void {
      unanswered++;
    },
    answered(size: number): void {
      unanswered = 0;
      owed ??= { since: performance.now(), size };
    },
    spans(): AnswerTimes {
      const now = performance.now();
      return { unheard: now - heard, owing: owed ? now - owed.since : 0, unanswered };
    },
  };
}
