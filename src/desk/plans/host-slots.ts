/**
 * How many hosts are at work at once, at each server (`lib/per-server.ts`). As in `lib/pool.ts`, a host that takes long gives its slot to
 * another and goes on without one, so that dead hosts delay no other.
 */
const SLOTS = 512;

/** How many go on without a slot at most, and after how many milliseconds a host gives up its own. */
export const MAX_SLOW = 4_000;
export const PATIENCE_MS = 250;

export interface HostSlots {
  isFree(): boolean;
  /** @returns a function that frees the slot; a second call does nothing. */
  take(): () => void;
}

/** @param freed is called when there is a slot again. */
export function createHostSlots(freed: () => void): HostSlots {
  let busy = 0;
  let slow = 0;
  return {
    isFree: (): boolean => busy < SLOTS && slow < MAX_SLOW,
    take(): () => void {
      busy++;
      let held: "busy" | "slow" | undefined = "busy";
      const giveUp = () => {
        if (held !== "busy") return;
        held = "slow";
        busy--;
        slow++;
        freed();
      };
      const timer = setTimeout(giveUp, PATIENCE_MS);
      return () => {
        clearTimeout(timer);
        if (held === "busy") busy--;
        if (held === "slow") slow--;
        held = undefined;
      };
    },
  };
}
